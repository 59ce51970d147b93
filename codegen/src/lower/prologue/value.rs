//! Parameters that are neither scalars nor tensors: text, objects, containers, dtypes, devices.
//!
//! The usual form of each value is unpacked inline; a routine in a cold block accepts the other forms.

use abi_spec::TypeIndex;
use abi_spec::layout::{BYTE_ARRAY, OBJECT, any, seq_cell};

use crate::declaration::{Leaf, Mapping, ObjectClass, ParamType, Sequence, Shape};
use crate::ir::{Block, Builder, Cond, Convert, Type, Value};
use crate::lower::emitter::frame::Slot;
use crate::lower::emitter::state::ValueState;
use crate::lower::routines::{self, CLASS_CACHE, Routine};
use crate::lower::value::{Span, constant_bytes, zeros};
use crate::lower::wrapper::Wrapper;
use crate::resolve::accepted::{MAX_SMALL, accepted, dynamic_key};
use crate::resolve::ids::ValueId;
use crate::resolve::value::Source;

impl Wrapper<'_, '_> {
    /// Checks the type index of a value and unpacks its payload.
    pub(crate) fn value_type(&mut self, value: ValueId) {
        let declared = &self.function.values[value];
        if let Source::Rest(first) = declared.source {
            self.values[value] = self.rest(value, first);
            return;
        }
        let state = match declared.ty {
            ParamType::Leaf(Leaf::Str) => {
                ValueState::Span(self.text(value, TypeIndex::SMALL_STR, TypeIndex::STR))
            }
            ParamType::Leaf(Leaf::Bytes) => {
                ValueState::Span(self.text(value, TypeIndex::SMALL_BYTES, TypeIndex::BYTES))
            }
            ParamType::Leaf(Leaf::DType) => {
                self.word(value, TypeIndex::DATA_TYPE, Routine::ToDtype)
            }
            ParamType::Leaf(Leaf::Device) => self.word(value, TypeIndex::DEVICE, Routine::ToDevice),
            ParamType::Shape(_) => self.numbers(value),
            ParamType::Object(_) => self.class(value),
            ParamType::Sequence(sequence, _) => ValueState::Word(match sequence {
                Sequence::Array => self.object(value, Some(TypeIndex::ARRAY)),
                Sequence::List => self.object(value, Some(TypeIndex::LIST)),
            }),
            ParamType::Mapping(mapping, _) => ValueState::Word(match mapping {
                Mapping::Map => self.object(value, Some(TypeIndex::MAP)),
                Mapping::Dict => self.object(value, Some(TypeIndex::DICT)),
            }),
            ParamType::Tuple(_) => ValueState::Tuple(self.object(value, Some(TypeIndex::ARRAY))),
            ParamType::Literal(literals) => self.literal(value, literals),
            ParamType::Leaf(Leaf::Any) | ParamType::Union(_) => {
                let address = self.any_address(value);
                ValueState::Word(self.or_zero(value, address))
            }
            ParamType::Leaf(Leaf::Stream) => self.stream_value(value),
            ParamType::Scalar(_) | ParamType::Tensor(_) | ParamType::Optional(_) => {
                unreachable!("these have steps of their own")
            }
        };
        self.set_state(value, state);
    }

    /// Checks the number of elements of a tuple or of a shape.
    pub(crate) fn value_header(&mut self, value: ValueId) {
        match (self.function.values[value].ty, self.values[value].clone()) {
            (ParamType::Tuple(elements), ValueState::Tuple(object)) => {
                let object = self.readable(value, object, OBJECT.size as usize + 16);
                let size = self.b.load(Type::I64, object, seq_cell::SIZE.in_object());
                let expected = self.b.i64(elements.len() as i64);
                self.checks.equal(&mut self.b, size, expected);
                let data = self.b.load(Type::Ptr, object, seq_cell::DATA.in_object());
                let data = self.readable(value, data, 16 * elements.len());
                let hint = self.hint(value, "elements", None);
                self.b.hint(data, hint);
                self.values[value] = ValueState::Tuple(data);
            }
            (ParamType::Shape(Shape::Dims(dims)), ValueState::Span(Span { size, .. })) => {
                let expected = self.b.i64(dims.len() as i64);
                self.checks.equal(&mut self.b, size, expected);
            }
            _ => {}
        }
    }

    /// Returns the address and the number of the arguments from index `first` on.
    fn rest(&mut self, value: ValueId, first: usize) -> ValueState {
        let address = self.any_address(value);
        let num_args = self.num_args();
        let count = self.b.convert(Convert::Sext, num_args, Type::I64);
        let count = self.b.binary_const(crate::ir::Binary::Sub, count, first as i64);
        ValueState::Span(Span { data: address, size: count })
    }

    /// Returns 0 if the value is absent, `then` if all conditions hold, and else the result of `otherwise`, which is
    /// computed in a cold block.
    fn usually(
        &mut self,
        value: ValueId,
        conditions: &[Value],
        then: Value,
        otherwise: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let (slow, join) = (self.b.cold_block("unusual"), self.b.block("next"));
        let ty = self.b.ty(then);
        let hint = self.hint(value, "", None);
        let result = self.b.block_param(join, ty, hint);
        if let Some(there) = self.mask(value) {
            let zero = self.b.constant(ty, 0);
            self.go_unless(there, join, &[zero]);
        }
        for &condition in conditions {
            self.b.guard(condition, slow);
        }
        self.b.jump(join, &[then]);
        self.b.switch_to(slow);
        let other = otherwise(self);
        self.b.jump(join, &[other]);
        self.b.switch_to(join);
        result
    }

    /// Branches to the current exit if a pointer is NULL. Returns the pointer.
    fn guard_non_null(&mut self, pointer: Value) -> Value {
        if !self.checks.passed {
            let some = self.b.compare_const(Cond::Ne, pointer, 0);
            let fail = self.checks.fail;
            self.b.guard(some, fail);
        }
        pointer
    }

    /// Returns the two bit masks of the type indices that a value accepts, low bits first.
    fn masks(&mut self, value: ValueId) -> [Value; 2] {
        let accepted = accepted(self.function.values[value].ty);
        [self.b.i64(accepted.low as i64), self.b.i64(accepted.high as i64)]
    }

    /// Returns the object of a value. Inline code accepts the type index `usual`, or any object if that is `None`; a
    /// routine accepts rvalue references and other types.
    fn object(&mut self, value: ValueId, usual: Option<TypeIndex>) -> Value {
        let (index, payload) = self.words(value, Type::Ptr);
        let right = match usual {
            Some(usual) => self.b.compare_const(Cond::Eq, index, usual.0.into()),
            None => self.b.compare_const(Cond::Sge, index, TypeIndex::STATIC_OBJECT_BEGIN.0.into()),
        };
        let some = self.b.compare_const(Cond::Ne, payload, 0);
        self.usually(value, &[right, some], payload, |w| {
            let address = w.any_address(value);
            let [low, high] = w.masks(value);
            let object = w.routine_value(Routine::Object, &[address, low, high]);
            w.guard_non_null(object)
        })
    }

    /// Checks an object of a declared class.
    fn class(&mut self, value: ValueId) -> ValueState {
        let ty = self.function.values[value].ty;
        let indices = TypeIndex::ALL.iter().filter(|index| index.is_object());
        let key = ty.class().and_then(ObjectClass::key);
        let usual = key.and_then(|key| indices.copied().find(|i| i.type_key() == Some(key)));
        let object = self.object(value, usual);
        if let Some(key) = dynamic_key(ty).filter(|_| !self.checks.passed) {
            let cache = class_cache(&mut self.b, key);
            let text = constant_bytes(&mut self.b, key.as_bytes().to_vec());
            let length = self.b.i64(key.len() as i64);
            let is = self.routine_value(Routine::IsInstance, &[object, text, length, cache]);
            let other = self.b.compare_const(Cond::Eq, is, 0);
            self.checks.never(&mut self.b, other);
        }
        ValueState::Word(object)
    }

    /// Returns address and size of text or bytes.
    pub(crate) fn text(&mut self, value: ValueId, small: TypeIndex, object: TypeIndex) -> Span {
        if self.forms.texts && self.checks.mask.is_none() {
            let array = self.text_array(value);
            return self.array_of_bytes(value, array);
        }
        let (slow, join) = (self.b.cold_block("unusual"), self.b.block("text"));
        let [data, size] = [(Type::Ptr, "data"), (Type::I64, "size")].map(|(ty, part)| {
            let hint = self.hint(value, part, None);
            self.b.block_param(join, ty, hint)
        });
        if let Some(there) = self.mask(value) {
            let nothing = [self.b.null(), self.b.i64(0)];
            self.go_unless(there, join, &nothing);
        }
        let (index, payload) = self.words(value, Type::Ptr);
        let is_small = self.b.compare_const(Cond::Eq, index, small.0.into());
        let (inside, outside) = (self.b.block("inside"), self.b.block("outside"));
        self.b.branch(is_small, inside, outside);
        self.b.switch_to(inside);
        let text = self.small_text(value, slow);
        self.b.jump(join, &[text.data, text.size]);
        self.b.switch_to(outside);
        let is_object = self.b.compare_const(Cond::Eq, index, object.0.into());
        self.b.guard(is_object, slow);
        let text = self.text_object(value, payload, slow);
        self.b.jump(join, &[text.data, text.size]);
        self.b.switch_to(slow);
        let array = self.text_array(value);
        let text = self.array_of_bytes(value, array);
        self.b.jump(join, &[text.data, text.size]);
        self.b.switch_to(join);
        Span { data, size }
    }

    /// Returns address and size of text inside the `TVMFFIAny`; branches to `slow` if its length exceeds [`MAX_SMALL`].
    fn small_text(&mut self, value: ValueId, slow: Block) -> Span {
        let address = self.any_address(value);
        let length = self.b.load(Type::I32, address, any::SMALL_LEN.offset);
        let fits = self.b.compare_const(Cond::Ule, length, MAX_SMALL);
        self.b.guard(fits, slow);
        let data = self.b.ptr_offset(address, any::PAYLOAD.offset.into());
        Span { data, size: self.b.convert(Convert::Zext, length, Type::I64) }
    }

    /// Returns address and size of a text object; branches to `slow` if it is NULL.
    fn text_object(&mut self, value: ValueId, object: Value, slow: Block) -> Span {
        let some = self.b.compare_const(Cond::Ne, object, 0);
        self.b.guard(some, slow);
        let array = self.b.ptr_offset(object, OBJECT.size.into());
        self.array_of_bytes(value, array)
    }

    /// Returns the address of a `TVMFFIByteArray` that a routine finds or fills for text of any form.
    fn text_array(&mut self, value: ValueId) -> Value {
        let address = self.any_address(value);
        let [low, high] = self.masks(value);
        let slot = self.slot(Slot::Scratch, BYTE_ARRAY.size);
        let array = self.routine_value(Routine::Text, &[address, low, high, slot]);
        self.guard_non_null(array)
    }

    /// Returns the payload of a dtype or a device; a routine parses text that names one.
    fn word(&mut self, value: ValueId, usual: TypeIndex, otherwise: Routine) -> ValueState {
        let (index, payload) = self.words(value, Type::I64);
        let right = self.b.compare_const(Cond::Eq, index, usual.0.into());
        let word = if usual == TypeIndex::DATA_TYPE {
            self.b.binary_const(crate::ir::Binary::And, payload, 0xffff_ffff)
        } else {
            payload
        };
        let word = self.usually(value, &[right], word, |w| {
            let address = w.any_address(value);
            let slot = w.slot(Slot::Scratch, 8);
            let [low, high] = w.masks(value);
            let named = w.routine_value(otherwise, &[address, low, high, slot]);
            let named = w.b.compare_const(Cond::Ne, named, 0);
            let fail = w.checks.fail;
            w.b.guard(named, fail);
            w.b.load(Type::I64, slot, 0)
        });
        ValueState::Word(word)
    }

    /// Returns address and size of the numbers of a shape; a routine copies those of an array or list.
    fn numbers(&mut self, value: ValueId) -> ValueState {
        let (index, payload) = self.words(value, Type::Ptr);
        let right = self.b.compare_const(Cond::Eq, index, TypeIndex::SHAPE.0.into());
        let some = self.b.compare_const(Cond::Ne, payload, 0);
        let cell = self.b.ptr_offset(payload, OBJECT.size.into());
        let cell = self.usually(value, &[right, some], cell, |w| {
            let address = w.any_address(value);
            let slot = w.b.stack_slot(routines::NUMBERS_SIZE, 8);
            let cell = w.routine_value(Routine::Numbers, &[address, slot]);
            w.guard_non_null(cell)
        });
        let cell = self.readable(value, cell, 16);
        ValueState::Span(self.array_of_bytes(value, cell))
    }

    /// Returns a stream: an opaque pointer, an int, or NULL for None.
    fn stream_value(&mut self, value: ValueId) -> ValueState {
        let (index, payload) = self.words(value, Type::Ptr);
        let pointer = self.b.compare_const(Cond::Eq, index, TypeIndex::OPAQUE_PTR.0.into());
        let int = self.b.compare_const(Cond::Eq, index, TypeIndex::INT.0.into());
        let some = self.b.or(pointer, int);
        let none = self.b.compare_const(Cond::Eq, index, TypeIndex::NONE.0.into());
        let any = self.b.or(some, none);
        let wrong = self.b.not(any);
        self.checks.never(&mut self.b, wrong);
        let null = self.b.null();
        let stream = self.b.select(some, payload, null);
        let hint = self.hint(value, "", None);
        ValueState::Word(self.b.hint(stream, hint))
    }
}

/// Returns the address of the cache of a class.
fn class_cache(b: &mut Builder<'_>, key: &str) -> Value {
    let symbol = zeros(b.module, &format!("tvm_ffi_codegen.class.{key}"), CLASS_CACHE);
    b.address(symbol)
}
