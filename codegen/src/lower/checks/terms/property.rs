//! Properties of values: of tensors, shapes, texts, devices and sequences.

use std::rc::Rc;

use abi_spec::TypeIndex;
use abi_spec::layout::{dl_tensor, seq_cell};

use crate::ir::{self, Cond, Convert, Type, Value};
use crate::language::MAX_RANK;
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms::{evaluate, exact};
use crate::lower::emitter::state::{Computed, ValueState};
use crate::lower::emitter::tensor::device_numbers;
use crate::lower::failure::message::Message;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::value::Span;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Place;
use crate::resolve::term::{OfSeveral, OfTensor, Property, Term};
/// Returns a property of a value; 0 if the value is absent.
pub(super) fn property_of(c: &mut Checker<'_, '_>, value: ValueId, property: Property) -> Value {
    let word = match property {
        Property::IsSome => return c.e.there(value),
        Property::Tensor(property) => tensor_property(c, value, property),
        Property::Object => object(c, value),
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
pub(super) fn number_at(c: &mut Checker<'_, '_>, of: ValueId, index: &Term, text: &str) -> Value {
    let index = evaluate::eval(c, index);
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

/// Returns the object of a tensor. Leaves with an error if the tensor is part of none.
fn object(c: &mut Checker<'_, '_>, value: ValueId) -> Value {
    if let ValueState::Word(object) = *c.e.known.value(value) {
        return object;
    }
    exact::settle_overflows(c);
    let (index, payload) = c.e.words(value, Type::Ptr);
    let is_object = c.e.b.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
    guard_where_there(c, value, is_object, |c| {
        let place = c.exits.subjects.packed_place(Place::Value { value });
        let place = c.e.b.i64(place as i64);
        Message::of(Complaint::NoObject, "").with_values(&[place])
    });
    payload
}

/// Returns a property of a tensor.
fn tensor_property(c: &mut Checker<'_, '_>, value: ValueId, property: OfTensor) -> Value {
    let rank = c.e.function.tensor(value).and_then(|tensor| tensor.rank());
    match property {
        OfTensor::Data => c.e.tensor(value).address(),
        OfTensor::Extent { dim, checked: false } => c.e.tensor(value).extent(dim as usize),
        OfTensor::Stride { dim, checked, shown } => {
            let stride = OfTensor::Stride { dim, checked, shown: 0 };
            once(c, value, stride, |c| match checked {
                true => stride_at(c, value, dim),
                false => exact::exact_stride(c, value, dim as usize, shown),
            })
        }
        OfTensor::Extent { dim, checked: true } => {
            once(c, value, property, |c| extent_at(c, value, dim))
        }
        OfTensor::Ndim => match rank {
            Some(rank) => c.e.b.i64(rank as i64),
            None => c.e.tensor(value).ndim32(),
        },
        OfTensor::Numel => once(c, value, property, |c| match rank {
            Some(_) => {
                exact::exact_product(c, value, 0, |c| exact::large_property(c, value, ".numel"))
            }
            None => exact::exact_numel(c, value),
        }),
        OfTensor::IsContiguous => once(c, value, property, |c| {
            let dl = c.e.tensor(value).dl();
            c.e.routine_value(Routine::IsCompact, &[dl])
        }),
        OfTensor::DType => {
            let dtype = c.e.tensor(value).dtype32();
            c.e.b.convert(Convert::Zext, dtype, Type::I64)
        }
        OfTensor::DeviceType => c.e.tensor(value).device_type32(),
        OfTensor::DeviceId => c.e.tensor(value).device_id32(),
        OfTensor::ByteOffset => c.e.tensor(value).byte_offset(),
    }
}

/// Returns a property of a tensor that is computed with branches or a call, or its value where code that dominates has
/// computed it.
fn once<'a, 'm>(
    c: &mut Checker<'a, 'm>,
    value: ValueId,
    property: OfTensor,
    compute: impl FnOnce(&mut Checker<'a, 'm>) -> Value,
) -> Value {
    let last = c.e.known.tensor(value).computed.clone();
    let mut computed = std::iter::successors(last.as_deref(), |one| one.before.as_deref());
    if let Some(known) = computed.find(|one| one.property == property) {
        return known.result;
    }
    exact::settle_overflows(c);
    let result = compute(c);
    c.e.known.remember(value, |tensor| {
        let before = tensor.computed.take();
        tensor.computed = Some(Rc::new(Computed { property, result, before }));
    });
    result
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
