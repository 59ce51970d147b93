//! Opening the driver's library at the first launch. It is never linked.

use abi_spec::c_library::loader;

use crate::ir::typed::{Handle, Int, Ref, Single, Text, constant, routine, signature_of, words};
use crate::ir::{Builder, Linkage, SymbolKind};
use crate::lower::cuda::{self, COUNT, Entry, table};
use crate::lower::driver::Loader;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda::failed::{c_text, check_driver};
use crate::lower::routines::memory::Caller;
use crate::lower::routines::message::raise;

/// Size of a name in the table of names, NUL and padding included.
const NAME_SIZE: u64 = 40;

/// Opens the driver with `dlopen`. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn open_driver(caller: Caller) -> i32 {
    open_unix(caller)
}

/// Opens the driver with `LoadLibraryA`. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn open_driver_on_windows(caller: Caller) -> i32 {
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

/// Opens the driver, finds the addresses of its functions, checks its version and initializes it. Returns 0, or -1 once
/// it has raised. Functions for which [`Entry::is_needed`] is true must exist.
#[routine(inline)]
fn open(#[known] loader: Loader, caller: Caller) -> i32 {
    let table = table();
    if (&table.ready).load_atomic() != 0 {
        return 0;
    }
    let file = file(loader);
    let library = library(loader, file);
    if library == null {
        raise!(caller, Complaint::NoDriver, file);
    }
    let (names, needed) = names();
    for at in 0..COUNT {
        let name = &names[at * NAME_SIZE];
        let function = function(loader, library, name);
        (&table.functions[at]).store_atomic(function);
        if function == null && at < needed {
            raise!(caller, Complaint::NoEntry, c_text(name), file);
        }
    }
    let version: i32;
    check_driver(Entry::DriverGetVersion, caller, cuda::driver_get_version(version))?;
    if *version < cuda::MIN_DRIVER_VERSION {
        raise!(caller, Complaint::OldDriver, file, cuda::MIN_DRIVER_VERSION, *version);
    }
    check_driver(Entry::Init, caller, cuda::init(0))?;
    (&table.ready).store_atomic(1);
    0
}

/// Emits the address of a table of the names of all functions. Also returns the number of needed functions, which come
/// first.
fn names(b: &mut Builder<'_>) -> (Ref<u8>, Int<u64>) {
    let mut names = vec![0; (NAME_SIZE * COUNT) as usize];
    for (cell, entry) in names.chunks_exact_mut(NAME_SIZE as usize).zip(Entry::ALL) {
        cell[..entry.name().len()].copy_from_slice(entry.name().as_bytes());
    }
    let needed = Entry::ALL.iter().take_while(|entry| entry.is_needed()).count();
    (Ref::new(b.constant_bytes(&names, 8)), constant(b, needed as u64))
}

/// Returns the file name of the driver's library, which ends with a NUL.
fn file(b: &mut Builder<'_>, loader: Loader) -> Text {
    let name = if loader == Loader::Windows { cuda::WINDOWS_LIBRARY } else { cuda::LIBRARY };
    let text = constant(b, format!("{name}\0").as_str());
    Text { len: constant(b, name.len() as u64), ..text }
}

/// Calls `dlopen(file, RTLD_NOW)` or `LoadLibraryA(file)`.
pub(crate) fn library(b: &mut Builder<'_>, loader: Loader, file: Text) -> Ref<u8> {
    if loader == Loader::Windows {
        return imported(b, loader::LOAD_LIBRARY, file.data);
    }
    let now = constant(b, loader::RTLD_NOW);
    imported(b, loader::DLOPEN, (file.data, now))
}

/// Calls `dlsym` or `GetProcAddress`.
pub(crate) fn function(
    b: &mut Builder<'_>,
    loader: Loader,
    library: Ref<u8>,
    name: Ref<u8>,
) -> Ref<u8> {
    imported(
        b,
        if loader == Loader::Windows { loader::GET_PROC_ADDRESS } else { loader::DLSYM },
        (library, name),
    )
}

/// Calls an imported function that returns an address.
fn imported<Args: Handle>(b: &mut Builder<'_>, name: &str, args: Args) -> Ref<u8> {
    let kind = SymbolKind::Function(signature_of::<Args, Ref<u8>>());
    let symbol = b.module.declare(name, Linkage::Import, kind);
    let args = words(b, args);
    Ref::new(b.call_value(symbol, &args))
}
