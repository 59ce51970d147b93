//! The launch statement. The config (`CUlaunchConfig`), the launch attributes and the kernel's arguments are in one
//! area of the frame, which all launches of a function share.

use crate::declaration::Platform;
use crate::lower::body::launch::area::{self, Field, Layout, Ready, Word};
use crate::lower::body::launch::kept::{self, Kept};
use crate::lower::body::launch::{command, parts};
use crate::lower::checks::Checker;
use crate::lower::checks::terms::{self, Loaded};
use crate::lower::cuda::config;
use crate::lower::emitter::frame::Slot;
use crate::lower::images;
use crate::lower::routines::Routine;
use crate::resolve::body::Prepare;
use crate::resolve::launch::Launch;

/// Emits a launch statement; an empty grid launches nothing. `closure` is the symbol of the function, if that is a
/// closure, and the launches that it keeps.
pub(in crate::lower::body) fn launch<'a>(
    c: &mut Checker<'a, '_>,
    launch: &'a Launch<'a>,
    closure: (&str, &Kept<'a>),
) {
    if kept::launch_kept(c, launch, closure) {
        return;
    }
    let extents = area::fields(c, &launch.extents);
    if launch.is_empty() {
        return;
    }
    let Some(empty) = area::is_empty(c, launch, &extents) else {
        return c.in_scope(|c| launch_grid(c, launch, &extents));
    };
    let [go, next] = ["launch", "next"].map(|label| c.e.b.block(label));
    c.e.b.branch(empty, next, go);
    c.e.b.switch_to(go);
    c.in_scope(|c| launch_grid(c, launch, &extents));
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
}

/// Emits the launch of a grid that is not empty.
fn launch_grid<'a>(c: &mut Checker<'a, '_>, launch: &'a Launch<'a>, extents: &[Field]) {
    parts::require_all_gpu(c, launch);
    parts::allocate_scratches(c, launch);
    let layout = Layout::of(launch);
    let area = c.e.slot(Slot::Launch, layout.size);
    // The driver takes a config, or each extent.
    let extents = match c.e.function.platform {
        Platform::Cuda => {
            parts::store_config(c, area, &layout, launch, extents);
            None
        }
        Platform::Hip => Some(extents),
    };
    let site = c.exits.here(&mut c.e);
    for index in 0..launch.params.len() {
        parts::store_param(c, area, &layout, launch, index, site);
    }
    let addresses = (area, layout.addresses.into());
    let (subject, function) = parts::load(c, launch, site, area);
    let device = subject.device.value(c);
    let stream = area::stream_or(c, launch.stream.as_ref(), device);
    if extents.is_none() {
        c.e.b.store(stream, area, config::STREAM);
    }
    let (function, stream) = (Word::Known(function), Word::Known(stream));
    parts::start(c, launch, Ready { subject, function, config: area, extents, stream, addresses });
}

/// Emits the calls that prepare each kernel, in the function that prepares launches.
pub(in crate::lower::body) fn load_kernels<'a>(c: &mut Checker<'a, '_>, prepare: &'a Prepare<'a>) {
    let device = c.e.known.value(prepare.device).scalar().native;
    let site = c.exits.here(&mut c.e);
    let routine = match prepare.platform {
        Platform::Cuda => Routine::Prepare,
        Platform::Hip => Routine::LoadFunction,
    };
    for launch in &prepare.launches {
        let kernel = images::kernel(c.e.b.module, prepare.platform, launch);
        let kernel = c.e.b.address(kernel);
        let status = c.e.routine_value(routine, &[site, kernel, device]);
        c.e.exit_unless_zero(status, "not_launched");
        if let Some(function) = launch.on_load {
            terms::run_hook(c, Loaded { kernel, device }, launch.image, function);
        }
    }
    for (image, global) in &prepare.globals {
        terms::prepare_global(c, (&global.image, &global.name), image.on_load, device);
    }
    command::prepare_commands(c, prepare, device, site);
}
