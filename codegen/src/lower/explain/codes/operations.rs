//! Operations of expressions, in reverse Polish notation.

use super::coded::coded;
use super::{Coded, Head, Tail, Text};
use crate::lower::explain::schema::{Texts, Words, codes, record};
use crate::resolve::operator::{Binary, Division, Unary};

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
    /// Skips the words of the second operand if the first is 0.
    And { words: u32 } -1 [];
    /// Skips the words of the second operand unless the first is 0.
    Or { words: u32 } -1 [];
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
    /// Of integers without a sign, as the rest.
    Ult {} -1 [];
    Ule {} -1 [];
    /// To a narrower integer.
    NarrowUnsigned { text: Text, name: Text, bits: u32, signed: bool } 0 [];
    UnsignedToFloat {} 0 [];
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
            Binary::Feq => Rpn::Feq,
            Binary::Fne => Rpn::Fne,
            Binary::Flt => Rpn::Flt,
            Binary::Fle => Rpn::Fle,
            Binary::Fgt => Rpn::Fgt,
            Binary::Fge => Rpn::Fge,
        }
    }
}
