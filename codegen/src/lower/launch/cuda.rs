//! Launches by the CUDA driver.

use crate::ir::{Cond, Type, Value};
use crate::lower::cuda::{CU_STREAM_PER_THREAD, Entry, kernel};
use crate::lower::launch::statement::{Ready, Subject};
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;

impl Wrapper<'_, '_> {
    /// Emits the call of the driver that launches the kernel. A stream that was created knows its context. The default
    /// stream belongs to the current context, which must therefore be a context of the device.
    pub(super) fn start_on_cuda(&mut self, ready: Ready<'_>) {
        let Ready { subject, function, config, stream, addresses, .. } = ready;
        let Subject { site, kernel, .. } = subject;
        let entered = self.enter_context(subject, stream);
        let entry = self.b.load(Type::Ptr, kernel, kernel::LAUNCH);
        let null = self.b.null();
        let signature = Entry::LaunchKernelEx.signature();
        let args = [config, function, addresses, null];
        let status = self.b.call_indirect_value(signature, entry, &args);
        self.leave_context(entered, site, status);
        self.check_launch(Routine::LaunchFailed, ready, status);
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
        let found = self.b.load(Type::Ptr, subject.kernel, kernel::KERNEL);
        self.b.jump(known, &[found]);
        self.b.switch_to(known);
        function
    }

    /// Makes a context of the device current if the stream needs it; returns a number that is not 0 if one was pushed.
    fn enter_context(&mut self, subject: Subject, stream: Value) -> Value {
        let created = self.b.compare_const(Cond::Ugt, stream, CU_STREAM_PER_THREAD);
        let none = self.b.i32(0);
        let (default, ready) = (self.b.block("default_stream"), self.b.block("ready"));
        let entered = self.b.block_param(ready, Type::I32, "entered");
        self.b.branch(created, (ready, [none]), default);
        self.b.switch_to(default);
        let found = self.routine_value(Routine::EnterContext, &subject.args());
        let failed = self.b.compare_const(Cond::Slt, found, 0);
        let fail = self.b.cold_block("no_context");
        self.b.branch(failed, fail, (ready, [found]));
        self.b.switch_to(fail);
        self.exit(Some(found));
        self.b.switch_to(ready);
        entered
    }

    /// Pops the context if one was pushed, so that the context of the caller is current again.
    fn leave_context(&mut self, entered: Value, site: Value, status: Value) {
        let entered = self.b.compare_const(Cond::Ne, entered, 0);
        let (leave, next) = (self.b.cold_block("leave_context"), self.b.block("next"));
        self.b.branch(entered, leave, next);
        self.b.switch_to(leave);
        let left = self.routine_value(Routine::LeaveContext, &[site, status]);
        let failed = self.b.compare_const(Cond::Ne, left, 0);
        let fail = self.b.cold_block("not_left");
        self.b.branch(failed, fail, next);
        self.b.switch_to(fail);
        self.exit(Some(left));
        self.b.switch_to(next);
    }
}
