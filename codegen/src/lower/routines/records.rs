//! Records: constant data that says what a check requires, for the routines that compose its message.
//!
//! A module has one [constant](crate::lower::failure::records) of them: a [`Start`], records, texts. Offsets of records
//! are counted in bytes from its start, those of texts from the start of the texts. Every record that a routine is
//! given starts with a [`Head`], from which it finds the rest.

use crate::ir::typed::{Ref, Text, routine};
use crate::lower::routines::schema::{FieldType, Texts, WordReader, codes, record};
use crate::resolve::term::Kind;

record! {
    /// Text: its offset from the start of the texts, and its length, in bytes.
    Span: Default { offset: u32, length: u32 }
}

/// Text that messages quote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextRef(pub(crate) Span);

impl FieldType for TextRef {
    const WORDS: u32 = Span::WORDS;

    fn encode(self, words: &mut Vec<u32>) {
        self.0.encode(words);
    }

    fn decode(words: &mut WordReader<'_>) -> Option<Self> {
        Span::decode(words).map(TextRef)
    }

    fn show(self, text: &Texts<'_>) -> String {
        let start = self.0.offset as usize;
        let bytes = text.0.get(start..start + self.0.length as usize);
        bytes.map_or_else(
            || format!("?{:?}", self.0),
            |bytes| format!("{:?}", String::from_utf8_lossy(bytes)),
        )
    }

    type Handle = Ref<Span>;

    fn read(_: &mut crate::ir::Builder<'_>, base: crate::ir::Value, offset: i32) -> Ref<Span> {
        Ref::within(base, offset)
    }
}

record! {
    /// What a constant starts with.
    Start { texts: u32 }
}

record! {
    /// What a record starts with: its own offset, and that of its [`Host`].
    Head { at: u32, host: u32 }
}

record! {
    /// A host function, at a place in its source.
    Host {
        head: Head,
        /// As messages quote it.
        signature: TextRef,
        /// The line of backtraces.
        backtrace: TextRef,
        /// The least number of arguments.
        least: u32,
        /// The largest number of arguments.
        most: Option<u32>,
    }
}

record! {
    /// A value that messages are about.
    Subject {
        head: Head,
        /// Its path, as far as the first number that only the call knows.
        path: TextRef,
        /// The offset of the [`Rest`] of its path; 0 if there is none.
        rest: u32,
        /// Which argument it is, or is in.
        argument: Option<u32>,
        /// The offset of what is required of it: [`ScalarRecord`], [`TensorRecord`] or [`Required`].
        required: u32,
    }
}

record! {
    /// The rest of a path: so many [`TextRef`]s follow, each behind the number of an element.
    Rest { count: u32 }
}

codes! {
    /// Classes of scalars.
    ScalarClass {
        Int,
        Bool,
        Float,
        Ptr,
        /// A `uint64`, also beyond `int64`.
        Unsigned,
    }
}

record! {
    /// What is required of a scalar.
    ScalarRecord {
        class: ScalarClass,
        bits: u32,
        signed: bool,
        /// As messages name what is expected.
        expected: TextRef,
        /// The name of the type of the number.
        name: TextRef,
    }
}

record! {
    /// What is required of a tensor; the words of the element types that it may have follow.
    TensorRecord {
        expected: TextRef,
        dtypes: TextRef,
        rank: Option<u32>,
        /// The type of the device; 0 for any.
        device: u32,
        /// The alignment in bytes, less 1.
        mask: u64,
        compact: bool,
        /// How many element types follow.
        accepted: u32,
    }
}

codes! {
    /// What is required of another value beyond its type.
    Requirement {
        /// Nothing.
        Type,
        /// To be or to name an element type.
        Dtype,
        /// To be or to name a device.
        Device,
        /// To be numbers of a shape, as many as `size` if that is not none.
        Numbers,
        /// To be of a class.
        ObjectClass,
        /// To have `size` elements.
        Size,
        /// To be one of several values.
        Literal,
        /// To be of one of several types.
        OneOf,
    }
}

record! {
    /// What is required of another value.
    Required {
        expected: TextRef,
        /// The set of type indices that it may have.
        low: u64,
        high: u64,
        require: Requirement,
        size: Option<u32>,
    }
}

codes! {
    /// Which number of a value a place is.
    Suffix {
        None,
        Shape,
        Strides,
        /// The index in brackets alone.
        Number,
    }
}

/// A place: the offset of a [`Subject`] above a [`Suffix`] and an index.
pub(crate) mod place {
    use super::Suffix;

    /// Bits below the offset.
    pub(crate) const OFFSET: u32 = 16;

    /// Bits below the suffix.
    pub(crate) const SUFFIX: u32 = 8;

    /// Bits below the [`NumberRule`](super::NumberRule) of a number, which stands where no place has anything.
    pub(crate) const RULE: u32 = 12;

    /// What a place is that a message does not name.
    pub(crate) const UNNAMED: u64 = 1;

    /// Suffix and index.
    pub(crate) fn number(suffix: Suffix, index: usize) -> u64 {
        const { assert!(crate::language::MAX_RANK < 1 << SUFFIX) }
        u64::from(suffix as u32) << SUFFIX | index as u64
    }

    /// The place of a subject at an offset.
    pub(crate) fn of(offset: u32, number: u64) -> u64 {
        u64::from(offset) << OFFSET | number
    }
}

codes! {
    /// What is required of a number.
    NumberRule {
        /// Not to be negative.
        Any,
        /// To be that of a symbol.
        Symbol,
        /// To be that of an expression.
        Equal,
        /// To be that of an expression which determines a symbol.
        Solve,
    }
}

codes! {
    /// A piece of a message: text, or what stands for a value.
    PieceKind {
        /// The text of the piece.
        Words,
        Int,
        Unsigned,
        Float,
        /// NULL or not.
        Ptr,
        DType,
        Device,
        /// Text in quotes: address and length.
        Text,
        /// Text as it is: address and length.
        Plain,
        /// An integer that is an object.
        Big,
        /// A place.
        Place,
        /// A device type.
        DeviceType,
        /// The type of a `TVMFFIAny`.
        Type,
        /// The same of a value that a kernel has written.
        Written,
        /// A truth.
        Truth,
        /// The place of the value that the message is about.
        At,
        /// The path of that value.
        Path,
        /// Of the value of `At` or `Path`: `` on argument #0 when calling: `f()` ``
        On,
        /// `` when calling: `f()` ``
        Calling,
    }
}

impl PieceKind {
    /// How messages show a value that an expression depends on.
    pub(crate) const fn of(kind: Kind) -> PieceKind {
        match kind {
            Kind::Int | Kind::Bool => PieceKind::Int,
            Kind::Unsigned => PieceKind::Unsigned,
            Kind::Float => PieceKind::Float,
            Kind::DType => PieceKind::DType,
            Kind::Device => PieceKind::Device,
            Kind::Text => PieceKind::Text,
            Kind::Ptr | Kind::Several => PieceKind::Ptr,
        }
    }

    /// Whether few messages have it: what composes them without it is smaller.
    pub(crate) const fn is_rare(self) -> bool {
        matches!(
            self,
            PieceKind::Float
                | PieceKind::Ptr
                | PieceKind::Text
                | PieceKind::Big
                | PieceKind::Written
                | PieceKind::Truth
        )
    }
}

record! {
    /// A piece of a message.
    Piece { kind: PieceKind, text: TextRef }
}

record! {
    /// A message: the kind of the error, and where its pieces are, and how many.
    MessageRecord: Default { kind: TextRef, pieces: u32, count: u32 }
}

record! {
    /// A message of its own, with the values that a wrapper hands over.
    Fault { head: Head, message: MessageRecord }
}

codes! {
    /// What a site knows of a callee's error.
    CalleeKind {
        /// There is no callee.
        None,
        /// The error that a kernel has left goes first.
        Kernel,
        /// Likewise of a function of the FFI; its status -2 without an error is passed on.
        Function,
    }
}

record! {
    /// A call that may fail. So many [`Case`]s follow.
    CallSite {
        head: Head,
        /// Whose error it may be.
        callee: CalleeKind,
        /// What is said if there is no error, and no case.
        message: MessageRecord,
        cases: u32,
    }
}

record! {
    /// What is said of this status.
    Case { status: u32, message: MessageRecord }
}

record! {
    /// Tensors that are allocated at once. [`OutputRecord`]s follow.
    Outputs { count: u32 }
}

record! {
    /// A tensor that is allocated; rank and element type as they stand in a `DLTensor`.
    OutputRecord { rank: u32, dtype: u32, align: u64, name: TextRef }
}

/// The constant that a record is in.
#[routine(inline)]
pub(crate) fn base_of(record: &Head) -> &u8 {
    &(record as &u8)[0 - record.at]
}

/// The function of a record.
#[routine(inline)]
pub(crate) fn host_of(record: &Head) -> &Host {
    &base_of(record)[record.host] as &Host
}

/// A text of the constant that a record is in.
#[routine(inline)]
pub(crate) fn text_of(record: &Head, text: &Span) -> Text {
    text_in(base_of(record), text)
}

/// A text of a constant.
#[routine(inline)]
pub(crate) fn text_in(base: &u8, text: &Span) -> Text {
    Text { data: &base[(base as &Start).texts + text.offset], len: text.length }
}
