//! Parameters that are neither scalars nor tensors: text, objects, containers, dtypes, devices.
//!
//! The usual form of each value is unpacked inline; a routine in a cold block accepts the other forms.

use abi_spec::TypeIndex;
use abi_spec::layout::{OBJECT, seq_cell};

use crate::declaration::{Leaf, Mapping, ObjectClass, ParamType, Sequence, Shape};
use crate::ir::{Builder, Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::{literal, text};
use crate::lower::emitter::frame::Slot;
use crate::lower::emitter::state::ValueState;
use crate::lower::emitter::tensor::dl_of;
use crate::lower::routines::{self, CLASS_CACHE, Routine};
use crate::lower::value::{Span, constant_bytes, zeros};
use crate::resolve::accepted::dynamic_key;
use crate::resolve::ids::ValueId;
use crate::resolve::value::Source;

/// Checks the type index of a value and unpacks its payload.
pub(super) fn value_type(c: &mut Checker<'_, '_>, value: ValueId) {
    let declared = &c.e.function.values[value];
    if let Source::Rest(first) = declared.source {
        let state = rest(c, value, first);
        c.e.known.replace(value, state);
        return;
    }
    let state = match declared.ty {
        ParamType::Leaf(Leaf::Str) => {
            ValueState::Span(text::text(c, value, TypeIndex::SMALL_STR, TypeIndex::STR))
        }
        ParamType::Leaf(Leaf::Bytes) => {
            ValueState::Span(text::text(c, value, TypeIndex::SMALL_BYTES, TypeIndex::BYTES))
        }
        ParamType::Leaf(Leaf::DType) => word(c, value, TypeIndex::DATA_TYPE, Routine::ToDtype),
        ParamType::Leaf(Leaf::Device) => word(c, value, TypeIndex::DEVICE, Routine::ToDevice),
        ParamType::Shape(_) => numbers(c, value),
        ParamType::Object(_) => class(c, value),
        ParamType::Sequence(sequence, _) => ValueState::Word(match sequence {
            Sequence::Array => object(c, value, Some(TypeIndex::ARRAY)),
            Sequence::List => object(c, value, Some(TypeIndex::LIST)),
        }),
        ParamType::Mapping(mapping, _) => ValueState::Word(match mapping {
            Mapping::Map => object(c, value, Some(TypeIndex::MAP)),
            Mapping::Dict => object(c, value, Some(TypeIndex::DICT)),
        }),
        ParamType::Tuple(_) => ValueState::Tuple(object(c, value, Some(TypeIndex::ARRAY))),
        ParamType::Literal(literals) => literal::literal(c, value, literals),
        ParamType::Leaf(Leaf::Any) | ParamType::Union(_) => {
            let address = c.e.any_address(value);
            ValueState::Word(c.e.or_zero(value, address))
        }
        ParamType::Leaf(Leaf::Stream) => stream_value(c, value),
        ParamType::Leaf(Leaf::Handle) => handle(c, value),
        ParamType::Scalar(_) | ParamType::Tensor(_) | ParamType::Optional(_) => {
            unreachable!("these have steps of their own")
        }
    };
    c.e.known.load(value, state);
}

/// Checks the number of elements of a tuple or of a shape.
pub(super) fn value_header(c: &mut Checker<'_, '_>, value: ValueId) {
    match (c.e.function.values[value].ty, c.e.known.value(value).clone()) {
        (ParamType::Tuple(elements), ValueState::Tuple(object)) => {
            let object = c.e.readable(value, object, OBJECT.size as usize + 16);
            let size = c.e.b.load(Type::I64, object, seq_cell::SIZE.in_object());
            let expected = c.e.b.i64(elements.len() as i64);
            c.checks.equal(&mut c.e.b, size, expected);
            let data = c.e.b.load(Type::Ptr, object, seq_cell::DATA.in_object());
            let data = c.e.readable(value, data, 16 * elements.len());
            let hint = c.e.hint(value, "elements", None);
            c.e.b.hint(data, hint);
            c.e.known.replace(value, ValueState::Tuple(data));
        }
        (ParamType::Shape(Shape::Dims(dims)), ValueState::Span(Span { size, .. })) => {
            let expected = c.e.b.i64(dims.len() as i64);
            c.checks.equal(&mut c.e.b, size, expected);
        }
        _ => {}
    }
}

/// Returns the address and the number of the arguments from index `first` on.
fn rest(c: &mut Checker<'_, '_>, value: ValueId, first: usize) -> ValueState {
    let address = c.e.any_address(value);
    let num_args = c.e.num_args();
    let count = c.e.b.convert(Convert::Sext, num_args, Type::I64);
    let count = c.e.b.binary_const(crate::ir::Binary::Sub, count, first as i64);
    ValueState::Span(Span { data: address, size: count })
}

/// Returns 0 if the value is absent, `then` if all conditions hold, and else the result of `otherwise`, which is
/// computed in a cold block.
fn usually(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    conditions: &[Value],
    then: Value,
    otherwise: impl FnOnce(&mut Checker<'_, '_>) -> Value,
) -> Value {
    let (slow, join) = (c.e.b.cold_block("unusual"), c.e.b.block("next"));
    let ty = c.e.b.ty(then);
    let hint = c.e.hint(value, "", None);
    let result = c.e.b.block_param(join, ty, hint);
    if let Some(there) = c.e.known.mask(value) {
        let zero = c.e.b.constant(ty, 0);
        c.e.b.go_unless(there, join, &[zero]);
    }
    for &condition in conditions {
        c.e.b.guard(condition, slow);
    }
    c.e.b.jump(join, &[then]);
    c.e.b.switch_to(slow);
    let other = otherwise(c);
    c.e.b.jump(join, &[other]);
    c.e.b.switch_to(join);
    result
}

/// Returns the object of a value. Inline code accepts the type index `usual`, or any object if that is `None`; a
/// routine accepts rvalue references and other types. Of a result that has been checked before, which is no reference,
/// the payload is the object.
fn object(c: &mut Checker<'_, '_>, value: ValueId, usual: Option<TypeIndex>) -> Value {
    let is_result = matches!(c.e.function.values[value].source, Source::Result);
    if is_result && c.checks.passed && c.e.known.mask(value).is_none() {
        return c.e.payload(value, Type::Ptr);
    }
    let (index, payload) = c.e.words(value, Type::Ptr);
    let right = match usual {
        Some(usual) => c.e.b.compare_const(Cond::Eq, index, usual.0.into()),
        None => c.e.b.compare_const(Cond::Sge, index, TypeIndex::STATIC_OBJECT_BEGIN.0.into()),
    };
    let some = c.e.b.compare_const(Cond::Ne, payload, 0);
    usually(c, value, &[right, some], payload, |c| {
        let address = c.e.any_address(value);
        let [low, high] = text::masks(c, value);
        let object = c.e.routine_value(Routine::Object, &[address, low, high]);
        text::guard_non_zero(c, object)
    })
}

/// Checks an object of a declared class.
fn class(c: &mut Checker<'_, '_>, value: ValueId) -> ValueState {
    let ty = c.e.function.values[value].ty;
    let indices = TypeIndex::ALL.iter().filter(|index| index.is_object());
    let key = ty.class().and_then(ObjectClass::key);
    let usual = key.and_then(|key| indices.copied().find(|i| i.type_key() == Some(key)));
    let object = object(c, value, usual);
    if let Some(key) = dynamic_key(ty).filter(|_| !c.checks.passed) {
        let cache = class_cache(&mut c.e.b, key);
        let text = constant_bytes(&mut c.e.b, key.as_bytes().to_vec());
        let length = c.e.b.i64(key.len() as i64);
        let is = c.e.routine_value(Routine::IsInstance, &[object, text, length, cache]);
        let other = c.e.b.compare_const(Cond::Eq, is, 0);
        c.checks.never(&mut c.e.b, other);
    }
    ValueState::Word(object)
}

/// Returns the payload of a dtype or a device; a routine parses text that names one.
fn word(
    c: &mut Checker<'_, '_>,
    value: ValueId,
    usual: TypeIndex,
    otherwise: Routine,
) -> ValueState {
    let (index, payload) = c.e.words(value, Type::I64);
    let right = c.e.b.compare_const(Cond::Eq, index, usual.0.into());
    let word = if usual == TypeIndex::DATA_TYPE {
        c.e.b.binary_const(crate::ir::Binary::And, payload, 0xffff_ffff)
    } else {
        payload
    };
    let word = usually(c, value, &[right], word, |c| {
        let address = c.e.any_address(value);
        let slot = c.e.slot(Slot::Scratch, 8);
        let [low, high] = text::masks(c, value);
        let named = c.e.routine_value(otherwise, &[address, low, high, slot]);
        text::guard_non_zero(c, named);
        c.e.b.load(Type::I64, slot, 0)
    });
    ValueState::Word(word)
}

/// Returns address and size of the numbers of a shape; a routine copies those of an array or list.
fn numbers(c: &mut Checker<'_, '_>, value: ValueId) -> ValueState {
    let (index, payload) = c.e.words(value, Type::Ptr);
    let right = c.e.b.compare_const(Cond::Eq, index, TypeIndex::SHAPE.0.into());
    let some = c.e.b.compare_const(Cond::Ne, payload, 0);
    let cell = c.e.b.ptr_offset(payload, OBJECT.size.into());
    let cell = usually(c, value, &[right, some], cell, |c| {
        let address = c.e.any_address(value);
        let slot = c.e.b.stack_slot(routines::NUMBERS_SIZE, 8);
        let cell = c.e.routine_value(Routine::Numbers, &[address, slot]);
        text::guard_non_zero(c, cell)
    });
    let cell = c.e.readable(value, cell, 16);
    ValueState::Span(c.e.array_of_bytes(value, cell))
}

/// Returns a stream: an opaque pointer, an int, or NULL for None.
fn stream_value(c: &mut Checker<'_, '_>, value: ValueId) -> ValueState {
    let (index, payload) = c.e.words(value, Type::Ptr);
    let pointer = c.e.b.compare_const(Cond::Eq, index, TypeIndex::OPAQUE_PTR.0.into());
    let int = c.e.b.compare_const(Cond::Eq, index, TypeIndex::INT.0.into());
    let some = c.e.b.or(pointer, int);
    let none = c.e.b.compare_const(Cond::Eq, index, TypeIndex::NONE.0.into());
    let any = c.e.b.or(some, none);
    let wrong = c.e.b.not(any);
    c.checks.never(&mut c.e.b, wrong);
    let null = c.e.b.null();
    let stream = c.e.b.select(some, payload, null);
    let hint = c.e.hint(value, "", None);
    ValueState::Word(c.e.b.hint(stream, hint))
}

/// Returns a handle: the `DLTensor*` of a tensor, the address of a pointer, another object; NULL for None. A routine
/// accepts what is neither a tensor nor a pointer.
fn handle(c: &mut Checker<'_, '_>, value: ValueId) -> ValueState {
    let (index, payload) = c.e.words(value, Type::Ptr);
    let usual = [TypeIndex::TENSOR, TypeIndex::DL_TENSOR_PTR, TypeIndex::OPAQUE_PTR];
    let [tensor, view, pointer] =
        usual.map(|usual| c.e.b.compare_const(Cond::Eq, index, usual.0.into()));
    let either = c.e.b.or(tensor, view);
    let either = c.e.b.or(either, pointer);
    let some = c.e.b.compare_const(Cond::Ne, payload, 0);
    let address = dl_of(&mut c.e.b, index, payload);
    let handle = usually(c, value, &[either, some], address, |c| {
        let address = c.e.any_address(value);
        let slot = c.e.slot(Slot::Scratch, 8);
        let [low, high] = text::masks(c, value);
        let is_handle = c.e.routine_value(Routine::ToHandle, &[address, low, high, slot]);
        text::guard_non_zero(c, is_handle);
        c.e.b.load(Type::Ptr, slot, 0)
    });
    ValueState::Word(handle)
}

/// Returns the address of the cache of a class.
fn class_cache(b: &mut Builder<'_>, key: &str) -> Value {
    let symbol = zeros(b.module, &format!("tvm_ffi_codegen.class.{key}"), CLASS_CACHE);
    b.address(symbol)
}
