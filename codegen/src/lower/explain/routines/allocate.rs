//! Tensors that are allocated.

use abi_spec::layout::{DL_TENSOR, OBJECT, dl_tensor};
use abi_spec::{TypeIndex, runtime};

use crate::ir::{Binary, Builder, Cond, Type, Value};
use crate::lower::explain::codes::{Header, Output, Outputs, Used};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::allocate_plain::MAX_SIZE;
use crate::lower::explain::schema::{At, Part};
use crate::lower::value::write_any;

/// `(descriptor, site, outputs, extents, devices, tensors)`: fills `tensors` with owned values. Returns -1 once it has
/// raised, with nothing allocated.
pub(crate) fn allocate(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, outputs, extents, devices, tensors] =
        [0, 1, 2, 3, 4, 5].map(|i| b.param(i));
    let (count, first) = described(b, [descriptor, site], outputs);
    b.fold(count, [extents], |b, at, [extents]| {
        let output = output_at(b, first, at);
        let entry = output.address(b);
        b.try_routine(Routine::CheckSize, &[descriptor, site, entry, extents]);
        [after(b, output, extents)]
    });
    let prototype = b.stack_slot(DL_TENSOR.size, DL_TENSOR.align);
    b.fold(count, [extents], |b, at, [extents]| {
        let output = output_at(b, first, at);
        let device = b.load_element(devices, at);
        describe(b, prototype, output, extents, device);
        let (entry, tensor) = (output.address(b), b.any_at(tensors, at));
        let args = [descriptor, site, entry, prototype, tensor];
        let code = b.routine_value(Routine::AllocateOne, &args);
        let failed = b.compare_const(Cond::Ne, code, 0);
        b.if_then(failed, |b| {
            b.routine(Routine::Leave, &[tensors, at]);
            b.ret(Some(code));
        });
        [after(b, output, extents)]
    });
    b.return_code(0);
}

/// The number of tensors at an offset of a descriptor, and where the first one is described.
fn described(b: &mut Builder<'_>, [descriptor, site]: [Value; 2], offset: Value) -> (Value, Value) {
    let texts = At::<Header>::new(descriptor).texts(b);
    let inside = b.compare(Cond::Ult, offset, texts);
    let refuse = |b: &mut Builder<'_>| b.fail_with(descriptor, site, Complaint::Damaged, &[]);
    b.unless(inside, refuse);
    let outputs = At::<Outputs>::new(b.ptr_add(descriptor, offset));
    let count = outputs.count(b);
    let bytes = b.binary_const(Binary::Mul, count, i64::from(4 * Output::WORDS));
    let end = b.binary(Binary::Add, offset, bytes);
    let inside = b.compare(Cond::Ult, end, texts);
    b.unless(inside, refuse);
    (count, outputs.end(b))
}

/// The description of a tensor.
fn output_at(b: &mut Builder<'_>, first: Value, at: Value) -> At<Output> {
    let offset = b.binary_const(Binary::Mul, at, i64::from(4 * Output::WORDS));
    At::new(b.ptr_add(first, offset))
}

/// The extents after those of a tensor.
fn after(b: &mut Builder<'_>, output: At<Output>, extents: Value) -> Value {
    let rank = output.rank(b);
    b.element(extents, rank)
}

/// Fills a `DLTensor` with what an allocator has to know.
fn describe(b: &mut Builder<'_>, to: Value, output: At<Output>, extents: Value, device: Value) {
    let (null, zero) = (b.null(), b.i64(0));
    b.store(null, to, dl_tensor::DATA.offset);
    b.store(device, to, dl_tensor::DEVICE_TYPE.offset);
    // ndim and dtype are neighbours.
    let (rank, dtype) = (output.rank(b), output.dtype(b));
    let dtype = b.binary_const(Binary::Shl, dtype, 32);
    let word = b.or(rank, dtype);
    b.store(word, to, dl_tensor::NDIM.offset);
    b.store(extents, to, dl_tensor::SHAPE.offset);
    b.store(null, to, dl_tensor::STRIDES.offset);
    b.store(zero, to, dl_tensor::BYTE_OFFSET.offset);
}

/// `(descriptor, site, output, prototype, tensor)`: one tensor, as an owned value; -1 once it has raised.
pub(crate) fn allocate_one(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, output, prototype, tensor] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let allocator = b.runtime(&runtime::ENV_GET_TENSOR_ALLOCATOR, &[]);
    let some = b.compare_const(Cond::Ne, allocator, 0);
    b.unless(some, |b| {
        let args = [descriptor, site, output, prototype, tensor];
        let code = b.routine_value(Routine::AllocatePlain, &args);
        b.ret(Some(code));
    });
    let (null, created) = (b.null(), b.stack_slot(8, 8));
    b.store(null, created, 0);
    let status = b.runtime(&runtime::ENV_TENSOR_ALLOC, &[prototype, created]);
    let object = b.load(Type::Ptr, created, 0);
    write_any(b, tensor, TypeIndex::TENSOR, object);
    let failed = b.compare_const(Cond::Ne, status, 0);
    let null = b.compare_const(Cond::Eq, object, 0);
    let failed = b.or(failed, null);
    let one = b.i64(1);
    b.if_then(failed, |b| {
        let name = b.text(runtime::ENV_TENSOR_ALLOC.name);
        b.fail_call([descriptor, site], name, status);
        b.routine(Routine::Leave, &[tensor, one]);
        b.return_code(-1);
    });
    let output = At::<Output>::new(output);
    let align = output.align(b);
    let mask = b.binary_const(Binary::Sub, align, 1);
    let (dl, compact) = (b.ptr_offset(object, OBJECT.size.into()), b.i32(1));
    let usable = b.ask(Routine::Settle, &[dl, mask, compact]);
    b.unless(usable, |b| {
        let name = output.name(b).address(b);
        b.say_at(descriptor, site, Complaint::Allocator, &[name, align]);
        b.routine(Routine::Leave, &[tensor, one]);
        b.return_code(-1);
    });
    b.return_code(0);
}

/// `(descriptor, site, output, extents)`: raises that an extent is negative, or the whole too large; -1 if so.
pub(crate) fn check_size(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, entry, extents] = [0, 1, 2, 3].map(|i| b.param(i));
    let output = At::<Output>::new(entry);
    let rank = output.rank(b);
    b.count_to(rank, |b, dim| {
        let extent = b.load_element(extents, dim);
        let negative = b.compare_const(Cond::Slt, extent, 0);
        b.if_then(negative, |b| {
            let name = output.name(b).address(b);
            b.fail_with(descriptor, site, Complaint::OutputExtent, &[name, dim, extent]);
        });
    });
    let size = b.routine_value(Routine::DataSize, &[entry, extents]);
    let large = b.compare_const(Cond::Slt, size, 0);
    b.if_then(large, |b| {
        let (name, most) = (output.name(b).address(b), b.i64(MAX_SIZE));
        b.fail_with(descriptor, site, Complaint::OutputSize, &[name, most]);
    });
    b.return_code(0);
}
