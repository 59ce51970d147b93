//! The launch: the hot path of every kernel.

use abi_spec::{DeviceType, runtime};

use crate::ir::{Builder, Cond, Convert, Type};
use crate::lower::cuda::{Entry, LAST_DEFAULT_STREAM, config, kernel as of_kernel};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;

/// `(descriptor, site, kernel, config, addresses, device)`: launches on the environment's stream of a device; 0, or -1
/// once it has raised. A stream of its own knows its context, the default stream has that which is current.
pub(crate) fn launch(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, kernel, config, addresses, device] =
        [0, 1, 2, 3, 4, 5].map(|i| b.param(i));
    let all = [descriptor, site, kernel, device];
    let found = b.atomic_load(Type::Ptr, kernel, of_kernel::KERNEL);
    let is_known = b.compare_const(Cond::Ne, found, 0);
    let (first, known) = (b.cold_block("first"), b.block("known"));
    let function = b.block_param(known, Type::Ptr, "kernel");
    b.branch(is_known, (known, [found]), first);
    b.switch_to(first);
    b.try_routine(Routine::LoadKernel, &all);
    let found = b.load(Type::Ptr, kernel, of_kernel::KERNEL);
    b.jump(known, &[found]);
    b.switch_to(known);
    let allowed = b.load(Type::I64, kernel, of_kernel::ALLOWED);
    let needs = b.compare_const(Cond::Ne, allowed, 0);
    b.if_then(needs, |b| {
        b.try_routine(Routine::Allow, &[descriptor, site, kernel, config, device]);
    });
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
    let null = b.null();
    let status = b.driver(Entry::LaunchKernelEx, &[config, function, addresses, null]);
    let pushed = b.compare_const(Cond::Ne, entered, 0);
    b.if_then(pushed, |b| b.leave_context());
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| {
        let status = b.convert(Convert::Sext, status, Type::I64);
        b.routine(Routine::LaunchFailed, &[descriptor, site, kernel, config, device, status]);
        b.return_code(-1);
    });
    b.return_code(0);
}
