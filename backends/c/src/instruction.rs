//! The translation of each instruction of host IR to C.
//!
//! Nothing here is undefined in C for operands that the host IR allows: integers wrap as unsigned ones, addresses are
//! computed as integers, and memory is read through types that may alias.

use codegen::backend::runtime_function;
use codegen::ir::{self, AbiType, Binary, Checked, Cond, Convert, Extend, Type};

use crate::body::Body;
use crate::call::converted;
use crate::data;
use crate::expression::{Expression, Level};
use crate::names::identifier;
use crate::prelude::{Half, Helper};
use crate::prototype::pointer;
use crate::types::{ty, unsigned, wrapping};

impl Body<'_, '_> {
    /// Writes a constant. Floats that C has no short exact number for are written by their bits.
    pub(crate) fn constant(&mut self, of: Type, bits: u64) -> Expression {
        match of {
            Type::Bool => Expression::number(i64::from(bits != 0)),
            Type::I8 => Expression::number(i64::from(bits as i8)),
            Type::I16 => Expression::number(i64::from(bits as i16)),
            Type::I32 if bits as i32 == i32::MIN => Expression::primary("INT32_MIN"),
            Type::I32 => Expression::number(i64::from(bits as i32)),
            Type::I64 if bits as i64 == i64::MIN => Expression::primary("INT64_MIN"),
            // Several fields at once: the digits show each of them.
            Type::I64 if bits >> 32 != 0 && bits >> 63 == 0 && !bits.is_multiple_of(1000) => {
                Expression::primary(format!("{bits:#x}"))
            }
            Type::I64 => Expression::number(bits as i64),
            Type::F32 => {
                let value = f32::from_bits(bits as u32);
                let bits = format!("{:#x}", bits as u32);
                self.float(of, f64::from(value), format!("{value:?}f"), bits)
            }
            Type::F64 => {
                let value = f64::from_bits(bits);
                self.float(of, value, format!("{value:?}"), format!("{bits:#x}"))
            }
            Type::Ptr if bits == 0 => Expression::primary("0"),
            Type::Ptr => Expression::new(Level::Unary, format!("(void *)(uintptr_t){bits:#x}")),
        }
    }

    fn float(&mut self, of: Type, value: f64, text: String, bits: String) -> Expression {
        // Multiples of 2^-20 below 2^30 are exact in few digits, so that every compiler reads them right.
        let scaled = value * f64::from(1 << 20);
        if scaled.fract() == 0.0 && value.abs() < f64::from(1 << 30) {
            let negative = value.is_sign_negative();
            return Expression::new(if negative { Level::Unary } else { Level::Primary }, text);
        }
        let function = self.functions.prelude.float_of(of);
        Expression::call(&function, &[Expression::primary(format!("{bits} /* {text} */"))])
    }

    pub(crate) fn address(&mut self, symbol: ir::Symbol, offset: i32) -> Expression {
        let name = &self.functions.symbols.references[symbol.index()];
        if self.functions.source.signature(symbol).is_some() {
            return Expression::new(Level::Unary, format!("(void *)(uintptr_t){name}"));
        }
        Expression::new(Level::Unary, data::address(self.functions.symbols, symbol, offset))
    }

    pub(crate) fn stack_slot(&mut self, size: u32, align: u32, name: &str) -> Expression {
        let words = size.div_ceil(8).max(1);
        let aligned = if align > 8 {
            format!("{}({align}) ", self.functions.prelude.name(Helper::Align))
        } else {
            String::new()
        };
        self.slots.push(format!("{aligned}uint64_t {name}[{words}];"));
        Expression::new(Level::Unary, format!("(void *){name}"))
    }

    pub(crate) fn load(
        &mut self,
        of: Type,
        base: ir::Value,
        offset: i32,
        align: u32,
    ) -> Expression {
        self.place(of, base, offset, align)
    }

    pub(crate) fn store(
        &mut self,
        value: ir::Value,
        base: ir::Value,
        offset: i32,
        align: u32,
    ) -> Option<Expression> {
        let place = self.place(self.ty(value), base, offset, align);
        let value = self.value(value);
        self.line(format!("{} = {};", place.text, value.text));
        None
    }

    pub(crate) fn atomic_load(&mut self, of: Type, base: ir::Value, offset: i32) -> Expression {
        let function = self.functions.prelude.atomic_load(of);
        let at = self.at(base, offset);
        Expression::call(&function, &[at])
    }

    pub(crate) fn atomic_store(
        &mut self,
        value: ir::Value,
        base: ir::Value,
        offset: i32,
    ) -> Option<Expression> {
        let function = self.functions.prelude.atomic_store(self.ty(value));
        let operands = [self.at(base, offset), self.value(value)];
        self.line(format!("{};", Expression::call(&function, &operands).text));
        None
    }

    pub(crate) fn compare_exchange(
        &mut self,
        base: ir::Value,
        expected: ir::Value,
        new: ir::Value,
    ) -> Expression {
        let function = self.functions.prelude.exchange(self.ty(expected));
        Expression::call(&function, &[base, expected, new].map(|value| self.value(value)))
    }

    pub(crate) fn ptr_add(&mut self, base: ir::Value, offset: ir::Value) -> Expression {
        let function = self.functions.prelude.name(Helper::At);
        Expression::call(function, &[self.value(base), self.value(offset)])
    }

    pub(crate) fn binary(&mut self, op: Binary, lhs: ir::Value, rhs: ir::Value) -> Expression {
        let of = self.ty(lhs);
        let (left, right) = (self.value(lhs), self.value(rhs));
        match op {
            Binary::Add => wrapped(of, Level::Sum, "+", &left, &right),
            Binary::Sub => wrapped(of, Level::Sum, "-", &left, &right),
            Binary::Mul => wrapped(of, Level::Product, "*", &left, &right),
            Binary::Sdiv => narrowed(of, Expression::binary(Level::Product, "/", &left, &right)),
            Binary::Srem => narrowed(of, Expression::binary(Level::Product, "%", &left, &right)),
            Binary::Udiv => without_sign(of, "/", &left, &right),
            Binary::Urem => without_sign(of, "%", &left, &right),
            Binary::And if of == Type::Bool => both(&left, &right),
            Binary::Or if of == Type::Bool => either(&left, &right),
            Binary::Xor if of == Type::Bool && right.text == "1" => left.negated(),
            Binary::And => Expression::binary(Level::Bits, "&", &left, &right),
            Binary::Or => Expression::binary(Level::Bits, "|", &left, &right),
            Binary::Xor => Expression::binary(Level::Bits, "^", &left, &right),
            Binary::Shl => {
                let shifted = Expression::cast(wrapping(of), &left);
                let shifted = Expression::binary(Level::Bits, "<<", &shifted, &right);
                Expression::cast(ty(of), &shifted)
            }
            Binary::Lshr => {
                let shifted = Expression::cast(unsigned(of), &left);
                let shifted = Expression::binary(Level::Bits, ">>", &shifted, &right);
                Expression::cast(ty(of), &shifted)
            }
            // Shifting a negative number is implementation-defined, and all compilers keep the sign.
            Binary::Ashr => narrowed(of, Expression::binary(Level::Bits, ">>", &left, &right)),
            Binary::Fadd => self.rounded(Level::Sum, "+", &left, &right),
            Binary::Fsub => self.rounded(Level::Sum, "-", &left, &right),
            Binary::Fmul => self.rounded(Level::Product, "*", &left, &right),
            Binary::Fdiv => Expression::binary(Level::Product, "/", &left, &right),
        }
    }

    /// Returns a sum or product of floats, which is not to be contracted with others.
    fn rounded(
        &mut self,
        level: Level,
        op: &str,
        left: &Expression,
        right: &Expression,
    ) -> Expression {
        self.functions.prelude.name(Helper::Contract);
        Expression::binary(level, op, left, right)
    }

    /// Writes checked arithmetic as a statement that sets the variables of the result and of the flag.
    pub(crate) fn checked(
        &mut self,
        op: Checked,
        lhs: ir::Value,
        rhs: ir::Value,
        result: ir::Value,
    ) -> Option<Expression> {
        let (left, right) = (self.value(lhs), self.value(rhs));
        self.declare(result);
        let name = self.names[result.index()].clone();
        let flag = identifier(&format!("{name}_overflows"), &mut self.taken);
        self.local(ty(Type::Bool).to_owned(), &flag);
        let function = self.functions.prelude.name(Helper::Checked(op.into()));
        let to = Expression::new(Level::Unary, format!("&{name}"));
        let call = Expression::call(function, &[left, right, to]);
        self.line(format!("{flag} = {};", call.text));
        self.overflowed = Some(Expression::primary(flag));
        None
    }

    pub(crate) fn compare(&mut self, cond: Cond, lhs: ir::Value, rhs: ir::Value) -> Expression {
        let of = self.ty(lhs);
        let (left, right) = (self.value(lhs), self.value(rhs));
        let signed = |op: &str, other: &str| compared(op, Some(other), &left, &right);
        let float = |op: &str| compared(op, None, &left, &right);
        let bits = |op: &str, other: &str| {
            let [left, right] = [&left, &right].map(|operand| plain(unsigned(of), operand));
            compared(op, Some(other), &left, &right)
        };
        match cond {
            Cond::Eq => signed("==", "!="),
            Cond::Ne => signed("!=", "=="),
            Cond::Slt => signed("<", ">="),
            Cond::Sle => signed("<=", ">"),
            Cond::Sgt => signed(">", "<="),
            Cond::Sge => signed(">=", "<"),
            // Compilers warn about comparisons with zero that have one result.
            Cond::Ult if right.text == "0" => known(&left, 0),
            Cond::Ule if left.text == "0" => known(&right, 1),
            Cond::Ugt if left.text == "0" => known(&right, 0),
            Cond::Uge if right.text == "0" => known(&left, 1),
            Cond::Ult => bits("<", ">="),
            Cond::Ule => bits("<=", ">"),
            Cond::Ugt => bits(">", "<="),
            Cond::Uge => bits(">=", "<"),
            Cond::Feq => signed("==", "!="),
            Cond::Fne => signed("!=", "=="),
            Cond::Flt => float("<"),
            Cond::Fle => float("<="),
            Cond::Fgt => float(">"),
            Cond::Fge => float(">="),
        }
    }

    pub(crate) fn select(
        &mut self,
        cond: ir::Value,
        then: ir::Value,
        otherwise: ir::Value,
    ) -> Expression {
        let of = self.ty(then);
        let [cond, then, otherwise] = [cond, then, otherwise].map(|value| self.value(value));
        let selected = Expression::select(&cond, &then, &otherwise);
        // The minimum or maximum of two numbers, or what may be one.
        let is_compared = |operand: &Expression| cond.text.contains(&operand.text);
        let is_extreme = is_compared(&then) && is_compared(&otherwise);
        if of.is_float() && (is_extreme || cond.level == Level::Primary) {
            return Expression::call(&self.functions.prelude.fence(of), &[selected]);
        }
        selected
    }

    /// Writes a conversion.
    pub(crate) fn convert(&mut self, op: Convert, value: ir::Value, to: Type) -> Expression {
        let from = self.ty(value);
        let value = self.value(value);
        match op {
            // A truth value is 0 or 1 already.
            Convert::Zext if from == Type::Bool => Expression::cast(ty(to), &value),
            Convert::Zext => Expression::cast(ty(to), &Expression::cast(unsigned(from), &value)),
            Convert::Sext | Convert::Trunc => Expression::cast(ty(to), &value),
            Convert::SintToFloat | Convert::Promote | Convert::Demote => {
                Expression::cast(ty(to), &value)
            }
            Convert::UintToFloat => {
                Expression::cast(ty(to), &Expression::cast(unsigned(from), &value))
            }
            Convert::Bitcast if to.is_float() => {
                let function = self.functions.prelude.float_of(to);
                Expression::call(&function, &[Expression::cast(unsigned(to), &value)])
            }
            Convert::Bitcast => {
                let function = self.functions.prelude.bits_of(from);
                Expression::cast(ty(to), &Expression::call(&function, &[value]))
            }
            Convert::PtrToInt => {
                Expression::cast(ty(to), &Expression::cast(unsigned(from), &value))
            }
            Convert::IntToPtr => Expression::cast(ty(to), &Expression::cast(unsigned(to), &value)),
        }
    }

    /// Writes a call. `result` is the value that it yields, if that is needed.
    pub(crate) fn call(
        &mut self,
        callee: ir::Symbol,
        args: &[ir::Value],
        result: Option<ir::Value>,
    ) -> Expression {
        let source = self.functions.source;
        let Some(signature) = source.signature(callee) else {
            unreachable!("verified host IR calls functions only");
        };
        let name = self.functions.symbols.references[callee.index()].clone();
        if self.functions.symbols.is_declared_before(source, callee) {
            let known = runtime_function(source.name(callee));
            let call = self.called_before(&name, known, signature, args);
            return if result.is_some() { converted(call, signature, known) } else { call };
        }
        let pointees = &self.functions.symbols.pointees[callee.index()];
        self.called(&name, signature, args, pointees)
    }

    pub(crate) fn call_indirect(
        &mut self,
        signature: &ir::Signature,
        callee: ir::Value,
        args: &[ir::Value],
    ) -> Expression {
        let callee = self.value(callee);
        let ty = pointer(signature, &mut self.functions.prelude);
        let function = format!("(({ty})(uintptr_t){})", callee.at(Level::Unary));
        self.called(&function, signature, args, &[]).reading([&callee])
    }

    /// Returns an argument or a result in the type in which C passes it.
    pub(crate) fn sent(&mut self, value: ir::Value, abi: AbiType) -> Expression {
        let value = self.value(value);
        match abi.extend {
            Extend::No | Extend::Sign => value,
            Extend::Zero => Expression::cast(unsigned(abi.ty), &value),
            Extend::Truth => compared("!=", Some("=="), &value, &Expression::number(0)),
            Extend::Float16 => self.half(Half::Float16, &value),
            Extend::BFloat16 => self.half(Half::BFloat16, &value),
        }
    }
}

impl Body<'_, '_> {
    /// Returns the 16-bit float of some bits.
    fn half(&mut self, half: Half, bits: &Expression) -> Expression {
        let bits = Expression::cast(unsigned(ir::Type::I16), bits);
        Expression::call(self.functions.prelude.half_of(half), &[bits])
    }
}

/// Returns an operand without a sign.
fn plain(ty: &str, operand: &Expression) -> Expression {
    if operand.is_number() { operand.clone() } else { Expression::cast(ty, operand) }
}

/// Returns two operands without a sign, of which one at least says so.
fn plain_pair(ty: &str, left: &Expression, right: &Expression) -> [Expression; 2] {
    let left = if right.is_number() { Expression::cast(ty, left) } else { plain(ty, left) };
    [left, plain(ty, right)]
}

/// Returns arithmetic that wraps.
fn wrapped(of: Type, level: Level, op: &str, left: &Expression, right: &Expression) -> Expression {
    let positive = right.text.strip_prefix('-').map(Expression::primary);
    let (op, right) = match (op, &positive) {
        ("+", Some(positive)) if positive.is_number() => ("-", positive),
        _ => (op, right),
    };
    let [left, right] = plain_pair(wrapping(of), left, right);
    Expression::cast(ty(of), &Expression::binary(level, op, &left, &right))
}

/// Returns the quotient or remainder of operands without a sign.
fn without_sign(of: Type, op: &str, left: &Expression, right: &Expression) -> Expression {
    let [left, right] = plain_pair(unsigned(of), left, right);
    Expression::cast(ty(of), &Expression::binary(Level::Product, op, &left, &right))
}

/// Returns a result that is known whatever the operand is.
fn known(operand: &Expression, result: i64) -> Expression {
    let text = format!("((void){}, {result})", operand.at(Level::Unary));
    Expression::primary(text).reading([operand])
}

/// Converts back what C has computed as `int`.
fn narrowed(of: Type, value: Expression) -> Expression {
    match of {
        Type::I8 | Type::I16 => Expression::cast(ty(of), &value),
        Type::Bool | Type::I32 | Type::I64 | Type::F32 | Type::F64 | Type::Ptr => value,
    }
}

/// Returns a comparison; `other` is its complement, which comparisons of order have for integers only.
fn compared(op: &str, other: Option<&str>, left: &Expression, right: &Expression) -> Expression {
    let text = |op| Expression::binary(Level::Comparison, op, left, right);
    let inverse = other.map(|other| (text(other).text, Level::Comparison));
    Expression { inverse, ..text(op) }
}

fn both(left: &Expression, right: &Expression) -> Expression {
    Expression::binary(Level::And, "&&", left, right)
}

fn either(left: &Expression, right: &Expression) -> Expression {
    Expression::binary(Level::Or, "||", left, right)
}
