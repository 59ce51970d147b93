//! Memory: regions and checked accesses.

use std::borrow::Cow;
use std::num::NonZeroU32;

use crate::finding::{Finding, ensure};
use crate::word::Word;

/// A piece of memory with one lifetime: a stack slot, a data object, a block of the heap, a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region(NonZeroU32);

impl Region {
    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Memory of a machine. Addresses and regions are never reused.
#[derive(Debug)]
pub struct Memory<'p> {
    regions: Vec<RegionData<'p>>,
    /// First address above all regions.
    next: u64,
}

#[derive(Debug)]
struct RegionData<'p> {
    /// Name of the region in findings.
    label: Cow<'p, str>,
    kind: RegionKind,
    address: u64,
    bytes: Cow<'p, [u8]>,
    /// For each byte, whether it has been written; `None` if all have.
    written: Option<Vec<bool>>,
    /// Region of the pointer in each eight bytes, up to the last pointer that was stored.
    origins: Vec<Option<Region>>,
    /// For each eight bytes, whether code writes them atomically, up to the last that it does.
    shared: Vec<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RegionKind {
    /// Readable and writable.
    Variable,
    /// Readable and writable; a leak if it is not freed.
    Heap,
    /// A block of the heap that is no leak.
    Kept,
    /// Readable.
    Constant,
    /// A function and its number; neither readable nor writable.
    Code(u32),
    /// Freed.
    Freed,
}

/// Distance between regions: a pointer that is slightly off hits no region.
const GAP: u64 = 64;

impl Default for Memory<'_> {
    fn default() -> Self {
        Memory { regions: Vec::new(), next: 0x10_0000 }
    }
}

impl<'p> Memory<'p> {
    /// Adds a region whose address is a multiple of `align` but of no larger power of two.
    fn add(
        &mut self,
        label: Cow<'p, str>,
        kind: RegionKind,
        bytes: Cow<'p, [u8]>,
        align: u64,
    ) -> Word {
        let odd = self.next.next_multiple_of(2 * align) + align;
        let address = if odd - 2 * align >= self.next { odd - 2 * align } else { odd };
        self.next = address + bytes.len() as u64 + GAP;
        let (written, origins, shared) = (None, Vec::new(), Vec::new());
        self.regions.push(RegionData { label, kind, address, bytes, written, origins, shared });
        let count = u32::try_from(self.regions.len()).expect("a run makes fewer regions");
        Word { bits: address, origin: NonZeroU32::new(count).map(Region) }
    }

    /// Adds a read-only region.
    pub fn constant(
        &mut self,
        label: impl Into<Cow<'p, str>>,
        bytes: impl Into<Cow<'p, [u8]>>,
        align: u64,
    ) -> Word {
        self.add(label.into(), RegionKind::Constant, bytes.into(), align)
    }

    /// Adds a writable region.
    pub fn variable(
        &mut self,
        label: impl Into<Cow<'p, str>>,
        bytes: impl Into<Cow<'p, [u8]>>,
        align: u64,
    ) -> Word {
        self.add(label.into(), RegionKind::Variable, bytes.into(), align)
    }

    /// Adds a region whose bytes must be written before they are read.
    pub fn uninitialised(
        &mut self,
        label: impl Into<Cow<'p, str>>,
        size: usize,
        align: u64,
    ) -> Word {
        let word = self.add(label.into(), RegionKind::Variable, vec![0xa5; size].into(), align);
        self.data_mut(word).written = Some(vec![false; size]);
        word
    }

    /// Allocates a block of the heap: a leak if it is not freed.
    pub fn heap(&mut self, label: impl Into<Cow<'p, str>>, size: usize, align: u64) -> Word {
        let word = self.uninitialised(label, size, align);
        self.data_mut(word).kind = RegionKind::Heap;
        word
    }

    /// Allocates a block of the heap whose bytes are 0.
    pub fn zeroed(&mut self, label: impl Into<Cow<'p, str>>, size: usize, align: u64) -> Word {
        self.add(label.into(), RegionKind::Heap, vec![0; size].into(), align)
    }

    /// Marks a block of the heap as kept, so that it is no leak.
    pub fn keep(&mut self, pointer: Word) {
        self.data_mut(pointer).kind = RegionKind::Kept;
    }

    pub(crate) fn code(&mut self, label: Cow<'p, str>, number: u32) -> Word {
        self.add(label, RegionKind::Code(number), Cow::Borrowed(&[][..]), 16)
    }

    fn data_mut(&mut self, word: Word) -> &mut RegionData<'p> {
        let region = word.origin.expect("it was just made");
        &mut self.regions[region.index()]
    }

    /// Frees a block of the heap; the pointer must be the one that was allocated.
    pub fn free(&mut self, pointer: Word) -> Result<(), Box<Finding>> {
        let (region, offset) = self.locate(pointer)?;
        let RegionData { label, kind, .. } = &self.regions[region.index()];
        ensure(matches!(kind, RegionKind::Heap | RegionKind::Kept), || {
            format!("`{label}` is freed, which is not on the heap")
        })?;
        ensure(offset == 0, || format!("`{label}` is freed by a pointer {offset} bytes into it"))?;
        self.end(pointer);
        Ok(())
    }

    /// Ends the lifetime of any region, such as a stack slot of a function that returns, or what a caller lends for a
    /// call.
    pub fn end(&mut self, pointer: Word) {
        let data = self.data_mut(pointer);
        data.kind = RegionKind::Freed;
        data.bytes = Cow::Borrowed(&[][..]);
        (data.written, data.origins) = (None, Vec::new());
    }

    /// Makes a region read-only.
    pub fn freeze(&mut self, pointer: Word) {
        self.data_mut(pointer).kind = RegionKind::Constant;
    }

    /// Returns the number of the function that a pointer points at.
    pub(crate) fn function(&self, pointer: Word) -> Result<u32, Box<Finding>> {
        let (region, offset) = self.locate(pointer)?;
        let data = &self.regions[region.index()];
        if let (RegionKind::Code(number), 0) = (data.kind, offset) {
            return Ok(number);
        }
        Err(Finding::new(format!("`{}`+{offset} is called", data.label)))
    }

    /// Returns the live region that a pointer points into, and the offset from its start.
    fn locate(&self, pointer: Word) -> Result<(Region, i64), Box<Finding>> {
        let Some(region) = pointer.origin else {
            let at = pointer.bits;
            let what = if at == 0 { "NULL".to_owned() } else { format!("{at:#x}, a number") };
            return Err(Finding::new(format!("{what} is used as a pointer")));
        };
        let data = &self.regions[region.index()];
        let label = &data.label;
        ensure(data.kind != RegionKind::Freed, || format!("`{label}` is used after it was freed"))?;
        Ok((region, pointer.bits.wrapping_sub(data.address) as i64))
    }

    /// Checks an access; returns the region and the offset.
    fn access(
        &self,
        pointer: Word,
        size: usize,
        align: u64,
        writes: bool,
    ) -> Result<(Region, usize), Box<Finding>> {
        let (region, offset) = self.locate(pointer)?;
        let data = &self.regions[region.index()];
        let label = &data.label;
        let verb = if writes { "write" } else { "read" };
        let length = data.bytes.len() as i64;
        let end = offset.saturating_add(size as i64);
        if offset < 0 || end > length {
            let (by, side) = if offset < 0 { (-offset, "begins") } else { (end - length, "ends") };
            let place = if offset < 0 { "before" } else { "behind" };
            let reason = format!("a {verb} of {size} bytes {side} {by} bytes {place} `{label}`");
            return Err(Finding::new(reason));
        }
        ensure(pointer.bits.is_multiple_of(align), || {
            format!(
                "a {verb} of {size} bytes at `{label}`+{offset} is not at a multiple of {align}"
            )
        })?;
        let allowed = match data.kind {
            RegionKind::Variable | RegionKind::Heap | RegionKind::Kept => true,
            RegionKind::Constant => !writes,
            RegionKind::Code(_) | RegionKind::Freed => false,
        };
        ensure(allowed, || format!("a {verb} of {size} bytes at `{label}`+{offset}, a constant"))?;
        Ok((region, offset as usize))
    }

    /// Reads bytes that have all been written.
    pub fn read(&self, pointer: Word, size: usize, align: u64) -> Result<&[u8], Box<Finding>> {
        let (region, offset) = self.access(pointer, size, align, false)?;
        let data = &self.regions[region.index()];
        let unwritten = data.written.as_ref().and_then(|written| {
            written[offset..offset + size].iter().position(|is_written| !is_written)
        });
        let label = &data.label;
        match unwritten {
            None => Ok(&data.bytes[offset..offset + size]),
            Some(at) => Err(Finding::new(format!(
                "a read of {size} bytes at `{label}`+{offset} takes in byte {}, which was never written",
                offset + at
            ))),
        }
    }

    /// Reads a value of up to eight bytes.
    pub fn load(&self, pointer: Word, size: usize, align: u64) -> Result<Word, Box<Finding>> {
        let bytes = self.read(pointer, size, align)?;
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        let bits = u64::from_le_bytes(word);
        let data = &self.regions[pointer.origin.map_or(0, Region::index)];
        let offset = pointer.bits.wrapping_sub(data.address) as usize;
        let whole = size == 8 && offset.is_multiple_of(8);
        let origin = if whole { data.origins.get(offset / 8).copied().flatten() } else { None };
        Ok(Word { bits, origin })
    }

    /// Writes a value of up to eight bytes.
    pub fn store(
        &mut self,
        pointer: Word,
        value: Word,
        size: usize,
        align: u64,
    ) -> Result<(), Box<Finding>> {
        let offset = self.write(pointer, &value.bits.to_le_bytes()[..size], align)?;
        if let (true, true, Some(_)) = (size == 8, offset.is_multiple_of(8), value.origin) {
            let origins = &mut self.data_mut(pointer).origins;
            if origins.len() <= offset / 8 {
                origins.resize(offset / 8 + 1, None);
            }
            origins[offset / 8] = value.origin;
        }
        Ok(())
    }

    /// Writes bytes that are not pointers; returns their offset in the region.
    pub fn write(
        &mut self,
        pointer: Word,
        bytes: &[u8],
        align: u64,
    ) -> Result<usize, Box<Finding>> {
        let (region, offset) = self.access(pointer, bytes.len(), align, true)?;
        let data = &mut self.regions[region.index()];
        let end = offset + bytes.len();
        data.bytes.to_mut()[offset..end].copy_from_slice(bytes);
        if let Some(written) = &mut data.written {
            written[offset..end].fill(true);
        }
        let (first, last) = (offset / 8, end.div_ceil(8).min(data.origins.len()));
        data.origins.iter_mut().take(last).skip(first).for_each(|origin| *origin = None);
        Ok(offset)
    }

    /// Notes that code writes a word atomically, since threads share it.
    pub(crate) fn share(&mut self, pointer: Word) {
        let data = self.data_mut(pointer);
        let place = pointer.bits.wrapping_sub(data.address) as usize / 8;
        if data.shared.len() <= place {
            data.shared.resize(place + 1, false);
        }
        data.shared[place] = true;
    }

    /// Checks that code which is not atomic reads or writes no word that is written atomically.
    pub(crate) fn check_plain(&self, pointer: Word, size: usize) -> Result<(), Box<Finding>> {
        let (region, offset) = self.locate(pointer)?;
        let data = &self.regions[region.index()];
        let places = offset.max(0) as usize / 8..(offset + size as i64 + 7).max(0) as usize / 8;
        let is_shared = places.into_iter().any(|place| data.shared.get(place) == Some(&true));
        ensure(!is_shared, || {
            let label = &data.label;
            format!("`{label}`+{offset} is written atomically, and accessed in another way")
        })
    }

    /// Writes an address into a constant or variable that is being built.
    pub(crate) fn relocate(&mut self, data: Word, offset: usize, target: Word) {
        let kind = std::mem::replace(&mut self.data_mut(data).kind, RegionKind::Variable);
        let at = data.offset(offset as i64);
        self.store(at, target, 8, 8).expect("verified modules have room for addresses");
        self.data_mut(data).kind = kind;
    }

    /// Reads the bytes up to a NUL.
    pub fn c_string(&self, pointer: Word) -> Result<Vec<u8>, Box<Finding>> {
        let mut text = Vec::new();
        loop {
            match self.read(pointer.offset(text.len() as i64), 1, 1)?[0] {
                0 => return Ok(text),
                byte => text.push(byte),
            }
        }
    }

    /// Returns the labels of live heap blocks that were allocated after the first `count` regions.
    pub fn left_since(&self, count: usize) -> impl Iterator<Item = &str> {
        let made = self.regions.iter().skip(count);
        made.filter(|data| data.kind == RegionKind::Heap).map(|data| &*data.label)
    }

    /// Returns the number of regions that have been created.
    pub fn count(&self) -> usize {
        self.regions.len()
    }

    /// Counts the variables and kept blocks that hold a pointer to the start of a region.
    pub fn holders(&self, of: Region) -> usize {
        let is_kept =
            |data: &&RegionData<'_>| matches!(data.kind, RegionKind::Variable | RegionKind::Kept);
        let kept = self.regions.iter().filter(is_kept);
        kept.flat_map(|data| &data.origins).filter(|origin| **origin == Some(of)).count()
    }

    /// Describes a value in findings: as a number, or as region and offset.
    pub fn describe(&self, word: Word) -> String {
        let Some(region) = word.origin else {
            let value = word.as_int();
            return if value.unsigned_abs() > 9999 {
                format!("{:#x}", word.bits)
            } else {
                value.to_string()
            };
        };
        let data = &self.regions[region.index()];
        let (label, offset) = (&data.label, word.bits.wrapping_sub(data.address) as i64);
        let gone = if data.kind == RegionKind::Freed { " (freed)" } else { "" };
        format!("`{label}`{offset:+}{gone}")
    }
}
