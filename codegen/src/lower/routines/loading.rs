//! Opening libraries at run time and finding their functions, which no object imports.

use abi_spec::c_library::loader;

use crate::ir::typed::{Handle, Int, Ref, Single, constant, signature_of, words};
use crate::ir::{Builder, Linkage, SymbolKind};
use crate::lower::dynamic::{Entries, Loader};

/// Size of a name in the tables of names, NUL and padding included.
pub(super) const NAME_SIZE: u64 = 40;

/// Returns the loader of most platforms.
pub(super) fn dl(_: &mut Builder<'_>) -> Loader {
    Loader::Dl
}

/// Returns the loader of Windows.
pub(super) fn windows(_: &mut Builder<'_>) -> Loader {
    Loader::Windows
}

/// Emits the address of a table of the names of all functions. Also returns the number of needed functions, which come
/// first.
pub(super) fn names<E: Entries>(b: &mut Builder<'_>) -> (Ref<u8>, Int<u64>) {
    let names: Vec<&str> = E::ALL.iter().map(|entry| entry.name()).collect();
    let needed = E::ALL.iter().take_while(|entry| entry.is_needed()).count();
    (cells(b, &names), constant(b, needed as u64))
}

/// Emits the address of names that end with a NUL, [`NAME_SIZE`] bytes each.
pub(super) fn cells(b: &mut Builder<'_>, names: &[&str]) -> Ref<u8> {
    let mut cells = vec![0; NAME_SIZE as usize * names.len()];
    for (cell, name) in cells.chunks_exact_mut(NAME_SIZE as usize).zip(names) {
        cell[..name.len()].copy_from_slice(name.as_bytes());
    }
    Ref::new(b.constant_bytes(&cells, 8))
}

/// Calls `dlopen(file, RTLD_NOW)` or `LoadLibraryA(file)`.
pub(super) fn load(b: &mut Builder<'_>, loader: Loader, file: Ref<u8>) -> Ref<u8> {
    if loader == Loader::Windows {
        return imported(b, loader::LOAD_LIBRARY, file);
    }
    opened(b, file, 0)
}

/// Calls `dlopen` with further bits of the mode.
pub(super) fn opened(b: &mut Builder<'_>, file: Ref<u8>, bits: i32) -> Ref<u8> {
    let mode = constant(b, loader::RTLD_NOW | bits);
    imported(b, loader::DLOPEN, (file, mode))
}

/// Returns what the loader says of the library that it could not open; NULL on Windows, which has numbers only.
pub(super) fn reason(b: &mut Builder<'_>, loader: Loader) -> Ref<u8> {
    if loader == Loader::Windows {
        return Ref::new(b.null());
    }
    imported(b, loader::DLERROR, ())
}

/// Calls `dlsym` or `GetProcAddress`.
pub(super) fn function(
    b: &mut Builder<'_>,
    loader: Loader,
    library: Ref<u8>,
    name: Ref<u8>,
) -> Ref<u8> {
    let find = if loader == Loader::Windows { loader::GET_PROC_ADDRESS } else { loader::DLSYM };
    imported(b, find, (library, name))
}

/// Calls an imported function that returns an address.
fn imported<Args: Handle>(b: &mut Builder<'_>, name: &str, args: Args) -> Ref<u8> {
    let kind = SymbolKind::Function(signature_of::<Args, Ref<u8>>());
    let symbol = b.module.declare(name, Linkage::Import, kind);
    let args = words(b, args);
    Ref::new(b.call_value(symbol, &args))
}
