//! Expressions and constraints in the wrapper's own code.

use abi_spec::layout::seq_cell;
use abi_spec::{DType, DeviceType, Scalar};

use crate::declaration::{BinaryOp, Builtin, Expr, Member};
use crate::declaration::{Comparison, Constraint, Device, ParamType, Shape};
use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::prologue::wrapper::{SymbolState, ValueState, Wrapper};
use crate::resolve::kind::{Kind, constant};
use crate::resolve::scope::{Meaning, Scope};

impl Wrapper<'_, '_> {
    /// Requires a constraint to hold.
    pub(crate) fn constraint(&mut self, index: usize) {
        let constraint = &self.resolved.scope.function.signature.constraints[index];
        let (lhs, rhs) = (&constraint.lhs, &constraint.rhs);
        let float = self.is_float(lhs) || self.is_float(rhs);
        let holds = match self.comparison_of_text(constraint) {
            Some(holds) => holds,
            None => {
                let (lhs, rhs) = (self.comparand(lhs, rhs, float), self.comparand(rhs, lhs, float));
                self.b.compare(condition(constraint.op, float), lhs, rhs)
            }
        };
        let violated = self.b.not(holds);
        self.checks.never(&mut self.b, violated);
    }

    /// An operand of a comparison. Text in quotes is what it names.
    fn comparand(&mut self, expr: &Expr, other: &Expr, float: bool) -> Value {
        match (expr, self.resolved.scope.kind(other)) {
            (Expr::Text(text), Ok(kind)) => self.b.i64(named_word(text, kind)),
            _ => self.operand(expr, float),
        }
    }

    /// Whether two texts, of which one is in quotes, are equal or not, as the constraint wants.
    fn comparison_of_text(&mut self, constraint: &Constraint) -> Option<Value> {
        let scope = &self.resolved.scope;
        let (text, other) = text_and_value(scope, constraint)?;
        let ValueState::Pair(data, size) = self.values[other] else { return None };
        let same = self.text_equals(data, size, text);
        Some(if constraint.op == Comparison::Eq { same } else { self.b.not(same) })
    }

    fn is_float(&self, expr: &Expr) -> bool {
        self.resolved.scope.kind(expr) == Ok(Kind::Float)
    }

    /// An operand of arithmetic that is done in `float64` if `float`.
    fn operand(&mut self, expr: &Expr, float: bool) -> Value {
        let value = self.expression(expr);
        if float { self.float_of(value) } else { value }
    }

    fn float_of(&mut self, value: Value) -> Value {
        if self.b.ty(value) == Type::F64 {
            return value;
        }
        self.b.convert(Convert::SintToFloat, value, Type::F64)
    }

    /// The value of an expression as `I64`, `F64` or `Ptr`.
    pub(crate) fn expression(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Int(value) => self.b.i64(*value),
            Expr::Float(value) => self.b.f64(*value),
            Expr::Text(_) => unreachable!("text is only compared"),
            Expr::Null => self.b.null(),
            Expr::Name(name) => match self.resolved.scope.meaning(name) {
                Some(Meaning::Symbol(symbol)) => self.symbol(symbol),
                Some(Meaning::Value(value)) => self.whole(value),
                Some(Meaning::Output(output)) => self.output_tensor(output),
                None => unreachable!("names are resolved before they are lowered"),
            },
            Expr::Member(of, member) => self.member(of, *member),
            Expr::Element(..) | Expr::Field(..) => self.element(expr),
            Expr::Neg(inner) => {
                let value = self.expression(inner);
                self.negate(value)
            }
            Expr::Binary(op, lhs, rhs) => self.arithmetic(*op, lhs, rhs),
            Expr::Call(builtin, lhs, rhs) => self.builtin(*builtin, lhs, rhs),
            Expr::Stream(of) => self.stream(of),
            Expr::Cast(scalar, inner) => {
                let native = self.cast(*scalar, inner);
                self.widen(native, *scalar)
            }
        }
    }

    fn symbol(&mut self, symbol: usize) -> Value {
        match self.symbols[symbol] {
            SymbolState::Bound(value) | SymbolState::Maybe(value, _) => value,
            SymbolState::Unbound => unreachable!("symbols are bound before they are used"),
        }
    }

    /// A value that is one word in expressions.
    fn whole(&mut self, value: usize) -> Value {
        match self.values[value].clone() {
            ValueState::Scalar(_) => {
                let scalar = self.resolved.scope.values[value].ty.scalar();
                self.wide(value, scalar.unwrap_or_else(|| unreachable!("this is a scalar")))
            }
            ValueState::Tensor(state) => self.or_zero(value, state.dl),
            ValueState::Word(word) => word,
            ValueState::Pending | ValueState::Pair(..) | ValueState::Tuple(_) => {
                unreachable!("several values are no operand")
            }
        }
    }

    fn element(&mut self, expr: &Expr) -> Value {
        let scope = &self.resolved.scope;
        if let Some(value) = scope.value_of(expr) {
            return self.whole(value);
        }
        let Some((value, index)) = scope.number_of_shape(expr) else {
            unreachable!("only tuples and shapes have elements")
        };
        if let (ParamType::Shape(Shape::AnyRank), ValueState::Pair(_, size)) =
            (scope.values[value].ty, self.values[value].clone())
        {
            let has = self.b.compare_const(Cond::Sgt, size, index.into());
            self.guard_where_there(value, has);
        }
        let number = self.number_of(value, index as usize);
        self.or_zero(value, number)
    }

    fn member(&mut self, of: &Expr, member: Member) -> Value {
        if let Some(output) = self.resolved.scope.output_of(of) {
            return self.output_member(output, member);
        }
        let Some(value) = self.resolved.scope.value_of(of) else {
            unreachable!("only values have members")
        };
        if member == Member::IsSome {
            let there = self.mask(value);
            let there = there.unwrap_or_else(|| self.b.constant(Type::Bool, 1));
            return self.b.widen_bool(there, Type::I64);
        }
        let word = match (self.values[value].clone(), member) {
            (ValueState::Tensor(_), _) => self.tensor_member(value, member),
            (ValueState::Pair(data, _), Member::Data) => data,
            (ValueState::Pair(_, size), _) => size,
            (ValueState::Word(device), Member::DeviceType) => {
                let [ty, _] = self.device_numbers(device);
                self.b.convert(Convert::Sext, ty, Type::I64)
            }
            (ValueState::Word(device), Member::DeviceId) => {
                let [_, index] = self.device_numbers(device);
                self.b.convert(Convert::Sext, index, Type::I64)
            }
            (ValueState::Word(sequence), _) => {
                let sequence = self.readable(value, sequence, 40);
                self.b.load(Type::I64, sequence, seq_cell::SIZE.in_object())
            }
            _ => unreachable!("no other value has members"),
        };
        self.or_zero(value, word)
    }

    fn tensor_member(&mut self, value: usize, member: Member) -> Value {
        let rank = self.resolved.scope.tensor_of(value).and_then(|tensor| tensor.rank());
        match (member, rank) {
            (Member::Data, _) => self.address(value),
            (Member::Shape(dim), Some(_)) => self.extent(value, dim as usize),
            (Member::Strides(dim), Some(_)) => self.stride(value, dim as usize),
            (Member::Shape(dim), None) => {
                self.require_rank(value, dim);
                let shape = self.tensor_state(value).shape;
                let shape = shape.unwrap_or_else(|| unreachable!("loaded with the header"));
                let shape = self.readable(value, shape, 8 * (dim as usize + 1));
                self.b.load(Type::I64, shape, 8 * dim as i32)
            }
            (Member::Strides(dim), None) => {
                self.require_rank(value, dim);
                let (dl, dim) = (self.tensor_state(value).dl, self.b.i64(dim.into()));
                self.routine_value(Routine::StrideAt, &[dl, dim])
            }
            (Member::Ndim, Some(rank)) => self.b.i64(rank as i64),
            (Member::Ndim, None) => {
                let ndim = self.ndim32(value);
                self.b.convert(Convert::Sext, ndim, Type::I64)
            }
            (Member::Numel, Some(_)) => self.numel(value),
            (Member::Numel, None) => {
                let dl = self.tensor_state(value).dl;
                self.routine_value(Routine::Numel, &[dl])
            }
            (Member::IsContiguous, _) => {
                let dl = self.tensor_state(value).dl;
                let is = self.routine_value(Routine::IsCompact, &[dl]);
                self.b.convert(Convert::Zext, is, Type::I64)
            }
            (Member::DType, _) => {
                let dtype = self.dtype32(value);
                self.b.convert(Convert::Zext, dtype, Type::I64)
            }
            (Member::DeviceType, _) => {
                let ty = self.device_type32(value);
                self.b.convert(Convert::Sext, ty, Type::I64)
            }
            (Member::DeviceId, _) => {
                let id = self.device_id32(value);
                self.b.convert(Convert::Sext, id, Type::I64)
            }
            (Member::ByteOffset, _) => self.byte_offset(value),
            (Member::Size | Member::IsSome, _) => unreachable!("no member of tensors"),
        }
    }

    /// Leaves at once if a tensor of free rank has no such dim: loads below depend on it.
    fn require_rank(&mut self, value: usize, dim: u32) {
        let ndim = self.ndim32(value);
        let has = self.b.compare_const(Cond::Sgt, ndim, dim.into());
        self.guard_where_there(value, has);
    }

    /// Leaves at once unless a condition holds or the value is not there.
    fn guard_where_there(&mut self, value: usize, holds: Value) {
        let holds = match self.mask(value) {
            Some(mask) => {
                let absent = self.b.not(mask);
                self.b.or(absent, holds)
            }
            None => holds,
        };
        self.b.guard(holds, self.fail);
    }

    pub(crate) fn negate(&mut self, value: Value) -> Value {
        if self.b.ty(value) == Type::F64 {
            // Not 0 - x, which loses the sign of zero.
            let minus_one = self.b.f64(-1.0);
            return self.b.binary(Binary::Fmul, value, minus_one);
        }
        let zero = self.b.i64(0);
        self.b.binary(Binary::Sub, zero, value)
    }

    fn arithmetic(&mut self, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Value {
        let float = self.is_float(lhs) || self.is_float(rhs);
        let divisor = constant(rhs);
        let (a, b) = (self.operand(lhs, float), self.operand(rhs, float));
        let op = match (op, float) {
            (BinaryOp::Add, false) => Binary::Add,
            (BinaryOp::Sub, false) => Binary::Sub,
            (BinaryOp::Mul, false) => Binary::Mul,
            (BinaryOp::Div, false) => return self.quotient(a, b, divisor).0,
            (BinaryOp::Rem, false) => return self.quotient(a, b, divisor).1,
            (BinaryOp::Add, true) => Binary::Fadd,
            (BinaryOp::Sub, true) => Binary::Fsub,
            (BinaryOp::Mul, true) => Binary::Fmul,
            (BinaryOp::Div | BinaryOp::Rem, true) => Binary::Fdiv,
        };
        self.b.binary(op, a, b)
    }

    fn builtin(&mut self, builtin: Builtin, lhs: &Expr, rhs: &Expr) -> Value {
        let float = self.is_float(lhs) || self.is_float(rhs);
        let divisor = constant(rhs);
        let (a, b) = (self.operand(lhs, float), self.operand(rhs, float));
        let less = if float { Cond::Flt } else { Cond::Slt };
        match builtin {
            Builtin::CeilDiv => {
                let (quotient, remainder) = self.quotient(a, b, divisor);
                let inexact = self.b.compare_const(Cond::Ne, remainder, 0);
                let one = self.b.widen_bool(inexact, Type::I64);
                self.b.binary(Binary::Add, quotient, one)
            }
            Builtin::Min => {
                let first = self.b.compare(less, a, b);
                self.b.select(first, a, b)
            }
            Builtin::Max => {
                let second = self.b.compare(less, a, b);
                self.b.select(second, b, a)
            }
        }
    }

    /// Floor quotient and remainder; leaves if the divisor is zero.
    fn quotient(&mut self, a: Value, b: Value, divisor: Option<i64>) -> (Value, Value) {
        match divisor {
            Some(divisor) if divisor > 0 && divisor.count_ones() == 1 => {
                let shift = i64::from(divisor.trailing_zeros());
                let quotient = self.b.binary_const(Binary::Ashr, a, shift);
                (quotient, self.b.binary_const(Binary::And, a, divisor - 1))
            }
            Some(-1) => (self.negate(a), self.b.i64(0)),
            Some(_) => floor(&mut self.b, a, b),
            None if self.checks.mask.is_some() => {
                // Where the check does not apply the divisor may be zero.
                let zero = self.b.compare_const(Cond::Eq, b, 0);
                self.checks.never(&mut self.b, zero);
                let one = self.b.i64(1);
                let b = self.b.select(zero, one, b);
                self.floor_divide(a, b)
            }
            None => {
                let some = self.b.compare_const(Cond::Ne, b, 0);
                self.b.guard(some, self.fail);
                self.floor_divide(a, b)
            }
        }
    }

    /// Floor quotient and remainder by a divisor that is not zero, but may be -1.
    pub(crate) fn floor_divide(&mut self, a: Value, b: Value) -> (Value, Value) {
        let b_ = &mut self.b;
        let minus = b_.compare_const(Cond::Eq, b, -1);
        let one = b_.i64(1);
        let safe = b_.select(minus, one, b);
        let (quotient, remainder) = floor(b_, a, safe);
        let zero = b_.i64(0);
        let negated = b_.binary(Binary::Sub, zero, a);
        (b_.select(minus, negated, quotient), remainder)
    }

    fn stream(&mut self, of: &Expr) -> Value {
        if let Some(output) = self.resolved.scope.output_of(of) {
            return self.output_stream(output);
        }
        let Some((value, tensor)) = self.resolved.scope.tensor(of) else {
            unreachable!("streams belong to tensors")
        };
        if tensor.device == Device::Type(DeviceType::CPU) {
            return self.b.null();
        }
        let id = self.device_id32(value);
        let get = crate::lower::runtime(self.b.module, &abi_spec::runtime::ENV_GET_STREAM);
        if let Device::Type(declared) = tensor.device
            && self.mask(value).is_none()
        {
            let ty = self.b.i32(declared.0);
            return self.b.call_value(get, &[ty, id]);
        }
        let ty = self.device_type32(value);
        // A tensor that is not there has device type 0.
        let cpu = self.b.compare_const(Cond::Ule, ty, DeviceType::CPU.0.into());
        let none = |b: &mut crate::ir::Builder<'_>| b.null();
        self.b.if_else(cpu, Type::Ptr, none, |b| b.call_value(get, &[ty, id]))
    }

    /// A checked conversion, in the C type of `scalar`.
    pub(crate) fn cast(&mut self, scalar: Scalar, inner: &Expr) -> Value {
        let value = self.expression(inner);
        if scalar.is_float() {
            let value = self.float_of(value);
            return self.round(value, scalar);
        }
        if scalar == Scalar::Bool {
            let truth = self.b.compare_const(Cond::Ne, value, 0);
            return self.b.widen_bool(truth, Type::I8);
        }
        self.narrow(value, scalar)
    }
}

/// Floor quotient and remainder by a divisor that is neither 0 nor -1.
pub(crate) fn floor(b: &mut crate::ir::Builder<'_>, x: Value, y: Value) -> (Value, Value) {
    let quotient = b.binary(Binary::Sdiv, x, y);
    let remainder = b.binary(Binary::Srem, x, y);
    let inexact = b.compare_const(Cond::Ne, remainder, 0);
    let signs = b.binary(Binary::Xor, remainder, y);
    let unlike = b.compare_const(Cond::Slt, signs, 0);
    let adjust = b.and(inexact, unlike);
    let one = b.widen_bool(adjust, Type::I64);
    let quotient = b.binary(Binary::Sub, quotient, one);
    let zero = b.i64(0);
    let addend = b.select(adjust, y, zero);
    (quotient, b.binary(Binary::Add, remainder, addend))
}

/// The word that text in quotes stands for beside an element type or a device.
pub(crate) fn named_word(text: &str, kind: Kind) -> i64 {
    let dtype = || text.parse::<DType>().map_or(0, |dtype| dtype.to_word().into());
    let device = || text.parse::<abi_spec::Device>().map_or(0, |device| device.to_word() as i64);
    if kind == Kind::DType { dtype() } else { device() }
}

/// The text in quotes and the value of a constraint that compares texts.
pub(crate) fn text_and_value<'e>(
    scope: &Scope<'_>,
    constraint: &'e Constraint,
) -> Option<(&'e str, usize)> {
    let (text, other) = match (&constraint.lhs, &constraint.rhs) {
        (Expr::Text(text), other) | (other, Expr::Text(text)) => (text, other),
        _ => return None,
    };
    let is_text = scope.kind(other) == Ok(Kind::Text);
    scope.value_of(other).filter(|_| is_text).map(|value| (text.as_str(), value))
}

/// The condition of a comparison operator.
pub(crate) fn condition(op: Comparison, float: bool) -> Cond {
    match (op, float) {
        (Comparison::Eq, false) => Cond::Eq,
        (Comparison::Ne, false) => Cond::Ne,
        (Comparison::Lt, false) => Cond::Slt,
        (Comparison::Le, false) => Cond::Sle,
        (Comparison::Gt, false) => Cond::Sgt,
        (Comparison::Ge, false) => Cond::Sge,
        (Comparison::Eq, true) => Cond::Feq,
        (Comparison::Ne, true) => Cond::Fne,
        (Comparison::Lt, true) => Cond::Flt,
        (Comparison::Le, true) => Cond::Fle,
        (Comparison::Gt, true) => Cond::Fgt,
        (Comparison::Ge, true) => Cond::Fge,
    }
}
