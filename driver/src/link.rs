//! Linking: shared libraries, and objects of several objects, in process or with a program: the system's C compiler, or
//! LLVM's linker. There is a file for each format (`elf`, `coff`, `macho`), which knows what a library needs and
//! exports, and one for each linker (`wild`, `cc`, `lld`).
//!
//! A shared library records its dependencies for the loader: libtvm_ffi unless [`Request::runtime_dependency`] is off,
//! the linked shared libraries, and the parts of the target's C library that the kernels use, with the version of each
//! function. For GNU/Linux these are what a stated glibc has, or what a sysroot has, whatever this machine has; only a C
//! compiler as linker takes its own. The loader resolves the symbols that are then still undefined in the process,
//! except on Windows, where none may be. Exported are `__tvm_ffi_*`, what Apache TVM's loader fills (`__TVM*`) and what an
//! [`Input`] [shows](Input::showing), on Windows also what an object marks as exports. A library that was loaded
//! earlier cannot capture references to them.

mod addresses;
mod c_library;
mod cc;
mod coff;
mod elf;
mod folder;
mod glibc;
mod input;
mod lld;
mod machine;
mod macho;
#[cfg(feature = "libwild")]
mod merge;
mod obstacle;
mod routines;
mod search;
mod target;
#[cfg(feature = "libwild")]
mod wild;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use abi_spec::symbol::{CONTEXT_PREFIX, PREFIX};
use target_lexicon::Triple;

pub use addresses::addresses;
pub(crate) use glibc::STATED;
pub use input::Input;
use input::{Definition, ObjectFacts};
pub use routines::archive as routines_archive;
pub(crate) use search::library;
use target::Format;
pub(crate) use target::Target;

use crate::object_file::{self, Header, RUNTIME_PREFIX};
use crate::{Error, Form, ObjectFault, Request, file};

/// The program that links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linker {
    /// Wild, which is part of this library (cargo feature `libwild`) and needs nothing on the machine, for ELF. It is
    /// refused where a variable of the environment begins with `WILD_`, since such variables run programs, write files
    /// and change the output. It fails where code and data are more than 2 GiB apart, as behind a larger import tree.
    Wild,
    /// A C compiler that understands the options of GCC, for ELF and, from MinGW, for Windows: a path, a name to find on
    /// the path, or several words as a shell splits them, as in `ccache gcc`. It adds its own start-up files and
    /// libraries, as always.
    Cc(PathBuf),
    /// The linker of LLVM, for ELF, Windows and macOS: the path of `lld`, which Rust has as `rust-lld`, or a name to find
    /// on the path.
    Lld(PathBuf),
}

impl Linker {
    /// The names that [`FromStr`] parses.
    pub const NAMES: [&str; 3] = ["wild", "cc", "lld"];

    /// Returns the default for a target: for ELF Wild if this build has it, else `cc`; for other formats `lld`.
    pub fn of(target: &Triple) -> Linker {
        if target.binary_format != target_lexicon::BinaryFormat::Elf {
            Linker::Lld(program("LLD", "lld"))
        } else if cfg!(feature = "libwild") {
            Linker::Wild
        } else {
            Linker::Cc("cc".into())
        }
    }
}

impl FromStr for Linker {
    type Err = String;

    /// Parses one of [`Linker::NAMES`]; `cc` is `$CC`, or else `cc` if that is not set or blank; `lld` is `$LLD` or `lld`.
    fn from_str(name: &str) -> Result<Linker, String> {
        match name {
            "wild" => Ok(Linker::Wild),
            "cc" => Ok(Linker::Cc(program("CC", "cc"))),
            "lld" => Ok(Linker::Lld(program("LLD", "lld"))),
            _ => Err(format!("no linker {name:?}, expected one of {}", Linker::NAMES.join(", "))),
        }
    }
}

/// Returns the value of a variable of the environment, or else a name if it is not set or blank.
fn program(variable: &str, name: &str) -> PathBuf {
    let given = env::var_os(variable).filter(|text| !text.to_string_lossy().trim().is_empty());
    given.unwrap_or_else(|| name.into()).into()
}

/// The prefixes of the symbols that a library exports: functions, and what a loader fills.
const EXPORTED: [&str; 2] = [PREFIX, CONTEXT_PREFIX];

/// The kind of file that a linker makes.
#[derive(Clone, Copy, Debug)]
enum Output<'a> {
    /// A shared library.
    Shared {
        /// Folders in which the loader looks for the libraries that it needs.
        rpath: &'a [String],
        /// Root folder in which a compiler finds the parts of the system.
        sysroot: Option<&'a Path>,
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
    /// Returns the linker that is asked for, or else the default of the target.
    fn linker(&self) -> Linker {
        self.linker.clone().unwrap_or_else(|| Linker::of(&self.target))
    }

    /// Links the `kernels` by themselves: for [`Form::Shared`] to a shared library, else to one object, in which
    /// everything is as visible as it was.
    ///
    /// # Errors
    /// [`Error::Object`] for an input of another format or machine, or one that wants routines of another version of
    /// this library, and for a shared library in an object; [`Error::Backend`] if there is no code generator for the
    /// routines that it wants, [`Error::CLibrary`], [`Error::DuplicateSymbol`], [`Error::UnsupportedLink`], [`Error::NotBuilt`],
    /// [`Error::Linker`], [`Error::Read`] for a sysroot that is no folder; those of [`Request::check`].
    pub fn link(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        link(&self.kernels, self)
    }
}

/// Links inputs instead of the kernels of the request.
pub(crate) fn link(inputs: &[Input], request: &Request) -> Result<Vec<u8>, Error> {
    let target = check(inputs, &request.target)?;
    if let Some(root) = &request.sysroot {
        let unreadable = |source| Error::Read { path: root.clone(), source };
        fs::read_dir(root).map_err(unreadable)?;
    }
    let linker = request.linker();
    if request.form == Form::Shared {
        let inputs = with_dependencies(inputs, request, &linker, &target)?;
        let (rpath, sysroot) = (&*request.rpath, request.sysroot.as_deref());
        return run(&inputs, Output::Shared { rpath, sysroot }, &linker, &target);
    }
    if let Some(library) = inputs.iter().find(|input| input.is_library()) {
        let fault = ObjectFault::NotRelocatable { found: "shared library" };
        return Err(Error::Object { file: library.name().to_owned(), fault });
    }
    run(inputs, Output::Object, &linker, &target)
}

/// Returns the inputs and all that a shared library of them needs: routines, the runtime, the C library.
fn with_dependencies(
    inputs: &[Input],
    request: &Request,
    linker: &Linker,
    target: &Target<'_>,
) -> Result<Vec<Input>, Error> {
    let mut all = inputs.to_vec();
    all.extend(routines::wanted(&undefined(inputs), inputs, &request.target)?);
    match target.format {
        Format::Elf => elf::dependencies(&mut all, request, linker, target)?,
        Format::Coff => coff::dependencies(&mut all, request, linker, target)?,
        Format::MachO => macho::dependencies(&mut all, request.runtime_dependency, target),
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
    output: Output<'_>,
    linker: &Linker,
    target: &Target<'_>,
) -> Result<Vec<u8>, Error> {
    for facts in Taken::of(inputs).objects {
        let fault = facts.obstacle.and_then(|obstacle| obstacle.fault(output, linker));
        if let Some(fault) = fault {
            return Err(Error::Object { file: facts.file.clone(), fault });
        }
    }
    match (linker, target.format) {
        #[cfg(feature = "libwild")]
        (Linker::Wild, Format::Elf) => wild::link(inputs, output, target.machine),
        #[cfg(not(feature = "libwild"))]
        (Linker::Wild, Format::Elf) => {
            Err(Error::NotBuilt { name: "linker wild", feature: "libwild" })
        }
        (Linker::Wild, Format::Coff | Format::MachO) => {
            Err(target.refuse("linker wild knows only ELF; take linker lld"))
        }
        (Linker::Cc(program), Format::Elf | Format::Coff) => {
            cc::link(inputs, output, program, target)
        }
        (Linker::Cc(_), Format::MachO) => {
            Err(target.refuse("linker cc is for ELF and Windows; take linker lld"))
        }
        (Linker::Lld(program), _) => lld::link(inputs, output, program, target),
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

/// Objects that linkers take of the inputs, and their symbols.
#[derive(Default)]
struct Taken<'a> {
    /// Objects, members of archives among them, and shared libraries.
    objects: Vec<&'a ObjectFacts>,
    defined: BTreeMap<&'a [u8], Definition>,
    /// Symbols that are undefined, and whether any object needs them strongly.
    undefined: BTreeMap<&'a [u8], bool>,
}

impl<'a> Taken<'a> {
    /// Returns what linkers take: all objects; then, in the order of the inputs, shared libraries, and of archives the
    /// members that define a symbol still missing, or one of which there are only common definitions.
    fn of(inputs: &'a [Input]) -> Taken<'a> {
        let mut taken = Taken::default();
        let is_object = |input: &&Input| !input.is_archive() && !input.is_library();
        inputs.iter().filter(is_object).flat_map(Input::objects).for_each(|all| taken.add(all));
        let others = inputs.iter().filter(|input| !is_object(input));
        let mut left: Vec<(&Input, Vec<&ObjectFacts>)> =
            others.map(|input| (input, input.objects().iter().collect())).collect();
        loop {
            let before = taken.objects.len();
            for (input, members) in &mut left {
                taken.add_wanted(members, input.is_library());
            }
            if taken.objects.len() == before {
                return taken;
            }
        }
    }

    /// Moves members that are wanted here, or all, until none is wanted.
    fn add_wanted(&mut self, members: &mut Vec<&'a ObjectFacts>, all: bool) {
        loop {
            let before = members.len();
            members.retain(|member| {
                let is_taken = all || member.definitions().any(|(name, is)| self.wants(name, is));
                if is_taken {
                    self.add(member);
                }
                !is_taken
            });
            if members.len() == before {
                return;
            }
        }
    }

    fn wants(&self, name: &[u8], definition: Definition) -> bool {
        let is_common = self.defined.get(name) == Some(&Definition::Common);
        let is_missing = self.undefined.get(name) == Some(&true);
        is_missing || (is_common && definition == Definition::Data)
    }

    /// Adds an object or a shared library.
    fn add(&mut self, facts: &'a ObjectFacts) {
        self.objects.push(facts);
        for (name, definition) in facts.definitions() {
            let known = self.defined.entry(name).or_insert(definition);
            if *known == Definition::Common {
                *known = definition;
            }
            self.undefined.remove(name);
        }
        for (name, must) in facts.references() {
            if !self.defined.contains_key(name) {
                *self.undefined.entry(name).or_default() |= must;
            }
        }
    }
}

/// Returns the undefined symbols that no input defines, and whether any input needs them strongly.
fn wanted(inputs: &[Input]) -> BTreeMap<&[u8], bool> {
    Taken::of(inputs).undefined
}

/// Returns the strong ones of the [`wanted`] symbols.
fn undefined(inputs: &[Input]) -> BTreeSet<&[u8]> {
    wanted(inputs).into_iter().filter(|(_, must)| *must).map(|(name, _)| name).collect()
}

/// Returns whether a symbol is a function of the runtime or a routine.
fn is_ours(name: &[u8]) -> bool {
    name.starts_with(RUNTIME_PREFIX.as_bytes()) || name.starts_with(routines::PREFIX)
}

/// Returns the last part of a path, for readable messages of the linker.
fn base_name(name: &str) -> String {
    Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
