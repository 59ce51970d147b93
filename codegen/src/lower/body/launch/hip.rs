//! Launches by the HIP runtime, which loads kernels for one device and launches on the current one.

use crate::ir::{Binary, Cond, Type, Value};
use crate::lower::body::launch::area::{self, Ready, Subject};
use crate::lower::checks::Checker;
use crate::lower::cuda::config;
use crate::lower::dynamic::Entries;
use crate::lower::hip::{DEVICES, Entry, kernel};
use crate::lower::routines::Routine;
use crate::resolve::launch::Launch;

/// Number of extents and sizes at the beginning of a config: grid, block, shared memory.
const EXTENTS: i32 = 7;

/// Returns the `hipFunction_t` of the device. The first launch on a device loads the kernel there.
pub(super) fn loaded_function(c: &mut Checker<'_, '_>, subject: Subject) -> Value {
    let Subject { kernel, .. } = subject;
    let device = subject.device.value(c);
    let (first, known) = (c.e.b.cold_block("first"), c.e.b.block("known"));
    let function = c.e.b.block_param(known, Type::Ptr, "kernel");
    let has_place = c.e.b.compare_const(Cond::Ult, device, DEVICES as i64);
    let offset = c.e.b.binary_const(Binary::Shl, device, 3);
    let cells = c.e.b.ptr_offset(kernel, kernel::FUNCTIONS.into());
    let cell = c.e.b.ptr_add(cells, offset);
    let place = c.e.b.block("place");
    c.e.b.branch(has_place, place, first);
    c.e.b.switch_to(place);
    let found = c.e.b.atomic_load(Type::Ptr, cell, 0);
    let is_found = c.e.b.compare_const(Cond::Ne, found, 0);
    c.e.b.branch(is_found, (known, [found]), first);
    c.e.b.switch_to(first);
    let args = subject.args(c);
    let status = c.e.routine_value(Routine::LoadFunction, &args);
    c.e.exit_unless_zero(status, "not_launched");
    let found = c.e.b.atomic_load(Type::Ptr, cell, 0);
    c.e.b.jump(known, &[found]);
    c.e.b.switch_to(known);
    function
}

/// Emits the call of the runtime that launches the kernel. If another device is current, a routine calls it.
pub(super) fn start_on_hip<'a>(c: &mut Checker<'a, '_>, launch: &Launch<'a>, ready: Ready<'_>) {
    let Ready { subject, config, extents, .. } = ready;
    let [here, next] = ["this_device", "launched"].map(|label| c.e.b.block(label));
    area::branch_if_current(c, subject, here);
    area::store_fields(c, config, 0, extents.unwrap_or_default());
    let is_cooperative = c.e.b.i32(launch.cooperative.into());
    let (stream, addresses) = (ready.stream.value(c), ready.addresses(c));
    let args = subject.args_with(c, [config, stream, addresses, is_cooperative]);
    let status = c.e.routine_value(Routine::LaunchThere, &args);
    c.e.exit_unless_zero(status, "not_launched");
    c.e.b.jump(next, &[]);

    c.e.b.switch_to(here);
    let mut args = vec![ready.function.value(c)];
    match extents {
        Some(extents) => args.extend(extents.iter().map(|extent| extent.value)),
        None => {
            let extent = |at| c.e.b.load(Type::I32, config, config::GRID + 4 * at);
            args.extend((0..EXTENTS).map(extent));
        }
    }
    args.extend([ready.stream.value(c), ready.addresses(c)]);
    let (entry, at) = if launch.cooperative {
        (Entry::ModuleLaunchCooperativeKernel, kernel::LAUNCH_COOPERATIVE)
    } else {
        args.push(c.e.b.null());
        (Entry::ModuleLaunchKernel, kernel::LAUNCH)
    };
    let address = c.e.b.atomic_load(Type::Ptr, subject.kernel, at);
    let status = c.e.b.call_indirect_value(entry.signature(), address, &args);
    area::check_launch(c, Routine::HipLaunchFailed, ready, status);
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
}
