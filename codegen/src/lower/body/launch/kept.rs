//! Launches that a closure [keeps](kept). The first call computes all of a launch and keeps its area, whose config,
//! attributes and arguments are those of every later call; these store only what they compute themselves. The code of
//! the first call is a function of its own, so that what it computes takes no registers from later calls.

use rustc_hash::FxHashMap;

use crate::ir::{Block, Cond, Linkage, Signature, SymbolKind, Type, Value};
use crate::lower::body::launch::area::{self, Layout, Ready, Subject, Word};
use crate::lower::body::launch::{map, parts};
use crate::lower::checks::{Checker, terms};
use crate::lower::cuda::{KEPT_FULL, config, kept};
use crate::lower::emitter::frame::Slot;
use crate::lower::prologue;
use crate::lower::routines::Routine;
use crate::resolve::function::Function;
use crate::resolve::launch::Launch;
use crate::resolve::launch::held::HeldLaunch;
use crate::resolve::step::Topic;

/// The launches that a closure keeps, each with the byte offset at which it does.
pub(in crate::lower) struct Kept<'a> {
    launches: Vec<(HeldLaunch<'a, 'a>, u32)>,
    /// Number of bytes in which the closure keeps them; 0 if it has none to keep.
    pub(in crate::lower::body) size: u32,
    /// Number of each launch by its address.
    numbers: FxHashMap<*const Launch<'a>, usize>,
}

impl<'a> Kept<'a> {
    /// Finds the launches that a function keeps.
    pub(in crate::lower) fn of(function: &'a Function<'a>) -> Self {
        let mut size = 0;
        let place = |held: HeldLaunch<'a, 'a>| {
            let place = size;
            size += kept::SIZE + 8 * Layout::of(held.launch).words();
            (held, place)
        };
        let launches: Vec<_> = function.held_launches().into_iter().map(place).collect();
        let number = |(index, (held, _)): (usize, &(HeldLaunch<'a, 'a>, u32))| {
            (std::ptr::from_ref(held.launch), index)
        };
        let numbers = launches.iter().enumerate().map(number).collect();
        Kept { launches, size, numbers }
    }

    /// Returns the number of launches.
    pub(in crate::lower) fn len(&self) -> usize {
        self.launches.len()
    }

    /// Returns the number of a launch; `None` for one that the closure does not keep.
    fn number(&self, launch: &Launch<'a>) -> Option<usize> {
        self.numbers.get(&std::ptr::from_ref(launch)).copied()
    }
}

/// Room before the area of the frame for what precedes the area of a kept launch. The area is as aligned as the frame.
const ROOM: u32 = map::AREA_ALIGN;

/// Statuses of a [first launch](first) that is no error.
const READY: i32 = 0;
const EMPTY: i32 = 1;

/// A launch that a closure keeps, while code is emitted.
struct Keeping<'k, 'a> {
    launch: &'a Launch<'a>,
    layout: Layout,
    /// True for each argument of the kernel that is kept.
    held: &'k [bool],
    site: Value,
    /// Address at which the closure keeps the launch.
    kept: Value,
}

impl<'k, 'a> Keeping<'k, 'a> {
    /// Begins the code of launch number `index` of a closure that holds these elements.
    fn new(c: &mut Checker<'a, '_>, all: &'k Kept<'a>, index: usize, elements: Value) -> Self {
        let (HeldLaunch { launch, params: held, .. }, place) = &all.launches[index];
        let bytes = prologue::bytes_at(c, elements, c.e.function.captured.len());
        let kept = c.e.b.ptr_offset(bytes, (*place).into());
        let site = c.exits.here(&mut c.e);
        Keeping { launch, layout: Layout::of(launch), held, site, kept }
    }

    /// Returns the indices of the arguments that are kept, or of the others.
    fn params(&self, held: bool) -> Vec<usize> {
        (0..self.held.len()).filter(|&index| self.held[index] == held).collect()
    }

    /// Returns the byte offset in the area of the address of an argument.
    fn address(&self, param: usize) -> i32 {
        (self.layout.addresses + 8 * param as u32) as i32
    }
}

/// Returns the symbol of the function that makes the first call of launch number `index` of a closure.
pub(in crate::lower) fn first_symbol(closure: &str, index: usize) -> String {
    format!("{closure}.launch.{index}")
}

/// Returns the signature of the function that makes the first call of a launch: it takes the address of what the
/// closure holds, that of the area, and the stream if the launch is given one; it returns [`READY`], [`EMPTY`] or the
/// status of an error.
pub(in crate::lower) fn first_signature() -> Signature {
    Signature::new(&[Type::Ptr; 3], Some(Type::I32))
}

/// Emits the code of the function that makes the first call of a launch, up to the arguments that differ between calls:
/// it fills the area, what precedes that, and what the closure keeps.
pub(in crate::lower) fn first<'a>(c: &mut Checker<'a, '_>, all: &Kept<'a>, index: usize) {
    let (held, _) = &all.launches[index];
    let statement = held.statement;
    c.exits.subjects.enter_location(statement.location);
    c.e.begin_topic(Topic::BODY);
    c.e.begin_located(statement.topic(), statement.location);
    let [elements, area, stream] = [0, 1, 2].map(|index| c.e.b.param(index));
    for (value, name) in [(area, "area"), (stream, "stream")] {
        c.e.b.hint(value, name);
    }
    for (local, term) in c.e.function.numbers_of(held) {
        let value = terms::eval(c, term);
        c.e.known.locals_mut().values[local] = Some(value);
    }
    let keeping = Keeping::new(c, all, index, elements);
    fill(c, &keeping, area, stream);
}

/// Emits a launch that the closure with this symbol keeps. Returns false, and emits nothing, for other launches.
pub(super) fn launch_kept<'a>(
    c: &mut Checker<'a, '_>,
    launch: &'a Launch<'a>,
    (closure, all): (&str, &Kept<'a>),
) -> bool {
    let (Some(elements), Some(index)) = (c.e.held(), all.number(launch)) else {
        return false;
    };
    let next = c.e.b.block("next");
    c.in_scope(|c| {
        let frame = c.e.slot(Slot::Launch, ROOM + 8 * Layout::of(launch).words());
        let keeping = Keeping::new(c, all, index, elements);
        let symbol = first_symbol(closure, index);
        let kept = take_or_fill(c, &keeping, (elements, frame), (&symbol, next));
        take(c, &keeping, frame, kept);
    });
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
    true
}

/// Emits the call of the function of the first launch unless the closure keeps the launch. Goes on to `next` if there
/// is nothing to launch; returns the address of what is kept, in the closure or before the area.
fn take_or_fill<'a>(
    c: &mut Checker<'a, '_>,
    keeping: &Keeping<'_, 'a>,
    (elements, frame): (Value, Value),
    (symbol, next): (&str, Block),
) -> Value {
    let &Keeping { launch, kept, .. } = keeping;
    let state = c.e.b.atomic_load(Type::I64, kept, kept::STATE);
    let is_kept = c.e.b.compare_const(Cond::Eq, state, KEPT_FULL as i64);
    let (take, first) = (c.e.b.block("kept"), c.e.b.cold_block("first"));
    let from = c.e.b.block_param(take, Type::Ptr, "kept");
    c.e.b.branch(is_kept, (take, [kept]), first);
    c.e.b.switch_to(first);
    c.without_dominating(|c| {
        let stream = match &launch.stream {
            Some(stream) => terms::eval(c, stream),
            None => c.e.b.null(),
        };
        let kind = SymbolKind::Function(first_signature());
        let function = c.e.b.module.declare(symbol, Linkage::Local, kind);
        let area = area_in(c, frame);
        let status = c.e.b.call_value(function, &[elements, area, stream]);
        let is_ready = c.e.b.compare_const(Cond::Eq, status, READY.into());
        let [other, empty, fail] =
            ["other", "empty", "not_launched"].map(|label| c.e.b.cold_block(label));
        let filled = c.e.b.ptr_offset(area, -i64::from(kept::SIZE));
        c.e.b.branch(is_ready, (take, [filled]), other);
        c.e.b.switch_to(other);
        let is_empty = c.e.b.compare_const(Cond::Eq, status, EMPTY.into());
        c.e.b.branch(is_empty, empty, fail);
        // A block of its own: what registers need on the way to `next` is moved here, not between warm blocks.
        c.e.b.switch_to(empty);
        c.e.b.jump(next, &[]);
        c.e.b.switch_to(fail);
        c.e.exit(Some(status));
    });
    c.e.b.switch_to(take);
    from
}

/// Fills the area, and keeps it unless the grid is empty.
fn fill<'a>(c: &mut Checker<'a, '_>, keeping: &Keeping<'_, 'a>, area: Value, stream: Value) {
    let &Keeping { launch, ref layout, site, kept, .. } = keeping;
    let words = c.e.b.i64(layout.words().into());
    c.e.routine(Routine::Clear, &[area, words]);
    let extents = area::fields(c, &launch.extents);
    if let Some(is_empty) = area::is_empty(c, launch, &extents) {
        let (empty, go) = (c.e.b.cold_block("empty"), c.e.b.block("launch"));
        c.e.b.branch(is_empty, empty, go);
        c.e.b.switch_to(empty);
        let status = c.e.b.i32(EMPTY);
        c.e.b.ret(Some(status));
        c.e.b.switch_to(go);
    }
    parts::require_all_gpu(c, launch);
    parts::store_config(c, area, layout, launch, &extents);
    for index in keeping.params(true) {
        parts::store_param(c, area, layout, launch, index, site);
    }
    let (subject, function) = parts::load(c, launch, site, area);
    let device = subject.device.value(c);
    let stream = match launch.stream {
        Some(_) => stream,
        None => area::stream_or(c, None, device),
    };
    c.e.b.store(stream, area, config::STREAM);
    let before = c.e.b.ptr_offset(area, -i64::from(kept::SIZE));
    c.e.b.store(device, before, kept::DEVICE);
    c.e.b.store(function, before, kept::KERNEL);
    let start = c.e.b.i64((layout.addresses / 8).into());
    let count = c.e.b.i64(launch.params.len() as i64);
    keep(c, launch, device, &[kept, area, words, start, count, function, device]);
    c.e.release_beyond(0);
    let status = c.e.b.i32(READY);
    c.e.b.ret(Some(status));
}

/// Emits the call that keeps the launch. One that the function of its image makes, before it returns, is not kept:
/// others must find out that they have to wait.
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

/// Launches what is kept at an address, or a copy of it with the stream of this call, in the area and before that.
/// Calls find the stream and the current device; what the driver gets is loaded behind them, so that only its address
/// lives across them.
fn take<'a>(c: &mut Checker<'a, '_>, keeping: &Keeping<'_, 'a>, frame: Value, kept: Value) {
    let &Keeping { launch, ref layout, site, .. } = keeping;
    let own = keeping.params(false);
    let addresses = |params: Vec<usize>| params.into_iter().map(|param| keeping.address(param));
    if !own.is_empty() {
        let area = area_in(c, frame);
        copy_words(c, kept, area, addresses(keeping.params(true)));
    }
    let device = c.e.b.load(Type::I64, kept, kept::DEVICE);
    let stream = area::stream_or(c, launch.stream.as_ref(), device);
    let whole = c.e.b.ptr_offset(kept, kept::SIZE.into());
    let known = c.e.b.load(Type::Ptr, kept, kept::SIZE as i32 + config::STREAM);
    let is_same = c.e.b.compare(Cond::Eq, stream, known);
    let (ready, other) = (c.e.b.block("ready"), c.e.b.block("other_stream"));
    let chosen = c.e.b.block_param(ready, Type::Ptr, "chosen");
    c.e.b.branch(is_same, (ready, [whole]), other);
    c.e.b.switch_to(other);
    let area = area_in(c, frame);
    let at = |offset: i32| offset - kept::SIZE as i32;
    copy_words(c, kept, area, [at(kept::DEVICE), at(kept::KERNEL)]);
    copy_words(c, kept, area, config::WORDS_BUT_STREAM);
    if own.is_empty() {
        copy_words(c, kept, area, addresses(keeping.params(true)));
    }
    c.e.b.store(stream, area, config::STREAM);
    c.e.b.jump(ready, &[area]);
    c.e.b.switch_to(ready);
    parts::allocate_scratches(c, launch);
    let mut table = chosen;
    for &index in &own {
        table = area_in(c, frame);
        parts::store_param(c, table, layout, launch, index, site);
    }
    let device = Word::At(Type::I64, chosen, at(kept::DEVICE));
    let subject = Subject { site, kernel: area::kernel_of(c, launch), device };
    let ready = Ready {
        subject,
        function: Word::At(Type::Ptr, chosen, at(kept::KERNEL)),
        config: chosen,
        extents: None,
        stream: Word::At(Type::Ptr, chosen, config::STREAM),
        addresses: (table, layout.addresses.into()),
    };
    parts::start(c, launch, ready);
}

/// Returns the address of the area in the frame. Each block that needs it computes it: calls would keep it in a
/// register.
fn area_in(c: &mut Checker<'_, '_>, frame: Value) -> Value {
    c.e.b.ptr_offset(frame, ROOM.into())
}

/// Copies words of what is kept to these bytes of the area.
fn copy_words(
    c: &mut Checker<'_, '_>,
    kept: Value,
    area: Value,
    bytes: impl IntoIterator<Item = i32>,
) {
    for at in bytes {
        let word = c.e.b.load(Type::I64, kept, kept::SIZE as i32 + at);
        c.e.b.store(word, area, at);
    }
}
