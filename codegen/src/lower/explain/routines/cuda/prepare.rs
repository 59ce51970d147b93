//! Preparing a kernel on a device, so that launching it loads nothing.

use crate::ir::{Builder, Cond, Type};
use crate::lower::cuda::{Entry, config, kernel as of_kernel};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;

/// `CUDA_ERROR_INVALID_DEVICE`
const INVALID_DEVICE: i32 = 101;

/// `(descriptor, site, kernel, device)`: prepares a kernel in the primary context of a device; 0, or -1 once it has
/// raised.
pub(crate) fn prepare(b: &mut Builder<'_>, _: Used) {
    let all @ [descriptor, site, _, device] = [0, 1, 2, 3].map(|i| b.param(i));
    b.try_routine(Routine::LoadKernel, &all);
    let number = b.compare_const(Cond::Ule, device, i32::MAX.into());
    b.unless(number, |b| {
        let status = b.i32(INVALID_DEVICE);
        b.check_kernel(all, status);
        b.return_code(-1);
    });
    b.try_routine(Routine::PushPrimary, &all);
    let code = b.routine_value(Routine::PrepareHere, &all);
    let left = b.routine_value(Routine::LeaveContext, &[descriptor, site, code]);
    let failed = b.compare_const(Cond::Ne, code, 0);
    b.if_then(failed, |b| b.ret(Some(code)));
    b.ret(Some(left));
}

/// `(descriptor, site, kernel, device)`: the same in the current context. A kernel is in the device's memory only once
/// its function is loaded.
pub(crate) fn prepare_here(b: &mut Builder<'_>, _: Used) {
    let all @ [descriptor, site, kernel, device] = [0, 1, 2, 3].map(|i| b.param(i));
    let (plain, zero) = (b.stack_slot(config::SIZE, 8), b.i32(0));
    b.store(zero, plain, config::SHARED);
    b.try_routine(Routine::Allow, &[descriptor, site, kernel, plain, device]);
    let (found, out) = (b.load(Type::Ptr, kernel, of_kernel::KERNEL), b.stack_slot(8, 8));
    let status = b.driver(Entry::KernelGetFunction, &[out, found]);
    b.check_kernel(all, status);
    let loads = b.driver_has(Entry::FuncLoad);
    b.if_then(loads, |b| {
        let function = b.load(Type::Ptr, out, 0);
        let status = b.driver(Entry::FuncLoad, &[function]);
        b.check_kernel(all, status);
    });
    b.return_code(0);
}
