//! The numbers that a descriptor is made of: shared by its encoder and by the routines that read it.
//!
//! A descriptor is a sequence of little-endian `u32` words followed by text. Its header is
//! [`header`]; after it come the steps, each an [`Op`] and its operands, ended by [`Op::End`]. A *text*
//! is two words, offset and length in bytes, counted from the start of the descriptor. A *place* is a
//! text and two words, [`Suffix`] and index. A *head* is a place, the number of an argument and a slot.
//! *Steps* are the number of their words and the steps, [`Op::End`] included. An *expression* is in reverse
//! Polish notation, each [`Rpn`] with its operands, ended by [`Rpn::End`]. *Leaves*, whose values a message
//! quotes, are the number of words that follow, the number of entries, and for each a text, a [`LeafKind`]
//! and an expression.

/// Word offsets of the header.
pub(crate) mod header {
    /// Text: the signature as messages quote it.
    pub(crate) const SIGNATURE: u32 = 0;
    /// Text: the backtrace of every error.
    pub(crate) const BACKTRACE: u32 = 2;
    /// Offset in bytes of what statuses mean: the number of entries, then for each the status, the
    /// text of the kind and the text of the message, then the same for any other status.
    pub(crate) const STATUSES: u32 = 4;
    /// Offset in bytes of what the result must be. Of one that the kernel writes: the type, then the number
    /// of elements or -1, then whether they are checked, then the type of each, or of all; a type is the
    /// mask of the low and of the high type indices in two words each, and its text. Of tensors that are
    /// allocated: their number, then for each the rank, the element type, the alignment in two words, and
    /// the text of its name.
    pub(crate) const RESULT: u32 = 5;
    /// The least number of arguments.
    pub(crate) const LEAST: u32 = 6;
    /// The largest number of arguments, or -1.
    pub(crate) const MOST: u32 = 7;
    /// The number of symbols.
    pub(crate) const SYMBOLS: u32 = 8;
    /// The number of slots: symbols, then values.
    pub(crate) const SLOTS: u32 = 9;
    /// The first step.
    pub(crate) const STEPS: u32 = 10;
}

/// Words of a head, and where its parts are.
pub(crate) mod head {
    /// The number of the argument.
    pub(crate) const ARGUMENT: u32 = 4;
    /// The slot of the value.
    pub(crate) const SLOT: u32 = 5;
    /// The first word after it.
    pub(crate) const END: u32 = 6;
}

/// Steps; the operands are words unless stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Op {
    /// The end of the steps.
    End,
    /// slot, argument: where a value is
    Argument,
    /// slot, slot of a tuple, index: where a value is
    Element,
    /// slot, number of words to skip unless the value there is not None
    Present,
    /// slot of a symbol, number of words to skip unless it is bound
    Bound,
    /// slot: the handle of the call, context of a closure
    Context,
    /// head, [`Class`], bits, signed, text of what is accepted, mantissa bits, bias, text of the type
    Scalar,
    /// head, rank or -1, device type, 0 for any or -1 for one that is not checked, whether in a loop, text of the element types, their
    /// number, and each
    Header,
    /// head, [`RuleCode`], then: for `Symbol` and `SymbolOfMany` a slot and its text; for `Equal` a text
    /// (empty for a constant) and an expression; for `Solve` a slot, its text, the text of the
    /// expression, coefficient, constant
    Occurrence,
    /// head
    Compact,
    /// head, mask in two words
    Data,
    /// slot of the symbol, slot of the tensor, dim, coefficient, constant
    Settle,
    /// head, text of the type, mask of the low and of the high type indices in two words each
    Type,
    /// head, text of the type, text of the type key
    Instance,
    /// head, size
    Size,
    /// head: what text names, if it is text
    Dtype,
    /// head, text of the type: what text names, if it is text
    Device,
    /// head, rank or -1: the numbers of a shape
    Numbers,
    /// head, text of the type, number of literals, and for each a [`LiteralCode`], and two words of an
    /// integer or a text
    Literal,
    /// head, depth of the loop, slot of the elements, steps
    Each,
    /// head, depth of the loop, slot of the keys, slot of the values, steps
    Entries,
    /// head, text of the type, number of types, and for each a slot and steps
    OneOf,
    /// two texts that make the message, leaves, expression
    Constraint,
    /// expression: an argument of the kernel, or an extent to be allocated
    Evaluate,
}

/// Literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum LiteralCode {
    /// An integer, also as a bool.
    Int,
    /// Text.
    Text,
}

/// What follows the name in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Suffix {
    None,
    Shape,
    Strides,
    /// The index in brackets alone.
    Number,
}

/// Classes of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Class {
    Int,
    Bool,
    Float,
    Ptr,
}

/// Kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum RuleCode {
    Any,
    Symbol,
    /// A symbol at one of many places, which messages do not name.
    SymbolOfMany,
    Equal,
    Solve,
}

/// How a leaf's value prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum LeafKind {
    Int,
    Float,
    Ptr,
    DType,
    Device,
    Text,
}

/// Operations of expressions; operands after the dash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Rpn {
    End,
    /// low word, high word
    Const,
    /// slot
    Slot,
    /// slot, dim
    Extent,
    /// slot, dim
    Stride,
    /// slot, dim, place, argument: the tensor must have that dim
    Rank,
    /// slot
    Ndim,
    /// slot
    DeviceId,
    /// slot
    ByteOffset,
    /// slot
    Data,
    /// slot
    Dtype,
    /// slot
    DeviceType,
    /// slot
    Numel,
    /// slot
    IsCompact,
    /// slot: whether the value is there
    IsSome,
    /// slot, index: a number of a shape
    Number,
    /// slot, index, head: the shape must have that number
    Count,
    /// slot: how many elements a sequence has
    Length,
    /// slot: how many numbers a shape has
    NumberCount,
    /// slot: how many bytes a text has
    TextSize,
    /// slot: the device type of a device
    TypeOfDevice,
    /// slot: the index of a device
    IndexOfDevice,
    /// slot, text: whether they are the same
    SameText,
    /// the number of arguments from this one on
    RestSize,
    /// 1 for 0, else 0
    Not,
    Add,
    Sub,
    Mul,
    /// text, leaves
    Div,
    /// text, leaves
    Rem,
    /// text, leaves
    CeilDiv,
    Min,
    Max,
    Neg,
    Fadd,
    Fsub,
    Fmul,
    Fdiv,
    Fmin,
    Fmax,
    Fneg,
    /// the top of the stack from integer to float
    ToFloat,
    /// text, text of the type, bits, signed
    Narrow,
    /// to 0 or 1
    Truth,
    /// to `float32` and back
    RoundSingle,
    /// mantissa bits, bias: to a 16-bit float and back
    RoundHalf,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Feq,
    Fne,
    Flt,
    Fle,
    Fgt,
    Fge,
}

/// The codes that some descriptors use: a module's own copy of the routines knows no others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    ops: u64,
    codes: u128,
    leaves: u8,
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
