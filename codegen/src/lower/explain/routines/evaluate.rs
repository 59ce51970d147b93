//! Evaluating the expressions of a descriptor.

use crate::ir::{Binary, Block, Builder, Cond, Convert, Hint, Type, Value};
use crate::lower::explain::codes::{LeafKind, Rpn, Text, Used, operation};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::properties;
use crate::lower::explain::routines::scalar::{round_half, round_single};
use crate::lower::explain::routines::state::Field;
use crate::lower::explain::schema::At;
use crate::lower::operators::floor;

/// One operation while it runs. Operands that are not there are read all the same, below the stack, where
/// other parts of the state are; the check of the depth finds it out.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    pub(crate) s: Value,
    used: Used,
    /// The operation's code.
    op: Value,
    /// The last operand, and the one before it.
    top: Value,
    below: Value,
    /// The number of operands.
    depth: Value,
    /// Goes on with a last operand and their number.
    push: Block,
    /// Goes on with so many operands.
    next: Block,
}

/// `(state)`: evaluates the expression at the program counter into the first operand.
pub(crate) fn evaluate(b: &mut Builder<'_>, used: Used) {
    let s = b.param(0);
    let (next, push) = (b.block("operation"), b.block("push"));
    let depth = b.block_param(next, Type::I64, "depth");
    let [value, after] = [Type::I64; 2].map(|ty| b.block_param(push, ty, Hint::default()));
    let zero = b.i64(0);
    b.jump(next, &[zero]);
    b.switch_to(next);
    let count = b.field(s, Field::OperandCount);
    let inside = b.compare(Cond::Ule, depth, count);
    b.intact(s, inside);
    let op = b.take_word(s);
    let operands = b.field(s, Field::Operands);
    let end = b.element(operands, depth);
    let [top, below] = [-8, -16].map(|at| b.load(Type::I64, end, at));
    let m = Machine { s, used, op, top, below, depth, push, next };
    m.case(b, Rpn::End, |b| b.return_code(0));
    loads(b, m);
    properties::fields(b, m);
    properties::properties(b, m);
    integers(b, m);
    divisions(b, m);
    floats(b, m);
    conversions(b, m);
    comparisons(b, m);
    b.unknown(s, op);
    b.switch_to(push);
    let room = b.compare(Cond::Ule, after, count);
    b.intact(s, room);
    let operands = b.field(s, Field::Operands);
    let end = b.element(operands, after);
    b.store(value, end, -8);
    b.jump(next, &[after]);
}

impl Machine {
    /// An operation that ends its block itself.
    fn case(self, b: &mut Builder<'_>, op: Rpn, body: impl FnOnce(&mut Builder<'_>)) {
        b.when(self.used, self.op, op, self.next, |b| {
            body(b);
            []
        });
    }

    /// An operation that replaces so many operands by a value.
    fn replace(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        operands: i64,
        body: impl FnOnce(&mut Builder<'_>) -> Value,
    ) {
        self.case(b, op, |b| {
            let value = body(b);
            let value = b.as_word(value);
            let depth = b.binary_const(Binary::Add, self.depth, 1 - operands);
            b.jump(self.push, &[value, depth]);
        });
    }

    /// An operation without operands.
    pub(crate) fn load(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        body: impl FnOnce(&mut Builder<'_>) -> Value,
    ) {
        self.replace(b, op, 0, body);
    }

    /// An operation that only checks something.
    pub(crate) fn check(self, b: &mut Builder<'_>, op: Rpn, body: impl FnOnce(&mut Builder<'_>)) {
        self.case(b, op, |b| {
            body(b);
            b.jump(self.next, &[self.depth]);
        });
    }

    pub(crate) fn unary(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        f: impl FnOnce(&mut Builder<'_>, Value) -> Value,
    ) {
        self.replace(b, op, 1, |b| f(b, self.top));
    }

    fn binary(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        f: impl FnOnce(&mut Builder<'_>, Value, Value) -> Value,
    ) {
        self.replace(b, op, 2, |b| f(b, self.below, self.top));
    }

    fn float(
        self,
        b: &mut Builder<'_>,
        op: Rpn,
        f: impl FnOnce(&mut Builder<'_>, Value, Value) -> Value,
    ) {
        self.binary(b, op, |b, x, y| {
            let [x, y] = [x, y].map(|bits| b.convert(Convert::Bitcast, bits, Type::F64));
            f(b, x, y)
        });
    }
}

fn loads(b: &mut Builder<'_>, m: Machine) {
    m.load(b, Rpn::Const, |b| b.take::<operation::Const>(m.s).bits(b));
    m.load(b, Rpn::Slot, |b| {
        let slot = b.take::<operation::Slot>(m.s).slot(b);
        b.in_count(m.s, slot, Field::SlotCount);
        b.symbol_value(m.s, slot)
    });
}

fn integers(b: &mut Builder<'_>, m: Machine) {
    for (op, binary) in [(Rpn::Add, Binary::Add), (Rpn::Sub, Binary::Sub), (Rpn::Mul, Binary::Mul)]
    {
        m.binary(b, op, |b, x, y| b.binary(binary, x, y));
    }
    m.binary(b, Rpn::Min, |b, x, y| {
        let less = b.compare(Cond::Slt, x, y);
        b.select(less, x, y)
    });
    m.binary(b, Rpn::Max, |b, x, y| {
        let less = b.compare(Cond::Slt, x, y);
        b.select(less, y, x)
    });
    m.unary(b, Rpn::Neg, negate);
    m.unary(b, Rpn::Not, |b, value| b.compare_const(Cond::Eq, value, 0));
}

fn negate(b: &mut Builder<'_>, value: Value) -> Value {
    let zero = b.i64(0);
    b.binary(Binary::Sub, zero, value)
}

/// Floor quotient and remainder by a divisor that is not zero.
pub(crate) fn divide(b: &mut Builder<'_>, x: Value, y: Value) -> (Value, Value) {
    let minus = b.compare_const(Cond::Eq, y, -1);
    let one = b.i64(1);
    let safe = b.select(minus, one, y);
    let (quotient, remainder) = floor(b, x, safe);
    let negated = negate(b, x);
    (b.select(minus, negated, quotient), remainder)
}

fn divisions(b: &mut Builder<'_>, m: Machine) {
    m.binary(b, Rpn::Div, |b, x, y| {
        let record = b.take::<operation::Div>(m.s);
        let text = record.text(b);
        not_zero(b, m, text, y);
        divide(b, x, y).0
    });
    m.binary(b, Rpn::Rem, |b, x, y| {
        let record = b.take::<operation::Rem>(m.s);
        let text = record.text(b);
        not_zero(b, m, text, y);
        divide(b, x, y).1
    });
    m.binary(b, Rpn::CeilDiv, |b, x, y| {
        let record = b.take::<operation::CeilDiv>(m.s);
        let text = record.text(b);
        not_zero(b, m, text, y);
        let (quotient, remainder) = divide(b, x, y);
        let inexact = b.compare_const(Cond::Ne, remainder, 0);
        let one = b.truth(inexact);
        b.binary(Binary::Add, quotient, one)
    });
}

/// Complains of a divisor of zero; skips the values that the message quotes.
fn not_zero(b: &mut Builder<'_>, m: Machine, text: At<Text>, divisor: Value) {
    let leaves = b.field(m.s, Field::Pc);
    let words = b.take_word(m.s);
    b.skip(m.s, words);
    let zero = b.compare_const(Cond::Eq, divisor, 0);
    b.if_then(zero, |b| {
        let text = text.address(b);
        b.complain(m.s, Complaint::Division, &[text, leaves]);
    });
}

fn floats(b: &mut Builder<'_>, m: Machine) {
    for (op, binary) in [
        (Rpn::Fadd, Binary::Fadd),
        (Rpn::Fsub, Binary::Fsub),
        (Rpn::Fmul, Binary::Fmul),
        (Rpn::Fdiv, Binary::Fdiv),
    ] {
        m.float(b, op, |b, x, y| b.binary(binary, x, y));
    }
    m.float(b, Rpn::Fmin, |b, x, y| {
        let less = b.compare(Cond::Flt, x, y);
        b.select(less, x, y)
    });
    m.float(b, Rpn::Fmax, |b, x, y| {
        let less = b.compare(Cond::Flt, x, y);
        b.select(less, y, x)
    });
    m.unary(b, Rpn::Fneg, |b, bits| b.binary_const(Binary::Xor, bits, i64::MIN));
}

fn conversions(b: &mut Builder<'_>, m: Machine) {
    m.unary(b, Rpn::ToFloat, |b, value| b.convert(Convert::SintToFloat, value, Type::F64));
    m.unary(b, Rpn::UnsignedToFloat, |b, value| b.convert(Convert::UintToFloat, value, Type::F64));
    m.unary(b, Rpn::Truth, |b, value| b.compare_const(Cond::Ne, value, 0));
    m.unary(b, Rpn::RoundSingle, round_single);
    m.unary(b, Rpn::RoundHalf, |b, bits| {
        let record = b.take::<operation::RoundHalf>(m.s);
        let format = [record.mantissa(b), record.bias(b)];
        round_half(b, bits, format)
    });
    m.unary(b, Rpn::Narrow, |b, value| {
        let record = b.take::<operation::Narrow>(m.s);
        let (bits, signed) = (record.bits(b), record.signed(b));
        let fits = fits(b, value, bits, signed);
        b.unless(fits, |b| {
            let [text, name] = [record.text(b), record.name(b)].map(|text| text.address(b));
            b.complain(m.s, Complaint::Narrow, &[text, name, value]);
        });
        value
    });
    m.unary(b, Rpn::NarrowUnsigned, |b, value| narrow_unsigned(b, m, value));
}

/// An integer without a sign to a narrower type, of fewer bits.
fn narrow_unsigned(b: &mut Builder<'_>, m: Machine, value: Value) -> Value {
    let record = b.take::<operation::NarrowUnsigned>(m.s);
    let (bits, signed) = (record.bits(b), record.signed(b));
    let sign = b.truth(signed);
    let bits = b.binary(Binary::Sub, bits, sign);
    let bits = b.binary_const(Binary::And, bits, 63);
    let above = b.binary(Binary::Lshr, value, bits);
    let fits = b.compare_const(Cond::Eq, above, 0);
    b.unless(fits, |b| {
        let [text, name] = [record.text(b), record.name(b)].map(|text| text.address(b));
        b.complain(m.s, Complaint::NarrowUnsigned, &[text, name, value]);
    });
    value
}

/// Whether a number fits an integer type of so many bits.
pub(crate) fn fits(b: &mut Builder<'_>, value: Value, bits: Value, is_signed: Value) -> Value {
    // What is left above the value bits must be all zeros, or all ones of a signed type.
    let one = b.i64(1);
    let lower = b.binary(Binary::Sub, bits, one);
    // A shift by 64 is not defined; for uint64 the sign bit decides.
    let value_bits = b.select(is_signed, lower, bits);
    let wide = b.compare_const(Cond::Eq, value_bits, 64);
    let value_bits = b.select(wide, lower, value_bits);
    let value_bits = b.binary_const(Binary::And, value_bits, 63);
    let above = b.binary(Binary::Ashr, value, value_bits);
    let zeros = b.compare_const(Cond::Eq, above, 0);
    let ones = b.compare_const(Cond::Eq, above, -1);
    let ones = b.and(ones, is_signed);
    b.or(zeros, ones)
}

fn comparisons(b: &mut Builder<'_>, m: Machine) {
    for (op, cond) in [
        (Rpn::Eq, Cond::Eq),
        (Rpn::Ne, Cond::Ne),
        (Rpn::Lt, Cond::Slt),
        (Rpn::Le, Cond::Sle),
        (Rpn::Gt, Cond::Sgt),
        (Rpn::Ge, Cond::Sge),
        (Rpn::Ult, Cond::Ult),
        (Rpn::Ule, Cond::Ule),
    ] {
        m.binary(b, op, |b, x, y| b.compare(cond, x, y));
    }
    for (op, cond) in [
        (Rpn::Feq, Cond::Feq),
        (Rpn::Fne, Cond::Fne),
        (Rpn::Flt, Cond::Flt),
        (Rpn::Fle, Cond::Fle),
        (Rpn::Fgt, Cond::Fgt),
        (Rpn::Fge, Cond::Fge),
    ] {
        m.float(b, op, |b, x, y| b.compare(cond, x, y));
    }
}

/// `(state, leaves)`: `, n = 6, m = 0`. Moves the program counter.
pub(crate) fn leaves(b: &mut Builder<'_>, used: Used) {
    let [s, leaves] = [0, 1].map(|i| b.param(i));
    b.set_field(s, Field::Pc, leaves);
    b.take_word(s);
    let count = b.take_word(s);
    b.count_to(count, |b, _| {
        let name = b.take::<Text>(s);
        let kind = b.take_word(s);
        b.say(s, ", ");
        b.say_text(s, name);
        b.say(s, " = ");
        b.try_routine(Routine::Evaluate, &[s]);
        let operands = b.field(s, Field::Operands);
        b.set_field(s, Field::Values, operands);
        if used.has(LeafKind::Text) {
            let text = b.compare_const(Cond::Eq, kind, (LeafKind::Text as u32).into());
            b.if_then(text, |b| {
                // The operand is the slot of the text.
                let slot = b.load(Type::I64, operands, 0);
                let text = b.text_of(s, slot);
                let pair = b.values(&text);
                b.set_field(s, Field::Values, pair);
            });
        }
        b.try_routine(Routine::PutPiece, &[s, kind]);
    });
    b.return_code(0);
}
