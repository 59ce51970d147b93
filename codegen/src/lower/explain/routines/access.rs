//! Reading values in any of their forms: objects also behind rvalue references, text, numbers.

use abi_spec::layout::{any, byte_array, object, seq_cell, shape_cell};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::language::MAX_RANK;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, state};
use crate::resolve::accepted::{DYNAMIC, MAX_SMALL};

/// Bytes of what [`numbers`] fills: an address, a size, and as many numbers as a shape may have dims.
pub(crate) const NUMBERS_SIZE: u32 = 16 + 8 * MAX_RANK as u32;

impl Code<'_> {
    /// The type index of a value, 64 bits wide, and its payload as an address. An rvalue reference is what it
    /// refers to; one to nothing keeps its index and has the payload NULL.
    pub(crate) fn borrow(&mut self, value: Value) -> (Value, Value) {
        let index = self.b.load(Type::I32, value, any::TYPE_INDEX.offset);
        let index = self.b.convert(Convert::Sext, index, Type::I64);
        let payload = self.b.load(Type::Ptr, value, any::PAYLOAD.offset);
        let (index, payload) = (self.variable(index), self.variable(payload));
        let found = self.get(index);
        let rvalue = TypeIndex::OBJECT_RVALUE_REF.0.into();
        let is_rvalue = self.b.compare_const(Cond::Eq, found, rvalue);
        self.when(is_rvalue, |c| {
            let slot = c.get(payload);
            let some = c.b.compare_const(Cond::Ne, slot, 0);
            c.when(some, |c| {
                let object = c.b.load(Type::Ptr, slot, 0);
                c.set(payload, object);
                let some = c.b.compare_const(Cond::Ne, object, 0);
                c.when(some, |c| {
                    let own = c.b.load(Type::I32, object, object::TYPE_INDEX.offset);
                    let own = c.b.convert(Convert::Sext, own, Type::I64);
                    c.set(index, own);
                });
            });
        });
        (self.get(index), self.get(payload))
    }

    /// A `Bool`: an index is in a set, given by its masks.
    pub(crate) fn accepts(&mut self, index: Value, [low, high]: [Value; 2]) -> Value {
        let is_low = self.b.compare_const(Cond::Ult, index, 64);
        let above = self.b.binary_const(Binary::Sub, index, 64);
        let dynamic = self.b.i64(DYNAMIC.into());
        let fits = self.b.compare_const(Cond::Ult, above, DYNAMIC.into());
        let above = self.b.select(fits, above, dynamic);
        let shift = self.b.select(is_low, index, above);
        let mask = self.b.select(is_low, low, high);
        let bit = self.b.binary(Binary::Lshr, mask, shift);
        let bit = self.b.binary_const(Binary::And, bit, 1);
        let set = self.b.compare_const(Cond::Ne, bit, 0);
        let valid = self.b.compare_const(Cond::Sge, index, 0);
        self.b.and(set, valid)
    }

    /// A `Bool`: a value of this index has a payload that must not be NULL.
    pub(crate) fn points(&mut self, index: Value) -> Value {
        let object = TypeIndex::STATIC_OBJECT_BEGIN.0.into();
        let mut points = self.b.compare_const(Cond::Sge, index, object);
        for pointer in [TypeIndex::RAW_STR, TypeIndex::BYTE_ARRAY_PTR, TypeIndex::OBJECT_RVALUE_REF]
        {
            let is = self.b.compare_const(Cond::Eq, index, pointer.0.into());
            points = self.b.or(points, is);
        }
        points
    }

    /// Number `dim` of a shape, or element `dim` of an array or list of integers, which must be there.
    pub(crate) fn number_of(&mut self, object: Value, dim: Value) -> Value {
        let index = self.b.load(Type::I32, object, object::TYPE_INDEX.offset);
        let is_shape = self.b.compare_const(Cond::Eq, index, TypeIndex::SHAPE.0.into());
        let data = self.b.load(Type::Ptr, object, shape_cell::DATA.in_object());
        let number = self.element(data, dim);
        let any = self.argument(data, dim);
        let element = self.b.ptr_offset(any, any::PAYLOAD.offset.into());
        let at = self.b.select(is_shape, number, element);
        let some = self.b.compare_const(Cond::Ne, data, 0);
        let zero = self.table(&[0; 8]);
        let at = self.b.select(some, at, zero);
        self.b.load(Type::I64, at, 0)
    }

    /// The text or bytes of a slot; empty if they are not there.
    pub(crate) fn text_of(&mut self, s: Value, slot: Value) -> [Value; 2] {
        let value = self.any_of(s, slot);
        let there = self.is_some(s, slot);
        let there = self.b.compare_const(Cond::Ne, there, 0);
        let none = self.table(&[0; 16]);
        let value = self.b.select(there, value, none);
        let array = self.b.stack_slot(16, 8);
        let all = self.b.i64(-1);
        let found = self.call_value(Routine::Text, &[value, all, all, array]);
        let null = self.b.compare_const(Cond::Eq, found, 0);
        let found = self.b.select(null, none, found);
        let data = self.b.load(Type::Ptr, found, byte_array::DATA.offset);
        [data, self.b.load(Type::I64, found, byte_array::SIZE.offset)]
    }

    /// 1 if the value of a slot is there and not None.
    pub(crate) fn is_some(&mut self, s: Value, slot: Value) -> Value {
        let value = self.any_of(s, slot);
        let none = self.table(&[0; 16]);
        let there = self.b.compare_const(Cond::Ne, value, 0);
        let value = self.b.select(there, value, none);
        let index = self.b.load(Type::I32, value, any::TYPE_INDEX.offset);
        let some = self.b.compare_const(Cond::Ne, index, TypeIndex::NONE.0.into());
        self.b.widen_bool(some, Type::I64)
    }
}

/// `(any, low mask, high mask)`: the object, if its type is in the set; else NULL.
pub(crate) fn object(c: &mut Code<'_>) {
    let [value, low, high] = [0, 1, 2].map(|i| c.b.param(i));
    let (index, payload) = c.borrow(value);
    let accepted = c.accepts(index, [low, high]);
    let object = TypeIndex::STATIC_OBJECT_BEGIN.0.into();
    let is_object = c.b.compare_const(Cond::Sge, index, object);
    let ok = c.b.and(accepted, is_object);
    let null = c.b.null();
    let object = c.b.select(ok, payload, null);
    c.b.ret(Some(object));
}

/// `(any, low mask, high mask, array)`: the address of text or bytes as a `TVMFFIByteArray`, which is
/// `array` where the value has none; NULL if its type is not in the set, or it is no text, or a small one that
/// claims to be longer than it can be.
pub(crate) fn text(c: &mut Code<'_>) {
    let [value, low, high, array] = [0, 1, 2, 3].map(|i| c.b.param(i));
    let (index, payload) = c.borrow(value);
    let accepted = c.accepts(index, [low, high]);
    let refused = c.b.not(accepted);
    let null = c.b.null();
    c.when(refused, |c| c.b.ret(Some(null)));
    for small in [TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES] {
        let is = c.b.compare_const(Cond::Eq, index, small.0.into());
        c.when(is, |c| {
            let data = c.b.ptr_offset(value, any::PAYLOAD.offset.into());
            let length = c.b.load(Type::I32, value, any::SMALL_LEN.offset);
            let length = c.b.convert(Convert::Zext, length, Type::I64);
            let long = c.b.compare_const(Cond::Ugt, length, MAX_SMALL);
            c.when(long, |c| c.b.ret(Some(null)));
            fill(c, array, data, length);
        });
    }
    let nothing = c.b.compare_const(Cond::Eq, payload, 0);
    c.when(nothing, |c| c.b.ret(Some(null)));
    let raw = c.b.compare_const(Cond::Eq, index, TypeIndex::RAW_STR.0.into());
    c.when(raw, |c| {
        let zero = c.b.i64(0);
        let length = c.variable(zero);
        c.repeat(
            |c| {
                let at = c.get(length);
                let at = c.b.ptr_add(payload, at);
                let byte = c.b.load(Type::I8, at, 0);
                c.b.compare_const(Cond::Ne, byte, 0)
            },
            |c| c.add_to(length, 1),
        );
        let length = c.get(length);
        fill(c, array, payload, length);
    });
    let pointer = c.b.compare_const(Cond::Eq, index, TypeIndex::BYTE_ARRAY_PTR.0.into());
    c.when(pointer, |c| c.b.ret(Some(payload)));
    for object in [TypeIndex::STR, TypeIndex::BYTES] {
        let is = c.b.compare_const(Cond::Eq, index, object.0.into());
        c.when(is, |c| {
            let cell = c.b.ptr_offset(payload, abi_spec::layout::OBJECT.size.into());
            c.b.ret(Some(cell));
        });
    }
    c.b.ret(Some(null));
}

/// Writes an array of bytes and returns its address.
fn fill(c: &mut Code<'_>, array: Value, data: Value, length: Value) {
    c.b.store(data, array, byte_array::DATA.offset);
    c.b.store(length, array, byte_array::SIZE.offset);
    c.b.ret(Some(array));
}

/// `(text, length, other, length)`
pub(crate) fn same_text(c: &mut Code<'_>) {
    let [text, length, other, other_length] = [0, 1, 2, 3].map(|i| c.b.param(i));
    let differs = c.b.compare(Cond::Ne, length, other_length);
    c.when(differs, |c| c.return_code(0));
    c.count_to(length, |c, at| {
        let [a, b] = [text, other].map(|text| {
            let at = c.b.ptr_add(text, at);
            c.b.load(Type::I8, at, 0)
        });
        let differs = c.b.compare(Cond::Ne, a, b);
        c.when(differs, |c| c.return_code(0));
    });
    c.return_code(1);
}

/// `(any, buffer)`: the address of the cell of a shape, or of `buffer`, filled with the integers of an array
/// or list; NULL if it is neither or too long.
pub(crate) fn numbers(c: &mut Code<'_>) {
    let [value, buffer] = [0, 1].map(|i| c.b.param(i));
    let (index, object) = c.borrow(value);
    let null = c.b.null();
    let nothing = c.b.compare_const(Cond::Eq, object, 0);
    c.when(nothing, |c| c.b.ret(Some(null)));
    let is_shape = c.b.compare_const(Cond::Eq, index, TypeIndex::SHAPE.0.into());
    c.when(is_shape, |c| {
        let cell = c.b.ptr_offset(object, abi_spec::layout::OBJECT.size.into());
        c.b.ret(Some(cell));
    });
    let array = c.b.compare_const(Cond::Eq, index, TypeIndex::ARRAY.0.into());
    let list = c.b.compare_const(Cond::Eq, index, TypeIndex::LIST.0.into());
    let sequence = c.b.or(array, list);
    let other = c.b.not(sequence);
    c.when(other, |c| c.b.ret(Some(null)));
    let size = c.b.load(Type::I64, object, seq_cell::SIZE.in_object());
    let long = c.b.compare_const(Cond::Ugt, size, MAX_RANK as i64);
    c.when(long, |c| c.b.ret(Some(null)));
    let elements = c.b.load(Type::Ptr, object, seq_cell::DATA.in_object());
    let to = c.b.ptr_offset(buffer, 16);
    c.count_to(size, |c, at| {
        let element = c.argument(elements, at);
        let index = c.b.load(Type::I32, element, any::TYPE_INDEX.offset);
        let other = c.b.compare_const(Cond::Ne, index, TypeIndex::INT.0.into());
        c.when(other, |c| c.b.ret(Some(null)));
        let number = c.b.load(Type::I64, element, any::PAYLOAD.offset);
        let to = c.element(to, at);
        c.b.store(number, to, 0);
    });
    fill(c, buffer, to, size);
}

/// `(any, low mask, high mask, out)`: the element type that a value is or names; 0 if there is none. Leaves
/// no error behind.
pub(crate) fn to_dtype(c: &mut Code<'_>) {
    let [value, low, high, out] = [0, 1, 2, 3].map(|i| c.b.param(i));
    let array = c.b.stack_slot(16, 8);
    let text = c.call_value(Routine::Text, &[value, low, high, array]);
    let null = c.b.compare_const(Cond::Eq, text, 0);
    c.when(null, |c| c.return_code(0));
    let zero = c.b.i64(0);
    c.b.store(zero, out, 0);
    let parse = crate::lower::runtime(c.b.module, &runtime::DATA_TYPE_FROM_STRING);
    let status = c.b.call_value(parse, &[text, out]);
    let failed = c.b.compare_const(Cond::Ne, status, 0);
    c.when(failed, |c| {
        c.forget_error();
        c.return_code(0);
    });
    c.return_code(1);
}

impl Code<'_> {
    /// Takes the error out of the thread's slot and releases it.
    pub(crate) fn forget_error(&mut self) {
        let error = self.b.stack_slot(8, 8);
        let null = self.b.null();
        self.b.store(null, error, 0);
        let take = crate::lower::runtime(self.b.module, &runtime::ERROR_MOVE_FROM_RAISED);
        self.b.call(take, &[error]);
        let error = self.b.load(Type::Ptr, error, 0);
        self.release(error);
    }

    /// Releases an object; NULL is none.
    pub(crate) fn release(&mut self, object: Value) {
        let release = crate::lower::runtime(self.b.module, &runtime::OBJECT_DEC_REF);
        self.b.call(release, &[object]);
    }

    /// A function of the runtime has failed: its error is passed on, unless a fault is no error; returns 1.
    pub(crate) fn stop_after_call(&mut self, s: Value, name: [Value; 2], status: Value) {
        let quiet = self.is_quiet(s);
        self.when(quiet, |c| {
            c.forget_error();
            c.return_code(1);
        });
        let descriptor = self.b.load(Type::Ptr, s, state::DESCRIPTOR);
        self.call(Routine::FailCall, &[descriptor, name[0], name[1], status]);
        self.return_code(1);
    }

    /// True while a fault is no error.
    pub(crate) fn is_quiet(&mut self, s: Value) -> Value {
        let quiet = self.b.load(Type::I64, s, state::QUIET);
        self.b.compare_const(Cond::Ne, quiet, 0)
    }
}

/// `(object, type key, length, cache)`: 1 if the object, which may be NULL, is of the class of this key or one
/// derived from it.
/// The cache, which may be NULL, holds the index of the class once it is known.
pub(crate) fn is_instance(c: &mut Code<'_>) {
    let [object, key, length, cache] = [0, 1, 2, 3].map(|i| c.b.param(i));
    let null = c.b.compare_const(Cond::Eq, object, 0);
    c.when(null, |c| c.return_code(0));
    let index = c.b.load(Type::I32, object, object::TYPE_INDEX.offset);
    let zero = c.b.i64(0);
    let class = c.variable(zero);
    let cached = c.b.compare_const(Cond::Ne, cache, 0);
    c.when(cached, |c| {
        let known = c.b.load(Type::I64, cache, 0);
        c.set(class, known);
    });
    let known = c.get(class);
    let unknown = c.b.compare_const(Cond::Eq, known, 0);
    c.when(unknown, |c| {
        let array = c.b.stack_slot(16, 8);
        c.b.store(key, array, byte_array::DATA.offset);
        c.b.store(length, array, byte_array::SIZE.offset);
        let out = c.b.stack_slot(4, 4);
        let find = crate::lower::runtime(c.b.module, &runtime::TYPE_KEY_TO_INDEX);
        let status = c.b.call_value(find, &[array, out]);
        let failed = c.b.compare_const(Cond::Ne, status, 0);
        c.when(failed, |c| {
            // Nothing can be of a class that nobody has registered.
            c.forget_error();
            c.return_code(0);
        });
        let found = c.b.load(Type::I32, out, 0);
        let found = c.b.convert(Convert::Sext, found, Type::I64);
        c.set(class, found);
        c.when(cached, |c| c.b.store(found, cache, 0));
    });
    let class = c.get(class);
    let wide = c.b.convert(Convert::Sext, index, Type::I64);
    let same = c.b.eq(wide, class);
    c.when(same, |c| c.return_code(1));
    // The runtime ends the process when it is asked about an index that it does not know.
    let fixed = c.b.compare_const(Cond::Slt, index, TypeIndex::DYN_OBJECT_BEGIN.0.into());
    c.when(fixed, |c| c.return_code(0));
    derived(c, index, class);
}

/// Whether a class is among the ancestors of a type.
fn derived(c: &mut Code<'_>, index: Value, class: Value) {
    use abi_spec::layout::type_info;
    let info = crate::lower::runtime(c.b.module, &runtime::GET_TYPE_INFO);
    let info = c.b.call_value(info, &[index]);
    let depth = c.b.load(Type::I32, info, type_info::TYPE_DEPTH.offset);
    let depth = c.b.convert(Convert::Sext, depth, Type::I64);
    let ancestors = c.b.load(Type::Ptr, info, type_info::TYPE_ANCESTORS.offset);
    c.count_to(depth, |c, at| {
        let ancestor = c.element(ancestors, at);
        let ancestor = c.b.load(Type::Ptr, ancestor, 0);
        let index = c.b.load(Type::I32, ancestor, type_info::TYPE_INDEX.offset);
        let index = c.b.convert(Convert::Sext, index, Type::I64);
        let same = c.b.eq(index, class);
        c.when(same, |c| c.return_code(1));
    });
    c.return_code(0);
}
