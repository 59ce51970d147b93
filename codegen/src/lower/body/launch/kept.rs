//! Launches that a closure [keeps](kept). The first call emits all of a launch and keeps its area, whose config,
//! attributes and arguments are those of every later call; these store only what they compute themselves.

use crate::ir::{Block, Cond, Type, Value};
use crate::lower::body::launch::area::{self, DeviceIndex, Layout, Ready, Subject};
use crate::lower::body::launch::parts;
use crate::lower::checks::{Checker, terms};
use crate::lower::cuda::{KEPT_FULL, config, kept};
use crate::lower::emitter::frame::Slot;
use crate::lower::prologue;
use crate::lower::routines::Routine;
use crate::resolve::function::Function;
use crate::resolve::launch::Launch;

/// Returns the bytes in which a closure keeps launches; 0 if it has none to keep.
pub(in crate::lower::body) fn size(function: &Function<'_>) -> u32 {
    function.held_launches().into_iter().map(bytes_of).sum()
}

/// Returns the bytes in which a launch is kept.
fn bytes_of(launch: &Launch<'_>) -> u32 {
    kept::SIZE + 8 * Layout::of(launch).words()
}

/// Returns the byte offset at which a closure keeps a launch; `None` for a launch that it does not keep.
fn place(function: &Function<'_>, launch: &Launch<'_>) -> Option<u32> {
    let all = function.held_launches();
    let index = all.iter().position(|one| std::ptr::eq(*one, launch))?;
    Some(all[..index].iter().map(|earlier| bytes_of(earlier)).sum())
}

/// A launch that a closure keeps, while its code is emitted.
struct Keeping<'a> {
    launch: &'a Launch<'a>,
    layout: Layout,
    /// True for each argument of the kernel that is kept.
    held: Vec<bool>,
    site: Value,
    /// Address of the elements that the closure holds.
    elements: Value,
    /// Address at which the launch is kept.
    kept: Value,
    area: Value,
    /// Block in which all but the arguments of this call is ready. Its parameters are the `CUkernel`, the stream, and the
    /// addresses of the config and of the addresses of the arguments. The index of the device is in the area.
    ready: Block,
    /// Block after the launch.
    next: Block,
}

impl Keeping<'_> {
    /// Returns the indices of the arguments that are kept, or of the others.
    fn params(&self, held: bool) -> Vec<usize> {
        (0..self.held.len()).filter(|&index| self.held[index] == held).collect()
    }

    /// Returns the index of the device, which is behind what the area keeps.
    fn device(&self) -> DeviceIndex {
        DeviceIndex::At(self.area, 8 * self.layout.words() as i32)
    }

    /// Stores the index of the device.
    fn store_device(&self, c: &mut Checker<'_, '_>, device: Value) {
        c.e.b.store(device, self.area, 8 * self.layout.words() as i32);
    }

    /// Returns the byte offset in the area of the address of an argument.
    fn address(&self, param: usize) -> i32 {
        (self.layout.addresses + 8 * param as u32) as i32
    }
}

/// Emits a launch that the closure keeps. Returns false, and emits nothing, for other launches.
pub(super) fn launch_kept<'a>(c: &mut Checker<'a, '_>, launch: &'a Launch<'a>) -> bool {
    let (Some(elements), Some(place)) = (c.e.held(), place(c.e.function, launch)) else {
        return false;
    };
    let next = c.e.b.block("next");
    c.in_scope(|c| {
        let bytes = prologue::bytes_at(c, elements, c.e.function.captured.len());
        let kept = c.e.b.ptr_offset(bytes, place.into());
        let (layout, site, ready) =
            (Layout::of(launch), c.exits.here(&mut c.e), c.e.b.block("ready"));
        let area = c.e.slot(Slot::Launch, 8 * layout.words() + 8);
        let held = launch.params.iter().map(|param| c.e.function.holds_param(param)).collect();
        launch_by(c, &Keeping { launch, layout, held, site, elements, kept, area, ready, next });
    });
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
    true
}

/// Emits the first and all later launches, which meet where the kernel is called.
fn launch_by<'a>(c: &mut Checker<'a, '_>, keeping: &Keeping<'a>) {
    let &Keeping { launch, kept, area, ready, site, .. } = keeping;
    let [function, stream, config, addresses] = ["kernel", "stream", "config", "arguments"]
        .map(|name| c.e.b.block_param(ready, Type::Ptr, name));
    let state = c.e.b.atomic_load(Type::I64, kept, kept::STATE);
    let is_kept = c.e.b.compare_const(Cond::Eq, state, KEPT_FULL as i64);
    let (copy, first) = (c.e.b.block("kept"), c.e.b.cold_block("first"));
    c.e.b.branch(is_kept, copy, first);
    c.e.b.switch_to(first);
    prologue::loading_anew(c, keeping.elements, |c| fill(c, keeping));
    c.e.b.switch_to(copy);
    take(c, keeping);
    c.e.b.switch_to(ready);
    parts::allocate_scratches(c, launch);
    for index in keeping.params(false) {
        parts::store_param(c, area, &keeping.layout, launch, index, site);
    }
    let kernel = area::kernel_of(c, launch);
    let subject = Subject { site, kernel, device: keeping.device() };
    let ready = Ready { subject, function, config, extents: None, stream, addresses };
    parts::start(c, launch, ready);
}

/// Fills the area, and keeps it unless the grid is empty.
fn fill<'a>(c: &mut Checker<'a, '_>, keeping: &Keeping<'a>) {
    let Keeping { launch, layout, site, kept, area, ready, next, .. } = keeping;
    let (area, words) = (*area, c.e.b.i64(layout.words().into()));
    c.e.routine(Routine::Clear, &[area, words]);
    let extents = area::fields(c, &launch.extents);
    if let Some(empty) = area::is_empty(c, launch, &extents) {
        let go = c.e.b.cold_block("launch");
        c.e.b.branch(empty, *next, go);
        c.e.b.switch_to(go);
    }
    parts::require_all_gpu(c, launch);
    parts::store_config(c, area, layout, launch, &extents);
    for index in keeping.params(true) {
        parts::store_param(c, area, layout, launch, index, *site);
    }
    let (subject, function) = parts::load(c, launch, *site, area);
    let device = subject.device.value(c);
    keeping.store_device(c, device);
    let stream = parts::store_stream(c, launch, device, area);
    let start = c.e.b.i64((layout.addresses / 8).into());
    let count = c.e.b.i64(launch.params.len() as i64);
    let args = [*kept, area, words, start, count, function, device];
    keep(c, launch, device, &args);
    let addresses = c.e.b.ptr_offset(area, layout.addresses.into());
    c.e.b.jump(*ready, &[function, stream, area, addresses]);
}

/// Emits the call that keeps the launch. One that the function of its image makes, before it returns, is not kept: others
/// must find out that they have to wait.
fn keep(c: &mut Checker<'_, '_>, launch: &Launch<'_>, device: Value, args: &[Value]) {
    if launch.on_load.is_none() {
        c.e.routine(Routine::KeepLaunch, args);
        return;
    }
    let (keep, next) = (c.e.b.block("keep"), c.e.b.block("next"));
    let is_done = terms::has_hook_run(c, launch.image, device);
    c.e.b.branch(is_done, keep, next);
    c.e.b.switch_to(keep);
    c.e.routine(Routine::KeepLaunch, args);
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
}

/// Takes what is kept. The config is copied to the area if it has another stream than this call, the addresses of the
/// arguments if not all of them are kept.
fn take<'a>(c: &mut Checker<'a, '_>, keeping: &Keeping<'a>) {
    let &Keeping { launch, kept, area, ready, .. } = keeping;
    let device = c.e.b.load(Type::I64, kept, kept::DEVICE);
    keeping.store_device(c, device);
    let is_whole = keeping.params(false).is_empty();
    for index in keeping.params(true).into_iter().filter(|_| !is_whole) {
        copy_word(c, kept, area, keeping.address(index));
    }
    let stream = area::stream_or(c, launch.stream.as_ref(), device);
    // Loads behind the call that finds the stream: their values need not be kept across it.
    let function = c.e.b.load(Type::Ptr, kept, kept::KERNEL);
    let (table, at) = if is_whole { (kept, kept::SIZE) } else { (area, 0) };
    let addresses = c.e.b.ptr_offset(table, (at + keeping.layout.addresses).into());
    let config = c.e.b.ptr_offset(kept, kept::SIZE.into());
    let known = c.e.b.load(Type::Ptr, kept, kept::SIZE as i32 + config::STREAM);
    let is_same = c.e.b.compare(Cond::Eq, stream, known);
    let other = c.e.b.block("other_stream");
    c.e.b.branch(is_same, (ready, [function, stream, config, addresses]), other);
    c.e.b.switch_to(other);
    for at in config::WORDS_BUT_STREAM {
        copy_word(c, kept, area, at);
    }
    c.e.b.store(stream, area, config::STREAM);
    c.e.b.jump(ready, &[function, stream, area, addresses]);
}

/// Copies a word of what is kept to byte `at` of the area.
fn copy_word(c: &mut Checker<'_, '_>, kept: Value, area: Value, at: i32) {
    let word = c.e.b.load(Type::I64, kept, kept::SIZE as i32 + at);
    c.e.b.store(word, area, at);
}
