//! Expressions, symbols and constraints in the wrapper's own code.

use abi_spec::{DeviceType, Scalar};

use super::routines::Routine;
use super::wrapper::{SymbolState, Wrapper};
use crate::declaration::{Comparison, Device};
use crate::expr::{BinaryOp, Builtin, Expr, Member};
use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::linear::Linear;
use crate::resolve::{Place, Rule};
use crate::scope::{Kind, Meaning, constant};

impl Wrapper<'_, '_> {
    /// Checks one occurrence, or binds a symbol by it.
    pub(super) fn occurrence(&mut self, place: Place, rule: &Rule<'_>) {
        let (value, counts) = self.place(place);
        match rule {
            Rule::Any => self.sign(place, value),
            Rule::Symbol(symbol) => {
                let extent = matches!(place, Place::Extent { .. });
                if !self.known_sign[*symbol] {
                    self.sign(place, value);
                    self.known_sign[*symbol] = extent;
                }
                self.bind(*symbol, value, counts);
            }
            Rule::Equal(expr) => {
                if constant(expr).is_none() {
                    self.sign(place, value);
                }
                let expected = self.expression(expr);
                self.require_equal(value, expected, counts);
            }
            Rule::Solve { symbol, linear, .. } => {
                self.sign(place, value);
                if let SymbolState::Maybe(known, bound) = self.symbols[*symbol] {
                    let constant = self.expression(&linear.constant);
                    let coefficient = self.expression(&linear.coefficient);
                    let expected = self.b.binary(Binary::Mul, coefficient, known);
                    let expected = self.b.binary(Binary::Add, expected, constant);
                    let free = self.b.not(bound);
                    let (comparing, solving) = match counts {
                        None => (bound, free),
                        Some(counts) => (self.b.and(bound, counts), self.b.and(free, counts)),
                    };
                    self.require_equal(value, expected, Some(comparing));
                    let solved = self.solve(value, linear, Some(solving));
                    let solved = self.b.select(bound, known, solved);
                    self.symbols[*symbol] = match counts {
                        None => SymbolState::Bound(solved),
                        Some(counts) => SymbolState::Maybe(solved, self.b.or(bound, counts)),
                    };
                    return;
                }
                let solved = self.solve(value, linear, counts);
                self.bind(*symbol, solved, counts);
            }
        }
    }

    /// The number at a place, and for a stride whether it counts.
    fn place(&mut self, place: Place) -> (Value, Option<Value>) {
        match place {
            Place::Value { param } => {
                let scalar = match self.resolved.scope.function.signature.params[param].ty {
                    crate::ParamType::Scalar(scalar) => scalar,
                    crate::ParamType::Tensor(_) => unreachable!("only integers are occurrences"),
                };
                (self.wide(param, scalar), None)
            }
            Place::Extent { param, dim } => (self.extent(param, dim), None),
            Place::Stride { param, dim } => {
                (self.stride(param, dim), Some(self.stride_counts(param, dim)))
            }
        }
    }

    /// Extents are never negative.
    fn sign(&mut self, place: Place, value: Value) {
        if matches!(place, Place::Extent { .. }) {
            self.checks.non_negative(&mut self.b, value);
        }
    }

    /// Requires equality, where the place counts.
    fn require_equal(&mut self, value: Value, expected: Value, counts: Option<Value>) {
        let Some(counts) = counts else {
            return self.checks.equal(&mut self.b, value, expected);
        };
        let differs = self.b.compare(Cond::Ne, value, expected);
        let violated = self.b.and(counts, differs);
        self.checks.never(&mut self.b, violated);
    }

    fn bind(&mut self, symbol: usize, value: Value, counts: Option<Value>) {
        self.symbols[symbol] = match (self.symbols[symbol], counts) {
            (SymbolState::Unbound, None) => SymbolState::Bound(value),
            (SymbolState::Unbound, Some(counts)) => SymbolState::Maybe(value, counts),
            (SymbolState::Bound(known), counts) => {
                self.require_equal(value, known, counts);
                SymbolState::Bound(known)
            }
            (SymbolState::Maybe(known, bound), None) => {
                self.require_equal(value, known, Some(bound));
                SymbolState::Bound(value)
            }
            (SymbolState::Maybe(known, bound), Some(counts)) => {
                let both = self.b.and(bound, counts);
                self.require_equal(value, known, Some(both));
                let either = self.b.or(bound, counts);
                SymbolState::Maybe(self.b.select(bound, known, value), either)
            }
        };
    }

    /// The symbol's value for which the linear expression has this value; there must be one.
    fn solve(&mut self, value: Value, linear: &Linear, counts: Option<Value>) -> Value {
        if linear.is_identity() {
            return value;
        }
        let constant_part = self.expression(&linear.constant);
        let difference = self.b.binary(Binary::Sub, value, constant_part);
        match constant(&linear.coefficient) {
            Some(1) => return difference,
            Some(-1) => return self.negate(difference),
            Some(_) | None => {}
        }
        let coefficient = self.expression(&linear.coefficient);
        let quotient = self.divide_unless_zero(difference, coefficient, counts);
        let product = self.b.binary(Binary::Mul, quotient, coefficient);
        self.require_equal(product, difference, counts);
        quotient
    }

    /// Floor division that requires a divisor that is not zero only where the place counts.
    fn divide_unless_zero(&mut self, value: Value, by: Value, counts: Option<Value>) -> Value {
        let zero = self.b.compare_const(Cond::Eq, by, 0);
        let violated = match counts {
            Some(counts) => self.b.and(zero, counts),
            None => zero,
        };
        self.checks.never(&mut self.b, violated);
        let one = self.b.i64(1);
        let by = self.b.select(zero, one, by);
        self.floor_divide(value, by).0
    }

    /// A symbol that no stride has bound takes the compact value of its first one.
    pub(super) fn settle_symbol(&mut self, symbol: usize, place: Place, linear: &Linear) {
        let (SymbolState::Maybe(known, bound), Place::Stride { param, dim }) =
            (self.symbols[symbol], place)
        else {
            return;
        };
        let compact = self.compact_stride(param, dim);
        let fallback = if linear.is_identity() {
            compact
        } else {
            let constant = self.expression(&linear.constant);
            let difference = self.b.binary(Binary::Sub, compact, constant);
            let coefficient = self.expression(&linear.coefficient);
            let never = self.b.constant(Type::Bool, 0);
            self.divide_unless_zero(difference, coefficient, Some(never))
        };
        self.symbols[symbol] = SymbolState::Bound(self.b.select(bound, known, fallback));
    }

    /// Requires a constraint to hold.
    pub(super) fn constraint(&mut self, index: usize) {
        let constraint = &self.resolved.scope.function.signature.constraints[index];
        let (lhs, rhs) = (&constraint.lhs, &constraint.rhs);
        let float = self.is_float(lhs) || self.is_float(rhs);
        let (lhs, rhs) = (self.operand(lhs, float), self.operand(rhs, float));
        let holds = self.b.compare(condition(constraint.op, float), lhs, rhs);
        let violated = self.b.not(holds);
        self.checks.never(&mut self.b, violated);
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
    pub(super) fn expression(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Int(value) => self.b.i64(*value),
            Expr::Float(value) => self.b.f64(*value),
            Expr::Null => self.b.null(),
            Expr::Name(name) => self.name(name),
            Expr::Member(of, member) => self.member(of, *member),
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

    fn name(&mut self, name: &str) -> Value {
        match self.resolved.scope.meaning(name) {
            Some(Meaning::Symbol(symbol)) => match self.symbols[symbol] {
                SymbolState::Bound(value) | SymbolState::Maybe(value, _) => value,
                SymbolState::Unbound => unreachable!("symbols are bound before they are used"),
            },
            Some(Meaning::Scalar(param, scalar)) => self.wide(param, scalar),
            Some(Meaning::Tensor(param)) => self.tensor_state(param).dl,
            Some(Meaning::Output(output)) => self.output_tensor(output),
            None => unreachable!("names are resolved before they are lowered"),
        }
    }

    fn member(&mut self, of: &Expr, member: Member) -> Value {
        if let Some(output) = self.resolved.scope.output_of(of) {
            return self.output_member(output, member);
        }
        let Some((param, tensor)) = self.resolved.scope.tensor(of) else {
            unreachable!("only tensors have members")
        };
        match (member, tensor.rank()) {
            (Member::Data, _) => self.address(param),
            (Member::Shape(dim), Some(_)) => self.extent(param, dim as usize),
            (Member::Strides(dim), Some(_)) => self.stride(param, dim as usize),
            (Member::Shape(dim), None) => {
                self.require_rank(param, dim);
                let shape = self.tensor_state(param).shape;
                let shape = shape.unwrap_or_else(|| unreachable!("loaded with the header"));
                self.b.load(Type::I64, shape, 8 * dim as i32)
            }
            (Member::Strides(dim), None) => {
                self.require_rank(param, dim);
                let (dl, dim) = (self.tensor_state(param).dl, self.b.i64(dim.into()));
                self.routine_value(Routine::StrideAt, &[dl, dim])
            }
            (Member::Ndim, Some(rank)) => self.b.i64(rank as i64),
            (Member::Ndim, None) => {
                let ndim = self.ndim32(param);
                self.b.convert(Convert::Sext, ndim, Type::I64)
            }
            (Member::DeviceId, _) => {
                let id = self.device_id32(param);
                self.b.convert(Convert::Sext, id, Type::I64)
            }
            (Member::ByteOffset, _) => self.byte_offset(param),
        }
    }

    /// Leaves at once if a tensor of free rank has no such dim: loads below depend on it.
    fn require_rank(&mut self, param: usize, dim: u32) {
        let ndim = self.ndim32(param);
        let has = self.b.compare_const(Cond::Sgt, ndim, dim.into());
        self.b.guard(has, self.fail);
    }

    fn negate(&mut self, value: Value) -> Value {
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
            None => {
                let some = self.b.compare_const(Cond::Ne, b, 0);
                self.b.guard(some, self.fail);
                self.floor_divide(a, b)
            }
        }
    }

    /// Floor quotient and remainder by a divisor that is not zero, but may be -1.
    fn floor_divide(&mut self, a: Value, b: Value) -> (Value, Value) {
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
        let Some((param, tensor)) = self.resolved.scope.tensor(of) else {
            unreachable!("streams belong to tensors")
        };
        if tensor.device == Device::Type(DeviceType::CPU) {
            return self.b.null();
        }
        let ty = self.device_type32(param);
        let id = self.device_id32(param);
        let get = super::runtime(self.b.module, &abi_spec::runtime::ENV_GET_STREAM);
        if tensor.device != Device::Any {
            return self.b.call_value(get, &[ty, id]);
        }
        let cpu = self.b.compare_const(Cond::Eq, ty, DeviceType::CPU.0.into());
        let none = |b: &mut crate::ir::Builder<'_>| b.null();
        self.b.if_else(cpu, Type::Ptr, none, |b| b.call_value(get, &[ty, id]))
    }

    /// A checked conversion, in the C type of `scalar`.
    pub(super) fn cast(&mut self, scalar: Scalar, inner: &Expr) -> Value {
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
pub(super) fn floor(b: &mut crate::ir::Builder<'_>, x: Value, y: Value) -> (Value, Value) {
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

/// The condition of a comparison operator.
pub(super) fn condition(op: Comparison, float: bool) -> Cond {
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
