//! Opening the library at the first launch. It is never linked.

use crate::ir::Builder;
use crate::ir::typed::{Ref, Text, constant, routine};
use crate::lower::dynamic::{Entries, Loader, table};
use crate::lower::routines::driver::Driver;
use crate::lower::routines::driver::failed::c_text;
use crate::lower::routines::loading::{
    NAME_SIZE, cells, dl, function, load, names, reason, windows,
};
use crate::lower::routines::memory::Caller;
use crate::lower::routines::message::raise;

/// Opens the library with `dlopen`. Returns 0, or -1 once it has raised.
#[routine(D::OPEN_DRIVER)]
pub(crate) fn open_driver<D: Driver>(caller: Caller) -> i32 {
    open::<D>(dl(), caller)
}

/// Opens the library with `LoadLibraryA`. Returns 0, or -1 once it has raised.
#[routine(D::OPEN_DRIVER)]
pub(crate) fn open_driver_on_windows<D: Driver>(caller: Caller) -> i32 {
    open::<D>(windows(), caller)
}

/// Opens the newest library that there is, finds the addresses of its functions and starts it. Returns 0, or -1 once it
/// has raised. Functions for which [`Entries::is_needed`] is true must exist.
#[routine(inline)]
fn open<D: Driver>(#[known] loader: Loader, caller: Caller) -> i32 {
    let table = table::<D::Entry>();
    let ready = ready::<D::Entry>(table);
    if ready.load_atomic() != 0 {
        return 0;
    }
    let (library, file) = newest::<D>(loader);
    if library == null {
        let why = c_text(reason(loader));
        let comma = if why.len == 0 { "" } else { ", " };
        raise!(caller, D::NO_LIBRARY, file, comma, why);
    }
    let (names, needed) = names::<D::Entry>();
    for at in 0..<D::Entry as Entries>::COUNT {
        let name = &names[at * NAME_SIZE];
        let function = function(loader, library, name);
        (&table[at]).store_atomic(function);
        if function == null && at < needed {
            raise!(caller, D::NO_ENTRY, c_text(name), file);
        }
    }
    D::start(caller, file)?;
    ready.store_atomic(1);
    0
}

/// Returns the address of the word that is not 0 once the library is open.
fn ready<E: Entries>(_: &mut Builder<'_>, table: Ref<Ref<u8>>) -> Ref<u64> {
    let (base, offset) = table.parts();
    Ref::within(base, offset + 8 * E::COUNT as i32)
}

/// Emits code that opens the newest library that there is; NULL if there is none. Also returns the name of its file.
fn newest<D: Driver>(b: &mut Builder<'_>, loader: Loader) -> (Ref<u8>, Text) {
    let files = if loader == Loader::Windows { D::WINDOWS_FILES } else { D::DL_FILES };
    let [file] = files else {
        let (names, count) = (cells(b, files), constant(b, files.len() as u64));
        return newest_of(b, loader, names, count);
    };
    let data = constant(b, format!("{file}\0").as_str()).data;
    let file = Text { len: constant(b, file.len() as u64), data };
    (load(b, loader, file.data), file)
}

/// Opens the first library that there is of a table of file names. Also returns the name of its file.
#[routine(inline)]
fn newest_of(#[known] loader: Loader, files: &u8, count: u64) -> (&u8, Text) {
    let mut at: u64 = 0;
    let mut library = load(loader, files);
    while library == null && at + 1 < count {
        at += 1;
        library = load(loader, &files[at * NAME_SIZE]);
    }
    (library, c_text(&files[at * NAME_SIZE]))
}
