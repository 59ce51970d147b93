//! Loading images and kernels when they are first launched, and allowing kernels what they need.

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::cuda::{
    ALLOW_CLUSTER, ALLOW_SHARED, DYNAMIC_SHARED, Entry, INVALID_VALUE, LARGE_CLUSTER, MOST_SHARED,
    STATIC_SHARED, config, image, kernel as of_kernel,
};
use crate::lower::explain::codes::Used;
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;

/// Devices that have a bit, or a place for their context.
pub(super) const DEVICES: i64 = 64;

/// Parameters that a kernel has at most, for the message.
const MOST_PARAMS: i64 = 4096;

/// `(descriptor, site, kernel, device)`: makes a kernel known; 0, or -1 once it has raised.
pub(crate) fn load_kernel(b: &mut Builder<'_>, _: Used) {
    let all @ [descriptor, site, kernel, device] = [0, 1, 2, 3].map(|i| b.param(i));
    b.try_routine(Routine::OpenDriver, &[descriptor, site]);
    b.try_routine(Routine::LoadImage, &all);
    let of = b.load(Type::Ptr, kernel, of_kernel::IMAGE);
    let library = b.atomic_load(Type::Ptr, of, image::LIBRARY);
    let (name, out) = (b.load(Type::Ptr, kernel, of_kernel::NAME), b.stack_slot(8, 8));
    let status = b.driver(Entry::LibraryGetKernel, &[out, library, name]);
    b.check_kernel(all, status);
    let found = b.load(Type::Ptr, out, 0);
    b.try_routine(Routine::CheckParams, &[descriptor, site, kernel, found, device]);
    let launch = b.entry(Entry::LaunchKernelEx);
    b.atomic_store(launch, kernel, of_kernel::LAUNCH);
    b.atomic_store(found, kernel, of_kernel::KERNEL);
    b.return_code(0);
}

/// `(descriptor, site, kernel, device)`: loads the image of a kernel; of several threads one keeps what it loads.
pub(crate) fn load_image(b: &mut Builder<'_>, _: Used) {
    let all @ [_, _, kernel, _] = [0, 1, 2, 3].map(|i| b.param(i));
    let of = b.load(Type::Ptr, kernel, of_kernel::IMAGE);
    let known = b.atomic_load(Type::Ptr, of, image::LIBRARY);
    let known = b.compare_const(Cond::Ne, known, 0);
    b.return_if(known, 0);
    let (bytes, out) = (b.load(Type::Ptr, of, image::BYTES), b.stack_slot(8, 8));
    let (null, none) = (b.null(), b.i32(0));
    let args = [out, bytes, null, null, none, null, null, none];
    let status = b.driver(Entry::LibraryLoadData, &args);
    b.check_kernel(all, status);
    let library = b.load(Type::Ptr, out, 0);
    let cell = b.ptr_offset(of, image::LIBRARY.into());
    let earlier = b.compare_exchange(cell, null, library);
    let lost = b.compare_const(Cond::Ne, earlier, 0);
    b.if_then(lost, |b| {
        b.driver(Entry::LibraryUnload, &[library]);
    });
    b.return_code(0);
}

/// `(image)`: the driver forgets an image.
pub(crate) fn unload(b: &mut Builder<'_>, _: Used) {
    let of = b.param(0);
    let library = b.atomic_load(Type::Ptr, of, image::LIBRARY);
    let loaded = b.compare_const(Cond::Ne, library, 0);
    b.if_then(loaded, |b| {
        let null = b.null();
        b.atomic_store(null, of, image::LIBRARY);
        b.driver(Entry::LibraryUnload, &[library]);
    });
    b.ret(None);
}

/// `(descriptor, site, kernel, CUkernel, device)`: compares the number of the parameters, then their sizes, where the
/// driver knows them.
/// A kernel reads as many bytes as it was compiled for.
pub(crate) fn check_params(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, kernel, found, device] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let known = b.driver_has(Entry::KernelGetParamInfo);
    b.unless(known, |b| b.return_code(0));
    let name = [of_kernel::SHOWN, of_kernel::SHOWN_SIZE].map(|at| b.load(Type::I64, kernel, at));
    let count = b.load(Type::I64, kernel, of_kernel::COUNT);
    let [offset, size] = [0, 1].map(|_| b.stack_slot(8, 8));
    let sizes = b.ptr_offset(kernel, of_kernel::SIZES.into());
    let none = b.i64(-1);
    let [wrong, its] = b.fold(count, [none, none], |b, at, [wrong, its]| {
        let status = b.driver(Entry::KernelGetParamInfo, &[found, at, offset, size]);
        let missing = b.compare_const(Cond::Eq, status, INVALID_VALUE);
        b.if_then(missing, |b| {
            b.fail_with(descriptor, site, Complaint::Params, &[name[0], name[1], at, count]);
        });
        b.check_kernel([descriptor, site, kernel, device], status);
        let (own, size) = (b.load_element(sizes, at), b.load(Type::I64, size, 0));
        let (differs, first) = (b.compare(Cond::Ne, own, size), b.eq(wrong, none));
        let now = b.and(differs, first);
        [b.select(now, at, wrong), b.select(now, size, its)]
    });
    let has = params_from(b, count, found, [offset, size]);
    let same = b.eq(has, count);
    b.unless(same, |b| {
        b.fail_with(descriptor, site, Complaint::Params, &[name[0], name[1], has, count]);
    });
    let fits = b.eq(wrong, none);
    b.unless(fits, |b| {
        let own = b.load_element(sizes, wrong);
        b.fail_with(descriptor, site, Complaint::ParamSize, &[wrong, name[0], name[1], its, own]);
    });
    b.return_code(0);
}

/// How many parameters a `CUkernel` has, of which `least` are known to be there.
fn params_from(b: &mut Builder<'_>, least: Value, found: Value, out: [Value; 2]) -> Value {
    let more = |b: &mut Builder<'_>, [at]: [Value; 1]| {
        let status = b.driver(Entry::KernelGetParamInfo, &[found, at, out[0], out[1]]);
        let there = b.compare_const(Cond::Eq, status, 0);
        let few = b.compare_const(Cond::Slt, at, MOST_PARAMS);
        b.and(there, few)
    };
    let [has] = b.repeat([least], more, |b, [at]| [b.binary_const(Binary::Add, at, 1)]);
    has
}

/// `(descriptor, site, kernel, config, device)`: allows a kernel what it needs on a device, once for each.
pub(crate) fn allow(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, kernel, config, device] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let all = [descriptor, site, kernel, device];
    let low = b.binary_const(Binary::And, device, DEVICES - 1);
    let (one, has_bit) = (b.i64(1), b.compare_const(Cond::Ult, device, DEVICES));
    let bit = b.binary(Binary::Shl, one, low);
    let zero = b.i64(0);
    let bit = b.select(has_bit, bit, zero);
    let devices = b.atomic_load(Type::I64, kernel, of_kernel::DEVICES);
    let done = b.and(devices, bit);
    let done = b.compare_const(Cond::Ne, done, 0);
    b.return_if(done, 0);
    let allowed = b.load(Type::I64, kernel, of_kernel::ALLOWED);
    let shared = b.binary_const(Binary::And, allowed, ALLOW_SHARED);
    let shared = b.compare_const(Cond::Ne, shared, 0);
    b.if_then(shared, |b| {
        let args = [descriptor, site, kernel, config, device];
        let most = b.routine_value(Routine::FitShared, &args);
        let raised = b.compare_const(Cond::Slt, most, 0);
        b.return_if(raised, -1);
        let most = b.convert(Convert::Sext, most, Type::I64);
        set(b, all, DYNAMIC_SHARED, most);
    });
    let cluster = b.binary_const(Binary::And, allowed, ALLOW_CLUSTER);
    let cluster = b.compare_const(Cond::Ne, cluster, 0);
    b.if_then(cluster, |b| {
        let yes = b.i64(1);
        set(b, all, LARGE_CLUSTER, yes);
    });
    // Whoever loses this race allows the same once more.
    let now = b.or(devices, bit);
    let cell = b.ptr_offset(kernel, of_kernel::DEVICES.into());
    b.compare_exchange(cell, devices, now);
    b.return_code(0);
}

/// `(descriptor, site, kernel, config, device)`: how much dynamic shared memory a device has beside the kernel's static
/// memory; -1 once it has raised that a launch wants more.
pub(crate) fn fit_shared(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, kernel, config, device] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let all = [descriptor, site, kernel, device];
    let found = b.load(Type::Ptr, kernel, of_kernel::KERNEL);
    let number = b.convert(Convert::Trunc, device, Type::I32);
    let [most, own] = [0, 1].map(|_| b.stack_slot(4, 4));
    let [most_shared, static_shared] = [MOST_SHARED, STATIC_SHARED].map(|id| b.i32(id));
    let status = b.driver(Entry::DeviceGetAttribute, &[most, most_shared, number]);
    b.check_kernel(all, status);
    let status = b.driver(Entry::KernelGetAttribute, &[own, static_shared, found, number]);
    b.check_kernel(all, status);
    let (most, own) = (b.signed(most, 0), b.signed(own, 0));
    let most = b.binary(Binary::Sub, most, own);
    let wanted = b.unsigned(config, config::SHARED);
    let fits = b.compare(Cond::Sle, wanted, most);
    b.unless(fits, |b| {
        let name =
            [of_kernel::SHOWN, of_kernel::SHOWN_SIZE].map(|at| b.load(Type::I64, kernel, at));
        let values = [name[0], name[1], most, device, wanted];
        b.fail_with(descriptor, site, Complaint::SharedMemory, &values);
    });
    let most = b.convert(Convert::Trunc, most, Type::I32);
    b.ret(Some(most));
}

/// Sets an attribute of a kernel on a device.
fn set(
    b: &mut Builder<'_>,
    all @ [_, _, kernel, device]: [Value; 4],
    attribute: i32,
    value: Value,
) {
    let found = b.load(Type::Ptr, kernel, of_kernel::KERNEL);
    let [value, device] = [value, device].map(|value| b.convert(Convert::Trunc, value, Type::I32));
    let attribute = b.i32(attribute);
    let status = b.driver(Entry::KernelSetAttribute, &[attribute, value, found, device]);
    b.check_kernel(all, status);
}
