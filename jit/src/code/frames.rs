//! Unwind tables of compiled code, for exceptions, backtraces and debuggers.
//!
//! The tables are registered with the unwinder of the process, libgcc's or LLVM's. Nothing is registered on Windows,
//! whose tables have another form.

use backend_cranelift::Rows;
use cranelift_codegen::gimli::LittleEndian;
use cranelift_codegen::gimli::write::{Address, EhFrame, EndianVec, FrameTable};
use cranelift_codegen::isa::TargetIsa;

use crate::error::Error;

/// Smallest gap in bytes between two functions that separates sections. Functions of another library may lie in such a
/// gap.
const APART: usize = 4096;

/// The address range of a function and its unwind information.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) start: usize,
    pub(super) size: usize,
    pub(super) unwind: &'a Rows,
}

/// Registers functions with the unwinder; they stay as long as what is returned.
pub(super) fn register(
    isa: &dyn TargetIsa,
    frames: Vec<Frame<'_>>,
) -> Result<Vec<Registered>, Error> {
    let mut registered = Vec::new();
    for neighbours in neighbours(frames) {
        let section = section(isa, &neighbours)?;
        // SAFETY: the section was just made, and its functions stay as long as the memory.
        registered.push(unsafe { Registered::new(&section) });
    }
    Ok(registered)
}

/// Groups functions by neighbourhood, one section for each group. Sections must not overlap: libgcc takes all addresses
/// between the first and the last function of a section for that section's.
fn neighbours<'a>(mut frames: Vec<Frame<'a>>) -> Vec<Vec<Frame<'a>>> {
    frames.sort_by_key(|frame| frame.start);
    let mut groups: Vec<Vec<Frame<'a>>> = Vec::new();
    for frame in frames {
        let last = groups.last_mut().filter(|group| {
            group.last().is_some_and(|last| frame.start - (last.start + last.size) < APART)
        });
        match last {
            Some(group) => group.push(frame),
            None => groups.push(vec![frame]),
        }
    }
    groups
}

/// Returns the section `.eh_frame` of these functions; empty if there are none, or if the platform has no such section.
pub(super) fn section(isa: &dyn TargetIsa, frames: &[Frame<'_>]) -> Result<Vec<u8>, Error> {
    let Some(cie) = isa.create_systemv_cie().filter(|_| !frames.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut table = FrameTable::default();
    let cie = table.add_cie(cie);
    for frame in frames {
        table.add_fde(cie, frame.unwind.describe(Address::Constant(frame.start as u64)));
    }
    let mut section = EhFrame(EndianVec::new(LittleEndian));
    let written = table.write_eh_frame(&mut section);
    written.map_err(|error| Error::Memory { reason: format!("unwind tables: {error}") })?;
    let mut section = section.0.into_vec();
    // A length of zero ends the list.
    section.extend([0; 4]);
    Ok(section)
}

#[cfg(unix)]
pub(super) use registered::Registered;

#[cfg(not(unix))]
pub(super) struct Registered;

#[cfg(not(unix))]
impl Registered {
    /// Registers nothing.
    pub(super) unsafe fn new(_: &[u8]) -> Registered {
        Registered
    }
}

#[cfg(unix)]
mod registered {
    use std::ffi::c_void;

    unsafe extern "C" {
        fn __register_frame(start: *const c_void);
        fn __deregister_frame(start: *const c_void);
    }

    /// A section that is registered with the unwinder until this is dropped.
    pub(in crate::code) struct Registered {
        /// The bytes of the section, aligned as the unwinder reads them.
        section: Box<[u64]>,
        /// Byte offsets of the entries that are registered.
        entries: Vec<usize>,
    }

    impl Registered {
        /// Registers a section.
        ///
        /// # Safety
        /// The bytes are a section `.eh_frame` with its end, and its functions stay until this is dropped.
        pub(in crate::code) unsafe fn new(bytes: &[u8]) -> Registered {
            let words = bytes.chunks(8).map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_ne_bytes(word)
            });
            let entries = entries(bytes);
            let registered = Registered { section: words.collect(), entries };
            for &entry in &registered.entries {
                // SAFETY: the section is valid, and stays where it is.
                unsafe { __register_frame(registered.at(entry)) };
            }
            registered
        }

        fn at(&self, offset: usize) -> *const c_void {
            self.section.as_ptr().cast::<u8>().wrapping_add(offset).cast()
        }
    }

    impl Drop for Registered {
        fn drop(&mut self) {
            for &entry in self.entries.iter().rev() {
                // SAFETY: the entry was registered.
                unsafe { __deregister_frame(self.at(entry)) };
            }
        }
    }

    /// Returns the byte offsets to register: libgcc takes a whole section, LLVM's unwinder each frame description.
    fn entries(section: &[u8]) -> Vec<usize> {
        let whole = cfg!(any(all(target_os = "linux", target_env = "gnu"), target_os = "freebsd"));
        if whole || section.is_empty() {
            return if section.is_empty() { Vec::new() } else { vec![0] };
        }
        let word = |at: usize| {
            let bytes = section.get(at..at + 4)?;
            Some(u32::from_ne_bytes(bytes.try_into().ok()?))
        };
        let (mut found, mut at) = (Vec::new(), 0);
        while let (Some(length @ 1..), Some(cie)) = (word(at), word(at + 4)) {
            if cie != 0 {
                found.push(at);
            }
            at += length as usize + 4;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::machine::{Allocator, OptLevel, isa};

    #[test]
    fn sections_do_not_overlap() {
        let isa = isa(OptLevel::None, Allocator::Backtracking).unwrap();
        let mut context = cranelift_codegen::Context::new();
        let mut reused = cranelift_frontend::FunctionBuilderContext::new();
        let mut b = cranelift_frontend::FunctionBuilder::new(&mut context.func, &mut reused);
        let block = b.create_block();
        b.switch_to_block(block);
        cranelift_codegen::ir::InstBuilder::return_(b.ins(), &[]);
        b.seal_all_blocks();
        b.finalize(isa.frontend_config());
        let code = context.compile(&*isa, &mut Default::default()).unwrap();
        let unwind = Rows::of(&*isa, code).unwrap().expect("frames can be unwound");
        let frame = |start| Frame { start, size: 100, unwind: &unwind };
        let groups = neighbours([9000, 0, 128, 4200, 14_000].map(frame).to_vec());
        let starts: Vec<Vec<usize>> =
            groups.iter().map(|group| group.iter().map(|frame| frame.start).collect()).collect();
        assert_eq!(starts, [vec![0, 128, 4200], vec![9000], vec![14_000]]);
    }
}
