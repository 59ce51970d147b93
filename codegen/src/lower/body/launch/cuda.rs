//! Launches by the CUDA driver.

use crate::ir::{Cond, Type, Value};
use crate::lower::body::launch::area::{self, Ready, Subject};
use crate::lower::checks::Checker;
use crate::lower::cuda::{CU_STREAM_PER_THREAD, Entry, kernel};
use crate::lower::dynamic::Entries;
use crate::lower::routines::Routine;

/// Emits the launch of the kernel. A stream that was created knows its context. The default stream belongs to the
/// current context, which must therefore be a context of the device.
pub(super) fn start_on_cuda(c: &mut Checker<'_, '_>, ready: Ready<'_>) {
    let [default, here, launched] =
        ["default_stream", "this_context", "launched"].map(|label| c.e.b.block(label));
    let status = c.e.b.block_param(launched, Type::I32, "status");
    let stream = ready.stream.value(c);
    let created = c.e.b.compare_const(Cond::Ugt, stream, CU_STREAM_PER_THREAD);
    c.e.b.branch(created, here, default);

    c.e.b.switch_to(default);
    let asked = area::branch_if_current(c, ready.subject, here);
    let found = launch_there(c, ready, asked);
    c.e.b.jump(launched, &[found]);

    c.e.b.switch_to(here);
    let found = call_driver(c, ready);
    c.e.b.jump(launched, &[found]);

    c.e.b.switch_to(launched);
    area::check_launch(c, Routine::LaunchFailed, ready, status);
}

/// Emits the call of the driver that launches the kernel; returns its status.
fn call_driver(c: &mut Checker<'_, '_>, ready: Ready<'_>) -> Value {
    let entry = c.e.b.atomic_load(Type::Ptr, ready.subject.kernel, kernel::LAUNCH);
    let (function, addresses) = (ready.function.value(c), ready.addresses(c));
    let null = c.e.b.null();
    let signature = Entry::LaunchKernelEx.signature();
    c.e.b.call_indirect_value(signature, entry, &[ready.config, function, addresses, null])
}

/// Returns the `CUkernel`. The first launch loads the kernel.
pub(super) fn loaded_kernel(c: &mut Checker<'_, '_>, subject: Subject) -> Value {
    let found = c.e.b.atomic_load(Type::Ptr, subject.kernel, kernel::KERNEL);
    let is_known = c.e.b.compare_const(Cond::Ne, found, 0);
    let (first, known) = (c.e.b.cold_block("first"), c.e.b.block("known"));
    let function = c.e.b.block_param(known, Type::Ptr, "kernel");
    c.e.b.branch(is_known, (known, [found]), first);
    c.e.b.switch_to(first);
    let args = subject.args(c);
    let status = c.e.routine_value(Routine::LoadKernel, &args);
    c.e.exit_unless_zero(status, "not_launched");
    let found = c.e.b.atomic_load(Type::Ptr, subject.kernel, kernel::KERNEL);
    c.e.b.jump(known, &[found]);
    c.e.b.switch_to(known);
    function
}

/// Emits a launch in the primary context of the device, which is pushed and popped; returns the status of the launch.
/// `asked` is the status of the call that found another device, or none.
fn launch_there(c: &mut Checker<'_, '_>, ready: Ready<'_>, asked: Value) -> Value {
    let args = ready.subject.args_with(c, [asked]);
    let entered = c.e.routine_value(Routine::EnterPrimary, &args);
    c.e.exit_unless_zero(entered, "no_context");
    let status = call_driver(c, ready);
    let left = c.e.routine_value(Routine::LeaveContext, &[ready.subject.site, status]);
    c.e.exit_unless_zero(left, "not_left");
    status
}
