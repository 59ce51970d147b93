//! Objects that call sites keep by keys, for the process.
//!
//! A site is a trie: 64 slots for the first six bits of a hash, each empty, an entry, or, marked by its lowest bit, a
//! node of 64 slots for the next six bits. Entries of one hash are a chain. What is in a slot is only ever moved down,
//! and an entry never changes, so that reading takes no lock and waits for nobody; a thread that adds an entry
//! exchanges one slot or the end of one chain.
//!
//! The hash of keys `a, b, c` is `((a * BASE + b) * BASE + c) * BASE`. Its first bits are the highest ones, which
//! depend on all bits of all keys.

use abi_spec::TypeIndex;

use crate::ir::typed::{Ref, routine, structs};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::memory::{Any, Caller, Managed, write};
use crate::lower::routines::message::raise;
use crate::lower::routines::release::release;
use crate::lower::routines::runtime::{free, malloc, object_dec_ref};

/// Byte offset of the entry that was found last, in a site.
pub(crate) const HINT: i32 = 0;

/// Byte offset of the slots of a site.
pub(crate) const ROOT: i32 = 32;

/// Size of a site in bytes.
pub(crate) const SITE_SIZE: u32 = ROOT as u32 + SLOTS;

/// Number of changes of the hint after the last entry was added. Then it stays: threads that each want another entry
/// would take the memory of the hint from each other at every call.
const CHANGES: u64 = 1024;

/// Byte offset of the keys of an entry.
pub(crate) const KEYS: i32 = 40;

/// Byte offset of the next entry of the same hash, in an entry.
pub(crate) const NEXT: i32 = 24;

/// Bits of a hash that choose a slot.
const BITS: u64 = 6;

/// Number of slots of a node.
const WIDTH: u64 = 1 << BITS;

/// Size of the slots of a node in bytes.
const SLOTS: u32 = 8 * WIDTH as u32;

/// Mark of a slot that holds a node.
const NODE: u64 = 1;

/// Distance of the bits of a hash that choose a slot from its end.
const FIRST: u64 = 64 - BITS;

/// The number of which the factors of keys are powers: the fraction of the square root of 3. Multiples of such a
/// fraction fall far from each other, whatever their step, so that the keys of a compiler spread at least as well as
/// random ones would.
const BASE: u64 = 0xbb67_ae85_84ca_a73b;

structs! {
    /// A call site.
    Site SiteFields: SITE_SIZE, 8 => {
        hint: Field<Ref<Entry>> = HINT,
        // The number of changes of the hint.
        changes: Field<u64> = 8,
        // The entry and the node that were added last, from which all are linked.
        entries: Field<Ref<Entry>> = 16,
        nodes: Field<Ref<Node>> = 24,
        slots: Nested<u64> = ROOT,
    }
    /// A node below a site.
    Node NodeFields: 8 + SLOTS, 8 => {
        older: Field<Ref<Node>> = 0,
        slots: Nested<u64> = 8,
    }
    /// An object and its keys.
    Entry EntryFields: KEYS as u32, 8 => {
        value: Nested<Any> = 0,
        hash: Field<u64> = 16,
        // The next entry of the same hash.
        next: Field<Ref<Entry>> = NEXT,
        older: Field<Ref<Entry>> = 32,
        keys: Nested<u64> = KEYS,
    }
}

/// Returns the symbol of a site, by the symbol of the code and the number of the statement.
pub(crate) fn cached_site(of: &str) -> String {
    format!("{SITES}{of}")
}

/// Beginning of the symbols of sites.
pub(crate) const SITES: &str = "tvm_ffi_codegen.site.";

/// Returns the factor by which a key is multiplied in a hash, by the number of keys after it.
pub(crate) fn factor(after: usize) -> u64 {
    (0..after).fold(BASE, |power, _| power.wrapping_mul(BASE))
}

/// Finds the first entry of a hash; the keys of it and of those of its chain are compared by the caller. NULL, or an
/// entry of another hash, if there is none.
#[routine(inline)]
pub(crate) fn cached_find(site: &Site, hash: u64) -> &Entry {
    let mut rest = hash;
    let mut found = (&site.slots[rest >> FIRST]).load_atomic();
    while found & NODE != 0 {
        rest <<= BITS;
        let node = (found - NODE) as &Node;
        found = (&node.slots[rest >> FIRST]).load_atomic();
    }
    found as &Entry
}

/// Makes an entry the hint, unless that has changed often.
#[routine(inline)]
pub(crate) fn cached_note(site: &Site, entry: &Entry) {
    let changes = (&site.changes).load_atomic();
    if changes < CHANGES {
        (&site.changes).store_atomic(changes + 1);
        (&site.hint).store_atomic(entry);
    }
}

/// Keeps an owned object under keys, unless another one is kept under them by now, and releases it then. Writes the
/// address of the entry that is kept in the place of the first key. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn cached_keep(
    caller: Caller,
    site: &Site,
    keys: &u64,
    count: u64,
    result: &Any,
) -> i32 {
    let entry = malloc((count << 3) + KEYS as u64) as &Entry;
    if entry == null {
        raise!(caller, Complaint::ResultMemory);
    }
    let value = &entry.value;
    value.head = result.head;
    value.payload = result.payload;
    entry.next = null;
    let to = entry.keys;
    let mut hash: u64 = 0;
    for at in 0..count {
        to[at] = keys[at];
        hash = (hash + keys[at]) * BASE;
    }
    entry.hash = hash;
    let kept = cached_insert(site, entry, count);
    if kept == entry {
        write(result, TypeIndex::NONE, 0);
    } else {
        free(entry as &Managed);
    }
    if kept == null {
        raise!(caller, Complaint::ResultMemory);
    }
    release(result, 1);
    (&site.changes).store_atomic(0);
    (&site.hint).store_atomic(kept);
    *keys = kept as u64;
    0
}

/// Adds an entry. Returns it, or the entry that has its keys, or NULL if there is no memory.
#[routine]
pub(crate) fn cached_insert(site: &Site, entry: &Entry, count: u64) -> &Entry {
    let hash = entry.hash;
    let mut shift: u64 = 0;
    let mut slot = &site.slots[hash >> FIRST];
    loop {
        let found = slot.load_atomic();
        if found == 0 {
            if slot.compare_exchange(0, entry as u64) == 0 {
                list_entry(site, entry);
                return entry;
            }
            continue;
        }
        if found & NODE != 0 {
            shift += BITS;
            let node = (found - NODE) as &Node;
            slot = &node.slots[hash << shift >> FIRST];
            continue;
        }
        let other = found as &Entry;
        if other.hash == hash {
            return cached_append(site, other, entry, count);
        }
        // Both go on one level below.
        let node = malloc(8 + SLOTS as u64) as &Node;
        if node == null {
            return null;
        }
        let slots = node.slots;
        for at in 0..WIDTH {
            slots[at] = 0;
        }
        slots[other.hash << (shift + BITS) >> FIRST] = found;
        if slot.compare_exchange(found, node as u64 | NODE) == found {
            list_node(site, node);
        } else {
            free(node as &Managed);
        }
    }
}

/// Adds an entry to the end of a chain. Returns it, or the entry that has its keys.
#[routine]
pub(crate) fn cached_append(site: &Site, first: &Entry, entry: &Entry, count: u64) -> &Entry {
    let mut tail = first;
    loop {
        if has_keys(tail, entry.hash, entry.keys, count) {
            return tail;
        }
        let mut next = (&tail.next).load_atomic();
        if next == null {
            next = (&tail.next).compare_exchange(null, entry);
        }
        if next == null {
            list_entry(site, entry);
            return entry;
        }
        tail = next;
    }
}

/// Releases what a site keeps, and frees its memory. Nothing may call the site meanwhile.
#[routine]
pub(crate) fn cached_forget(site: &Site) {
    let mut entry = (&site.entries).load_atomic();
    while entry != null {
        let older = entry.older;
        object_dec_ref((&entry.value).object);
        free(entry as &Managed);
        entry = older;
    }
    let mut node = (&site.nodes).load_atomic();
    while node != null {
        let older = node.older;
        free(node as &Managed);
        node = older;
    }
    (&site.hint).store_atomic(null);
    (&site.changes).store_atomic(0);
    (&site.entries).store_atomic(null);
    (&site.nodes).store_atomic(null);
    let slots = site.slots;
    for at in 0..WIDTH {
        (&slots[at]).store_atomic(0);
    }
}

#[routine(inline)]
fn list_entry(site: &Site, entry: &Entry) {
    let list = &site.entries;
    let mut first = list.load_atomic();
    loop {
        entry.older = first;
        let before = list.compare_exchange(first, entry);
        if before == first {
            break;
        }
        first = before;
    }
}

#[routine(inline)]
fn list_node(site: &Site, node: &Node) {
    let list = &site.nodes;
    let mut first = list.load_atomic();
    loop {
        node.older = first;
        let before = list.compare_exchange(first, node);
        if before == first {
            break;
        }
        first = before;
    }
}

/// Returns true if an entry has these keys, whose hash is given.
#[routine(inline)]
fn has_keys(entry: &Entry, hash: u64, keys: &u64, count: u64) -> bool {
    if entry.hash != hash {
        return false;
    }
    let own = entry.keys;
    for at in 0..count {
        if own[at] != keys[at] {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests;
