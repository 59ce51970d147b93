//! Evaluation of terms and constraints.

use abi_spec::Scalar;
use abi_spec::layout::{dl_tensor, seq_cell};

use crate::declaration::Logic;
use crate::ir::{self, Cond, Convert, Type, Value};
use crate::language::MAX_RANK;
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms::{device, element, exact, message, range, text};
use crate::lower::emitter::output;
use crate::lower::emitter::state::ValueState;
use crate::lower::emitter::tensor::device_numbers;
use crate::lower::failure::message::Message;
use crate::lower::operators;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::PieceKind;
use crate::lower::value::Span;
use crate::resolve::c_type::abi_type;
use crate::resolve::ids::ValueId;
use crate::resolve::operator::Division;
use crate::resolve::step::{Condition, Place};
use crate::resolve::term::{Kind, Node, OfSeveral, OfTensor, Property, Quote, Term};

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
        message::leaves(c, &mut message, &condition.quote);
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

/// Returns the value of a term like [`term`](Self::term), but leaves flags of arithmetic to be tested with those of
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
        Node::Property(value, property) => property_of(c, *value, *property),
        Node::Number { of, index, text } => number_at(c, *of, index, text),
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
    let fail = c.failing(|_| {
        let mut message = Message::new("ValueError");
        message.text("Out of range ").quoted(text).piece(PieceKind::Calling, &[]);
        message.text(", expected ").text(scalar.name()).text(" but got ");
        message.piece(shown, &[value]);
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

/// Returns a property of a value; 0 if the value is absent.
fn property_of(c: &mut Checker<'_, '_>, value: ValueId, property: Property) -> Value {
    let word = match property {
        Property::IsSome => return c.e.there(value),
        Property::Tensor(property) => tensor_property(c, value, property),
        Property::Several(property) => property_of_several(c, value, property),
        Property::TypeOfDevice | Property::IndexOfDevice => {
            let device = c.e.known.value(value).word();
            let [ty, index] = device_numbers(&mut c.e.b, device);
            if property == Property::TypeOfDevice { ty } else { index }
        }
        Property::Length => {
            let sequence = c.e.known.value(value).word();
            let sequence = c.e.readable(value, sequence, 40);
            c.e.b.load(Type::I64, sequence, seq_cell::SIZE.in_object())
        }
    };
    let word = if c.e.b.ty(word) == Type::I32 {
        c.e.b.convert(Convert::Sext, word, Type::I64)
    } else {
        word
    };
    c.e.or_zero(value, word)
}

/// Returns a property of a value that is loaded as address and size.
fn property_of_several(c: &mut Checker<'_, '_>, value: ValueId, property: OfSeveral) -> Value {
    let Span { data, size } = c.e.known.value(value).span();
    match property {
        OfSeveral::Address => data,
        OfSeveral::Number { index, checked } => {
            if checked {
                exact::settle_overflows(c);
                let has = c.e.b.compare_const(Cond::Sgt, size, index.into());
                guard_where_there(c, value, has, |c| {
                    too_few(c, value, Complaint::SizeLeast, index, size)
                });
            }
            c.e.number_of(value, index as usize)
        }
        OfSeveral::NumberCount | OfSeveral::TextSize | OfSeveral::RestSize { .. } => size,
    }
}

/// Returns a number of a shape. Leaves with an error if there is none of this index.
fn number_at(c: &mut Checker<'_, '_>, of: ValueId, index: &Term, text: &str) -> Value {
    let index = eval(c, index);
    let Span { data, size } = c.e.known.value(of).span();
    let within = c.e.b.compare(Cond::Ult, index, size);
    guard_where_there(c, of, within, |_| {
        Message::of(Complaint::Index, text).with_values(&[size, index])
    });
    let index = c.e.or_zero(of, index);
    let data = c.e.readable(of, data, 8);
    let offset = c.e.b.binary_const(ir::Binary::Shl, index, 3);
    let number = c.e.b.ptr_add(data, offset);
    c.e.b.load(Type::I64, number, 0)
}

/// Returns a property of a tensor.
fn tensor_property(c: &mut Checker<'_, '_>, value: ValueId, property: OfTensor) -> Value {
    let rank = c.e.function.tensor(value).and_then(|tensor| tensor.rank());
    match property {
        OfTensor::Data => c.e.tensor(value).address(),
        OfTensor::Extent { dim, checked: false } => c.e.tensor(value).extent(dim as usize),
        OfTensor::Stride { dim, checked: false, shown } => {
            exact::settle_overflows(c);
            exact::exact_stride(c, value, dim as usize, shown)
        }
        OfTensor::Extent { dim, checked: true } => extent_at(c, value, dim),
        OfTensor::Stride { dim, checked: true, .. } => stride_at(c, value, dim),
        OfTensor::Ndim => match rank {
            Some(rank) => c.e.b.i64(rank as i64),
            None => c.e.tensor(value).ndim32(),
        },
        OfTensor::Numel => {
            exact::settle_overflows(c);
            match rank {
                Some(_) => {
                    exact::exact_product(c, value, 0, |c| exact::large_property(c, value, ".numel"))
                }
                None => exact::exact_numel(c, value),
            }
        }
        OfTensor::IsContiguous => of_tensor(c, Routine::IsCompact, value),
        OfTensor::DType => {
            let dtype = c.e.tensor(value).dtype32();
            c.e.b.convert(Convert::Zext, dtype, Type::I64)
        }
        OfTensor::DeviceType => c.e.tensor(value).device_type32(),
        OfTensor::DeviceId => c.e.tensor(value).device_id32(),
        OfTensor::ByteOffset => c.e.tensor(value).byte_offset(),
    }
}

/// Emits the call of a routine that computes a property of a tensor.
fn of_tensor(c: &mut Checker<'_, '_>, routine: Routine, value: ValueId) -> Value {
    let dl = c.e.tensor(value).dl();
    c.e.routine_value(routine, &[dl])
}

/// Returns an extent of a tensor of any rank.
fn extent_at(c: &mut Checker<'_, '_>, value: ValueId, dim: i32) -> Value {
    let at = require_rank(c, value, dim);
    let shape = match c.e.tensor(value).trailing() {
        true => c.e.tensor(value).own_dims(dl_tensor::SHAPE),
        false => c.e.tensor(value).shape(),
    };
    let far = usize::try_from(dim).is_ok_and(|dim| dim >= MAX_RANK);
    let at = at.or_else(|| far.then(|| c.e.b.i64(dim.into())));
    let Some(at) = at else {
        let shape = c.e.readable(value, shape, 8 * (dim as usize + 1));
        return c.e.b.load(Type::I64, shape, 8 * dim);
    };
    let bytes = c.e.b.binary_const(ir::Binary::Shl, at, 3);
    let extent = c.e.b.ptr_add(shape, bytes);
    let extent = c.e.readable(value, extent, 8);
    c.e.b.load(Type::I64, extent, 0)
}

/// Returns a stride of a tensor of any rank.
fn stride_at(c: &mut Checker<'_, '_>, value: ValueId, dim: i32) -> Value {
    let at = match require_rank(c, value, dim) {
        Some(at) => c.e.or_zero(value, at),
        None => c.e.b.i64(dim.into()),
    };
    exact::exact_stride_at(c, value, at, dim)
}

/// Leaves with an error if a tensor of any rank lacks a dim, so that later loads of its extent and stride are safe.
/// Returns the index from the start, an `I64`, of a dim that counts from the end.
fn require_rank(c: &mut Checker<'_, '_>, value: ValueId, dim: i32) -> Option<Value> {
    let last = if dim < 0 { dim.unsigned_abs() - 1 } else { dim.unsigned_abs() };
    let tensor = c.e.function.tensor(value);
    let least = tensor.map_or(0, |tensor| tensor.shape.least_rank());
    if dim >= 0 && (last as usize) < least {
        return None;
    }
    exact::settle_overflows(c);
    let ndim = c.e.tensor(value).ndim32();
    if last as usize >= least {
        let has = c.e.b.compare_const(Cond::Sgt, ndim, last.into());
        guard_where_there(c, value, has, |c| {
            let ndim = c.e.b.convert(Convert::Sext, ndim, Type::I64);
            too_few(c, value, Complaint::RankLeast, last, ndim)
        });
    }
    (dim < 0).then(|| {
        let ndim = c.e.b.convert(Convert::Sext, ndim, Type::I64);
        c.e.b.binary_const(ir::Binary::Sub, ndim, i64::from(last) + 1)
    })
}

/// Returns the message for an index beyond the dims or numbers of a value.
fn too_few(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    of: Complaint,
    index: u32,
    found: Value,
) -> Message {
    let place = c.exits.subjects.packed_place(Place::Value { value });
    let values = [place as i64, i64::from(index) + 1].map(|number| c.e.b.i64(number));
    Message::of(of, "").with_values(&[values[0], values[1], found])
}

/// Leaves with an error unless a condition holds or the value is absent.
fn guard_where_there(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    holds: Value,
    message: impl FnOnce(&mut Checker<'_, '_>) -> Message,
) {
    let holds = match c.e.known.mask(value) {
        Some(mask) => {
            let absent = c.e.b.not(mask);
            c.e.b.or(absent, holds)
        }
        None => holds,
    };
    let fail = c.failing(message);
    c.e.b.guard(holds, fail);
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
        message::leaves(c, &mut message, quote);
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
