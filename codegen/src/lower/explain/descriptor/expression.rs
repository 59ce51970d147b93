//! Encoding constraints and expressions.

use abi_spec::Scalar;

use crate::declaration::{BinaryOp, Builtin, Expr, Member};
use crate::declaration::{Comparison, ParamType, Shape};
use crate::lower::explain::codes::{LeafKind, Op, Rpn};
use crate::lower::explain::descriptor::Encoder;
use crate::lower::prologue::expression::{named_word, text_and_value};
use crate::lower::prologue::scalar::half_format;
use crate::resolve::kind::Kind;
use crate::resolve::scope::Meaning;
use crate::resolve::steps::Place;
use crate::resolve::values::Source;

impl Encoder<'_> {
    pub(crate) fn constraint(&mut self, index: usize) {
        let scope = self.scope;
        let constraint = &scope.function.signature.constraints[index];
        self.op(Op::Constraint);
        match &constraint.message {
            Some(message) => {
                self.text("");
                self.text(message);
            }
            None => {
                self.text("Violated ");
                self.text(&constraint.comparison().to_string());
            }
        }
        self.leaves(&[&constraint.lhs, &constraint.rhs]);
        if let Some((text, value)) = text_and_value(scope, constraint) {
            let slot = self.slot(value);
            self.code(Rpn::SameText);
            self.words(&[slot]);
            self.whole_text(text);
            if constraint.op == Comparison::Ne {
                self.code(Rpn::Not);
            }
            return self.code(Rpn::End);
        }
        let float = self.is_float(&constraint.lhs) || self.is_float(&constraint.rhs);
        self.comparand(&constraint.lhs, &constraint.rhs, float);
        self.comparand(&constraint.rhs, &constraint.lhs, float);
        let op = match (constraint.op, float) {
            (Comparison::Eq, false) => Rpn::Eq,
            (Comparison::Ne, false) => Rpn::Ne,
            (Comparison::Lt, false) => Rpn::Lt,
            (Comparison::Le, false) => Rpn::Le,
            (Comparison::Gt, false) => Rpn::Gt,
            (Comparison::Ge, false) => Rpn::Ge,
            (Comparison::Eq, true) => Rpn::Feq,
            (Comparison::Ne, true) => Rpn::Fne,
            (Comparison::Lt, true) => Rpn::Flt,
            (Comparison::Le, true) => Rpn::Fle,
            (Comparison::Gt, true) => Rpn::Fgt,
            (Comparison::Ge, true) => Rpn::Fge,
        };
        self.code(op);
        self.code(Rpn::End);
    }

    fn is_float(&self, expr: &Expr) -> bool {
        self.scope.kind(expr) == Ok(Kind::Float)
    }

    pub(crate) fn expression(&mut self, expr: &Expr) {
        self.rpn(expr);
        self.code(Rpn::End);
    }

    /// Two operands, as floats if `float`.
    fn pair(&mut self, lhs: &Expr, rhs: &Expr, float: bool) {
        for expr in [lhs, rhs] {
            self.rpn(expr);
            if float && !self.is_float(expr) {
                self.code(Rpn::ToFloat);
            }
        }
    }

    /// An operand of a comparison. Text in quotes is what it names.
    fn comparand(&mut self, expr: &Expr, other: &Expr, float: bool) {
        if let (Expr::Text(text), Ok(kind)) = (expr, self.scope.kind(other)) {
            return self.constant(named_word(text, kind) as u64);
        }
        self.rpn(expr);
        if float && !self.is_float(expr) {
            self.code(Rpn::ToFloat);
        }
    }

    fn constant(&mut self, bits: u64) {
        self.code(Rpn::Const);
        self.wide(bits);
    }

    fn rpn(&mut self, expr: &Expr) {
        match expr {
            Expr::Int(value) => self.constant(*value as u64),
            Expr::Float(value) => self.constant(value.to_bits()),
            Expr::Null | Expr::Text(_) => self.constant(0),
            Expr::Name(name) => {
                let slot = match self.scope.meaning(name) {
                    // The address of what is not allocated yet: nothing that can fail depends on it.
                    Some(Meaning::Output(_)) => return self.constant(0),
                    Some(Meaning::Symbol(symbol)) => symbol as u32,
                    Some(Meaning::Value(value)) => self.slot(value),
                    None => unreachable!("names are resolved before they are lowered"),
                };
                self.code(Rpn::Slot);
                self.words(&[slot]);
            }
            Expr::Member(of, member) => self.member(of, *member),
            Expr::Element(..) | Expr::Field(..) => self.element(expr),
            Expr::Neg(inner) => {
                self.rpn(inner);
                let op = if self.is_float(inner) { Rpn::Fneg } else { Rpn::Neg };
                self.code(op);
            }
            Expr::Binary(op, lhs, rhs) => {
                let float = self.is_float(lhs) || self.is_float(rhs);
                self.pair(lhs, rhs, float);
                let rpn = match (op, float) {
                    (BinaryOp::Add, false) => Rpn::Add,
                    (BinaryOp::Sub, false) => Rpn::Sub,
                    (BinaryOp::Mul, false) => Rpn::Mul,
                    (BinaryOp::Div, false) => return self.division(Rpn::Div, expr),
                    (BinaryOp::Rem, _) => return self.division(Rpn::Rem, expr),
                    (BinaryOp::Add, true) => Rpn::Fadd,
                    (BinaryOp::Sub, true) => Rpn::Fsub,
                    (BinaryOp::Mul, true) => Rpn::Fmul,
                    (BinaryOp::Div, true) => Rpn::Fdiv,
                };
                self.code(rpn);
            }
            Expr::Call(builtin, lhs, rhs) => {
                let float = self.is_float(lhs) || self.is_float(rhs);
                self.pair(lhs, rhs, float);
                let rpn = match (builtin, float) {
                    (Builtin::CeilDiv, _) => return self.division(Rpn::CeilDiv, expr),
                    (Builtin::Min, false) => Rpn::Min,
                    (Builtin::Max, false) => Rpn::Max,
                    (Builtin::Min, true) => Rpn::Fmin,
                    (Builtin::Max, true) => Rpn::Fmax,
                };
                self.code(rpn);
            }
            // Computing a stream never fails and constraints do not mention streams.
            Expr::Stream(_) => self.constant(0),
            Expr::Cast(scalar, inner) => self.cast(*scalar, inner, expr),
        }
    }

    fn division(&mut self, op: Rpn, expr: &Expr) {
        self.code(op);
        self.text(&expr.to_string());
        self.leaves(&[expr]);
    }

    fn element(&mut self, expr: &Expr) {
        if let Some(value) = self.scope.value_of(expr) {
            let slot = self.slot(value);
            self.code(Rpn::Slot);
            return self.words(&[slot]);
        }
        let Some((value, index)) = self.scope.number_of_shape(expr) else {
            unreachable!("only tuples and shapes have elements")
        };
        let slot = self.slot(value);
        if let ParamType::Shape(Shape::AnyRank) = self.scope.values[value].ty {
            self.code(Rpn::Count);
            self.words(&[slot, index]);
            self.operand_head(Place::Value { value });
        }
        self.code(Rpn::Number);
        self.words(&[slot, index]);
    }

    fn member(&mut self, of: &Expr, member: Member) {
        if let Some(output) = self.scope.output_of(of) {
            return match self.scope.output_value(output, member) {
                Some(expr) => self.rpn(&expr),
                None => self.constant(0),
            };
        }
        let Some(value) = self.scope.value_of(of) else { unreachable!("only values have members") };
        let slot = self.slot(value);
        let declared = &self.scope.values[value];
        let (op, dim) = match (declared.ty, member) {
            (_, Member::IsSome) => (Rpn::IsSome, None),
            (_, Member::Size) => match (declared.ty, declared.source) {
                (_, Source::Rest(first)) => {
                    self.code(Rpn::RestSize);
                    return self.words(&[first as u32]);
                }
                (ParamType::Shape(_), _) => (Rpn::NumberCount, None),
                (ParamType::Sequence(..), _) => (Rpn::Length, None),
                _ => (Rpn::TextSize, None),
            },
            (ParamType::Device, Member::DeviceType) => (Rpn::TypeOfDevice, None),
            (ParamType::Device, _) => (Rpn::IndexOfDevice, None),
            (ParamType::Tensor(_), Member::Data) => (Rpn::Data, None),
            (_, Member::Data) => unreachable!("the address of text cannot be computed with"),
            (_, Member::Shape(dim)) => (Rpn::Extent, Some(dim)),
            (_, Member::Strides(dim)) => (Rpn::Stride, Some(dim)),
            (_, Member::Ndim) => (Rpn::Ndim, None),
            (_, Member::DType) => (Rpn::Dtype, None),
            (_, Member::Numel) => (Rpn::Numel, None),
            (_, Member::IsContiguous) => (Rpn::IsCompact, None),
            (_, Member::DeviceType) => (Rpn::DeviceType, None),
            (_, Member::DeviceId) => (Rpn::DeviceId, None),
            (_, Member::ByteOffset) => (Rpn::ByteOffset, None),
        };
        let free = self.scope.tensor_of(value).is_some_and(|tensor| tensor.rank().is_none());
        if let Some(dim) = dim
            && free
        {
            self.code(Rpn::Rank);
            self.words(&[slot, dim]);
            self.operand_head(Place::Value { value });
        }
        self.code(op);
        self.word(slot);
        dim.into_iter().for_each(|dim| self.word(dim));
    }

    fn cast(&mut self, scalar: Scalar, inner: &Expr, expr: &Expr) {
        self.rpn(inner);
        if scalar.is_float() && !self.is_float(inner) {
            self.code(Rpn::ToFloat);
        }
        match scalar {
            Scalar::Bool => self.code(Rpn::Truth),
            Scalar::Float64 | Scalar::Int64 | Scalar::Ptr => {}
            Scalar::Float32 => self.code(Rpn::RoundSingle),
            Scalar::Float16 | Scalar::BFloat16 => {
                let (mantissa, bias) = half_format(scalar);
                self.code(Rpn::RoundHalf);
                self.words(&[mantissa as u32, bias as u32]);
            }
            Scalar::Int8
            | Scalar::Int16
            | Scalar::Int32
            | Scalar::Uint8
            | Scalar::Uint16
            | Scalar::Uint32
            | Scalar::Uint64 => {
                self.code(Rpn::Narrow);
                self.text(&expr.to_string());
                self.text(scalar.name());
                self.words(&[scalar.bits(), u32::from(scalar.is_signed())]);
            }
        }
    }

    fn leaves(&mut self, exprs: &[&Expr]) {
        let mut leaves: Vec<&Expr> = Vec::new();
        exprs.iter().for_each(|expr| collect_leaves(expr, &mut leaves));
        self.counted(|e| {
            e.word(leaves.len() as u32);
            leaves.into_iter().for_each(|leaf| e.leaf(leaf));
        });
    }

    fn leaf(&mut self, leaf: &Expr) {
        self.text(&leaf.to_string());
        let kind = match self.scope.kind(leaf) {
            Ok(Kind::Int) => LeafKind::Int,
            Ok(Kind::Float) => LeafKind::Float,
            Ok(Kind::DType) => LeafKind::DType,
            Ok(Kind::Device) => LeafKind::Device,
            Ok(Kind::Text) => LeafKind::Text,
            Ok(Kind::Ptr | Kind::Several) | Err(_) => LeafKind::Ptr,
        };
        self.used.leaf(kind);
        self.word(kind as u32);
        match (kind, self.scope.value_of(leaf)) {
            // The routine finds the text by itself.
            (LeafKind::Text, Some(value)) => {
                let slot = self.slot(value);
                self.constant(slot.into());
                self.code(Rpn::End);
            }
            _ => self.expression(leaf),
        }
    }
}

/// The names and members of an expression, in order, without repetition.
fn collect_leaves<'e>(expr: &'e Expr, leaves: &mut Vec<&'e Expr>) {
    let is_leaf =
        matches!(expr, Expr::Name(_) | Expr::Member(..) | Expr::Element(..) | Expr::Field(..));
    if is_leaf {
        if !leaves.contains(&expr) {
            leaves.push(expr);
        }
        return;
    }
    expr.children().for_each(|child| collect_leaves(child, leaves));
}
