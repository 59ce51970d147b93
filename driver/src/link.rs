//! Linking: shared libraries, and objects of several objects, in process or with the system's C compiler.
//!
//! A shared library records its dependencies for the loader: libtvm_ffi unless [`Request::runtime_dependency`] is off,
//! the linked shared libraries, and the parts of the target's C library that the kernels use, where this machine has
//! them, with the version of each function. The loader resolves the symbols that are then still undefined in the
//! process. Only `__tvm_ffi_*` symbols and those that an [`Input`] [shows](Input::showing) are exported, and a library
//! that was loaded earlier cannot capture references to them.

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
use std::env;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use abi_spec::symbol::PREFIX;
use target_lexicon::Triple;

pub use addresses::addresses;
pub use input::Input;
pub use routines::archive as routines_archive;
pub(crate) use search::library;

use crate::object_file::{self, Machine, RUNTIME_PREFIX};
use crate::{Error, Form, ObjectFault, Request, file};

/// Options of every linker: references to our own symbols bind to them, relocations are resolved when the library is
/// loaded (Wild does nothing else), the stack is not executable, and the bytes depend on the inputs only.
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

/// The program that links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linker {
    /// Wild, which is part of this library (cargo feature `libwild`) and needs nothing on the machine. It is refused where
    /// a variable of the environment begins with `WILD_`, since such variables run programs, write files and change the
    /// output. It fails where code and data are more than 2 GiB apart, as behind a larger import tree.
    Wild,
    /// A C compiler that understands the options of GCC: a path, a name to find on the path, or several words as a shell
    /// splits them, as in `ccache gcc`. It adds its own start-up files and libraries, as always.
    Cc(PathBuf),
}

impl Linker {
    /// The names that [`FromStr`] parses.
    pub const NAMES: [&str; 2] = ["wild", "cc"];
}

impl FromStr for Linker {
    type Err = String;

    /// Parses one of [`Linker::NAMES`]; `cc` is `$CC`, or else `cc` if that is not set or blank.
    fn from_str(name: &str) -> Result<Linker, String> {
        match name {
            "wild" => Ok(Linker::Wild),
            "cc" => {
                let given =
                    env::var_os("CC").filter(|text| !text.to_string_lossy().trim().is_empty());
                Ok(Linker::Cc(given.unwrap_or_else(|| "cc".into()).into()))
            }
            _ => Err(format!("no linker {name:?}, expected {}", Linker::NAMES.join(" or "))),
        }
    }
}

impl Default for Linker {
    /// Wild if this build has it, else `cc`.
    fn default() -> Self {
        if cfg!(feature = "libwild") { Linker::Wild } else { Linker::Cc("cc".into()) }
    }
}

/// The kind of file that a linker makes.
#[derive(Clone, Copy, Debug)]
enum Output<'a> {
    /// A shared library.
    Shared {
        /// Folders in which the loader looks for the libraries that it needs.
        rpath: &'a [String],
    },
    /// A relocatable object.
    Object,
}

/// Reads a file that can be linked or be a kernel in a language of a backend: an object, an archive, a shared library,
/// bitcode or text. Of others it reads no more than the beginning.
///
/// # Errors
/// [`Error::Read`], and [`Error::Object`] for another file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let wanted = |head: &[u8]| object_file::begins(head) || !head.contains(&0);
    let unknown =
        || Error::Object { file: path.display().to_string(), fault: ObjectFault::Unrecognized };
    file::read_if(path, wanted)?.ok_or_else(unknown)
}

impl Request {
    /// Links the `kernels` by themselves: for [`Form::Shared`] to a shared library, else to one object, in which
    /// everything is as visible as it was.
    ///
    /// # Errors
    /// [`Error::Object`] for an input of another format or machine, or one that wants routines of another version of
    /// this library, and for a shared library in an object; [`Error::Backend`] if there is no code generator for the
    /// routines that it wants, [`Error::DuplicateSymbol`], [`Error::UnsupportedLink`], [`Error::NotBuilt`],
    /// [`Error::Linker`]; those of [`Request::check`].
    pub fn link(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        link(&self.kernels, self)
    }
}

/// Links inputs instead of the kernels of the request.
pub(crate) fn link(inputs: &[Input], request: &Request) -> Result<Vec<u8>, Error> {
    let linker = request.linker.clone().unwrap_or_default();
    let machine = check(inputs, &request.target)?;
    if request.form == Form::Shared {
        let inputs = with_dependencies(inputs, request, &linker, machine)?;
        return run(&inputs, Output::Shared { rpath: &request.rpath }, &linker, machine);
    }
    if let Some(library) = inputs.iter().find(|input| input.is_library()) {
        let fault = ObjectFault::NotRelocatable { found: "shared library" };
        return Err(Error::Object { file: library.name().to_owned(), fault });
    }
    run(inputs, Output::Object, &linker, machine)
}

/// Returns the inputs and all that a shared library of them needs: routines, the runtime, the C library.
fn with_dependencies(
    inputs: &[Input],
    request: &Request,
    linker: &Linker,
    machine: Machine,
) -> Result<Vec<Input>, Error> {
    let mut all = inputs.to_vec();
    all.extend(routines::wanted(&undefined(inputs), inputs, &request.target)?);
    if request.runtime_dependency && !inputs.iter().any(runtime::is) {
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
        all.extend(search::system(&wanted, &request.target, machine)?);
    }
    Ok(all)
}

/// Returns a stub of `libtvm_ffi.so` for a linker that is not started here. The output of that linker then needs the
/// library, which need not be on this machine. The stub defines nothing, so the linker must not drop it as unneeded.
/// `inputs`, the other inputs of the linker, tell the calling convention.
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

/// Returns the machine of objects for a target, if they can be linked here.
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

/// Returns the strong undefined symbols that no input defines.
fn undefined(inputs: &[Input]) -> BTreeSet<&[u8]> {
    let objects = || inputs.iter().flat_map(Input::objects);
    let defined: BTreeSet<&[u8]> = objects().flat_map(|facts| facts.defined()).collect();
    objects().flat_map(|facts| facts.undefined()).filter(|name| !defined.contains(name)).collect()
}

/// Returns the version script, which lists the exports.
fn version_script(inputs: &[Input]) -> String {
    let shown = inputs.iter().flat_map(Input::shown).map(|name| format!("{name}; "));
    let global: String = [format!("{PREFIX}*; ")].into_iter().chain(shown).collect();
    format!("{{ global: {global}local: *; }};\n")
}

/// Returns the last part of a path, for readable messages of the linker.
fn base_name(name: &str) -> String {
    Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
