//! Launches that a closure [keeps](kept). The first call emits all of a launch and keeps its area, whose config,
//! attributes and arguments are those of every later call; these store only what they compute themselves.

use crate::ir::{Block, Cond, Type, Value};
use crate::lower::cuda::{KEPT_FULL, config, kept};
use crate::lower::emitter::frame::Slot;
use crate::lower::launch::statement::{Layout, Ready, Subject};
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Function;
use crate::resolve::launch::Launch;

/// Returns the bytes in which a closure keeps launches; 0 if it has none to keep.
pub(crate) fn size(function: &Function<'_>) -> u32 {
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
    /// Block in which all but the arguments of this call is ready. Its parameters are the `CUkernel`, the index of the
    /// device, the stream, and the addresses of the config and of the addresses of the arguments.
    ready: Block,
    /// Block after the launch.
    next: Block,
}

impl Keeping<'_> {
    /// Returns the indices of the arguments that are kept, or of the others.
    fn params(&self, held: bool) -> Vec<usize> {
        (0..self.held.len()).filter(|&index| self.held[index] == held).collect()
    }

    /// Returns the byte offset in the area of the address of an argument.
    fn address(&self, param: usize) -> i32 {
        (self.layout.addresses + 8 * param as u32) as i32
    }
}

impl<'a> Wrapper<'a, '_> {
    /// Emits a launch that the closure keeps. Returns false, and emits nothing, for other launches.
    pub(super) fn launch_kept(&mut self, launch: &'a Launch<'a>) -> bool {
        let (Some(elements), Some(place)) = (self.held, place(self.function, launch)) else {
            return false;
        };
        let next = self.b.block("next");
        self.in_scope(|w| {
            let bytes = w.bytes_at(elements, w.function.captured.len());
            let kept = w.b.ptr_offset(bytes, place.into());
            let (layout, site, ready) = (Layout::of(launch), w.here(), w.b.block("ready"));
            let area = w.slot(Slot::Launch, 8 * layout.words());
            let held = launch.params.iter().map(|param| w.function.holds_param(param)).collect();
            w.launch_by(&Keeping { launch, layout, held, site, elements, kept, area, ready, next });
        });
        self.b.jump(next, &[]);
        self.b.switch_to(next);
        true
    }

    /// Emits the first and all later launches, which meet where the kernel is called.
    fn launch_by(&mut self, keeping: &Keeping<'a>) {
        let &Keeping { launch, kept, area, ready, site, .. } = keeping;
        let [function, stream, config, addresses] = ["kernel", "stream", "config", "arguments"]
            .map(|name| self.b.block_param(ready, Type::Ptr, name));
        let device = self.b.block_param(ready, Type::I64, "device");
        let state = self.b.atomic_load(Type::I64, kept, kept::STATE);
        let is_kept = self.b.compare_const(Cond::Eq, state, KEPT_FULL as i64);
        let (copy, first) = (self.b.block("kept"), self.b.cold_block("first"));
        self.b.branch(is_kept, copy, first);
        self.b.switch_to(first);
        self.loading_anew(keeping.elements, |w| w.fill(keeping));
        self.b.switch_to(copy);
        self.copy(keeping);
        self.b.switch_to(ready);
        self.allocate_scratches(launch);
        for index in keeping.params(false) {
            self.store_param(area, &keeping.layout, launch, index, site);
        }
        let subject = Subject { site, kernel: self.kernel_of(launch), device };
        let ready = Ready { subject, function, config, extents: None, stream, addresses };
        self.start(launch, ready);
    }

    /// Fills the area, and keeps it unless the grid is empty.
    fn fill(&mut self, keeping: &Keeping<'a>) {
        let Keeping { launch, layout, site, kept, area, ready, next, .. } = keeping;
        let (area, words) = (*area, self.b.i64(layout.words().into()));
        self.routine(Routine::Clear, &[area, words]);
        let extents = self.fields(&launch.extents);
        if let Some(empty) = self.is_empty(launch, &extents) {
            let go = self.b.cold_block("launch");
            self.b.branch(empty, *next, go);
            self.b.switch_to(go);
        }
        self.require_all_gpu(launch);
        self.store_config(area, layout, launch, &extents);
        for index in keeping.params(true) {
            self.store_param(area, layout, launch, index, *site);
        }
        let (Subject { device, .. }, function) = self.load(launch, *site, area);
        let stream = self.store_stream(launch, device, area);
        let start = self.b.i64((layout.addresses / 8).into());
        let count = self.b.i64(launch.params.len() as i64);
        let args = [*kept, area, words, start, count, function, device];
        self.routine(Routine::KeepLaunch, &args);
        let addresses = self.b.ptr_offset(area, layout.addresses.into());
        self.b.jump(*ready, &[function, stream, area, addresses, device]);
    }

    /// Takes what is kept. The config is copied to the area if it has another stream than this call, the addresses of the
    /// arguments if not all of them are kept.
    fn copy(&mut self, keeping: &Keeping<'a>) {
        let &Keeping { launch, kept, area, ready, .. } = keeping;
        let function = self.b.load(Type::Ptr, kept, kept::KERNEL);
        let device = self.b.load(Type::I64, kept, kept::DEVICE);
        let is_whole = keeping.params(false).is_empty();
        for index in keeping.params(true).into_iter().filter(|_| !is_whole) {
            self.copy_word(kept, area, keeping.address(index));
        }
        let (table, at) = if is_whole { (kept, kept::SIZE) } else { (area, 0) };
        let addresses = self.b.ptr_offset(table, (at + keeping.layout.addresses).into());
        let stream = self.stream_or(launch.stream.as_ref(), device);
        let config = self.b.ptr_offset(kept, kept::SIZE.into());
        let known = self.b.load(Type::Ptr, kept, kept::SIZE as i32 + config::STREAM);
        let is_same = self.b.compare(Cond::Eq, stream, known);
        let other = self.b.block("other_stream");
        self.b.branch(is_same, (ready, [function, stream, config, addresses, device]), other);
        self.b.switch_to(other);
        for at in config::WORDS_BUT_STREAM {
            self.copy_word(kept, area, at);
        }
        self.b.store(stream, area, config::STREAM);
        self.b.jump(ready, &[function, stream, area, addresses, device]);
    }

    /// Copies a word of what is kept to byte `at` of the area.
    fn copy_word(&mut self, kept: Value, area: Value, at: i32) {
        let word = self.b.load(Type::I64, kept, kept::SIZE as i32 + at);
        self.b.store(word, area, at);
    }
}
