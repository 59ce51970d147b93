//! The numbers that a descriptor is made of: shared by its encoder and by the routines that read it.
//!
//! A descriptor is a sequence of little-endian `u32` words followed by text. Its header is
//! [`header`]; after it come the steps, each an [`Op`] and its operands, ended by [`Op::End`]. A *text*
//! is two words, offset and length in bytes, counted from the start of the descriptor. A *place* is a
//! text and two words, [`Suffix`] and index. An *expression* is in reverse Polish notation, each [`Rpn`]
//! with its operands, ended by [`Rpn::End`]. *Leaves*, whose values a message quotes, are the number of
//! words that follow, the number of entries, and for each a text, a [`LeafKind`] and an expression.

/// Word offsets of the header.
pub(super) mod header {
    /// Text: the signature as messages quote it.
    pub(in crate::lower) const SIGNATURE: u32 = 0;
    /// Text: the backtrace of every error.
    pub(in crate::lower) const BACKTRACE: u32 = 2;
    /// Offset in bytes of what statuses mean: the number of entries, then for each the status, the
    /// text of the kind and the text of the message, then the same for any other status.
    pub(in crate::lower) const STATUSES: u32 = 4;
    /// Offset in bytes of what the result must be. Of one that the kernel writes: the type, then the number
    /// of elements or -1, then the type of each; a type is the set of static type indices in four words,
    /// whether dynamic ones are in it, and its text. Of tensors that are allocated: their number, then for
    /// each the rank, the element type, the alignment in two words, and the text of its name.
    pub(in crate::lower) const RESULT: u32 = 5;
    /// The number of arguments.
    pub(in crate::lower) const COUNT: u32 = 6;
    /// Offset in bytes of the table of tensors: the argument index of each, and the text of its name.
    pub(in crate::lower) const TENSORS: u32 = 7;
    /// The number of symbols.
    pub(in crate::lower) const SYMBOLS: u32 = 8;
    /// The first step.
    pub(in crate::lower) const STEPS: u32 = 9;
}

/// Steps; the operands are words unless stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Op {
    /// The end of the steps.
    End,
    /// slot: the handle of the call, context of a closure
    Context,
    /// place, argument, slot, [`Class`], bits, signed, text of the type, mantissa bits, bias
    Scalar,
    /// place, argument, slot, rank or -1, dtype, device type or 0, number of tensors before
    Header,
    /// place, argument, slot (of the tensor, or of the parameter), [`Suffix`] again, index, [`RuleCode`],
    /// then: for `Symbol` a slot and its text; for `Equal` a text (empty for a constant) and an
    /// expression; for `Solve` a slot, its text, the text of the expression, coefficient, constant
    Occurrence,
    /// place, argument, slot
    Compact,
    /// place, argument, slot, mask in two words
    Data,
    /// slot of the symbol, slot of the tensor, dim, coefficient, constant
    Settle,
    /// two texts that make the message, leaves, expression
    Constraint,
    /// expression: an argument of the kernel, or an extent to be allocated
    Argument,
}

/// What follows the name in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Suffix {
    None,
    Shape,
    Strides,
}

/// Classes of scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Class {
    Int,
    Bool,
    Float,
    Ptr,
}

/// Kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum RuleCode {
    Any,
    Symbol,
    Equal,
    Solve,
}

/// How a leaf's value prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum LeafKind {
    Int,
    Float,
    Ptr,
}

/// Operations of expressions; operands after the dash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Rpn {
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
