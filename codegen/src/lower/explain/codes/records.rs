//! Records without a code, and what their fields may hold.

use crate::ir::typed::Ref;
use crate::lower::explain::extent::Topic;
use crate::lower::explain::schema::{At, Part, Texts, Words, codes, record};
use crate::resolve::term::Kind;

record! {
    /// Text: its offset from the start of the texts, and its length, in bytes.
    Span: Default { offset: u32, length: u32 }
}

/// Text that messages quote, or that is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Span);

impl Part for Text {
    const WORDS: u32 = Span::WORDS;
    type Read = At<Text>;

    fn encode(self, words: &mut Vec<u32>) {
        self.0.encode(words);
    }

    fn decode(words: &mut Words<'_>) -> Option<Self> {
        Span::decode(words).map(Text)
    }

    fn show(self, text: &Texts<'_>) -> String {
        let start = self.0.offset as usize;
        let bytes = text.0.get(start..start + self.0.length as usize);
        bytes.map_or_else(
            || format!("?{:?}", self.0),
            |b| format!("{:?}", String::from_utf8_lossy(b)),
        )
    }

    fn read(_: &mut crate::ir::Builder<'_>, base: crate::ir::Value, offset: i32) -> At<Text> {
        At::within(base, offset)
    }

    type Handle = Ref<Span>;

    fn handle(read: At<Text>) -> Ref<Span> {
        Ref::within(read.base, read.offset)
    }
}

impl At<Text> {
    /// Offset and length.
    pub(crate) fn span(self) -> At<Span> {
        At::within(self.base, self.offset)
    }
}

record! {
    /// The start of a descriptor.
    Header: Default {
        /// Bytes of the whole.
        size: u32,
        /// Where the texts start, in bytes; all words that are interpreted stand before.
        texts: u32,
        /// As messages quote it.
        signature: Text,
        /// That of every error.
        backtrace: Text,
        /// The least number of arguments.
        least: u32,
        /// The largest number of arguments.
        most: Option<u32>,
        /// How many symbols there are; they have the first slots.
        symbols: u32,
        /// Symbols and values.
        slots: u32,
        /// How deep loops nest.
        loops: u32,
        /// The most operands of an expression.
        operands: u32,
        /// The most devices to be compared.
        devices: u32,
        /// The first [`Received`]; 0 for none.
        received: u32,
        /// The first [`Outputs`]; 0 for none.
        outputs: u32,
        /// The first [`Site`]; 0 for none.
        site: u32,
    }
}

codes! {
    /// What follows the path in a place.
    Suffix {
        None,
        Shape,
        Strides,
        /// The index in brackets alone.
        Number,
    }
}

record! {
    /// A value, or one of its numbers.
    Place { path: Text, suffix: Suffix, index: u32 } show show_place
}

/// `"x".shape[0]`
fn show_place(place: &Place, text: &Texts<'_>) -> String {
    let (path, index) = (place.path.show(text), place.index);
    match place.suffix {
        Suffix::None => path,
        Suffix::Shape => format!("{path}.shape[{index}]"),
        Suffix::Strides => format!("{path}.strides[{index}]"),
        Suffix::Number => format!("{path}[{index}]"),
    }
}

record! {
    /// Which value a step is about: how messages name it, and its slot.
    Head { place: Place, argument: Option<u32>, slot: u32 }
}

codes! {
    /// Classes of scalars.
    Class {
        Int,
        Bool,
        Float,
        Ptr,
        /// A `uint64`, also beyond `int64`.
        Unsigned,
    }
}

codes! {
    /// What is required of a number.
    RuleCode {
        Any,
        Symbol,
        /// A symbol at one of many places, which messages do not name.
        SymbolOfMany,
        /// Equal to an expression.
        Equal,
        /// Coefficient and constant of a linear expression.
        Solve,
    }
}

codes! {
    /// Literals.
    LiteralCode {
        /// An integer, also as a bool.
        Int,
        Text,
    }
}

codes! {
    /// How a value prints; also the pieces of a [`Complaint`](super::complaints::Complaint).
    LeafKind {
        /// The character behind it is text, whatever it could stand for.
        Escape,
        /// Part of a path: the number of an element follows, as the depth of its loop.
        Index,
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
        /// The address of a [`Text`] of the descriptor.
        Quote,
        /// The address of a [`Place`].
        Place,
        /// A device type.
        DeviceType,
        /// The type of a `TVMFFIAny`.
        Type,
        /// The same of a value that a kernel has written.
        Written,
        /// A truth.
        Truth,
        /// The address of [`Tail::Leaves`].
        Leaves,
        /// What a site is about.
        Subject,
        /// The same with values in it.
        Template,
        /// The place of the value, which is a [`Head`].
        At,
        /// Its path.
        Path,
        /// Of the value of `At` or `Path`: `` on argument #0 when calling: `f()` ``
        On,
        /// `` when calling: `f()` ``
        Calling,
    }
}

record! {
    /// A literal: an integer, or the words of a [`Text`].
    Literal { code: LiteralCode, bits: u64 }
}

record! {
    /// A value that somebody else has made. The symbols that are known before follow, and the steps.
    Received {
        /// The next one of the descriptor; 0 for none.
        next: u32,
        /// Where it goes.
        slot: u32,
        /// The backtrace of its error; if empty that of every error.
        frame: Text,
        /// How many symbols are known.
        known: u32,
    }
}

codes! {
    /// What a site knows of a callee's error.
    Callee {
        /// There is no callee.
        None,
        /// The error that a kernel has left goes first.
        Kernel,
        /// Likewise of a function of the FFI; its status -2 without an error is passed on.
        Function,
    }
}

record! {
    /// Tensors that are allocated at once. [`Output`]s follow.
    Outputs {
        /// The next ones of the descriptor; 0 for none.
        next: u32,
        /// How many follow.
        count: u32,
    }
}

record! {
    /// A tensor that is allocated; rank and element type as they stand in a `DLTensor`.
    Output { rank: u32, dtype: u32, align: u64, name: Text }
}

record! {
    /// What a site says.
    Meaning: Default {
        /// The kind of error; if empty that of the complaint.
        kind: Text,
        /// What the message is about.
        subject: Text,
    }
}

record! {
    /// Where something other than an argument fails, and how it says so. [`Case`]s follow.
    Site {
        /// The next site of the descriptor; 0 for none.
        next: u32,
        /// A [`Complaint`](super::complaints::Complaint).
        complaint: u32,
        /// Whose error it may be.
        callee: Callee,
        /// The backtrace of its error; if empty that of every error.
        frame: Text,
        /// Unless there is a case.
        meaning: Meaning,
        /// How many cases follow.
        cases: u32,
    }
}

record! {
    /// What it means if the first value is this status.
    Case { status: u32, meaning: Meaning }
}

impl RuleCode {
    /// How many expressions follow.
    pub(crate) fn expressions(self) -> usize {
        match self {
            RuleCode::Any | RuleCode::Symbol | RuleCode::SymbolOfMany => 0,
            RuleCode::Equal => 1,
            RuleCode::Solve => 2,
        }
    }

    /// What it is about.
    pub(crate) const fn topic(self) -> Topic {
        match self {
            RuleCode::Any | RuleCode::Symbol | RuleCode::SymbolOfMany | RuleCode::Equal => {
                Topic::Tensors
            }
            RuleCode::Solve => Topic::Expressions,
        }
    }
}

impl LeafKind {
    /// How messages show a value that an expression depends on.
    pub(crate) const fn of(kind: Kind) -> LeafKind {
        match kind {
            Kind::Int | Kind::Bool => LeafKind::Int,
            Kind::Unsigned => LeafKind::Unsigned,
            Kind::Float => LeafKind::Float,
            Kind::DType => LeafKind::DType,
            Kind::Device => LeafKind::Device,
            Kind::Text => LeafKind::Text,
            Kind::Ptr | Kind::Several => LeafKind::Ptr,
        }
    }

    /// What it is about.
    pub(crate) const fn topic(self) -> Topic {
        match self {
            LeafKind::Float | LeafKind::Text | LeafKind::Written | LeafKind::Truth => Topic::Values,
            LeafKind::Template => Topic::Expressions,
            LeafKind::Escape
            | LeafKind::Index
            | LeafKind::Int
            | LeafKind::Unsigned
            | LeafKind::Ptr
            | LeafKind::DType
            | LeafKind::Device
            | LeafKind::Plain
            | LeafKind::Quote
            | LeafKind::Place
            | LeafKind::DeviceType
            | LeafKind::Type
            | LeafKind::Leaves
            | LeafKind::Subject
            | LeafKind::At
            | LeafKind::Path
            | LeafKind::On
            | LeafKind::Calling => Topic::Tensors,
        }
    }
}
