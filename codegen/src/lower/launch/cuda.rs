//! Launches by the CUDA driver.

use crate::ir::{Cond, Type, Value};
use crate::lower::cuda::{CU_STREAM_PER_THREAD, Entry, kernel};
use crate::lower::launch::statement::{Ready, Subject};
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;

impl Wrapper<'_, '_> {
    /// Emits the launch of the kernel. A stream that was created knows its context. The default stream belongs to the
    /// current context, which must therefore be a context of the device.
    pub(super) fn start_on_cuda(&mut self, ready: Ready<'_>) {
        let [default, here, launched] =
            ["default_stream", "this_context", "launched"].map(|label| self.b.block(label));
        let there = self.b.cold_block("other_context");
        let status = self.b.block_param(launched, Type::I32, "status");
        let created = self.b.compare_const(Cond::Ugt, ready.stream, CU_STREAM_PER_THREAD);
        self.b.branch(created, here, default);

        self.b.switch_to(default);
        let (is_current, asked) = self.is_current(ready.subject);
        self.b.branch(is_current, here, there);

        self.b.switch_to(there);
        let found = self.launch_there(ready, asked);
        self.b.jump(launched, &[found]);

        self.b.switch_to(here);
        let found = self.call_driver(ready);
        self.b.jump(launched, &[found]);

        self.b.switch_to(launched);
        self.check_launch(Routine::LaunchFailed, ready, status);
    }

    /// Emits the call of the driver that launches the kernel; returns its status.
    fn call_driver(&mut self, ready: Ready<'_>) -> Value {
        let Ready { subject, function, config, addresses, .. } = ready;
        let entry = self.b.atomic_load(Type::Ptr, subject.kernel, kernel::LAUNCH);
        let null = self.b.null();
        let signature = Entry::LaunchKernelEx.signature();
        self.b.call_indirect_value(signature, entry, &[config, function, addresses, null])
    }

    /// Returns the `CUkernel`. The first launch loads the kernel.
    pub(super) fn loaded_kernel(&mut self, subject: Subject) -> Value {
        let found = self.b.atomic_load(Type::Ptr, subject.kernel, kernel::KERNEL);
        let is_known = self.b.compare_const(Cond::Ne, found, 0);
        let (first, known) = (self.b.cold_block("first"), self.b.block("known"));
        let function = self.b.block_param(known, Type::Ptr, "kernel");
        self.b.branch(is_known, (known, [found]), first);
        self.b.switch_to(first);
        let status = self.routine_value(Routine::LoadKernel, &subject.args());
        self.exit_unless_zero(status, "not_launched");
        let found = self.b.atomic_load(Type::Ptr, subject.kernel, kernel::KERNEL);
        self.b.jump(known, &[found]);
        self.b.switch_to(known);
        function
    }

    /// Emits a launch in the primary context of the device, which is pushed and popped; returns the status of the launch.
    /// `asked` is the status of the call that found another device, or none.
    fn launch_there(&mut self, ready: Ready<'_>, asked: Value) -> Value {
        let args = ready.subject.args_with([asked]);
        let entered = self.routine_value(Routine::EnterPrimary, &args);
        self.exit_unless_zero(entered, "no_context");
        let status = self.call_driver(ready);
        let left = self.routine_value(Routine::LeaveContext, &[ready.subject.site, status]);
        self.exit_unless_zero(left, "not_left");
        status
    }
}
