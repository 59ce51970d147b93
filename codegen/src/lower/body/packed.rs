//! Values of the FFI (`TVMFFIAny`) that a body writes: arguments of calls, elements of arrays, results.

use abi_spec::layout::{OBJECT, any, object};
use abi_spec::{Scalar, TypeIndex};

use crate::declaration::ParamType;
use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::checks::{Checker, terms};
use crate::lower::emitter::output;
use crate::lower::emitter::state::ValueState;
use crate::lower::failure::message::Message;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::value::{AnyWords, write_any, write_text};
use crate::resolve::accepted::{Accepted, possible, result_index};
use crate::resolve::body::Plain;
use crate::resolve::ids::ValueId;
use crate::resolve::term::{Kind, Term};
use crate::resolve::value::is_of_caller;

/// A value to write, after the object that it may need has been made.
pub(super) enum Made<'p, 'a> {
    Plain(&'p Plain<'a>),
    /// Address of an owned value: an array, a shape or a string that was made.
    Owned(Value),
}

/// Leaves with a complaint if a value that an object of the runtime will keep, which is packed at byte `at` of an
/// area, is a `DLTensor*`: its memory is lent for the call.
pub(super) fn require_object(
    c: &mut Checker<'_, '_>,
    plain: &Plain<'_>,
    (area, at): (Value, i32),
    complaint: Complaint,
) {
    let Plain::Value(value) = plain else { return };
    let value = &c.e.function.values[*value];
    if possible(value.ty).meets(Accepted::of(&[TypeIndex::DL_TENSOR_PTR])) {
        let fail = c.failing(|_| Message::of(complaint, &value.path));
        let index = c.e.b.load(Type::I32, area, at + any::TYPE_INDEX.offset);
        let is_object = c.e.b.compare_const(Cond::Ne, index, TypeIndex::DL_TENSOR_PTR.0.into());
        c.e.b.guard(is_object, fail);
    }
}

/// Emits the call of a routine that makes an object of `count` values.
pub(super) fn make_with(
    c: &mut Checker<'_, '_>,
    routine: Routine,
    values: Value,
    count: usize,
    to: Value,
) {
    let site = c.exits.here(&mut c.e);
    let count = c.e.b.i32(count as i32);
    let status = c.e.routine_value(routine, &[site, values, count, to]);
    c.e.exit_unless_zero(status, "not_made");
}

/// Writes a value to byte `at` of an area.
pub(super) fn pack(c: &mut Checker<'_, '_>, plain: &Plain<'_>, to: Value, at: i32) {
    match plain {
        Plain::None => {
            let zero = c.e.b.i64(0);
            store_any(c, TypeIndex::NONE, zero, to, at);
        }
        Plain::Term(term) => pack_term(c, term, to, at),
        Plain::Text(text) => write_text(&mut c.e.b, text, to, at),
        Plain::Value(value) => pack_value(c, *value, to, at),
        Plain::Output(output) => {
            let object = output::object(&c.e, *output);
            store_any(c, TypeIndex::TENSOR, object, to, at);
        }
    }
}

/// Stores a type index and a payload at byte `at` of an area.
fn store_any(c: &mut Checker<'_, '_>, index: TypeIndex, payload: Value, to: Value, at: i32) {
    let to = if at == 0 { to } else { c.e.b.ptr_offset(to, at.into()) };
    write_any(&mut c.e.b, to, index, payload);
}

/// Writes the value of a term.
pub(super) fn pack_term(c: &mut Checker<'_, '_>, term: &Term, to: Value, at: i32) {
    let value = terms::eval(c, term);
    let index = match term.kind {
        Kind::Unsigned | Kind::Int => TypeIndex::INT,
        Kind::Bool => TypeIndex::BOOL,
        Kind::Float => TypeIndex::FLOAT,
        Kind::Ptr => TypeIndex::OPAQUE_PTR,
        Kind::DType => TypeIndex::DATA_TYPE,
        Kind::Device => TypeIndex::DEVICE,
        Kind::Text | Kind::Several => unreachable!("these are no terms of their own"),
    };
    store_any(c, index, value, to, at);
}

/// Writes a declared value. A scalar gets the type index of its kind; an rvalue reference becomes the object that
/// it refers to.
pub(super) fn pack_value(c: &mut Checker<'_, '_>, value: ValueId, to: Value, at: i32) {
    let ty = c.e.function.values[value].ty;
    let index = match (c.e.known.value(value).clone(), ty) {
        (ValueState::Scalar(_), ty) => {
            let scalar = ty.scalar().unwrap_or(Scalar::Int64);
            return pack_scalar(c, value, scalar, to, at);
        }
        (ValueState::Word(word), ParamType::Leaf(leaf)) => {
            return match leaf.word_index() {
                Some(index) => store_there(c, value, index, word, to, at),
                None => pack_copy(c, value, to, at),
            };
        }
        (
            ValueState::Word(found),
            ParamType::Object(_) | ParamType::Sequence(..) | ParamType::Mapping(..),
        ) => {
            let readable = c.e.readable(value, found, OBJECT.size as usize);
            (c.e.b.load(Type::I32, readable, object::TYPE_INDEX.offset), found)
        }
        (ValueState::Tensor(_), _) => c.e.words(value, Type::I64),
        (
            ValueState::Word(_) | ValueState::Span(_) | ValueState::Tuple(_) | ValueState::Pending,
            _,
        ) => return pack_copy(c, value, to, at),
    };
    let (index, payload) = index;
    let head = c.e.b.convert(Convert::Zext, index, Type::I64);
    store_words(c, value, AnyWords { head, payload }, to, at);
}

/// Copies a value as the caller passed it, with its padding cleared.
fn pack_copy(c: &mut Checker<'_, '_>, value: ValueId, to: Value, at: i32) {
    let from = c.e.any_address(value);
    let to = if at == 0 { to } else { c.e.b.ptr_offset(to, at.into()) };
    c.e.routine(Routine::CopyAny, &[from, to]);
}

/// Stores the two words of a value, or None if the value is an absent optional.
fn store_words(c: &mut Checker<'_, '_>, value: ValueId, words: AnyWords, to: Value, at: i32) {
    for (word, field) in [(words.head, any::TYPE_INDEX), (words.payload, any::PAYLOAD)] {
        let word = c.e.or_zero(value, word);
        c.e.b.store(word, to, at + field.offset);
    }
}

/// Stores a payload with a type index, or None if the value is an absent optional.
fn store_there(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    index: TypeIndex,
    word: Value,
    to: Value,
    at: i32,
) {
    let head = c.e.b.i64(index.0.into());
    store_words(c, value, AnyWords { head, payload: word }, to, at);
}

/// Writes a declared scalar. The only integer type of the FFI is `int64`: a larger `uint64` that a caller has passed is
/// passed on as the object that it came as, and any other is an error.
fn pack_scalar(c: &mut Checker<'_, '_>, value: ValueId, scalar: Scalar, to: Value, at: i32) {
    let wide = c.e.wide(value);
    if scalar != Scalar::Uint64 {
        return store_there(c, value, result_index(scalar), wide, to, at);
    }
    let fits = c.e.b.compare_const(Cond::Sge, wide, 0);
    if !is_of_caller(&c.e.function.values, value) {
        let path = &c.e.function.values[value].path;
        let fail = c.failing(|_| Message::of(Complaint::WideArgument, path).with_values(&[wide]));
        c.e.b.guard(fits, fail);
        return store_there(c, value, result_index(scalar), wide, to, at);
    }
    let (large, packed) = (c.e.b.cold_block("large"), c.e.b.block("packed"));
    c.e.b.guard(fits, large);
    store_there(c, value, result_index(scalar), wide, to, at);
    c.e.b.jump(packed, &[]);
    c.e.b.switch_to(large);
    pack_copy(c, value, to, at);
    c.e.b.jump(packed, &[]);
    c.e.b.switch_to(packed);
}
