//! Evaluating the expressions of a descriptor.

use crate::ir::{Binary, Block, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{LeafKind, Rpn};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, Variable, state};
use crate::lower::explain::routines::properties;
use crate::lower::operators::floor;

/// The interpreter's registers while one operation runs.
#[derive(Clone, Copy)]
pub(crate) struct Machine {
    /// The state.
    pub(crate) s: Value,
    /// The operation's code.
    pub(crate) op: Value,
    /// Depth of the operand stack.
    depth: Variable,
    /// Where the next operation starts.
    pub(crate) next: Block,
}

/// `(state)`: evaluates the expression at the program counter into the first operand of the stack.
pub(crate) fn evaluate(c: &mut Code<'_>) {
    let s = c.state();
    let zero = c.b.i64(0);
    let depth = c.variable(zero);
    let next = c.b.block("operation");
    c.b.jump(next, &[]);
    c.b.switch_to(next);
    let word = c.take_words(s, 1);
    let op = c.word(word, 0);
    let m = Machine { s, op, depth, next };
    c.operation(op, Rpn::End, next, |c| c.return_code(0));
    loads(c, m);
    properties::fields(c, m);
    properties::properties(c, m);
    integers(c, m);
    divisions(c, m);
    floats(c, m);
    conversions(c, m);
    comparisons(c, m);
    // No other code is ever encoded.
    c.return_code(0);
}

impl Code<'_> {
    pub(crate) fn push(&mut self, m: Machine, value: Value) {
        let bits = match self.b.ty(value) {
            Type::F64 => self.b.convert(Convert::Bitcast, value, Type::I64),
            Type::Ptr => self.b.convert(Convert::PtrToInt, value, Type::I64),
            Type::Bool => self.b.widen_bool(value, Type::I64),
            Type::I64 | Type::I8 | Type::I16 | Type::I32 | Type::F32 => value,
        };
        let depth = self.get(m.depth);
        let stack = self.b.ptr_offset(m.s, state::STACK.into());
        let at = self.element(stack, depth);
        self.b.store(bits, at, 0);
        self.add_to(m.depth, 1);
    }

    fn pop(&mut self, m: Machine) -> Value {
        self.add_to(m.depth, -1);
        let depth = self.get(m.depth);
        let stack = self.b.ptr_offset(m.s, state::STACK.into());
        self.load_element(stack, depth)
    }

    fn pop_float(&mut self, m: Machine) -> Value {
        let bits = self.pop(m);
        self.b.convert(Convert::Bitcast, bits, Type::F64)
    }

    /// Right operand, left operand.
    fn pop_two(&mut self, m: Machine) -> (Value, Value) {
        let rhs = self.pop(m);
        (self.pop(m), rhs)
    }

    pub(crate) fn unary(&mut self, m: Machine, op: Rpn, f: impl FnOnce(&mut Self, Value) -> Value) {
        self.operation(m.op, op, m.next, |c| {
            let value = c.pop(m);
            let result = f(c, value);
            c.push(m, result);
        });
    }

    fn binary_op(&mut self, m: Machine, op: Rpn, f: impl FnOnce(&mut Self, Value, Value) -> Value) {
        self.operation(m.op, op, m.next, |c| {
            let (lhs, rhs) = c.pop_two(m);
            let result = f(c, lhs, rhs);
            c.push(m, result);
        });
    }

    fn float_op(&mut self, m: Machine, op: Rpn, f: impl FnOnce(&mut Self, Value, Value) -> Value) {
        self.operation(m.op, op, m.next, |c| {
            let rhs = c.pop_float(m);
            let lhs = c.pop_float(m);
            let result = f(c, lhs, rhs);
            c.push(m, result);
        });
    }
}

fn loads(c: &mut Code<'_>, m: Machine) {
    c.operation(m.op, Rpn::Const, m.next, |c| {
        let words = c.take_words(m.s, 2);
        let value = c.b.load_aligned(Type::I64, words, 0, 4);
        c.push(m, value);
    });
    c.operation(m.op, Rpn::Slot, m.next, |c| {
        let word = c.take_words(m.s, 1);
        let index = c.word(word, 0);
        let slot = c.slot(m.s, index);
        let value = c.b.load(Type::I64, slot, 0);
        c.push(m, value);
    });
}

fn integers(c: &mut Code<'_>, m: Machine) {
    for (op, binary) in [(Rpn::Add, Binary::Add), (Rpn::Sub, Binary::Sub), (Rpn::Mul, Binary::Mul)]
    {
        c.binary_op(m, op, |c, a, b| c.b.binary(binary, a, b));
    }
    c.binary_op(m, Rpn::Min, |c, a, b| {
        let less = c.b.compare(Cond::Slt, a, b);
        c.b.select(less, a, b)
    });
    c.binary_op(m, Rpn::Max, |c, a, b| {
        let less = c.b.compare(Cond::Slt, a, b);
        c.b.select(less, b, a)
    });
    c.unary(m, Rpn::Neg, negate);
}

fn negate(c: &mut Code<'_>, value: Value) -> Value {
    let zero = c.b.i64(0);
    c.b.binary(Binary::Sub, zero, value)
}

/// Floor quotient and remainder by a divisor that is not zero.
pub(crate) fn divide(c: &mut Code<'_>, a: Value, b: Value) -> (Value, Value) {
    let minus = c.b.compare_const(Cond::Eq, b, -1);
    let one = c.b.i64(1);
    let safe = c.b.select(minus, one, b);
    let (quotient, remainder) = floor(&mut c.b, a, safe);
    let negated = negate(c, a);
    (c.b.select(minus, negated, quotient), remainder)
}

fn divisions(c: &mut Code<'_>, m: Machine) {
    division(c, m, Rpn::Div, |c, a, b| divide(c, a, b).0);
    division(c, m, Rpn::Rem, |c, a, b| divide(c, a, b).1);
    division(c, m, Rpn::CeilDiv, |c, a, b| {
        let (quotient, remainder) = divide(c, a, b);
        let inexact = c.b.compare_const(Cond::Ne, remainder, 0);
        let one = c.b.widen_bool(inexact, Type::I64);
        c.b.binary(Binary::Add, quotient, one)
    });
}

/// An operation of two integers that raises if the second is zero.
fn division(
    c: &mut Code<'_>,
    m: Machine,
    op: Rpn,
    f: impl FnOnce(&mut Code<'_>, Value, Value) -> Value,
) {
    c.operation(m.op, op, m.next, |c| {
        let (a, b) = c.pop_two(m);
        let words = c.take_words(m.s, 3);
        let zero = c.b.compare_const(Cond::Eq, b, 0);
        c.when(zero, |c| {
            let text = c.text_at(m.s, words, 0);
            c.begin_call(m.s, "Division by zero in ", text);
            let leaves = c.b.ptr_offset(words, 8);
            c.call(Routine::Leaves, &[m.s, leaves]);
            c.raise_and_stop(m.s, "ValueError");
        });
        c.skip(m.s, words, 2);
        let result = f(c, a, b);
        c.push(m, result);
    });
}

fn floats(c: &mut Code<'_>, m: Machine) {
    for (op, binary) in [
        (Rpn::Fadd, Binary::Fadd),
        (Rpn::Fsub, Binary::Fsub),
        (Rpn::Fmul, Binary::Fmul),
        (Rpn::Fdiv, Binary::Fdiv),
    ] {
        c.float_op(m, op, |c, a, b| c.b.binary(binary, a, b));
    }
    c.float_op(m, Rpn::Fmin, |c, a, b| {
        let less = c.b.compare(Cond::Flt, a, b);
        c.b.select(less, a, b)
    });
    c.float_op(m, Rpn::Fmax, |c, a, b| {
        let less = c.b.compare(Cond::Flt, a, b);
        c.b.select(less, b, a)
    });
    c.unary(m, Rpn::Fneg, |c, bits| c.b.binary_const(Binary::Xor, bits, i64::MIN));
}

fn conversions(c: &mut Code<'_>, m: Machine) {
    c.unary(m, Rpn::ToFloat, |c, value| c.b.convert(Convert::SintToFloat, value, Type::F64));
    c.unary(m, Rpn::Truth, |c, value| c.b.compare_const(Cond::Ne, value, 0));
    c.unary(m, Rpn::RoundSingle, |c, bits| {
        let value = c.b.convert(Convert::Bitcast, bits, Type::F64);
        let single = c.b.convert(Convert::Demote, value, Type::F32);
        c.b.convert(Convert::Promote, single, Type::F64)
    });
    c.unary(m, Rpn::RoundHalf, |c, bits| {
        let words = c.take_words(m.s, 2);
        let (mantissa, bias) = (c.word(words, 0), c.word(words, 1));
        let half = c.call_value(Routine::RoundHalf, &[bits, mantissa, bias]);
        let half = c.b.convert(Convert::Zext, half, Type::I64);
        c.call_value(Routine::WidenHalf, &[half, mantissa, bias])
    });
    c.unary(m, Rpn::Narrow, |c, value| {
        let words = c.take_words(m.s, 6);
        let (bits, signed) = (c.word(words, 4), c.word(words, 5));
        let fits = fits(c, value, bits, signed);
        let overflow = c.b.not(fits);
        c.when(overflow, |c| {
            let text = c.text_at(m.s, words, 0);
            c.begin_call(m.s, "Out of range ", text);
            c.say(m.s, ", expected ");
            c.say_text(m.s, words, 2);
            c.say(m.s, " but got ");
            c.call(Routine::PutInt, &[m.s, value]);
            c.raise_and_stop(m.s, "ValueError");
        });
        value
    });
}

/// Whether a number fits an integer type of so many bits.
pub(crate) fn fits(c: &mut Code<'_>, value: Value, bits: Value, signed: Value) -> Value {
    // What is left above the value bits must be all zeros, or all ones of a signed type.
    let one = c.b.i64(1);
    let is_signed = c.b.compare_const(Cond::Ne, signed, 0);
    let lower = c.b.binary(Binary::Sub, bits, one);
    // A shift by 64 is not defined; for uint64 the sign bit decides.
    let value_bits = c.b.select(is_signed, lower, bits);
    let wide = c.b.compare_const(Cond::Eq, value_bits, 64);
    let value_bits = c.b.select(wide, lower, value_bits);
    let above = c.b.binary(Binary::Ashr, value, value_bits);
    let zeros = c.b.compare_const(Cond::Eq, above, 0);
    let ones = c.b.compare_const(Cond::Eq, above, -1);
    let ones = c.b.and(ones, is_signed);
    c.b.or(zeros, ones)
}

fn comparisons(c: &mut Code<'_>, m: Machine) {
    for (op, cond) in [
        (Rpn::Eq, Cond::Eq),
        (Rpn::Ne, Cond::Ne),
        (Rpn::Lt, Cond::Slt),
        (Rpn::Le, Cond::Sle),
        (Rpn::Gt, Cond::Sgt),
        (Rpn::Ge, Cond::Sge),
    ] {
        c.binary_op(m, op, |c, a, b| c.b.compare(cond, a, b));
    }
    for (op, cond) in [
        (Rpn::Feq, Cond::Feq),
        (Rpn::Fne, Cond::Fne),
        (Rpn::Flt, Cond::Flt),
        (Rpn::Fle, Cond::Fle),
        (Rpn::Fgt, Cond::Fgt),
        (Rpn::Fge, Cond::Fge),
    ] {
        c.float_op(m, op, |c, a, b| c.b.compare(cond, a, b));
    }
}

/// `(state, leaves)`: `, n = 6, m = 0`. Moves the program counter.
pub(crate) fn leaves(c: &mut Code<'_>) {
    let [s, leaves] = [0, 1].map(|i| c.b.param(i));
    let count = c.word(leaves, 1);
    let first = c.b.ptr_offset(leaves, 8);
    c.b.store(first, s, state::PC);
    c.count_to(count, |c, _| {
        let words = c.take_words(s, 3);
        c.say(s, ", ");
        c.say_text(s, words, 0);
        c.say(s, " = ");
        c.call(Routine::Evaluate, &[s]);
        let kind = c.word(words, 2);
        let done = c.b.block("quoted");
        leaf(c, s, kind, done);
        address(c, s);
        c.b.jump(done, &[]);
        c.b.switch_to(done);
    });
    c.b.ret(None);
}

fn leaf(c: &mut Code<'_>, s: Value, kind: Value, done: Block) {
    let mut case = |kind_code: LeafKind, say: &dyn Fn(&mut Code<'_>, Value)| {
        if c.used.has_leaf(kind_code) {
            c.case(kind, kind_code as u32, done, |c| {
                let value = c.b.load(Type::I64, s, state::STACK);
                say(c, value);
            });
        }
    };
    case(LeafKind::Int, &|c, value| {
        c.call(Routine::PutInt, &[s, value]);
    });
    case(LeafKind::Float, &|c, bits| {
        let value = c.b.convert(Convert::Bitcast, bits, Type::F64);
        c.call(Routine::PutFloat, &[s, value]);
    });
    case(LeafKind::DType, &|c, value| {
        c.call(Routine::PutDtype, &[s, value]);
    });
    case(LeafKind::Device, &|c, value| {
        let ty = c.b.convert(Convert::Trunc, value, Type::I32);
        let ty = c.b.convert(Convert::Sext, ty, Type::I64);
        let index = c.b.binary_const(Binary::Ashr, value, 32);
        c.call(Routine::PutDevice, &[s, ty, index]);
    });
    case(LeafKind::Text, &|c, slot| {
        let [data, size] = c.text_of(s, slot);
        c.call(Routine::PutQuoted, &[s, data, size]);
    });
}

/// Addresses differ from run to run, so only NULL is told from the rest.
fn address(c: &mut Code<'_>, s: Value) {
    let value = c.b.load(Type::I64, s, state::STACK);
    let null = c.b.compare_const(Cond::Eq, value, 0);
    let [null_text, null_length] = c.literal("NULL");
    let [some_text, some_length] = c.literal("a non-NULL pointer");
    let text = c.b.select(null, null_text, some_text);
    let length = c.b.select(null, null_length, some_length);
    c.call(Routine::Put, &[s, text, length]);
}
