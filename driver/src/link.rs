//! Linking: shared libraries, and objects of several objects, in process or with the system's C compiler.
//!
//! A shared library is told what it needs, and the loader finds that or says what is missing: libtvm_ffi unless
//! [`Dependencies::runtime`] is off, the shared libraries that are linked, and of the C library of the target,
//! where this machine has it, what the kernels use, each function in the version that the linker saw. What is
//! then still undefined is for the loader to find in the process. Only `__tvm_ffi_*` symbols and what an
//! [`Input`] [shows](Input::showing) are visible from outside, and references to them from inside cannot be
//! captured by a library that was loaded earlier.

mod addresses;
mod cc;
mod destructors;
mod input;
mod routines;
mod runtime;
mod search;
#[cfg(feature = "libwild")]
mod wild;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::path::PathBuf;

use abi_spec::symbol::PREFIX;
use target_lexicon::Triple;

pub use addresses::addresses;
pub use input::Input;
pub use routines::archive as routines_archive;
pub use search::library;

use crate::file::{self, Mode};
use crate::object_file::{self, Machine, RUNTIME_PREFIX};
use crate::{Error, ObjectFault};

/// Options that mean the same to every linker: bind our own references to our own symbols, leave none
/// for the first call (Wild knows no other way), keep the stack not executable, and the bytes a function
/// of the inputs.
const OPTIONS: [&str; 9] = [
    "-Bsymbolic",
    "-z",
    "now",
    "-z",
    "noexecstack",
    "--build-id=none",
    "--eh-frame-hdr",
    "--hash-style=gnu",
    "--enable-new-dtags",
];

/// Who links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linker {
    /// The linker that is part of this library (cargo feature `libwild`). It needs nothing on the
    /// machine. Its own `WILD_*` environment variables apply. It fails where code and data are more than 2 GiB
    /// apart, as behind a larger import tree.
    Wild,
    /// A C compiler that understands the options of GCC: a name to be found on the path, or a path. It adds
    /// its own start-up files and libraries, as always.
    Cc(PathBuf),
}

impl Default for Linker {
    /// In process where that has been built, else `cc`.
    fn default() -> Self {
        if cfg!(feature = "libwild") { Linker::Wild } else { Linker::Cc("cc".into()) }
    }
}

/// What a shared library says of what it needs, besides the shared libraries that are linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependencies {
    /// That it needs `libtvm_ffi.so`. The file need not be on this machine. Without it the library can be loaded
    /// only into a process in which everybody sees libtvm_ffi.
    pub runtime: bool,
    /// Folders in which the loader is to look for what it needs, before its own; `$ORIGIN` is that of the library.
    pub rpath: Vec<String>,
}

impl Default for Dependencies {
    /// It needs `libtvm_ffi.so`, wherever the loader finds it.
    fn default() -> Self {
        Dependencies { runtime: true, rpath: Vec::new() }
    }
}

/// What a linker is to make.
#[derive(Clone, Copy, Debug)]
enum Output<'a> {
    /// A shared library, in which some symbols are called by other names too.
    Shared(&'a Dependencies),
    /// A relocatable object.
    Object,
}

/// The contents of a file that can be linked or be a kernel in a language: an object, an archive, a shared library,
/// bitcode or text. Of others no more than the beginning is read.
///
/// # Errors
/// [`Error::Read`], and [`Error::Object`] for another file.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let wanted = |head: &[u8]| object_file::begins(head) || !head.contains(&0);
    let unknown =
        || Error::Object { file: path.display().to_string(), fault: ObjectFault::Unrecognized };
    file::read_if(path, wanted)?.ok_or_else(unknown)
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
    dependencies: &Dependencies,
) -> Result<(), Error> {
    let bytes = shared_bytes(inputs, linker, target, dependencies)?;
    file::write(output, &bytes, Mode::Executable)
}

/// Links a shared library in memory.
///
/// # Errors
/// [`Error::Object`] for an input of another format or machine, or one that wants routines of another version of this
/// library; [`Error::Backend`] if there is no code generator for the routines that it wants,
/// [`Error::DuplicateSymbol`], [`Error::UnsupportedLink`], [`Error::NotBuilt`], [`Error::Linker`].
pub fn shared_bytes(
    inputs: &[Input],
    linker: &Linker,
    target: &Triple,
    dependencies: &Dependencies,
) -> Result<Vec<u8>, Error> {
    let machine = check(inputs, target)?;
    let mut all = inputs.to_vec();
    let routines = routines::wanted(&undefined(inputs), inputs, target)?;
    all.extend(routines);
    if dependencies.runtime && !inputs.iter().any(runtime::is) {
        all.push(runtime::library(inputs, machine)?);
    }
    if *linker == Linker::Wild {
        // A C compiler adds these by itself.
        let registers = undefined(&all).into_iter().any(destructors::is_wanted);
        all.extend(destructors::object(registers, machine)?);
        let mut wanted = undefined(&all);
        let is_ours = |name: &[u8]| {
            name.starts_with(RUNTIME_PREFIX.as_bytes()) || name.starts_with(routines::PREFIX)
        };
        wanted.retain(|name| !is_ours(name));
        all.extend(search::system(&wanted, target, machine)?);
    }
    run(&all, Output::Shared(dependencies), linker, machine)
}

/// Links objects to one, in which everything is as visible as it was.
///
/// # Errors
/// Those of [`shared_bytes`]; [`Error::Object`] also for a shared library.
pub fn object_bytes(inputs: &[Input], linker: &Linker, target: &Triple) -> Result<Vec<u8>, Error> {
    let machine = check(inputs, target)?;
    if let Some(library) = inputs.iter().find(|input| input.is_library()) {
        let fault = ObjectFault::NotRelocatable { found: "shared library" };
        return Err(Error::Object { file: library.name().to_owned(), fault });
    }
    run(inputs, Output::Object, linker, machine)
}

/// `libtvm_ffi.so` as a linker sees it, for a linker that is not started here: what is linked with it says that it needs
/// that library, which need not be on this machine. It defines nothing, so it has to be linked whether needed or not.
/// The inputs say what else will be linked, for the sake of their calling convention.
///
/// # Errors
/// [`Error::UnsupportedLink`] where libraries are not in ELF.
pub fn runtime_library(inputs: &[Input], target: &Triple) -> Result<Input, Error> {
    let machine = check(inputs, target)?;
    runtime::library(inputs, machine)
}

fn check(inputs: &[Input], target: &Triple) -> Result<Machine, Error> {
    let machine = linkable(target)?;
    check_machine(inputs, machine)?;
    check_duplicates(inputs)?;
    Ok(machine)
}

/// What objects for the target are, if they can be linked here.
pub(crate) fn linkable(target: &Triple) -> Result<Machine, Error> {
    Machine::linkable(target).ok_or_else(|| Error::UnsupportedLink { target: target.clone() })
}

fn run(
    inputs: &[Input],
    output: Output<'_>,
    linker: &Linker,
    machine: Machine,
) -> Result<Vec<u8>, Error> {
    match linker {
        #[cfg(feature = "libwild")]
        Linker::Wild => wild::link(inputs, output, machine),
        #[cfg(not(feature = "libwild"))]
        Linker::Wild => {
            let _ = machine;
            Err(Error::NotBuilt { name: "linker wild", feature: "libwild" })
        }
        Linker::Cc(program) => cc::link(inputs, output, program),
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

/// What the inputs must have and none of them defines.
fn undefined(inputs: &[Input]) -> BTreeSet<&[u8]> {
    let objects = || inputs.iter().flat_map(Input::objects);
    let defined: BTreeSet<&[u8]> = objects().flat_map(|facts| facts.defined()).collect();
    objects().flat_map(|facts| facts.undefined()).filter(|name| !defined.contains(name)).collect()
}

/// The version script: what a library shows to the loader.
fn version_script(inputs: &[Input]) -> String {
    let shown = inputs.iter().flat_map(Input::shown).map(|name| format!("{name}; "));
    let global: String = [format!("{PREFIX}*; ")].into_iter().chain(shown).collect();
    format!("{{ global: {global}local: *; }};\n")
}

/// The last part of a path, so that messages of the linker can be understood.
fn base_name(name: &str) -> String {
    Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
