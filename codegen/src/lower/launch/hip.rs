//! Launches by the HIP runtime, which loads kernels for one device and launches on the current one.

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::cuda::config;
use crate::lower::hip::{DEVICES, Entry, kernel};
use crate::lower::launch::statement::{Ready, Subject};
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::launch::Launch;

/// Number of extents and sizes at the beginning of a config: grid, block, shared memory.
const EXTENTS: i32 = 7;

impl<'a> Wrapper<'a, '_> {
    /// Returns the `hipFunction_t` of the device. The first launch on a device loads the kernel there.
    pub(super) fn loaded_function(&mut self, subject: Subject) -> Value {
        let Subject { kernel, device, .. } = subject;
        let has_place = self.b.compare_const(Cond::Ult, device, DEVICES as i64);
        let first_place = self.b.i64(0);
        let place = self.b.select(has_place, device, first_place);
        let offset = self.b.binary_const(Binary::Shl, place, 3);
        let cells = self.b.ptr_offset(kernel, kernel::FUNCTIONS.into());
        let cell = self.b.ptr_add(cells, offset);
        let found = self.b.atomic_load(Type::Ptr, cell, 0);
        let is_found = self.b.compare_const(Cond::Ne, found, 0);
        let is_known = self.b.and(has_place, is_found);
        let (first, known) = (self.b.cold_block("first"), self.b.block("known"));
        let function = self.b.block_param(known, Type::Ptr, "kernel");
        self.b.branch(is_known, (known, [found]), first);
        self.b.switch_to(first);
        let status = self.routine_value(Routine::LoadFunction, &subject.args());
        self.exit_unless_zero(status, "not_launched");
        let found = self.b.load(Type::Ptr, cell, 0);
        self.b.jump(known, &[found]);
        self.b.switch_to(known);
        function
    }

    /// Emits the call of the runtime that launches the kernel, with its device current.
    pub(super) fn start_on_hip(&mut self, launch: &Launch<'a>, ready: Ready) {
        let Ready { subject, function, config, stream, addresses } = ready;
        let entered = self.enter_device(subject);
        let mut args = vec![function];
        args.extend((0..EXTENTS).map(|at| self.b.load(Type::I32, config, config::GRID + 4 * at)));
        args.extend([stream, addresses]);
        let (entry, at) = if launch.cooperative {
            (Entry::ModuleLaunchCooperativeKernel, kernel::LAUNCH_COOPERATIVE)
        } else {
            args.push(self.b.null());
            (Entry::ModuleLaunchKernel, kernel::LAUNCH)
        };
        let address = self.b.load(Type::Ptr, subject.kernel, at);
        let status = self.b.call_indirect_value(entry.signature(), address, &args);
        let is_entered = self.b.compare_const(Cond::Ne, entered, 0);
        let (leave, next) = (self.b.cold_block("leave_device"), self.b.block("next"));
        self.b.branch(is_entered, leave, next);
        self.b.switch_to(leave);
        let left = self.routine_value(Routine::LeaveDevice, &[subject.site, entered, status]);
        let not_left = self.b.compare_const(Cond::Ne, left, 0);
        let fail = self.b.cold_block("not_left");
        self.b.branch(not_left, fail, next);
        self.b.switch_to(fail);
        self.exit(Some(left));
        self.b.switch_to(next);
        self.check_launch(Routine::HipLaunchFailed, ready, status);
    }

    /// Makes the device current unless it is; returns a number that is not 0 if another one was.
    fn enter_device(&mut self, subject: Subject) -> Value {
        let none = self.b.i64(-1);
        let current = self.scratch(&[none]);
        let entry = self.b.load(Type::Ptr, subject.kernel, kernel::GET_DEVICE);
        let status = self.b.call_indirect_value(Entry::GetDevice.signature(), entry, &[current]);
        let none = self.b.i32(0);
        let found = self.b.load(Type::I32, current, 0);
        let found = self.b.convert(Convert::Sext, found, Type::I64);
        let is_current = self.b.compare(Cond::Eq, found, subject.device);
        let is_fine = self.b.compare_const(Cond::Eq, status, 0);
        let is_current = self.b.and(is_fine, is_current);
        let (other, ready) = (self.b.cold_block("other_device"), self.b.block("ready"));
        let entered = self.b.block_param(ready, Type::I32, "entered");
        self.b.branch(is_current, (ready, [none]), other);
        self.b.switch_to(other);
        let was = self.routine_value(Routine::EnterDevice, &subject.args());
        let is_failed = self.b.compare_const(Cond::Slt, was, 0);
        let fail = self.b.cold_block("no_device");
        self.b.branch(is_failed, fail, (ready, [was]));
        self.b.switch_to(fail);
        self.exit(Some(was));
        self.b.switch_to(ready);
        entered
    }
}
