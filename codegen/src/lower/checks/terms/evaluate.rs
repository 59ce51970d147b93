//! Evaluation of terms and constraints.

use abi_spec::Scalar;

use crate::declaration::Logic;
use crate::ir::{self, Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms::{device, element, exact, global, message, property, range, text};
use crate::lower::emitter::output;
use crate::lower::emitter::state::ValueState;
use crate::lower::failure::message::Message;
use crate::lower::operators;
use crate::lower::routines::records::PieceKind;
use crate::resolve::c_type::abi_type;
use crate::resolve::ids::ValueId;
use crate::resolve::operator::Division;
use crate::resolve::step::Condition;
use crate::resolve::term::{Kind, Node, Quote, Term};

/// Checks a constraint.
pub(in crate::lower::checks) fn require(c: &mut Checker<'_, '_>, condition: &Condition<'_>) {
    let holds = truth(c, &condition.test);
    let exit = c.failing(|c| {
        let mut message = Message::new("ValueError");
        match condition.message {
            Some(text) => message.quoted(text),
            None => message.text("Violated ").quoted(&condition.quote.text),
        };
        message.piece(PieceKind::Calling, &[]);
        message::quoted_values(c, &mut message, &condition.quote);
        message
    });
    c.checks.or_go_to(exit).always(&mut c.e.b, holds);
    if c.checks.mask.is_none() {
        range::narrow_ranges(c, &condition.test);
    }
}

/// Returns a term that is 1 or 0 as a `Bool`.
pub(in crate::lower) fn truth(c: &mut Checker<'_, '_>, term: &Term) -> Value {
    let value = computed(c, term);
    exact::settle_overflows(c);
    if c.e.b.ty(value) == Type::Bool {
        return value;
    }
    c.e.b.compare_const(Cond::Ne, value, 0)
}

/// Returns the value of a term as `I64`, `F64` or `Ptr`. Leaves with an error if an integer on the way to it is none
/// of its type.
pub(in crate::lower) fn eval(c: &mut Checker<'_, '_>, term: &Term) -> Value {
    let value = eval_operand(c, term);
    exact::settle_overflows(c);
    value
}

/// Returns the value of a term like [`eval`], but leaves flags of arithmetic to be tested with those of
/// the expression around it.
pub(super) fn eval_operand(c: &mut Checker<'_, '_>, term: &Term) -> Value {
    let value = computed(c, term);
    if c.e.b.ty(value) == Type::Bool { c.e.b.widen_bool(value, Type::I64) } else { value }
}

/// Returns the value of a term as `I64`, `F64` or `Ptr`; a truth value may also be a `Bool`.
fn computed(c: &mut Checker<'_, '_>, term: &Term) -> Value {
    if let Some(value) = term.node.value() {
        element::reach(c, value);
    }
    match &term.node {
        Node::Int(value) => c.e.b.i64(*value),
        Node::Float(value) => c.e.b.f64(*value),
        Node::Text(_) => unreachable!("text is only compared"),
        Node::Null => c.e.b.null(),
        Node::Symbol(symbol) => c.e.symbol(*symbol),
        Node::Local(local) => c.e.known.local(*local),
        Node::Logic(op, operands) => logic(c, *op, operands),
        Node::Value(value) => whole(c, *value),
        Node::Output(output) => output::tensor(&mut c.e, *output),
        Node::OutputData(output) => output::data(&mut c.e, *output),
        Node::OutputObject(output) => output::object(&c.e, *output),
        Node::Property(value, property) => property::property_of(c, *value, *property),
        Node::Number { of, index, text } => property::number_at(c, *of, index, text),
        Node::Unary(op, operand) => {
            let operand = eval_operand(c, operand);
            operators::unary(&mut c.e.b, *op, operand)
        }
        Node::Binary(op, operands) => {
            let [lhs, rhs] = operands.each_ref().map(|operand| eval_operand(c, operand));
            operators::binary(&mut c.e.b, *op, lhs, rhs)
        }
        Node::Exact(op, operands, text) => exact::exact(c, *op, operands, text),
        Node::Mixed(op, operands) => exact::mixed(c, *op, operands),
        Node::Divide(op, operands, quote) => division(c, *op, operands, quote),
        Node::Narrow(scalar, operand, text) => {
            let native = cast(c, *scalar, operand, text);
            c.e.widen(native, *scalar)
        }
        Node::Offset(is_before, operands) => {
            let [base, bytes] = operands.each_ref().map(|operand| eval_operand(c, operand));
            let zero = c.e.b.i64(0);
            let bytes = match is_before {
                true => c.e.b.binary(ir::Binary::Sub, zero, bytes),
                false => bytes,
            };
            c.e.b.ptr_add(base, bytes)
        }
        Node::Round(scalar, operand) => {
            let value = eval_operand(c, operand);
            let native = c.e.round(value, *scalar);
            c.e.widen(native, *scalar)
        }
        Node::SameText(value, text) => {
            let known = c.e.known.value(*value).span();
            text::text_equals(c, known, text)
        }
        Node::Stream(value) => output::stream_of(&mut c.e, *value),
        Node::OutputStream(output) => output::stream(&mut c.e, *output),
        Node::CurrentDevice => device::current_device(c),
        Node::Global(global) => global::global(c, global),
        Node::DeviceAttribute { home, unsure, id } => {
            device::device_attribute(c, *home, *unsure, *id)
        }
    }
}

/// Returns an integer term converted to a C type. Leaves with an error if it does not fit. `text` is the conversion
/// as messages quote it.
pub(in crate::lower) fn cast(
    c: &mut Checker<'_, '_>,
    scalar: Scalar,
    operand: &Term,
    text: &str,
) -> Value {
    let value = eval(c, operand);
    let shown = if operand.kind == Kind::Unsigned { PieceKind::Unsigned } else { PieceKind::Int };
    let fail = c.failing(|c| {
        let mut message = Message::new("ValueError");
        message.text("Out of range ").quoted(text).on(message::argument(c, operand));
        message.piece(PieceKind::Calling, &[]);
        message.text(", expected ").text(scalar.name()).text(" but got ");
        message.piece(shown, &[value]);
        message::origins(c, &mut message, operand);
        message
    });
    let outer = std::mem::replace(&mut c.checks.fail, fail);
    let native = fitted(c, value, operand.kind, scalar);
    c.checks.fail = outer;
    native
}

/// Converts an integer to a C type and checks that it fits.
fn fitted(c: &mut Checker<'_, '_>, value: Value, kind: Kind, scalar: Scalar) -> Value {
    if kind == Kind::Unsigned && scalar.is_signed() {
        let above = c.e.b.binary_const(ir::Binary::Lshr, value, i64::from(scalar.bits()) - 1);
        c.checks.equal_const(&mut c.e.b, above, 0);
        return c.e.b.truncate(value, scalar);
    }
    narrow(c, value, scalar)
}

/// Converts an `I64` to an integer type and checks that it fits.
pub(in crate::lower::checks) fn narrow(
    c: &mut Checker<'_, '_>,
    wide: Value,
    scalar: Scalar,
) -> Value {
    let ty = abi_type(scalar).ty;
    if ty == Type::I64 {
        if scalar == Scalar::Uint64 {
            c.checks.non_negative(&mut c.e.b, wide);
        }
        return wide;
    }
    let narrow = c.e.b.truncate(wide, scalar);
    let widen = if scalar.is_signed() { Convert::Sext } else { Convert::Zext };
    let again = c.e.b.convert(widen, narrow, Type::I64);
    c.checks.equal(&mut c.e.b, again, wide);
    narrow
}

/// Returns the conjunction or disjunction of two truth values. A second operand that may fail is evaluated only if
/// the first one does not decide the result.
fn logic(c: &mut Checker<'_, '_>, op: Logic, [first, second]: &[Term; 2]) -> Value {
    let first = truth(c, first);
    if !second.can_fail() && !range::may_overflow(c, second) && !element::looks_up(c, second) {
        let second = truth(c, second);
        return match op {
            Logic::And => c.e.b.and(first, second),
            Logic::Or => c.e.b.or(first, second),
        };
    }
    let [other, decided, join] = ["other", "decided", "logic"].map(|label| c.e.b.block(label));
    let both = c.e.b.block_param(join, Type::Bool, ir::Hint::default());
    let (then, otherwise) = match op {
        Logic::And => (other, decided),
        Logic::Or => (decided, other),
    };
    c.e.b.branch(first, then, otherwise);
    c.e.b.switch_to(decided);
    c.e.b.jump(join, &[first]);
    c.e.b.switch_to(other);
    let known = c.e.known.mark();
    let second = c.without_dominating(|c| truth(c, second));
    c.e.known.go_back(known);
    c.e.b.jump(join, &[second]);
    c.e.b.switch_to(join);
    both
}

/// Returns a declared value as the word that terms use.
fn whole(c: &mut Checker<'_, '_>, value: ValueId) -> Value {
    match &c.e.known.value(value) {
        ValueState::Scalar(_) => c.e.wide(value),
        ValueState::Tensor(_) => {
            let dl = c.e.tensor(value).dl();
            c.e.or_zero(value, dl)
        }
        state @ (ValueState::Word(_)
        | ValueState::Pending
        | ValueState::Span(_)
        | ValueState::Tuple(_)) => state.word(),
    }
}

/// Returns the result of a division. Leaves with an error if the divisor is 0.
fn division(c: &mut Checker<'_, '_>, op: Division, operands: &[Term; 2], quote: &Quote) -> Value {
    let x = eval_operand(c, &operands[0]);
    if let Some(divisor) = operands[1].constant() {
        return operators::divide_by(&mut c.e.b, op, x, divisor);
    }
    let mut y = eval(c, &operands[1]);
    let fail = c.failing(|c| {
        let mut message = Message::new("ValueError");
        message.text("Division by zero in ").quoted(&quote.text);
        message.piece(PieceKind::Calling, &[]);
        message::quoted_values(c, &mut message, quote);
        message
    });
    if c.checks.mask.is_some() || c.checks.passed {
        // The check applies only where the mask is true; elsewhere the divisor may be 0.
        let zero = c.e.b.compare_const(Cond::Eq, y, 0);
        c.checks.or_go_to(fail).never(&mut c.e.b, zero);
        let one = c.e.b.i64(1);
        y = c.e.b.select(zero, one, y);
    } else {
        let some = c.e.b.compare_const(Cond::Ne, y, 0);
        c.e.b.guard(some, fail);
    }
    if range::quotient_may_overflow(c, op, operands) {
        exact::note_quotient(c, [x, y], &quote.text);
    }
    operators::divide(&mut c.e.b, op, x, y)
}
