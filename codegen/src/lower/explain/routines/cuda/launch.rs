//! The launch: the hot path of every kernel.

use abi_spec::{DeviceType, runtime};

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::cuda::{
    ALLOW_SHARED, Entry, INVALID_VALUE, LAST_DEFAULT_STREAM, config, kernel as of_kernel,
};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;

/// `(descriptor, site, kernel, config, addresses, device)`: launches on the environment's stream of a device; 0, or -1
/// once it has raised. A stream of its own knows its context, the default stream has that which is current.
pub(crate) fn launch(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, kernel, config, addresses, device] =
        [0, 1, 2, 3, 4, 5].map(|i| b.param(i));
    let all = [descriptor, site, kernel, device];
    make_ready(b, all, config);
    let number = b.convert(Convert::Trunc, device, Type::I32);
    let cuda = b.i32(DeviceType::CUDA.0);
    let stream = b.runtime(&runtime::ENV_GET_STREAM, &[cuda, number]);
    b.store(stream, config, config::STREAM);
    let own = b.compare_const(Cond::Ugt, stream, LAST_DEFAULT_STREAM);
    let none = b.i32(0);
    let enter = |b: &mut Builder<'_>| b.routine_value(Routine::EnterContext, &all);
    let entered = b.if_else(own, Type::I32, |_| none, enter);
    let failed = b.compare_const(Cond::Slt, entered, 0);
    b.return_if(failed, -1);
    let (found, null) = (b.load(Type::Ptr, kernel, of_kernel::KERNEL), b.null());
    let status = b.driver(Entry::LaunchKernelEx, &[config, found, addresses, null]);
    let pushed = b.compare_const(Cond::Ne, entered, 0);
    b.if_then(pushed, |b| b.leave_context());
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| {
        let status = b.convert(Convert::Sext, status, Type::I64);
        let args = [descriptor, site, kernel, config, device];
        blame_shared(b, args, status);
        b.routine(Routine::LaunchFailed, &[&args[..], &[status]].concat());
        b.return_code(-1);
    });
    b.return_code(0);
}

/// Loads a kernel when it is first launched, and allows it what it needs.
fn make_ready(b: &mut Builder<'_>, all: [Value; 4], config: Value) {
    let [descriptor, site, kernel, device] = all;
    let known = b.atomic_load(Type::Ptr, kernel, of_kernel::KERNEL);
    let known = b.compare_const(Cond::Ne, known, 0);
    let (first, next) = (b.cold_block("first"), b.block("known"));
    b.branch(known, next, first);
    b.switch_to(first);
    b.try_routine(Routine::LoadKernel, &all);
    b.jump(next, &[]);
    b.switch_to(next);
    let allowed = b.load(Type::I64, kernel, of_kernel::ALLOWED);
    let needs = b.compare_const(Cond::Ne, allowed, 0);
    b.if_then(needs, |b| {
        b.try_routine(Routine::Allow, &[descriptor, site, kernel, config, device]);
    });
}

/// `(address, count)`: words of zeros.
pub(crate) fn clear(b: &mut Builder<'_>, _: Used) {
    let [start, count] = [0, 1].map(|i| b.param(i));
    let zero = b.i64(0);
    b.fold(count, [], |b, at, []| {
        let to = b.element(start, at);
        b.store(zero, to, 0);
        []
    });
    b.ret(None);
}

/// The driver only says that something is invalid: too much shared memory is found once it has refused.
fn blame_shared(b: &mut Builder<'_>, args: [Value; 5], status: Value) {
    let [_, _, kernel, ..] = args;
    let allowed = b.load(Type::I64, kernel, of_kernel::ALLOWED);
    let shared = b.binary_const(Binary::And, allowed, ALLOW_SHARED);
    let shared = b.compare_const(Cond::Ne, shared, 0);
    let invalid = b.compare_const(Cond::Eq, status, INVALID_VALUE);
    let suspect = b.and(shared, invalid);
    b.if_then(suspect, |b| {
        let most = b.routine_value(Routine::FitShared, &args);
        let raised = b.compare_const(Cond::Slt, most, 0);
        b.return_if(raised, -1);
    });
}
