//! Reading values in any of their forms: objects also behind rvalue references, text, numbers, classes.

use abi_spec::layout::{OBJECT, any, byte_array, object, seq_cell};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Builder, Cond, Convert, Hint, Type, Value};
use crate::language::MAX_RANK;
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;
use crate::resolve::accepted::{DYNAMIC, MAX_SMALL};

/// Bytes of what [`numbers`] fills: an address, a size, and as many numbers as a shape may have dims.
pub(crate) const NUMBERS_SIZE: u32 = 16 + 8 * MAX_RANK as u32;

impl Builder<'_> {
    /// The type index of a value, 64 bits wide, and its payload as an address. An rvalue reference is what it
    /// refers to; one to nothing keeps its index and has the payload NULL.
    pub(crate) fn borrow(&mut self, any: Value) -> (Value, Value) {
        let index = self.signed(any, any::TYPE_INDEX.offset);
        let payload = self.load(Type::Ptr, any, any::PAYLOAD.offset);
        let done = self.block("borrowed");
        let borrowed = [Type::I64, Type::Ptr].map(|ty| self.block_param(done, ty, Hint::default()));
        let rvalue = self.is_one_of(index, &[TypeIndex::OBJECT_RVALUE_REF]);
        let some = self.compare_const(Cond::Ne, payload, 0);
        let refers = self.and(rvalue, some);
        self.if_then(refers, |b| {
            let object = b.load(Type::Ptr, payload, 0);
            let some = b.compare_const(Cond::Ne, object, 0);
            b.unless(some, |b| b.jump(done, &[index, object]));
            let own = b.signed(object, object::TYPE_INDEX.offset);
            b.jump(done, &[own, object]);
        });
        self.jump(done, &[index, payload]);
        self.switch_to(done);
        (borrowed[0], borrowed[1])
    }

    /// A `Bool`: an index is in a set, given by its masks.
    pub(crate) fn accepts(&mut self, index: Value, [low, high]: [Value; 2]) -> Value {
        let is_low = self.compare_const(Cond::Ult, index, 64);
        let above = self.binary_const(Binary::Sub, index, 64);
        let dynamic = self.i64(DYNAMIC.into());
        let fits = self.compare_const(Cond::Ult, above, DYNAMIC.into());
        let above = self.select(fits, above, dynamic);
        let shift = self.select(is_low, index, above);
        let mask = self.select(is_low, low, high);
        let bit = self.binary(Binary::Lshr, mask, shift);
        let bit = self.binary_const(Binary::And, bit, 1);
        let set = self.compare_const(Cond::Ne, bit, 0);
        let valid = self.compare_const(Cond::Sge, index, 0);
        self.and(set, valid)
    }

    /// A `Bool`: a value of this index is an object.
    pub(crate) fn is_object(&mut self, index: Value) -> Value {
        self.compare_const(Cond::Sge, index, TypeIndex::STATIC_OBJECT_BEGIN.0.into())
    }

    /// A `Bool`: a value of this index has a payload that must not be NULL.
    pub(crate) fn points(&mut self, index: Value) -> Value {
        let object = self.is_object(index);
        let pointers =
            [TypeIndex::RAW_STR, TypeIndex::BYTE_ARRAY_PTR, TypeIndex::OBJECT_RVALUE_REF];
        let pointer = self.is_one_of(index, &pointers);
        self.or(object, pointer)
    }

    /// Writes an array of bytes and returns its address.
    fn return_bytes(&mut self, array: Value, data: Value, length: Value) {
        self.store(data, array, byte_array::DATA.offset);
        self.store(length, array, byte_array::SIZE.offset);
        self.ret(Some(array));
    }

    /// Returns the address of the cell of an object.
    fn return_cell(&mut self, object: Value) {
        let cell = self.ptr_offset(object, OBJECT.size.into());
        self.ret(Some(cell));
    }
}

/// `(any, low mask, high mask)`: the object, if its type is in the set; else NULL.
pub(crate) fn object(b: &mut Builder<'_>, _: Used) {
    let [any, low, high] = [0, 1, 2].map(|i| b.param(i));
    let (index, payload) = b.borrow(any);
    let accepted = b.accepts(index, [low, high]);
    let is_object = b.is_object(index);
    let ok = b.and(accepted, is_object);
    let null = b.null();
    let object = b.select(ok, payload, null);
    b.ret(Some(object));
}

/// `(any, low mask, high mask, array)`: the address of text or bytes as a `TVMFFIByteArray`, which is
/// `array` where the value has none; NULL if its type is not in the set, or it is no text, or a small one that
/// claims to be longer than it can be.
pub(crate) fn text(b: &mut Builder<'_>, _: Used) {
    let [any, low, high, array] = [0, 1, 2, 3].map(|i| b.param(i));
    let (index, payload) = b.borrow(any);
    let accepted = b.accepts(index, [low, high]);
    let refused = b.not(accepted);
    b.null_if(refused);
    let small = b.is_one_of(index, &[TypeIndex::SMALL_STR, TypeIndex::SMALL_BYTES]);
    b.if_then(small, |b| {
        let data = b.ptr_offset(any, any::PAYLOAD.offset.into());
        let length = b.unsigned(any, any::SMALL_LEN.offset);
        let long = b.compare_const(Cond::Ugt, length, MAX_SMALL);
        b.null_if(long);
        b.return_bytes(array, data, length);
    });
    let nothing = b.compare_const(Cond::Eq, payload, 0);
    b.null_if(nothing);
    let raw = b.is_one_of(index, &[TypeIndex::RAW_STR]);
    b.if_then(raw, |b| {
        let zero = b.i64(0);
        let [length] = b.repeat(
            [zero],
            |b, [at]| {
                let at = b.ptr_add(payload, at);
                let byte = b.load(Type::I8, at, 0);
                b.compare_const(Cond::Ne, byte, 0)
            },
            |b, [at]| [b.binary_const(Binary::Add, at, 1)],
        );
        b.return_bytes(array, payload, length);
    });
    let pointer = b.is_one_of(index, &[TypeIndex::BYTE_ARRAY_PTR]);
    b.if_then(pointer, |b| b.ret(Some(payload)));
    let object = b.is_one_of(index, &[TypeIndex::STR, TypeIndex::BYTES]);
    b.if_then(object, |b| b.return_cell(payload));
    let null = b.null();
    b.ret(Some(null));
}

/// `(text, length, texts, count)`: 1 if it is one of these, each a length in 32 bits and its bytes.
pub(crate) fn one_of_texts(b: &mut Builder<'_>, _: Used) {
    let [text, length, texts, count] = [0, 1, 2, 3].map(|i| b.param(i));
    b.fold(count, [texts], |b, _, [at]| {
        let known = b.load_aligned(Type::I32, at, 0, 1);
        let known = b.convert(Convert::Zext, known, Type::I64);
        let other = b.ptr_offset(at, 4);
        let same = b.ask(Routine::SameText, &[text, length, other, known]);
        b.return_if(same, 1);
        [b.ptr_add(other, known)]
    });
    b.return_code(0);
}

/// `(text, length, other, length)`: 1 if they are the same.
pub(crate) fn same_text(b: &mut Builder<'_>, _: Used) {
    let [text, length, other, other_length] = [0, 1, 2, 3].map(|i| b.param(i));
    let differs = b.compare(Cond::Ne, length, other_length);
    b.return_if(differs, 0);
    b.count_to(length, |b, at| {
        let [one, another] = [text, other].map(|text| {
            let at = b.ptr_add(text, at);
            b.load(Type::I8, at, 0)
        });
        let differs = b.compare(Cond::Ne, one, another);
        b.return_if(differs, 0);
    });
    b.return_code(1);
}

/// `(any, buffer)`: the address of the cell of a shape, or of `buffer`, filled with the integers of an array
/// or list; NULL if it is neither or too long.
pub(crate) fn numbers(b: &mut Builder<'_>, _: Used) {
    let [any, buffer] = [0, 1].map(|i| b.param(i));
    let (index, object) = b.borrow(any);
    let nothing = b.compare_const(Cond::Eq, object, 0);
    b.null_if(nothing);
    let is_shape = b.is_one_of(index, &[TypeIndex::SHAPE]);
    b.if_then(is_shape, |b| b.return_cell(object));
    let sequence = b.is_one_of(index, &[TypeIndex::ARRAY, TypeIndex::LIST]);
    let other = b.not(sequence);
    b.null_if(other);
    let size = b.load(Type::I64, object, seq_cell::SIZE.in_object());
    let long = b.compare_const(Cond::Ugt, size, MAX_RANK as i64);
    b.null_if(long);
    let elements = b.load(Type::Ptr, object, seq_cell::DATA.in_object());
    let to = b.ptr_offset(buffer, 16);
    b.count_to(size, |b, at| {
        let element = b.any_at(elements, at);
        let index = b.load(Type::I32, element, any::TYPE_INDEX.offset);
        let other = b.compare_const(Cond::Ne, index, TypeIndex::INT.0.into());
        b.null_if(other);
        let number = b.load(Type::I64, element, any::PAYLOAD.offset);
        let to = b.element(to, at);
        b.store(number, to, 0);
    });
    b.return_bytes(buffer, to, size);
}

/// `(any, low mask, high mask, out)`: the element type that a value is or names; 0 if there is none. Leaves
/// no error behind.
pub(crate) fn to_dtype(b: &mut Builder<'_>, _: Used) {
    let [any, low, high, out] = [0, 1, 2, 3].map(|i| b.param(i));
    let array = b.stack_slot(16, 8);
    let text = b.routine_value(Routine::Text, &[any, low, high, array]);
    let null = b.compare_const(Cond::Eq, text, 0);
    b.return_if(null, 0);
    let zero = b.i64(0);
    b.store(zero, out, 0);
    let status = b.runtime(&runtime::DATA_TYPE_FROM_STRING, &[text, out]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| {
        b.forget_error();
        b.return_code(0);
    });
    b.return_code(1);
}

/// `(object, type key, length, cache)`: 1 if the object, which may be NULL, is of the class of this key or one
/// derived from it.
/// The cache, which may be NULL, holds the index of the class once it is known.
pub(crate) fn is_instance(b: &mut Builder<'_>, _: Used) {
    let [object, key, length, cache] = [0, 1, 2, 3].map(|i| b.param(i));
    let null = b.compare_const(Cond::Eq, object, 0);
    b.return_if(null, 0);
    let index = b.load(Type::I32, object, object::TYPE_INDEX.offset);
    let cached = b.compare_const(Cond::Ne, cache, 0);
    let unknown = b.table(&[0; 8]);
    let readable = b.select(cached, cache, unknown);
    let known = b.atomic_load(Type::I64, readable, 0);
    let has = b.compare_const(Cond::Ne, known, 0);
    let class =
        b.if_else(has, Type::I64, |_| known, |b| look_up(b, [key, length], [cache, cached]));
    let wide = b.convert(Convert::Sext, index, Type::I64);
    let same = b.eq(wide, class);
    b.return_if(same, 1);
    // The runtime ends the process when it is asked about an index that it does not know.
    let fixed = b.compare_const(Cond::Slt, index, TypeIndex::DYN_OBJECT_BEGIN.0.into());
    b.return_if(fixed, 0);
    derived(b, index, class);
}

/// The index of a class, which goes into the cache. Nothing can be of one that nobody has registered.
fn look_up(b: &mut Builder<'_>, [key, length]: [Value; 2], [cache, cached]: [Value; 2]) -> Value {
    let (array, out) = (b.stack_slot(16, 8), b.stack_slot(4, 4));
    b.store(key, array, byte_array::DATA.offset);
    b.store(length, array, byte_array::SIZE.offset);
    let status = b.runtime(&runtime::TYPE_KEY_TO_INDEX, &[array, out]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| {
        b.forget_error();
        b.return_code(0);
    });
    let found = b.signed(out, 0);
    b.if_then(cached, |b| b.atomic_store(found, cache, 0));
    found
}

/// Returns whether a class is among the ancestors of a type.
fn derived(b: &mut Builder<'_>, index: Value, class: Value) {
    use abi_spec::layout::type_info;
    let info = b.runtime(&runtime::GET_TYPE_INFO, &[index]);
    let depth = b.signed(info, type_info::TYPE_DEPTH.offset);
    let ancestors = b.load(Type::Ptr, info, type_info::TYPE_ANCESTORS.offset);
    b.count_to(depth, |b, at| {
        let ancestor = b.element(ancestors, at);
        let ancestor = b.load(Type::Ptr, ancestor, 0);
        let index = b.signed(ancestor, type_info::TYPE_INDEX.offset);
        let same = b.eq(index, class);
        b.return_if(same, 1);
    });
    b.return_code(0);
}
