//! Tensors that are allocated for the kernel, and the array of several of them.

use abi_spec::layout::{ANY, BYTE_ARRAY, DL_TENSOR, OBJECT, any, byte_array, dl_tensor};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::codes::header;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::Code;
use crate::lower::value::write_any;

/// Words of a tensor in the descriptor.
const TENSOR_WORDS: i64 = 6;

/// No tensor is larger, in bytes; the size in `int64_t` cannot overflow below.
const MAX_SIZE: i64 = 1 << 62;

/// `(descriptor, extents, devices, tensors)`: fills `tensors` with owned values. Returns -1 once it has
/// raised, with nothing allocated.
pub(crate) fn allocate(c: &mut Code<'_>) {
    let [descriptor, extents, devices, tensors] = [0, 1, 2, 3].map(|i| c.b.param(i));
    let table = c.word(descriptor, header::RESULT);
    let table = c.b.ptr_add(descriptor, table);
    let count = c.word(table, 0);
    let rest = c.variable(extents);
    c.count_to(count, |c, at| {
        let entry = entry_at(c, table, at);
        let extents = take_extents(c, rest, entry);
        let raised = c.call_value(Routine::CheckSize, &[descriptor, entry, extents]);
        let raised = c.b.compare_const(Cond::Ne, raised, 0);
        c.when(raised, |c| c.return_code(-1));
    });
    c.set(rest, extents);
    let prototype = c.b.stack_slot(DL_TENSOR.size, DL_TENSOR.align);
    let created = c.b.stack_slot(8, 8);
    c.count_to(count, |c, at| {
        let entry = entry_at(c, table, at);
        let extents = take_extents(c, rest, entry);
        let device = c.load_element(devices, at);
        describe(c, prototype, entry, extents, device);
        let null = c.b.null();
        c.b.store(null, created, 0);
        let function = crate::lower::runtime(c.b.module, &runtime::ENV_TENSOR_ALLOC);
        let status = c.b.call_value(function, &[prototype, created]);
        let object = c.b.load(Type::Ptr, created, 0);
        let tensor = c.b.binary_const(Binary::Mul, at, ANY.size.into());
        let tensor = c.b.ptr_add(tensors, tensor);
        write_any(&mut c.b, tensor, TypeIndex::TENSOR, object);
        let failed = c.b.compare_const(Cond::Ne, status, 0);
        let null = c.b.compare_const(Cond::Eq, object, 0);
        let failed = c.b.or(failed, null);
        c.when(failed, |c| {
            let name = c.literal(runtime::ENV_TENSOR_ALLOC.name);
            c.call(Routine::FailCall, &[descriptor, name[0], name[1], status]);
            c.call(Routine::Release, &[tensors, at]);
            c.return_code(-1);
        });
        refuse_unusable(c, descriptor, entry, object, [tensors, at]);
    });
    c.return_code(0);
}

/// The description of a tensor.
fn entry_at(c: &mut Code<'_>, table: Value, at: Value) -> Value {
    let offset = c.b.binary_const(Binary::Mul, at, 4 * TENSOR_WORDS);
    let entry = c.b.ptr_add(table, offset);
    c.b.ptr_offset(entry, 4)
}

/// The extents of a tensor, of those that are left.
fn take_extents(
    c: &mut Code<'_>,
    rest: crate::lower::explain::routines::code::Variable,
    entry: Value,
) -> Value {
    let extents = c.get(rest);
    let rank = c.word(entry, 0);
    let next = c.element(extents, rank);
    c.set(rest, next);
    extents
}

/// Fills a `DLTensor` with what an allocator has to know.
fn describe(c: &mut Code<'_>, to: Value, entry: Value, extents: Value, device: Value) {
    let null = c.b.null();
    let zero = c.b.i64(0);
    c.b.store(null, to, dl_tensor::DATA.offset);
    c.b.store(device, to, dl_tensor::DEVICE_TYPE.offset);
    // ndim and dtype are neighbours, here and in the descriptor.
    let word = c.b.load_aligned(Type::I64, entry, 0, 4);
    c.b.store(word, to, dl_tensor::NDIM.offset);
    c.b.store(extents, to, dl_tensor::SHAPE.offset);
    c.b.store(null, to, dl_tensor::STRIDES.offset);
    c.b.store(zero, to, dl_tensor::BYTE_OFFSET.offset);
}

/// Leaves if a new tensor is not what the kernel may rely on; it is the last of `tensors`.
fn refuse_unusable(
    c: &mut Code<'_>,
    descriptor: Value,
    entry: Value,
    object: Value,
    [tensors, before]: [Value; 2],
) {
    let dl = c.b.ptr_offset(object, OBJECT.size.into());
    let align = c.b.load_aligned(Type::I64, entry, 8, 4);
    let mask = c.b.binary_const(Binary::Sub, align, 1);
    let one = c.b.i32(1);
    let usable = c.call_value(Routine::Settle, &[dl, mask, one]);
    let unusable = c.b.compare_const(Cond::Eq, usable, 0);
    c.when(unusable, |c| {
        c.call(Routine::FailTensor, &[descriptor, entry, align]);
        let count = c.b.binary_const(Binary::Add, before, 1);
        c.call(Routine::Release, &[tensors, count]);
        c.return_code(-1);
    });
}

/// `(descriptor, tensor, extents)`: raises that an extent is negative, or the whole too large; 1 if so.
pub(crate) fn check_size(c: &mut Code<'_>) {
    let [descriptor, entry, extents] = [0, 1, 2].map(|i| c.b.param(i));
    let rank = c.word(entry, 0);
    let size = element_size(c, entry);
    let size = c.variable(size);
    c.count_to(rank, |c, dim| {
        let extent = c.load_element(extents, dim);
        let negative = c.b.compare_const(Cond::Slt, extent, 0);
        c.when(negative, |c| {
            c.call(Routine::FailExtent, &[descriptor, entry, dim, extent]);
            c.return_code(1);
        });
        let before = c.get(size);
        let extent = c.b.convert(Convert::SintToFloat, extent, Type::F64);
        let after = c.b.binary(Binary::Fmul, before, extent);
        c.set(size, after);
    });
    let size = c.get(size);
    let most = c.b.f64(MAX_SIZE as f64);
    let fits = c.b.compare(Cond::Fle, size, most);
    c.when(fits, |c| c.return_code(0));
    let dim = c.b.i64(-1);
    let most = c.b.i64(MAX_SIZE);
    c.call(Routine::FailExtent, &[descriptor, entry, dim, most]);
    c.return_code(1);
}

/// Bytes of an element, as a float, for a product that does not wrap.
fn element_size(c: &mut Code<'_>, entry: Value) -> Value {
    let dtype = c.word(entry, 1);
    let bits = c.b.binary_const(Binary::Lshr, dtype, 8);
    let bits = c.b.binary_const(Binary::And, bits, 0xff);
    let lanes = c.b.binary_const(Binary::Lshr, dtype, 16);
    let bits = c.b.binary(Binary::Mul, bits, lanes);
    let bits = c.b.convert(Convert::SintToFloat, bits, Type::F64);
    let eighth = c.b.f64(0.125);
    c.b.binary(Binary::Fmul, bits, eighth)
}

/// `(descriptor, tensor, dim, extent)`: raises that an extent is negative; for the dim -1, that the tensor
/// is larger than `extent` bytes.
pub(crate) fn fail_extent(c: &mut Code<'_>) {
    let [descriptor, entry, dim, extent] = [0, 1, 2, 3].map(|i| c.b.param(i));
    let s = c.new_state(descriptor);
    c.start(s);
    let whole = c.b.compare_const(Cond::Slt, dim, 0);
    let done = c.b.block("said");
    c.when(whole, |c| {
        c.say(s, "Out of range size of ");
        c.say_text(s, entry, 4);
        c.calling(s);
        c.say(s, ", expected at most ");
        c.call(Routine::PutInt, &[s, extent]);
        c.say(s, " bytes but got more");
        c.b.jump(done, &[]);
    });
    c.say(s, "Mismatched ");
    c.say_text(s, entry, 4);
    c.say(s, ".shape[");
    c.call(Routine::PutInt, &[s, dim]);
    c.say(s, "]");
    c.calling(s);
    c.say(s, ", expected a non-negative extent but got ");
    c.call(Routine::PutInt, &[s, extent]);
    c.b.jump(done, &[]);
    c.b.switch_to(done);
    let code = c.raise(s, "ValueError");
    c.b.ret(Some(code));
}

/// `(descriptor, tensor, alignment)`: raises that an allocator has returned something else.
pub(crate) fn fail_tensor(c: &mut Code<'_>) {
    let [descriptor, entry, align] = [0, 1, 2].map(|i| c.b.param(i));
    let s = c.new_state(descriptor);
    let name = c.text_at(s, entry, 4);
    c.begin_call(s, "Mismatched ", name);
    c.say(s, ", expected an allocator of compact tensors at multiples of ");
    c.call(Routine::PutUnsigned, &[s, align]);
    c.say(s, " bytes");
    let code = c.raise(s, "RuntimeError");
    c.b.ret(Some(code));
}

/// The global function that makes arrays.
const MAKE_ARRAY: &str = "ffi.Array";

/// `(descriptor, tensors, result)`: the tensors as an array, which takes them over; -1 if that has raised.
pub(crate) fn make_array(c: &mut Code<'_>) {
    let [descriptor, tensors, result] = [0, 1, 2].map(|i| c.b.param(i));
    let table = c.word(descriptor, header::RESULT);
    let table = c.b.ptr_add(descriptor, table);
    let count = c.word(table, 0);
    let [text, length] = c.literal(MAKE_ARRAY);
    let name = c.b.stack_slot(BYTE_ARRAY.size, BYTE_ARRAY.align);
    c.b.store(text, name, byte_array::DATA.offset);
    c.b.store(length, name, byte_array::SIZE.offset);
    let (function, array) = (c.b.stack_slot(8, 8), c.b.stack_slot(ANY.size, ANY.align));
    let (null, zero) = (c.b.null(), c.b.i64(0));
    c.b.store(null, function, 0);
    write_any(&mut c.b, array, TypeIndex::NONE, zero);
    let get = crate::lower::runtime(c.b.module, &runtime::FUNCTION_GET_GLOBAL);
    let status = c.b.call_value(get, &[name, function]);
    let function = c.b.load(Type::Ptr, function, 0);
    let failed = c.variable(status);
    let some = c.b.compare_const(Cond::Ne, function, 0);
    c.when(some, |c| {
        let call = crate::lower::runtime(c.b.module, &runtime::FUNCTION_CALL);
        let small = c.b.convert(Convert::Trunc, count, Type::I32);
        let status = c.b.call_value(call, &[function, tensors, small, array]);
        c.set(failed, status);
        let release = crate::lower::runtime(c.b.module, &runtime::OBJECT_DEC_REF);
        c.b.call(release, &[function]);
    });
    let status = c.get(failed);
    let index = c.b.load(Type::I32, array, any::TYPE_INDEX.offset);
    let made = c.b.compare_const(Cond::Eq, index, TypeIndex::ARRAY.0.into());
    let fine = c.b.compare_const(Cond::Eq, status, 0);
    let made = c.b.and(made, fine);
    let not_made = c.b.not(made);
    c.when(not_made, |c| {
        c.call(Routine::FailCall, &[descriptor, text, length, status]);
        c.call(Routine::Release, &[tensors, count]);
        let one = c.b.i64(1);
        c.call(Routine::Release, &[array, one]);
        c.return_code(-1);
    });
    c.call(Routine::Release, &[tensors, count]);
    let array = c.b.load(Type::Ptr, array, any::PAYLOAD.offset);
    write_any(&mut c.b, result, TypeIndex::ARRAY, array);
    c.return_code(0);
}
