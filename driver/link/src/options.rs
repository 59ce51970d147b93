//! Options of a link: the kind of output, the target, the linker, and what the loader and the search are told.

use std::env;
use std::path::PathBuf;
use std::str::FromStr;

use codegen::UnknownWord;
use target_lexicon::Triple;

use crate::Error;

/// Kind of file that a link makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// A shared library.
    #[default]
    Shared,
    /// A relocatable object, in which everything is as visible as it was.
    Object,
}

/// Options of [`link`](crate::link()) and [`library`](crate::library()). The default makes a shared library for the
/// machine that this runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Kind of the output.
    pub output: Output,
    /// Target that all inputs are compiled for.
    pub target: Triple,
    /// Linker; `None` is [`Linker::of`] the target.
    pub linker: Option<Linker>,
    /// True if a shared library records that it needs libtvm_ffi, which need not be on this machine. Without the record
    /// it can be loaded only into a process in which libtvm_ffi is visible to everybody.
    pub runtime_dependency: bool,
    /// Symbols that a shared library exports besides functions of the FFI and what a loader fills: C names, which an
    /// input must define.
    pub exports: Vec<String>,
    /// Name by which a shared library is known to the loader and to what is linked with it: its soname, on macOS its
    /// install name.
    pub soname: Option<String>,
    /// Folders in which the loader looks for libraries that a shared library needs; `$ORIGIN` is the folder of the
    /// library.
    pub rpath: Vec<String>,
    /// Folders that [`library`](crate::library()) searches before those of the target.
    pub folders: Vec<PathBuf>,
    /// Root folder of the system to link for: libraries, linker scripts and the parts of the C library are searched
    /// there, and not on this machine. `None` for GNU/Linux: the symbols of glibc 2.28.
    pub sysroot: Option<PathBuf>,
    /// True if a shared library is for this process only. The loader then finds the symbols that the C library of this
    /// machine has and the one to link for has not.
    pub in_process: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            output: Output::default(),
            target: Triple::host(),
            linker: None,
            runtime_dependency: true,
            exports: Vec::new(),
            soname: None,
            rpath: Vec::new(),
            folders: Vec::new(),
            sysroot: None,
            in_process: false,
        }
    }
}

impl Options {
    /// Checks what a shared library says to the loader.
    ///
    /// # Errors
    /// [`Error::Option`] for text by which the loader would find nothing.
    ///
    /// ```
    /// use tvm_ffi_codegen_link::Options;
    ///
    /// let error = Options { soname: Some(String::new()), ..Options::default() }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "option soname must have characters, and no control characters");
    /// ```
    pub fn check(&self) -> Result<(), Error> {
        let is_wrong = |text: &String| text.is_empty() || text.contains(char::is_control);
        let soname = self.soname.iter().map(|name| ("soname", name));
        let mut all = soname.chain(self.rpath.iter().map(|folder| ("rpath", folder)));
        let reason = "must have characters, and no control characters";
        let wrong = all.find(|(_, text)| is_wrong(text));
        wrong.map_or(Ok(()), |(option, _)| Err(Error::Option { option, reason }))
    }

    /// Returns the linker that is asked for, or else the default of the target.
    pub(crate) fn linker(&self) -> Linker {
        self.linker.clone().unwrap_or_else(|| Linker::of(&self.target))
    }
}

/// The program that links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Linker {
    /// Wild, which is part of this library (cargo feature `libwild`) and needs nothing on the machine, for ELF. It is
    /// refused where a variable of the environment begins with `WILD_`, since such variables run programs, write files
    /// and change the output. It fails where code and data are more than 2 GiB apart, as behind a larger import tree.
    Wild,
    /// A C compiler that understands the options of GCC, for ELF and, from MinGW, for Windows: a path, a name to find
    /// on the path, or several words as a shell splits them, as in `ccache gcc`. It adds its own start-up files and
    /// libraries, as always.
    Cc(PathBuf),
    /// The linker of LLVM, for ELF, Windows and macOS: the path of `lld`, which Rust has as `rust-lld`, or a name to
    /// find on the path.
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
    type Err = UnknownWord;

    /// Parses one of [`Linker::NAMES`]; `cc` is `$CC`, or else `cc` if that is not set or blank; `lld` is `$LLD` or
    /// `lld`.
    fn from_str(name: &str) -> Result<Linker, UnknownWord> {
        match name {
            "wild" => Ok(Linker::Wild),
            "cc" => Ok(Linker::Cc(program("CC", "cc"))),
            "lld" => Ok(Linker::Lld(program("LLD", "lld"))),
            _ => Err(UnknownWord::new(name, Linker::NAMES, |name, names| {
                format!("no linker {name:?}, expected one of {names}")
            })),
        }
    }
}

/// Returns the value of a variable of the environment, or else a name if it is not set or blank.
fn program(variable: &str, name: &str) -> PathBuf {
    let given = env::var_os(variable).filter(|text| !text.to_string_lossy().trim().is_empty());
    given.unwrap_or_else(|| name.into()).into()
}
