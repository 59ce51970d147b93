//! Launches by the HIP runtime, which loads kernels for one device and launches on the current one.

use crate::ir::{Binary, Cond, Type, Value};
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
        let (first, known) = (self.b.cold_block("first"), self.b.block("known"));
        let function = self.b.block_param(known, Type::Ptr, "kernel");
        let has_place = self.b.compare_const(Cond::Ult, device, DEVICES as i64);
        let offset = self.b.binary_const(Binary::Shl, device, 3);
        let cells = self.b.ptr_offset(kernel, kernel::FUNCTIONS.into());
        let cell = self.b.ptr_add(cells, offset);
        let place = self.b.block("place");
        self.b.branch(has_place, place, first);
        self.b.switch_to(place);
        let found = self.b.atomic_load(Type::Ptr, cell, 0);
        let is_found = self.b.compare_const(Cond::Ne, found, 0);
        self.b.branch(is_found, (known, [found]), first);
        self.b.switch_to(first);
        let status = self.routine_value(Routine::LoadFunction, &subject.args());
        self.exit_unless_zero(status, "not_launched");
        let found = self.b.atomic_load(Type::Ptr, cell, 0);
        self.b.jump(known, &[found]);
        self.b.switch_to(known);
        function
    }

    /// Emits the call of the runtime that launches the kernel. If another device is current, a routine calls it.
    pub(super) fn start_on_hip(&mut self, launch: &Launch<'a>, ready: Ready<'_>) {
        let Ready { subject, function, config, extents, stream, addresses } = ready;
        let [here, next] = ["this_device", "launched"].map(|label| self.b.block(label));
        let there = self.b.cold_block("other_device");
        let (is_current, _) = self.is_current(subject);
        self.b.branch(is_current, here, there);

        self.b.switch_to(there);
        self.store_fields(config, 0, extents.unwrap_or_default());
        let is_cooperative = self.b.i32(launch.cooperative.into());
        let args = subject.args_with([config, stream, addresses, is_cooperative]);
        let status = self.routine_value(Routine::LaunchThere, &args);
        self.exit_unless_zero(status, "not_launched");
        self.b.jump(next, &[]);

        self.b.switch_to(here);
        let mut args = vec![function];
        match extents {
            Some(extents) => args.extend(extents.iter().map(|extent| extent.value)),
            None => {
                let extent = |at| self.b.load(Type::I32, config, config::GRID + 4 * at);
                args.extend((0..EXTENTS).map(extent));
            }
        }
        args.extend([stream, addresses]);
        let (entry, at) = if launch.cooperative {
            (Entry::ModuleLaunchCooperativeKernel, kernel::LAUNCH_COOPERATIVE)
        } else {
            args.push(self.b.null());
            (Entry::ModuleLaunchKernel, kernel::LAUNCH)
        };
        let address = self.b.atomic_load(Type::Ptr, subject.kernel, at);
        let status = self.b.call_indirect_value(entry.signature(), address, &args);
        self.check_launch(Routine::HipLaunchFailed, ready, status);
        self.b.jump(next, &[]);
        self.b.switch_to(next);
    }
}
