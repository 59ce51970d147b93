//! Linking shared libraries, in process or with the system's C compiler.
//!
//! Either way nothing but what is given is linked: no start-up files, no C library. Symbols that
//! the given files leave undefined (those of libtvm_ffi, and what kernels take from the C library)
//! are found by the loader in the process, all of them when the library is loaded. Only `__tvm_ffi_*`, the
//! [texts](codegen::metadata) about functions and what an [`Input`] [shows](Input::showing) are visible from
//! outside, and references to them from inside cannot be captured by a library that was loaded earlier.

mod cc;
mod input;
#[cfg(feature = "libwild")]
mod wild;

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use abi_spec::symbol::PREFIX;
use codegen::metadata::{DOC_DATA, METADATA_DATA};
use target_lexicon::Triple;

pub use input::Input;

use crate::file::{self, Mode};
use crate::object_file::Machine;
use crate::{Error, ObjectFault};

/// Options that mean the same to every linker: bind our own references to our own symbols, leave none
/// for the first call (Wild knows no other way), keep the stack not executable, and the bytes a function
/// of the inputs.
const OPTIONS: [&str; 8] = [
    "-Bsymbolic",
    "-z",
    "now",
    "-z",
    "noexecstack",
    "--build-id=none",
    "--eh-frame-hdr",
    "--hash-style=gnu",
];

/// Who links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linker {
    /// The linker that is part of this library (cargo feature `libwild`). It needs nothing on the
    /// machine. Its own `WILD_*` environment variables apply. It fails where code and data are more than 2 GiB
    /// apart, as behind a larger import tree.
    Wild,
    /// A C compiler that understands the options of GCC: a name to be found on the path, or a path.
    Cc(PathBuf),
}

impl Default for Linker {
    /// In process where that has been built, else `cc`.
    fn default() -> Self {
        if cfg!(feature = "libwild") { Linker::Wild } else { Linker::Cc("cc".into()) }
    }
}

/// Links a shared library and writes it; when anything fails, `output` is as it was.
///
/// # Errors
/// Those of [`shared_bytes`], and [`Error::Write`].
pub fn shared(
    inputs: &[Input],
    output: &Path,
    linker: &Linker,
    target: &Triple,
) -> Result<(), Error> {
    file::write(output, &shared_bytes(inputs, linker, target)?, Mode::Executable)
}

/// Links a shared library in memory.
///
/// # Errors
/// [`Error::Object`] for an input of another format or machine, [`Error::DuplicateSymbol`],
/// [`Error::UnsupportedShared`], [`Error::NotBuilt`], [`Error::Linker`].
pub fn shared_bytes(inputs: &[Input], linker: &Linker, target: &Triple) -> Result<Vec<u8>, Error> {
    let machine = Machine::linkable(target)
        .ok_or_else(|| Error::UnsupportedShared { target: target.clone() })?;
    check_machine(inputs, machine)?;
    check_duplicates(inputs)?;
    match linker {
        #[cfg(feature = "libwild")]
        Linker::Wild => wild::link(inputs, machine),
        #[cfg(not(feature = "libwild"))]
        Linker::Wild => Err(Error::NotBuilt { name: "linker wild", feature: "libwild" }),
        Linker::Cc(program) => cc::link(inputs, program),
    }
}

fn check_machine(inputs: &[Input], machine: Machine) -> Result<(), Error> {
    let mut objects = inputs.iter().flat_map(Input::objects);
    objects.find(|facts| facts.machine != machine).map_or(Ok(()), |facts| {
        let (expected, found) = (machine.to_string(), facts.machine.to_string());
        let fault = ObjectFault::Target { expected, found };
        Err(Error::Object { file: facts.file.clone(), fault })
    })
}

fn check_duplicates(inputs: &[Input]) -> Result<(), Error> {
    let mut owners: BTreeMap<&[u8], &Input> = BTreeMap::new();
    for input in inputs {
        for symbol in input.strong() {
            if let Some(owner) = owners.insert(symbol, input) {
                return Err(Error::DuplicateSymbol {
                    name: String::from_utf8_lossy(symbol).into_owned(),
                    first: owner.name().to_owned(),
                    second: input.name().to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// The version script: what a library shows to the loader.
fn version_script(inputs: &[Input]) -> String {
    let fixed = [PREFIX, METADATA_DATA, DOC_DATA].map(|start| format!("{start}*; "));
    let shown = inputs.iter().flat_map(Input::shown).map(|name| format!("{name}; "));
    let global: String = fixed.into_iter().chain(shown).collect();
    format!("{{ global: {global}local: *; }};\n")
}
