//! Evaluating the expressions of a descriptor.

use crate::ir::{self, Builder, Cond, Convert, Hint, Type, Value};
use crate::lower::explain::codes::{LeafKind, Rpn, Text, Used, operation};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::machine::Machine;
use crate::lower::explain::routines::number::{fits, round_half, round_single};
use crate::lower::explain::routines::properties;
use crate::lower::explain::routines::state::Field;
use crate::lower::explain::schema::At;
use crate::lower::operators;
use crate::resolve::operator::{Binary, Division, Unary};

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
    operators(b, m);
    conversions(b, m);
    logic(b, m);
    b.unknown(s, op);
    b.switch_to(push);
    let room = b.compare(Cond::Ule, after, count);
    b.intact(s, room);
    let operands = b.field(s, Field::Operands);
    let end = b.element(operands, after);
    b.store(value, end, -8);
    b.jump(next, &[after]);
}

fn loads(b: &mut Builder<'_>, m: Machine) {
    m.load(b, Rpn::Const, |b| b.take::<operation::Const>(m.s).bits(b));
    m.load(b, Rpn::Slot, |b| {
        let slot = b.take::<operation::Slot>(m.s).slot(b);
        b.in_count(m.s, slot, Field::SlotCount);
        b.symbol_value(m.s, slot)
    });
}

/// The operators, which mean the same in the wrappers' own code.
fn operators(b: &mut Builder<'_>, m: Machine) {
    for &op in Binary::ALL {
        if op.takes_floats() {
            m.float(b, Rpn::binary(op), |b, x, y| operators::binary(b, op, x, y));
        } else {
            m.binary(b, Rpn::binary(op), |b, x, y| operators::binary(b, op, x, y));
        }
    }
    for &op in Unary::ALL {
        m.unary(b, Rpn::unary(op), |b, value| {
            let float = op == Unary::Fneg;
            let value = if float { b.convert(Convert::Bitcast, value, Type::F64) } else { value };
            operators::unary(b, op, value)
        });
    }
    for &op in Division::ALL {
        m.binary(b, Rpn::division(op), |b, x, y| {
            // The text is all of each of their records.
            let text = b.take::<Text>(m.s);
            not_zero(b, m, text, y);
            operators::divide(b, op, x, y)
        });
    }
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

fn conversions(b: &mut Builder<'_>, m: Machine) {
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
    let bits = b.binary(ir::Binary::Sub, bits, sign);
    let bits = b.binary_const(ir::Binary::And, bits, 63);
    let above = b.binary(ir::Binary::Lshr, value, bits);
    let fits = b.compare_const(Cond::Eq, above, 0);
    b.unless(fits, |b| {
        let [text, name] = [record.text(b), record.name(b)].map(|text| text.address(b));
        b.complain(m.s, Complaint::NarrowUnsigned, &[text, name, value]);
    });
    value
}

/// An operand that decides stays, and the words of the other one are skipped.
fn logic(b: &mut Builder<'_>, m: Machine) {
    for (op, decides) in [(Rpn::And, Cond::Eq), (Rpn::Or, Cond::Ne)] {
        m.case(b, op, |b| {
            let words = b.take_word(m.s);
            let decided = b.compare_const(decides, m.top, 0);
            b.if_then(decided, |b| {
                b.skip(m.s, words);
                b.jump(m.next, &[m.depth]);
            });
            let depth = b.binary_const(ir::Binary::Sub, m.depth, 1);
            b.jump(m.next, &[depth]);
        });
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
