//! Linking: shared libraries that TVM FFI hosts load, and objects of several objects, of files that any compiler made.
//!
//! [`link()`] runs in process, or starts a program: the system's C compiler, or LLVM's linker. Nothing here knows
//! declarations or chooses a backend; that is the crate `tvm-ffi-codegen-driver`, which has a command line too.
//!
//! ```
//! use tvm_ffi_codegen_link::{Error, Options, addresses, link};
//!
//! // In place of a compiler's object: a function that jumps to an address.
//! let object = addresses(&[("__tvm_ffi_add_one".to_owned(), 0x1000)])?;
//! let library = link(&[object], &Options::default())?;
//! assert!(!library.is_empty());
//! # Ok::<(), Error>(())
//! ```
//!
//! A shared library records its dependencies for the loader: libtvm_ffi unless [`Options::runtime_dependency`] is off,
//! the linked shared libraries, and the parts of the target's C library that the kernels use, with the version of each
//! function. For GNU/Linux these are what a stated glibc has, or what a sysroot has, whatever this machine has; only a
//! C compiler as linker takes its own. The loader resolves the symbols that are then still undefined in the process,
//! except on Windows, where none may be. Exported are `__tvm_ffi_*`, what Apache TVM's loader fills (`__TVM*`),
//! [`Options::exports`] and what an [`Input`] [shows](Input::showing), on Windows also what an object marks as exports.
//! A library that was loaded earlier cannot capture references to them.
//!
//! There is a file for each format (`elf`, `coff`, `macho`), which knows what a library needs and exports, and one for
//! each linker (`wild`, `cc`, `lld`).

#![forbid(unsafe_code)]

#[cfg(feature = "libwild")]
mod adapt;
mod addresses;
mod c_library;
mod cc;
mod coff;
mod elf;
mod error;
#[doc(hidden)]
pub mod file;
mod folder;
mod glibc;
mod input;
mod lld;
mod machine;
mod macho;
#[cfg(feature = "libwild")]
mod merge;
#[doc(hidden)]
pub mod object_file;
mod obstacle;
mod options;
#[doc(hidden)]
pub mod printable;
mod routines;
mod search;
mod taken;
mod target;
#[cfg(feature = "libwild")]
mod wild;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use abi_spec::symbol::{CONTEXT_PREFIX, PREFIX};
use target_lexicon::Triple;

pub use addresses::addresses;
pub use error::{Error, ExportFault, ObjectFault};
pub use input::Input;
use input::{Definition, ObjectFacts};
use object_file::{Header, RUNTIME_PREFIX};
pub use options::{Linker, Options, Output};
pub use routines::archive as routines_archive;
pub use search::library;
use taken::{Taken, undefined};
use target::{Format, Target};
pub use target_lexicon;

/// The prefixes of the symbols that a library exports: functions, and what a loader fills.
const EXPORTED: [&str; 2] = [PREFIX, CONTEXT_PREFIX];

/// Reads a file that can be linked or be a kernel in a language of a backend: an object, an archive, a shared library,
/// bitcode or text. Of others it reads no more than the beginning.
///
/// # Errors
/// [`Error::Read`], and [`Error::Object`] for another file.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let wanted = |head: &[u8]| object_file::begins(head) || !head.contains(&0);
    let unknown =
        || Error::Object { file: path.display().to_string(), fault: ObjectFault::Unrecognized };
    file::read_if(path, wanted)?.ok_or_else(unknown)
}

/// Checks that something is linked for a target.
///
/// # Errors
/// [`Error::UnsupportedLink`].
pub fn check_target(target: &Triple) -> Result<(), Error> {
    Target::new(target).map(drop)
}

/// Links inputs to a shared library or to one object.
///
/// # Errors
/// [`Error::Object`] for an input of another format or machine, or one that wants routines of another version of
/// `tvm-ffi-codegen`, and for a shared library in an object; [`Error::Export`]; [`Error::Routines`] if there is no code
/// generator for the routines that it wants; [`Error::Option`] for an option that the target has not;
/// [`Error::CLibrary`], [`Error::DuplicateSymbol`], [`Error::UnsupportedLink`], [`Error::NotBuilt`], [`Error::Linker`];
/// [`Error::Read`] for a sysroot that is no folder.
pub fn link(inputs: &[Input], options: &Options) -> Result<Vec<u8>, Error> {
    let target = check(inputs, &options.target)?;
    options.check()?;
    if let Some(root) = &options.sysroot {
        let unreadable = |source| Error::Read { path: root.clone(), source };
        fs::read_dir(root).map_err(unreadable)?;
    }
    let linker = options.linker();
    match options.output {
        Output::Shared => {
            check_exports(inputs, &options.exports)?;
            check_names(inputs, target.format)?;
            let inputs = with_dependencies(inputs, options, &linker, &target)?;
            run(&inputs, options, &linker, &target)
        }
        Output::Object => {
            if let Some(library) = inputs.iter().find(|input| input.is_library()) {
                let fault = ObjectFault::NotRelocatable { found: "shared library" };
                return Err(Error::Object { file: library.name().to_owned(), fault });
            }
            run(inputs, options, &linker, &target)
        }
    }
}

/// Returns the inputs and all that a shared library of them needs: routines, the runtime, the C library.
fn with_dependencies(
    inputs: &[Input],
    options: &Options,
    linker: &Linker,
    target: &Target<'_>,
) -> Result<Vec<Input>, Error> {
    let mut all = inputs.to_vec();
    all.extend(routines::wanted(&undefined(inputs), inputs, &options.target)?);
    match target.format {
        Format::Elf => elf::dependencies(&mut all, options, linker, target)?,
        Format::Coff => coff::dependencies(&mut all, options, linker, target)?,
        Format::MachO => macho::dependencies(&mut all, options.runtime_dependency, target),
    }
    Ok(all)
}

/// Returns what stands for the runtime's library when a linker is started that this library does not start: a stub of
/// `libtvm_ffi.so` or `libtvm_ffi.dylib`, or an import library of `tvm_ffi.dll` with the functions that the inputs use.
/// The output of that linker then needs the runtime's library, which need not be on this machine. The stub for ELF
/// defines nothing, so the linker must not drop it as unneeded. `inputs` are the other inputs of the linker.
///
/// # Errors
/// [`Error::UnsupportedLink`] where nothing is linked for the target.
pub fn runtime_library(inputs: &[Input], target: &Triple) -> Result<Input, Error> {
    let target = check(inputs, target)?;
    match target.format {
        Format::Elf => elf::runtime_library(inputs, target.machine),
        Format::Coff => coff::runtime_library(inputs, &target),
        Format::MachO => Ok(macho::runtime_library(inputs, &target)),
    }
}

fn check<'a>(inputs: &[Input], triple: &'a Triple) -> Result<Target<'a>, Error> {
    let target = Target::new(triple)?;
    check_machine(inputs, target.header())?;
    check_duplicates(inputs)?;
    Ok(target)
}

fn run(
    inputs: &[Input],
    options: &Options,
    linker: &Linker,
    target: &Target<'_>,
) -> Result<Vec<u8>, Error> {
    for facts in Taken::of(inputs).objects {
        let mut obstacles = facts.obstacles.iter();
        if let Some(fault) = obstacles.find_map(|obstacle| obstacle.fault(options.output, linker)) {
            return Err(Error::Object { file: facts.file.clone(), fault });
        }
    }
    match (linker, target.format) {
        #[cfg(feature = "libwild")]
        (Linker::Wild, Format::Elf) => wild::link(inputs, options, target.machine),
        #[cfg(not(feature = "libwild"))]
        (Linker::Wild, Format::Elf) => {
            Err(Error::NotBuilt { name: "linker wild", feature: "libwild" })
        }
        (Linker::Wild, Format::Coff | Format::MachO) => {
            Err(target.refuse("linker wild knows only ELF; take linker lld"))
        }
        (Linker::Cc(program), Format::Elf | Format::Coff) => {
            cc::link(inputs, options, program, target)
        }
        (Linker::Cc(_), Format::MachO) => {
            Err(target.refuse("linker cc is for ELF and Windows; take linker lld"))
        }
        (Linker::Lld(program), _) => lld::link(inputs, options, program, target),
    }
}

fn check_machine(inputs: &[Input], header: Header) -> Result<(), Error> {
    let mut objects = inputs.iter().flat_map(Input::objects);
    objects.find(|facts| facts.header != header).map_or(Ok(()), |facts| {
        let (expected, found) = (header.to_string(), facts.header.to_string());
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

/// Checks that a shared library can export symbols.
fn check_exports(inputs: &[Input], exports: &[String]) -> Result<(), Error> {
    if exports.is_empty() {
        return Ok(());
    }
    let own: Vec<Input> = inputs.iter().filter(|input| !input.is_library()).cloned().collect();
    let taken = Taken::of(&own);
    let fault = |name: &String| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.$".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Some(ExportFault::Name);
        }
        let name = name.as_bytes();
        if taken.defined.get(name).is_none_or(|is| *is == Definition::Import) {
            return Some(ExportFault::Undefined);
        }
        // One definition that is hidden hides all.
        let hiding = taken.objects.iter().find(|facts| facts.hides(name));
        hiding.map(|facts| ExportFault::Hidden { file: facts.file.clone() })
    };
    let found = exports.iter().find_map(|name| Some((name, fault(name)?)));
    found.map_or(Ok(()), |(name, fault)| Err(Error::Export { name: name.clone(), fault }))
}

/// Checks that linkers take the names that a library exports without being asked for.
fn check_names(inputs: &[Input], format: Format) -> Result<(), Error> {
    let signs: &[u8] = match format {
        Format::Elf => b"@",
        Format::Coff => b"\",=\\",
        Format::MachO => b"",
    };
    let is_exported =
        |name: &[u8]| EXPORTED.iter().any(|prefix| name.starts_with(prefix.as_bytes()));
    let defined = inputs.iter().filter(|input| !input.is_library());
    let defined = defined.flat_map(|input| input.objects().iter().flat_map(ObjectFacts::defined));
    let found = defined.filter(|name| is_exported(name)).find_map(|name| {
        let sign = name.iter().find(|sign| signs.contains(sign))?;
        Some((String::from_utf8_lossy(name).into_owned(), char::from(*sign)))
    });
    found.map_or(Ok(()), |(name, sign)| {
        Err(Error::Export { name, fault: ExportFault::Sign { sign } })
    })
}

/// Returns the symbols that a library exports besides those with the [prefixes](EXPORTED).
fn shown<'a>(inputs: &'a [Input], options: &'a Options) -> BTreeSet<&'a str> {
    let shown = inputs.iter().flat_map(Input::shown).chain(&options.exports);
    let is_new = |name: &&str| !EXPORTED.iter().any(|prefix| name.starts_with(prefix));
    shown.map(String::as_str).filter(is_new).collect()
}

/// Returns whether a symbol is a function of the runtime or a routine.
fn is_ours(name: &[u8]) -> bool {
    name.starts_with(RUNTIME_PREFIX.as_bytes()) || name.starts_with(routines::PREFIX)
}

/// Returns the last part of a path, for readable messages of the linker.
fn base_name(name: &str) -> String {
    Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
