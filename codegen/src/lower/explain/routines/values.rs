//! Where the values of a call are: their slots, and the tensors and objects in them. What a value holds is
//! told from the value, never from the descriptor.

use abi_spec::TypeIndex;
use abi_spec::layout::{OBJECT, any, byte_array, dl_tensor, object, seq_cell, shape_cell};

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Head, Used, step};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::state::Field;
use crate::lower::explain::schema::At;

/// The value of a step.
impl Builder<'_> {
    /// The `TVMFFIAny`.
    pub(crate) fn any_of(&mut self, s: Value, head: At<Head>) -> Value {
        self.at_slot(s, head, Routine::AnyOf)
    }

    /// The `DLTensor*`.
    pub(crate) fn tensor_of(&mut self, s: Value, head: At<Head>) -> Value {
        self.at_slot(s, head, Routine::TensorOf)
    }

    /// The object.
    pub(crate) fn object_of(&mut self, s: Value, head: At<Head>) -> Value {
        self.at_slot(s, head, Routine::ObjectOf)
    }

    fn at_slot(&mut self, s: Value, head: At<Head>, find: Routine) -> Value {
        let slot = head.slot(self);
        let found = self.routine_value(find, &[s, slot]);
        let some = self.compare_const(Cond::Ne, found, 0);
        self.intact(s, some);
        found
    }

    /// The array or list in a slot.
    pub(crate) fn sequence_of(&mut self, s: Value, slot: Value) -> Value {
        let object = self.routine_value(Routine::ObjectOf, &[s, slot]);
        let some = self.compare_const(Cond::Ne, object, 0);
        self.intact(s, some);
        let index = self.load(Type::I32, object, object::TYPE_INDEX.offset);
        let right = self.is_one_of(index, &[TypeIndex::ARRAY, TypeIndex::LIST]);
        self.intact(s, right);
        object
    }

    /// Sets the value of a slot that is there.
    pub(crate) fn set_slot(&mut self, s: Value, slot: Value, value: Value) {
        let slots = self.field(s, Field::Slots);
        let at = self.element(slots, slot);
        self.store(value, at, 0);
    }

    /// Sets the value of a step, which has been found to be there.
    pub(crate) fn set_value(&mut self, s: Value, head: At<Head>, value: Value) {
        let slot = head.slot(self);
        self.set_slot(s, slot, value);
    }

    /// Says where the value of a slot is, and that nothing else is known of it.
    pub(crate) fn locate(&mut self, s: Value, slot: Value, any: Value) {
        self.in_count(s, slot, Field::SlotCount);
        let anys = self.field(s, Field::Anys);
        let at = self.element(anys, slot);
        self.store(any, at, 0);
        let zero = self.i64(0);
        self.set_slot(s, slot, zero);
    }

    /// Requires that an index is below a count.
    pub(crate) fn in_count(&mut self, s: Value, index: Value, count: Field) {
        let count = self.field(s, count);
        let inside = self.compare(Cond::Ult, index, count);
        self.intact(s, inside);
    }

    /// Requires that a tensor has a dim.
    pub(crate) fn has_dim(&mut self, s: Value, dl: Value, dim: Value) {
        let ndim = self.ndim(dl);
        let inside = self.compare(Cond::Slt, dim, ndim);
        let shape = self.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
        let some = self.compare_const(Cond::Ne, shape, 0);
        let inside = self.and(inside, some);
        self.intact(s, inside);
    }

    /// 1 if the value of a slot is there and not None.
    pub(crate) fn is_some(&mut self, s: Value, slot: Value) -> Value {
        let any = self.routine_value(Routine::AnyOf, &[s, slot]);
        let there = self.compare_const(Cond::Ne, any, 0);
        let none = self.table(&[0; 16]);
        let any = self.select(there, any, none);
        let index = self.load(Type::I32, any, any::TYPE_INDEX.offset);
        let some = self.compare_const(Cond::Ne, index, TypeIndex::NONE.0.into());
        self.truth(some)
    }

    /// The text or bytes of a slot; empty if there are none.
    pub(crate) fn text_of(&mut self, s: Value, slot: Value) -> [Value; 2] {
        let array = self.stack_slot(16, 8);
        self.routine(Routine::TextOf, &[s, slot, array]);
        let data = self.load(Type::Ptr, array, byte_array::DATA.offset);
        [data, self.load(Type::I64, array, byte_array::SIZE.offset)]
    }

    /// The origin of a symbol, which must be one.
    pub(crate) fn origin(&mut self, s: Value, symbol: Value) -> Value {
        self.in_count(s, symbol, Field::Symbols);
        let origins = self.field(s, Field::Origins);
        self.element(origins, symbol)
    }

    /// The value of a symbol.
    pub(crate) fn symbol_value(&mut self, s: Value, symbol: Value) -> Value {
        let slots = self.field(s, Field::Slots);
        self.load_element(slots, symbol)
    }
}

/// `(state, slot)`: the address of the `TVMFFIAny`; NULL if it is not there.
pub(crate) fn any_of(b: &mut Builder<'_>, _: Used) {
    let [s, slot] = [0, 1].map(|i| b.param(i));
    let count = b.field(s, Field::SlotCount);
    let outside = b.compare(Cond::Uge, slot, count);
    b.null_if(outside);
    let anys = b.field(s, Field::Anys);
    let at = b.element(anys, slot);
    let any = b.load(Type::Ptr, at, 0);
    b.ret(Some(any));
}

/// `(state, slot)`: the `DLTensor*`; NULL if there is none whose extents can be read.
pub(crate) fn tensor_of(b: &mut Builder<'_>, _: Used) {
    let args = [0, 1].map(|i| b.param(i));
    let any = b.routine_value(Routine::AnyOf, &args);
    let nothing = b.compare_const(Cond::Eq, any, 0);
    b.null_if(nothing);
    let [tensor, some] = b.is_tensor(any);
    let tensor = b.and(tensor, some);
    let other = b.not(tensor);
    b.null_if(other);
    let dl = b.tensor_in(any);
    let ndim = b.ndim(dl);
    let shape = b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
    let null = b.compare_const(Cond::Eq, shape, 0);
    let zero = b.i64(0);
    let ndim_or_none = b.select(null, zero, ndim);
    let readable = b.eq(ndim, ndim_or_none);
    let least = b.compare_const(Cond::Sge, ndim, 0);
    let readable = b.and(readable, least);
    let null = b.null();
    let dl = b.select(readable, dl, null);
    b.ret(Some(dl));
}

/// `(state, slot)`: the object, also behind an rvalue reference; NULL if there is none.
pub(crate) fn object_of(b: &mut Builder<'_>, _: Used) {
    let args = [0, 1].map(|i| b.param(i));
    let any = b.routine_value(Routine::AnyOf, &args);
    let nothing = b.compare_const(Cond::Eq, any, 0);
    b.null_if(nothing);
    let all = b.i64(-1);
    let object = b.routine_value(Routine::Object, &[any, all, all]);
    b.ret(Some(object));
}

/// `(state, slot, array)`: the text or bytes of a slot; empty if there are none.
pub(crate) fn text_of(b: &mut Builder<'_>, _: Used) {
    let [s, slot, array] = [0, 1, 2].map(|i| b.param(i));
    let any = b.routine_value(Routine::AnyOf, &[s, slot]);
    let there = b.compare_const(Cond::Ne, any, 0);
    let none = b.table(&[0; 16]);
    let any = b.select(there, any, none);
    let all = b.i64(-1);
    let found = b.routine_value(Routine::Text, &[any, all, all, array]);
    let nothing = b.compare_const(Cond::Eq, found, 0);
    let found = b.select(nothing, none, found);
    let data = b.load(Type::Ptr, found, byte_array::DATA.offset);
    let size = b.load(Type::I64, found, byte_array::SIZE.offset);
    b.store(data, array, byte_array::DATA.offset);
    b.store(size, array, byte_array::SIZE.offset);
    b.ret(None);
}

/// `(object, index)`: a number of a shape, or of an array or list of integers; 0 where there is none.
pub(crate) fn number_at(b: &mut Builder<'_>, _: Used) {
    let [object, index] = [0, 1].map(|i| b.param(i));
    let size = b.load(Type::I64, object, shape_cell::SIZE.in_object());
    let inside = b.compare(Cond::Ult, index, size);
    let ty = b.load(Type::I32, object, object::TYPE_INDEX.offset);
    let numbers = b.is_one_of(ty, &[TypeIndex::SHAPE, TypeIndex::ARRAY, TypeIndex::LIST]);
    let there = b.and(inside, numbers);
    b.unless(there, |b| {
        let zero = b.i64(0);
        b.ret(Some(zero));
    });
    let data = b.load(Type::Ptr, object, shape_cell::DATA.in_object());
    let is_shape = b.compare_const(Cond::Eq, ty, TypeIndex::SHAPE.0.into());
    let number = b.element(data, index);
    let element = b.any_at(data, index);
    let element = b.ptr_offset(element, any::PAYLOAD.offset.into());
    let at = b.select(is_shape, number, element);
    let number = b.load(Type::I64, at, 0);
    b.ret(Some(number));
}

/// `(state)`: where an argument is; one that is not there has no address.
pub(crate) fn argument(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Argument>();
    let (slot, index) = (step.slot(b), step.index(b));
    let args = b.field(s, Field::Args);
    let any = b.any_at(args, index);
    let count = b.field(s, Field::NumArgs);
    let there = b.compare(Cond::Slt, index, count);
    let null = b.null();
    let any = b.select(there, any, null);
    b.locate(s, slot, any);
    b.return_code(0);
}

/// `(state)`: where an element of a tuple is.
pub(crate) fn element(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Element>();
    let (slot, tuple, index) = (step.slot(b), step.tuple(b), step.index(b));
    let tuple = b.sequence_of(s, tuple);
    let size = b.load(Type::I64, tuple, seq_cell::SIZE.in_object());
    let inside = b.compare(Cond::Ult, index, size);
    b.intact(s, inside);
    let elements = b.load(Type::Ptr, tuple, seq_cell::DATA.in_object());
    let any = b.any_at(elements, index);
    b.locate(s, slot, any);
    b.return_code(0);
}

/// `(state)`: skips what follows unless a value is there; one that is None has no other value.
pub(crate) fn present(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Present>();
    let slot = step.slot(b);
    b.in_count(s, slot, Field::SlotCount);
    let there = b.is_some(s, slot);
    let absent = b.compare_const(Cond::Eq, there, 0);
    b.if_then(absent, |b| {
        let zero = b.i64(0);
        b.set_slot(s, slot, zero);
        let words = step.words(b);
        b.skip(s, words);
    });
    b.return_code(0);
}

/// `(state)`: skips what follows unless a symbol is bound.
pub(crate) fn bound(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Bound>();
    let symbol = step.slot(b);
    let origin = b.origin(s, symbol);
    let origin = b.load(Type::I64, origin, 0);
    let free = b.compare_const(Cond::Eq, origin, 0);
    b.if_then(free, |b| {
        let words = step.words(b);
        b.skip(s, words);
    });
    b.return_code(0);
}

/// `(state)`: the handle of the call.
pub(crate) fn context(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Context>();
    let slot = step.slot(b);
    b.in_count(s, slot, Field::SlotCount);
    let handle = b.field(s, Field::Handle);
    b.set_slot(s, slot, handle);
    b.return_code(0);
}

/// Tensors.
impl Builder<'_> {
    /// Whether a value is a tensor, and whether its payload is not NULL: two `Bool`s.
    pub(crate) fn is_tensor(&mut self, any: Value) -> [Value; 2] {
        let index = self.load(Type::I32, any, any::TYPE_INDEX.offset);
        let object = self.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
        let view = self.compare_const(Cond::Eq, index, TypeIndex::DL_TENSOR_PTR.0.into());
        let payload = self.load(Type::Ptr, any, any::PAYLOAD.offset);
        [self.or(object, view), self.compare_const(Cond::Ne, payload, 0)]
    }

    /// The `DLTensor*` of a value that is a tensor.
    pub(crate) fn tensor_in(&mut self, any: Value) -> Value {
        let index = self.load(Type::I32, any, any::TYPE_INDEX.offset);
        let payload = self.load(Type::Ptr, any, any::PAYLOAD.offset);
        let is_object = self.compare_const(Cond::Eq, index, TypeIndex::TENSOR.0.into());
        let inside = self.ptr_offset(payload, OBJECT.size.into());
        self.select(is_object, inside, payload)
    }

    /// `ndim`, 64 bits wide.
    pub(crate) fn ndim(&mut self, dl: Value) -> Value {
        self.signed(dl, dl_tensor::NDIM.offset)
    }

    /// `shape[dim]`
    pub(crate) fn extent(&mut self, dl: Value, dim: Value) -> Value {
        let shape = self.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
        self.load_element(shape, dim)
    }

    /// The address of the first element.
    pub(crate) fn first_element(&mut self, dl: Value) -> Value {
        let data = self.load(Type::Ptr, dl, dl_tensor::DATA.offset);
        let offset = self.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset);
        self.ptr_add(data, offset)
    }

    /// Type and index of the device, in one word as they stand in a tensor.
    pub(crate) fn device_of(&mut self, dl: Value) -> Value {
        self.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset)
    }

    /// Type and index of a device.
    pub(crate) fn split_device(&mut self, word: Value) -> [Value; 2] {
        let ty = self.convert(Convert::Trunc, word, Type::I32);
        let ty = self.convert(Convert::Sext, ty, Type::I64);
        [ty, self.binary_const(Binary::Ashr, word, 32)]
    }
}
