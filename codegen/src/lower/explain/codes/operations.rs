//! Operations of expressions, in reverse Polish notation.

use super::coded::coded;
use super::{Coded, Head, Tail, Text};
use crate::lower::explain::extent::Topic;
use crate::lower::explain::schema::{Texts, Words, codes, record};
use crate::resolve::operator::{Binary, Division, Unary};

coded! {
    /// Operations of expressions.
    Rpn in operation:
    /// The end of the expression, which takes its value.
    End {} -1 [] Tensors;
    Const { bits: u64 } 1 [] Tensors;
    Slot { slot: u32 } 1 [] Tensors;
    Extent { slot: u32, dim: u32 } 1 [] Expressions;
    Stride { slot: u32, dim: u32 } 1 [] Expressions;
    /// The tensor must have that dim.
    Rank { slot: u32, index: u32, head: Head } 0 [] Expressions;
    Ndim { slot: u32 } 1 [] Expressions;
    DeviceId { slot: u32 } 1 [] Expressions;
    ByteOffset { slot: u32 } 1 [] Expressions;
    Data { slot: u32 } 1 [] Expressions;
    Dtype { slot: u32 } 1 [] Expressions;
    DeviceType { slot: u32 } 1 [] Expressions;
    Numel { slot: u32 } 1 [] Expressions;
    IsCompact { slot: u32 } 1 [] Expressions;
    /// Whether the value is there.
    IsSome { slot: u32 } 1 [] Expressions;
    /// A number of a shape.
    Number { slot: u32, index: u32 } 1 [] Values;
    /// The shape must have that number.
    Count { slot: u32, index: u32, head: Head } 0 [] Values;
    /// How many elements a sequence has.
    Length { slot: u32 } 1 [] Values;
    /// How many numbers a shape has.
    NumberCount { slot: u32 } 1 [] Values;
    /// How many bytes a text has.
    TextSize { slot: u32 } 1 [] Values;
    TypeOfDevice { slot: u32 } 1 [] Values;
    IndexOfDevice { slot: u32 } 1 [] Values;
    SameText { slot: u32, text: Text } 1 [] Values;
    /// The number of arguments from this one on.
    RestSize { first: u32 } 1 [] Values;
    /// 1 for 0, else 0.
    Not {} 0 [] Expressions;
    /// Skips the words of the second operand if the first is 0.
    And { words: u32 } -1 [] Expressions;
    /// Skips the words of the second operand unless the first is 0.
    Or { words: u32 } -1 [] Expressions;
    Add {} -1 [] Expressions;
    Sub {} -1 [] Expressions;
    Mul {} -1 [] Expressions;
    Div { text: Text } -1 [Leaves] Expressions;
    Rem { text: Text } -1 [Leaves] Expressions;
    CeilDiv { text: Text } -1 [Leaves] Expressions;
    Min {} -1 [] Expressions;
    Max {} -1 [] Expressions;
    Neg {} 0 [] Expressions;
    Fadd {} -1 [] Values;
    Fsub {} -1 [] Values;
    Fmul {} -1 [] Values;
    Fdiv {} -1 [] Values;
    Fmin {} -1 [] Values;
    Fmax {} -1 [] Values;
    Fneg {} 0 [] Values;
    /// From integer to float.
    ToFloat {} 0 [] Values;
    /// To a narrower integer.
    Narrow { text: Text, name: Text, bits: u32, signed: bool } 0 [] Values;
    /// To 0 or 1.
    Truth {} 0 [] Expressions;
    /// To `float32` and back.
    RoundSingle {} 0 [] Values;
    /// To a 16-bit float and back.
    RoundHalf { mantissa: u32, bias: u32 } 0 [] Values;
    Eq {} -1 [] Expressions;
    Ne {} -1 [] Expressions;
    Lt {} -1 [] Expressions;
    Le {} -1 [] Expressions;
    Gt {} -1 [] Expressions;
    Ge {} -1 [] Expressions;
    Feq {} -1 [] Values;
    Fne {} -1 [] Values;
    Flt {} -1 [] Values;
    Fle {} -1 [] Values;
    Fgt {} -1 [] Values;
    Fge {} -1 [] Values;
    /// Of integers without a sign, as the rest.
    Ult {} -1 [] Expressions;
    Ule {} -1 [] Expressions;
    Ugt {} -1 [] Expressions;
    Uge {} -1 [] Expressions;
    /// To a narrower integer.
    NarrowUnsigned { text: Text, name: Text, bits: u32, signed: bool } 0 [] Values;
    UnsignedToFloat {} 0 [] Values;
}

/// Those of operators.
impl Rpn {
    pub(crate) fn unary(op: Unary) -> Rpn {
        match op {
            Unary::Neg => Rpn::Neg,
            Unary::Fneg => Rpn::Fneg,
            Unary::Not => Rpn::Not,
            Unary::ToFloat => Rpn::ToFloat,
            Unary::UnsignedToFloat => Rpn::UnsignedToFloat,
            Unary::Truth => Rpn::Truth,
        }
    }

    pub(crate) fn division(op: Division) -> Rpn {
        match op {
            Division::Div => Rpn::Div,
            Division::Rem => Rpn::Rem,
            Division::CeilDiv => Rpn::CeilDiv,
        }
    }

    pub(crate) fn binary(op: Binary) -> Rpn {
        match op {
            Binary::Add => Rpn::Add,
            Binary::Sub => Rpn::Sub,
            Binary::Mul => Rpn::Mul,
            Binary::Min => Rpn::Min,
            Binary::Max => Rpn::Max,
            Binary::Fadd => Rpn::Fadd,
            Binary::Fsub => Rpn::Fsub,
            Binary::Fmul => Rpn::Fmul,
            Binary::Fdiv => Rpn::Fdiv,
            Binary::Fmin => Rpn::Fmin,
            Binary::Fmax => Rpn::Fmax,
            Binary::Eq => Rpn::Eq,
            Binary::Ne => Rpn::Ne,
            Binary::Lt => Rpn::Lt,
            Binary::Le => Rpn::Le,
            Binary::Gt => Rpn::Gt,
            Binary::Ge => Rpn::Ge,
            Binary::Ult => Rpn::Ult,
            Binary::Ule => Rpn::Ule,
            Binary::Ugt => Rpn::Ugt,
            Binary::Uge => Rpn::Uge,
            Binary::Feq => Rpn::Feq,
            Binary::Fne => Rpn::Fne,
            Binary::Flt => Rpn::Flt,
            Binary::Fle => Rpn::Fle,
            Binary::Fgt => Rpn::Fgt,
            Binary::Fge => Rpn::Fge,
        }
    }
}
