//! Records: constant data that describes checks, for the routines that compose messages.
//!
//! A module has one [constant](crate::lower::failure::records) with all records: a [`Start`], the records, the texts.
//! The offset of a record is counted in bytes from the start of the constant, the offset of a text from the start of
//! the texts. A record whose address routines receive begins with a [`Head`], which leads to the start of the constant.

use crate::ir::typed::{Int, Ref, Text, routine};
use crate::lower::routines::schema::{FieldType, Texts, WordReader, codes, record};
use crate::resolve::term::Kind;

record! {
    /// A text: its offset from the start of the texts and its length, in bytes.
    Span: Default { offset: u32, length: u32 }
}

/// A field that refers to a text. Dumps of records show the text itself.
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
    /// The first record of a constant: the offset of the texts.
    Start { texts: u32 }
}

record! {
    /// The first field of a record: the offset of the record itself and of its [`Host`].
    Head { at: u32, host: u32 }
}

record! {
    /// A host function at a source location.
    Host {
        head: Head,
        /// Its signature, as messages quote it.
        signature: TextRef,
        /// Its line in backtraces.
        backtrace: TextRef,
        /// The smallest number of arguments.
        least: u32,
        /// The largest number of arguments; `None` for any.
        most: Option<u32>,
    }
}

record! {
    /// A value that messages name.
    Subject {
        head: Head,
        /// Its path up to the first loop index.
        path: TextRef,
        /// The offset of the [`Rest`] of its path; 0 if the path has no loop index.
        rest: u32,
        /// The number of the argument that the value is or is part of.
        argument: Option<u32>,
        /// The offset of the record of its type: [`ScalarRecord`], [`TensorRecord`] or [`Required`].
        required: u32,
    }
}

record! {
    /// The rest of a path. `count` [`TextRef`]s follow; each stands after a loop index.
    Rest { count: u32 }
}

codes! {
    /// Class of a scalar type.
    ScalarClass {
        Int,
        Bool,
        Float,
        Ptr,
        /// A `uint64` whose values above `int64` are accepted.
        Unsigned,
    }
}

record! {
    /// Requirements of a scalar.
    ScalarRecord {
        class: ScalarClass,
        bits: u32,
        signed: bool,
        /// The expected type, as messages name it.
        expected: TextRef,
        /// The name of the scalar type.
        name: TextRef,
    }
}

/// Requirement of the rank of a tensor. Routines read the rank if it must be exact, and else a negative number: -1
/// minus the smallest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RankRule {
    Exactly(u32),
    AtLeast(u32),
}

impl FieldType for RankRule {
    const WORDS: u32 = 1;

    fn encode(self, words: &mut Vec<u32>) {
        words.push(match self {
            RankRule::Exactly(rank) => rank,
            RankRule::AtLeast(least) => !least,
        });
    }

    fn decode(words: &mut WordReader<'_>) -> Option<Self> {
        let word = words.take()?;
        let is_exact = word as i32 >= 0;
        Some(if is_exact { RankRule::Exactly(word) } else { RankRule::AtLeast(!word) })
    }

    fn show(self, text: &Texts<'_>) -> String {
        match self {
            RankRule::Exactly(rank) => rank.show(text),
            RankRule::AtLeast(0) => "none".to_owned(),
            RankRule::AtLeast(least) => format!("at least {least}"),
        }
    }

    type Handle = Int<i64>;

    fn read(b: &mut crate::ir::Builder<'_>, base: crate::ir::Value, offset: i32) -> Int<i64> {
        <Option<u32> as FieldType>::read(b, base, offset)
    }
}

record! {
    /// Requirements of a tensor. The words of the accepted element types follow.
    TensorRecord {
        expected: TextRef,
        dtypes: TextRef,
        rank: RankRule,
        /// The device type; 0 for any.
        device: u32,
        /// The alignment in bytes minus 1.
        mask: u64,
        compact: bool,
        /// The number of element types that follow; 0 if all are accepted.
        accepted: u32,
    }
}

codes! {
    /// Requirement of a value that is neither scalar nor tensor, beyond its type index.
    Requirement {
        /// None.
        Type,
        /// An element type, or the name of one.
        Dtype,
        /// A device, or the name of one.
        Device,
        /// The integers of a shape. `size` is their number, if that is fixed.
        Numbers,
        /// An instance of a class.
        Class,
        /// Exactly `size` elements.
        Size,
        /// One of several literal values.
        Literal,
        /// One of several types.
        OneOf,
    }
}

record! {
    /// Requirements of a value that is neither scalar nor tensor.
    Required {
        expected: TextRef,
        /// Type indices, as the two masks of a set. A value with one of them violates another requirement; any other
        /// value has a wrong type.
        low: u64,
        high: u64,
        require: Requirement,
        size: Option<u32>,
    }
}

codes! {
    /// The part of a value that a [place](mod@place) denotes.
    Suffix {
        None,
        Shape,
        Strides,
        /// `[index]`, an integer of a shape.
        Number,
    }
}

/// A place: the word that names a value or one number of it. It holds an index in bits 0 to 7, a [`Suffix`] from bit 8,
/// and the offset of a [`Subject`] from bit 16.
///
/// With bit 7 the index counts from the end, and bits 0 to 5 hold one less than the count: `[-1]` is 0. With bit 6 too
/// it stands for all dims but as many at the end as bits 0 to 5 say: `[:-1]`.
pub(crate) mod place {
    use super::Suffix;

    /// Lowest bit of the offset.
    pub(crate) const OFFSET: u32 = 16;

    /// Lowest bit of the suffix.
    pub(crate) const SUFFIX: u32 = 8;

    /// Lowest bit of a [`NumberRule`](super::NumberRule) in the parameter of `fail_number`. A place does not use these
    /// bits.
    pub(crate) const RULE: u32 = 12;

    /// A place that messages do not name.
    pub(crate) const UNNAMED: u64 = 1;

    /// Mark of an index from the end.
    pub(crate) const FROM_END: u64 = 1 << 7;

    /// Mark of an index from the end that stands for all dims before it.
    pub(crate) const LEADING: u64 = 1 << 6;

    /// Mask of the number in an index from the end.
    pub(crate) const COUNT: u64 = LEADING - 1;

    /// Packs suffix and index.
    pub(crate) fn number(suffix: Suffix, index: u64) -> u64 {
        const { assert!(crate::language::MAX_RANK as u64 <= LEADING) }
        u64::from(suffix as u32) << SUFFIX | index
    }

    /// Packs the index of the dim at a count from the end, at least 1.
    pub(crate) fn from_end(count: usize) -> u64 {
        FROM_END | (count as u64 - 1)
    }

    /// Packs the index of all dims but `after` at the end.
    pub(crate) fn leading(after: usize) -> u64 {
        FROM_END | LEADING | after as u64
    }

    /// Packs the offset of a subject with a packed suffix and index.
    pub(crate) fn of(offset: u32, number: u64) -> u64 {
        u64::from(offset) << OFFSET | number
    }
}

codes! {
    /// Requirement of a number.
    NumberRule {
        /// It must not be negative.
        Any,
        /// It must equal a symbol.
        Symbol,
        /// It must equal an expression.
        Equal,
        /// It must equal an expression that determines a symbol.
        Solve,
    }
}

codes! {
    /// Kind of a piece of a message: text, or a placeholder. Placeholders take the values in order, one word each
    /// unless stated otherwise.
    PieceKind {
        /// The text of the piece. Takes no value.
        Words,
        Int,
        Unsigned,
        Float,
        /// A pointer, shown as NULL or not NULL.
        Ptr,
        DType,
        Device,
        /// Text in quotes. Takes two values: address and length.
        Text,
        /// Text without quotes. Takes two values: address and length.
        Plain,
        /// An integer object, by its address.
        Big,
        /// A [place](mod@place).
        Place,
        /// A device type.
        DeviceType,
        /// The type of a `TVMFFIAny`, by its address.
        Type,
        /// The type of a `TVMFFIAny` that a kernel has written, by its address.
        Written,
        /// A truth value.
        Truth,
        /// The exact sum of two integers, which is no `int64`. Takes two values.
        Sum,
        /// The exact difference of two integers, which is no `int64`. Takes two values.
        Difference,
        /// The exact product of two integers. Takes two values.
        Product,
        /// `` (= x.shape[0])`` for a place that has a name, nothing for others.
        Origin,
        /// A place, whose value becomes the subject of the message.
        At,
        /// The path of the value of a place. The value becomes the subject of the message.
        Path,
        /// `` on argument #0 when calling: `f()` ``, for the argument of the subject. Takes no value.
        On,
        /// `` when calling: `f()` ``. Takes no value.
        Calling,
        /// Text of a value without quotes. Bytes that are not well-formed UTF-8 are escaped. Takes two values: address
        /// and length.
        Unquoted,
    }
}

impl PieceKind {
    /// Returns the kind that shows a value of an expression.
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

    /// Returns true if few messages have this kind. Only `say_any` appends rare kinds, so that `say` stays small.
    pub(crate) const fn is_rare(self) -> bool {
        matches!(
            self,
            PieceKind::Float
                | PieceKind::Ptr
                | PieceKind::Text
                | PieceKind::Big
                | PieceKind::Written
                | PieceKind::Truth
                | PieceKind::Sum
                | PieceKind::Difference
                | PieceKind::Product
                | PieceKind::Origin
                | PieceKind::Unquoted
        )
    }
}

record! {
    /// A piece of a message. The text is empty but for [`PieceKind::Words`].
    Piece { kind: PieceKind, text: TextRef }
}

record! {
    /// A message: the kind of the error, the offset of its [`Piece`]s, and their number.
    MessageRecord: Default { kind: TextRef, pieces: u32, count: u32 }
}

record! {
    /// A message of one function. The wrapper passes the values.
    Fault { head: Head, message: MessageRecord }
}

codes! {
    /// Kind of callee. It decides whether an error of the callee replaces the message of the call site.
    CalleeKind {
        /// No callee. The message is raised.
        None,
        /// A kernel. An error that it has left is passed on.
        Kernel,
        /// An FFI function. An error that it has left is passed on; a status of -2 without an error is returned.
        Function,
    }
}

record! {
    /// A call that may fail. `cases` [`Case`]s follow.
    CallSite {
        head: Head,
        /// The kind of callee.
        callee: CalleeKind,
        /// The message if the callee has left no error and its status has no case.
        message: MessageRecord,
        cases: u32,
    }
}

record! {
    /// The message for a status.
    Case { status: u32, message: MessageRecord }
}

record! {
    /// Tensors that are allocated together. `count` [`OutputRecord`]s follow.
    Outputs { count: u32 }
}

record! {
    /// A tensor to allocate. Rank and element type are as in a `DLTensor`; `align` is in bytes.
    OutputRecord { rank: u32, dtype: u32, align: u64, name: TextRef }
}

/// Returns the start of the constant that holds a record.
#[routine(inline)]
pub(crate) fn base_of(record: &Head) -> &u8 {
    &(record as &u8)[0 - record.at]
}

/// Returns the host function of a record.
#[routine(inline)]
pub(crate) fn host_of(record: &Head) -> &Host {
    &base_of(record)[record.host] as &Host
}

/// Returns a text of the constant that holds a record.
#[routine(inline)]
pub(crate) fn text_of(record: &Head, text: &Span) -> Text {
    text_in(base_of(record), text)
}

/// Returns a text of the constant that starts at `base`.
#[routine(inline)]
pub(crate) fn text_in(base: &u8, text: &Span) -> Text {
    Text { data: &base[(base as &Start).texts + text.offset], len: text.length }
}
