//! The launch itself, once everything that the driver is given stands in the frame.

use abi_spec::{DeviceType, runtime};

use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::cuda::{Entry, LAST_DEFAULT_STREAM, config, kernel};
use crate::lower::images;
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::launch::Launch;

impl<'a> Wrapper<'a, '_> {
    /// Launches on the environment's stream of a device, or leaves with an error. A stream of its own knows its context,
    /// the default stream has that which is current.
    pub(super) fn start(
        &mut self,
        launch: &'a Launch<'a>,
        site: Value,
        area: Value,
        addresses: Value,
    ) {
        let variable = images::kernel(self.b.module, launch);
        let variable = self.b.address(variable);
        let device = self.device_of(launch.device);
        let all = [site, variable, device];
        let function = self.known_kernel(all);
        if launch.allowed.shared || launch.allowed.cluster {
            let args = [site, variable, device, area];
            let status = self.routine_value(Routine::Allow, &args);
            self.leave_if(status);
        }
        let entered = self.choose_stream(all, area);
        let start = self.b.load(Type::Ptr, variable, kernel::LAUNCH);
        let null = self.b.null();
        let signature = Entry::LaunchKernelEx.signature();
        let args = [area, function, addresses, null];
        let status = self.b.call_indirect_value(signature, start, &args);
        self.leave_context(entered, [site, status]);
        let failed = self.b.compare_const(Cond::Ne, status, 0);
        let (fail, next) = (self.b.cold_block("not_launched"), self.b.block("next"));
        self.b.branch(failed, fail, next);
        self.b.switch_to(fail);
        let args = [site, variable, device, area, status];
        self.routine(Routine::LaunchFailed, &args);
        let raised = self.b.i32(-1);
        self.exit(Some(raised));
        self.b.switch_to(next);
    }

    /// The `CUkernel`, which the first launch loads.
    fn known_kernel(&mut self, all @ [_, variable, _]: [Value; 3]) -> Value {
        let found = self.b.atomic_load(Type::Ptr, variable, kernel::KERNEL);
        let is_known = self.b.compare_const(Cond::Ne, found, 0);
        let (first, known) = (self.b.cold_block("first"), self.b.block("known"));
        let function = self.b.block_param(known, Type::Ptr, "kernel");
        self.b.branch(is_known, (known, [found]), first);
        self.b.switch_to(first);
        let status = self.routine_value(Routine::LoadKernel, &all);
        self.leave_if(status);
        let found = self.b.load(Type::Ptr, variable, kernel::KERNEL);
        self.b.jump(known, &[found]);
        self.b.switch_to(known);
        function
    }

    /// Writes the stream; yields whether a context has been made current for it.
    fn choose_stream(&mut self, all @ [.., device]: [Value; 3], area: Value) -> Value {
        let number = self.b.convert(Convert::Trunc, device, Type::I32);
        let cuda = self.b.i32(DeviceType::CUDA.0);
        let get = crate::lower::runtime(self.b.module, &runtime::ENV_GET_STREAM);
        let stream = self.b.call_value(get, &[cuda, number]);
        self.b.store(stream, area, config::STREAM);
        let own = self.b.compare_const(Cond::Ugt, stream, LAST_DEFAULT_STREAM);
        let none = self.b.i32(0);
        let (default, ready) = (self.b.block("default_stream"), self.b.block("ready"));
        let entered = self.b.block_param(ready, Type::I32, "entered");
        self.b.branch(own, (ready, [none]), default);
        self.b.switch_to(default);
        let found = self.routine_value(Routine::EnterContext, &all);
        let failed = self.b.compare_const(Cond::Slt, found, 0);
        let fail = self.b.cold_block("no_context");
        self.b.branch(failed, fail, (ready, [found]));
        self.b.switch_to(fail);
        self.exit(Some(found));
        self.b.switch_to(ready);
        entered
    }

    /// What was current before is so again, or leaves with an error: who calls would go on in a context of ours.
    fn leave_context(&mut self, entered: Value, launched: [Value; 2]) {
        let entered = self.b.compare_const(Cond::Ne, entered, 0);
        let (leave, next) = (self.b.cold_block("leave_context"), self.b.block("next"));
        self.b.branch(entered, leave, next);
        self.b.switch_to(leave);
        let left = self.routine_value(Routine::LeaveContext, &launched);
        let failed = self.b.compare_const(Cond::Ne, left, 0);
        let fail = self.b.cold_block("not_left");
        self.b.branch(failed, fail, next);
        self.b.switch_to(fail);
        self.exit(Some(left));
        self.b.switch_to(next);
    }
}
