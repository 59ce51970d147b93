//! The tables of what a descriptor is made of; encoder, decoder, printer and routines come from them.
//!
//! A descriptor is a [`Header`], the steps up to [`Op::End`], what the result must be, texts, and the sites
//! that were added later. Each step and each operation of an expression is its code and its record, and
//! what varies in length after it: see [`Tail`].

use crate::lower::explain::schema::{At, Part, Texts, Words, codes, record};

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
        /// Where the [`Written`] result is; 0 for nowhere.
        written: u32,
        /// Where the [`Outputs`] are; 0 for nowhere.
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
    Head { place: Place, argument: u32, slot: u32 }
}

codes! {
    /// Classes of scalars.
    Class { Int, Bool, Float, Ptr }
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
        /// Ends nothing; kept free.
        Unused,
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
    /// A type that a result may have.
    Type { low: u64, high: u64, expected: Text }
}

record! {
    /// A result that the kernel writes; the types of its elements follow, or of all of them.
    Written {
        ty: Type,
        /// The number of elements, if it is fixed.
        count: Option<u32>,
        /// Elements are checked.
        checked: bool,
    }
}

record! {
    /// Tensors that are allocated: how many [`Output`]s follow.
    Outputs { count: u32 }
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
        /// An error that the callee has left goes first.
        callee: bool,
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

/// What follows a record and varies in length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// Their number, and that many words.
    Numbers,
    /// Their number, and that many [`Literal`]s.
    Literals,
    /// The number of words, and steps, [`Op::End`] included.
    Steps,
    /// Their number, and for each type a slot and [`Tail::Steps`].
    Alternatives,
    /// Operations in reverse Polish notation, [`Rpn::End`] included.
    Expression,
    /// A [`RuleCode`] and the expressions that it takes.
    Rule,
    /// Values that a message quotes: the number of words that follow, that of the entries, and for each a
    /// text, a [`LeafKind`] and an expression.
    Leaves,
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
}

/// A record with a code of its own.
pub(crate) trait Coded: Part {
    /// The enum of the codes.
    type Code;
    /// Its code.
    const CODE: Self::Code;
}

/// Declares steps, or operations: the code, its record, what it does to the number of operands, and tails.
macro_rules! coded {
    ($(#[$enum_doc:meta])* $codes:ident in $module:ident:
        $($(#[$doc:meta])* $name:ident { $($field:ident: $ty:ty),* } $effect:literal [$($tail:ident),*];)*) => {
        codes! { $(#[$enum_doc])* $codes { $($(#[$doc])* $name,)* } }

        /// What follows each code.
        pub(crate) mod $module {
            use super::*;

            $(record! { $(#[$doc])* $name { $($field: $ty),* } }
            impl Coded for $name {
                type Code = $codes;
                const CODE: $codes = $codes::$name;
            })*
        }

        impl $codes {
            /// How many operands there are more after it.
            #[allow(dead_code, reason = "steps leave none")]
            pub(crate) const fn effect(self) -> i32 {
                match self { $($codes::$name => $effect,)* }
            }

            /// The text of its record, which is decoded, and what comes after.
            pub(crate) fn take(self, words: &mut Words<'_>, text: &Texts<'_>) -> Option<(String, &'static [Tail])> {
                match self {
                    $($codes::$name => Some(($module::$name::decode(words)?.show(text), &[$(Tail::$tail),*])),)*
                }
            }
        }
    };
}

coded! {
    /// Steps.
    Op in step:
    /// The end of the steps.
    End {} 0 [];
    /// Where an argument is.
    Argument { slot: u32, index: u32 } 0 [];
    /// Where an element of a tuple is.
    Element { slot: u32, tuple: u32, index: u32 } 0 [];
    /// How many words to skip unless the value is not None.
    Present { slot: u32, words: u32 } 0 [];
    /// How many words to skip unless the symbol is bound.
    Bound { slot: u32, words: u32 } 0 [];
    /// The handle of the call, context of a closure.
    Context { slot: u32 } 0 [];
    /// Type and range of a scalar; the format of a 16-bit float.
    Scalar { head: Head, class: Class, bits: u32, signed: bool, expected: Text, mantissa: u32, bias: u32, name: Text } 0 [];
    /// The header of a tensor. The device is 0 for any, and none if it is not checked; `many` in a loop.
    Tensor { head: Head, rank: Option<u32>, device: Option<u32>, many: bool, dtypes: Text, expected: Text } 0 [Numbers];
    /// An extent, stride, number of a shape, or integer.
    Occurrence { head: Head, symbol: u32, shown: Text } 0 [Rule];
    /// Compact strides.
    Compact { head: Head } 0 [];
    /// Data and alignment.
    Data { head: Head, mask: u64 } 0 [];
    /// A symbol that no stride has bound: coefficient and constant.
    Settle { symbol: u32, tensor: u32, dim: u32 } 0 [Expression, Expression];
    /// The type of a value.
    Type { head: Head, expected: Text, low: u64, high: u64 } 0 [];
    /// The class of an object.
    Instance { head: Head, expected: Text, key: Text } 0 [];
    /// The number of elements.
    Size { head: Head, size: u32 } 0 [];
    /// What text names, if it is text.
    Dtype { head: Head } 0 [];
    /// What text names, if it is text.
    Device { head: Head, expected: Text } 0 [];
    /// The numbers of a shape.
    Numbers { head: Head, rank: Option<u32> } 0 [];
    /// One of several values.
    Literal { head: Head, expected: Text } 0 [Literals];
    /// The elements of a sequence.
    Each { head: Head, depth: u32, element: u32 } 0 [Steps];
    /// The entries of a mapping.
    Entries { head: Head, depth: u32, key: u32, value: u32 } 0 [Steps];
    /// One of several types.
    OneOf { head: Head, expected: Text } 0 [Alternatives];
    /// A condition, and the two texts that make the message.
    Constraint { before: Text, subject: Text } 0 [Leaves, Expression];
    /// An argument of the kernel, or an extent to be allocated.
    Evaluate {} 0 [Expression];
}

coded! {
    /// Operations of expressions.
    Rpn in operation:
    /// The end of the expression, which takes its value.
    End {} -1 [];
    Const { bits: u64 } 1 [];
    Slot { slot: u32 } 1 [];
    Extent { slot: u32, dim: u32 } 1 [];
    Stride { slot: u32, dim: u32 } 1 [];
    /// The tensor must have that dim.
    Rank { slot: u32, index: u32, head: Head } 0 [];
    Ndim { slot: u32 } 1 [];
    DeviceId { slot: u32 } 1 [];
    ByteOffset { slot: u32 } 1 [];
    Data { slot: u32 } 1 [];
    Dtype { slot: u32 } 1 [];
    DeviceType { slot: u32 } 1 [];
    Numel { slot: u32 } 1 [];
    IsCompact { slot: u32 } 1 [];
    /// Whether the value is there.
    IsSome { slot: u32 } 1 [];
    /// A number of a shape.
    Number { slot: u32, index: u32 } 1 [];
    /// The shape must have that number.
    Count { slot: u32, index: u32, head: Head } 0 [];
    /// How many elements a sequence has.
    Length { slot: u32 } 1 [];
    /// How many numbers a shape has.
    NumberCount { slot: u32 } 1 [];
    /// How many bytes a text has.
    TextSize { slot: u32 } 1 [];
    TypeOfDevice { slot: u32 } 1 [];
    IndexOfDevice { slot: u32 } 1 [];
    SameText { slot: u32, text: Text } 1 [];
    /// The number of arguments from this one on.
    RestSize { first: u32 } 1 [];
    /// 1 for 0, else 0.
    Not {} 0 [];
    Add {} -1 [];
    Sub {} -1 [];
    Mul {} -1 [];
    Div { text: Text } -1 [Leaves];
    Rem { text: Text } -1 [Leaves];
    CeilDiv { text: Text } -1 [Leaves];
    Min {} -1 [];
    Max {} -1 [];
    Neg {} 0 [];
    Fadd {} -1 [];
    Fsub {} -1 [];
    Fmul {} -1 [];
    Fdiv {} -1 [];
    Fmin {} -1 [];
    Fmax {} -1 [];
    Fneg {} 0 [];
    /// From integer to float.
    ToFloat {} 0 [];
    /// To a narrower integer.
    Narrow { text: Text, name: Text, bits: u32, signed: bool } 0 [];
    /// To 0 or 1.
    Truth {} 0 [];
    /// To `float32` and back.
    RoundSingle {} 0 [];
    /// To a 16-bit float and back.
    RoundHalf { mantissa: u32, bias: u32 } 0 [];
    Eq {} -1 [];
    Ne {} -1 [];
    Lt {} -1 [];
    Le {} -1 [];
    Gt {} -1 [];
    Ge {} -1 [];
    Feq {} -1 [];
    Fne {} -1 [];
    Flt {} -1 [];
    Fle {} -1 [];
    Fgt {} -1 [];
    Fge {} -1 [];
}

/// The codes that some descriptors use: a module's own copy of the routines knows no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    ops: u64,
    codes: u128,
    leaves: u32,
}

impl Used {
    /// All of them.
    pub(crate) const ALL: Used = Used { ops: !0, codes: !0, leaves: !0 };

    pub(crate) fn op(&mut self, op: Op) {
        self.ops |= 1 << op as u32;
    }

    pub(crate) fn code(&mut self, code: Rpn) {
        self.codes |= 1 << code as u32;
    }

    pub(crate) fn leaf(&mut self, kind: LeafKind) {
        self.leaves |= 1 << kind as u32;
    }

    pub(crate) fn has_op(&self, op: Op) -> bool {
        self.ops >> op as u32 & 1 != 0
    }

    pub(crate) fn has_code(&self, code: Rpn) -> bool {
        self.codes >> code as u32 & 1 != 0
    }

    pub(crate) fn has_leaf(&self, kind: LeafKind) -> bool {
        self.leaves >> kind as u32 & 1 != 0
    }
}

// The codes of pieces stand between the characters of a message.
const _: () = assert!(LeafKind::ALL.len() <= 32);
const _: () = assert!(LeafKind::Index as u32 == crate::resolve::value::INDEX as u32);
