//! Opening the runtime's library at the first launch. It is never linked.

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Single, Text, constant, routine};
use crate::lower::driver::Loader;
use crate::lower::hip::{self, COUNT, Entry, table};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda::driver::{function, library};
use crate::lower::routines::cuda::failed::c_text;
use crate::lower::routines::memory::Caller;
use crate::lower::routines::message::raise;

/// Size of a name in the tables of names, NUL and padding included.
const NAME_SIZE: u64 = 40;

/// Opens the runtime with `dlopen`. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn open_hip(caller: Caller) -> i32 {
    open_unix(caller)
}

/// Opens the runtime with `LoadLibraryA`. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn open_hip_on_windows(caller: Caller) -> i32 {
    open_windows(caller)
}

/// Emits a call of [`open`]. The loader is known when the routine is emitted.
fn open_unix(b: &mut Builder<'_>, caller: Caller) -> Int<i32> {
    open(b, Loader::Dl, caller)
}

/// Emits a call of [`open`]. The loader is known when the routine is emitted.
fn open_windows(b: &mut Builder<'_>, caller: Caller) -> Int<i32> {
    open(b, Loader::Windows, caller)
}

/// Opens the newest runtime that there is and finds the addresses of its functions. Returns 0, or -1 once it has raised.
/// Functions for which [`Entry::is_needed`] is true must exist.
#[routine(inline)]
fn open(#[known] loader: Loader, caller: Caller) -> i32 {
    let table = table();
    if (&table.ready).load_atomic() != 0 {
        return 0;
    }
    let (files, count) = files(loader);
    let mut at: u64 = 0;
    let mut library = library_of(loader, files);
    while library == null && at + 1 < count {
        at += 1;
        library = library_of(loader, &files[at * NAME_SIZE]);
    }
    let file = c_text(&files[at * NAME_SIZE]);
    if library == null {
        raise!(caller, Complaint::NoHip, file);
    }
    let (names, needed) = names();
    for at in 0..COUNT {
        let name = &names[at * NAME_SIZE];
        let function = function(loader, library, name);
        (&table.functions[at]).store_atomic(function);
        if function == null && at < needed {
            raise!(caller, Complaint::NoHipEntry, c_text(name), file);
        }
    }
    (&table.ready).store_atomic(1);
    0
}

/// Calls `dlopen` or `LoadLibraryA`.
fn library_of(b: &mut Builder<'_>, loader: Loader, file: Ref<u8>) -> Ref<u8> {
    let len = constant(b, 0_u64);
    library(b, loader, Text { data: file, len })
}

/// Emits the address of a table of the names of the runtime's library. Also returns their number.
fn files(b: &mut Builder<'_>, loader: Loader) -> (Ref<u8>, Int<u64>) {
    let names = hip::libraries(loader);
    (cells(b, names), constant(b, names.len() as u64))
}

/// Emits the address of a table of the names of all functions. Also returns the number of needed functions, which come
/// first.
fn names(b: &mut Builder<'_>) -> (Ref<u8>, Int<u64>) {
    let names: Vec<&str> = Entry::ALL.iter().map(|entry| entry.name()).collect();
    let needed = Entry::ALL.iter().take_while(|entry| entry.is_needed()).count();
    (cells(b, &names), constant(b, needed as u64))
}

/// Emits the address of names that end with a NUL, [`NAME_SIZE`] bytes each.
fn cells(b: &mut Builder<'_>, names: &[&str]) -> Ref<u8> {
    let mut cells = vec![0; NAME_SIZE as usize * names.len()];
    for (cell, name) in cells.chunks_exact_mut(NAME_SIZE as usize).zip(names) {
        cell[..name.len()].copy_from_slice(name.as_bytes());
    }
    Ref::new(b.constant_bytes(&cells, 8))
}
