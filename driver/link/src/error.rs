//! Errors between files and the file that they are linked to.

use std::error;
use std::fmt::{self, Write};
use std::io;
use std::path::PathBuf;

use crate::glibc::STATED;
use crate::printable::Printable;

/// A failure of the inputs or of the machine. Bugs of this library panic.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file, or standard input, could not be read.
    Read {
        /// The file; `-` for standard input.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A file is not a usable object.
    Object {
        /// The file, and the member if it is an archive.
        file: String,
        /// The fault.
        fault: ObjectFault,
    },
    /// Two files define one symbol.
    DuplicateSymbol {
        /// The symbol.
        name: String,
        /// The file that comes first.
        first: String,
        /// The file that defines it again; it may be the same.
        second: String,
    },
    /// A symbol of [`Options::exports`](crate::Options::exports) cannot be exported.
    Export {
        /// The symbol.
        name: String,
        /// The fault.
        fault: ExportFault,
    },
    /// A file uses a symbol that the C library to link for does not have.
    CLibrary {
        /// The file.
        file: String,
        /// The symbol.
        symbol: String,
        /// A version that has it, such as `GLIBC_2.38`, or the archive that compilers take it from.
        version: String,
        /// The sysroot; `None` for the version of glibc that the linker knows.
        sysroot: Option<PathBuf>,
    },
    /// No folder has a library of this name.
    NoLibrary {
        /// The name.
        name: String,
        /// The folders, in order.
        folders: Vec<PathBuf>,
    },
    /// Linking for this target, or in this way, is not supported.
    UnsupportedLink {
        /// The target.
        target: target_lexicon::Triple,
        /// The reason.
        reason: &'static str,
    },
    /// The target has no use for an option.
    Option {
        /// The field of [`Options`](crate::Options).
        option: &'static str,
        /// The rest of the sentence that begins with the option.
        reason: &'static str,
    },
    /// A part exists but was left out of this build.
    NotBuilt {
        /// The part.
        name: &'static str,
        /// The cargo feature of this crate that adds it.
        feature: &'static str,
    },
    /// The routines of linked objects could not be compiled for the target.
    Routines {
        /// The error of the backend, which is Cranelift's.
        source: Box<dyn error::Error + Send + Sync>,
    },
    /// The linker failed.
    Linker {
        /// Its name.
        name: String,
        /// Its message.
        reason: String,
    },
}

/// Reason why a symbol cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExportFault {
    /// The name has characters that lists of exports do not take.
    Name,
    /// The name has a sign that this format has a meaning for: `@` stands before a version in ELF, and lists of exports
    /// on Windows have `"`, `,`, `=` and `\` beside names.
    Sign {
        /// The sign.
        sign: char,
    },
    /// No file that becomes a part of the library defines the symbol.
    Undefined,
    /// A file defines the symbol with hidden visibility.
    Hidden {
        /// The file, and the member if it is an archive.
        file: String,
    },
}

/// Reason why a file is not a usable object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectFault {
    /// An unknown format, a linker script, or an empty file.
    Unrecognized,
    /// LLVM bitcode, as `clang -flto -c` writes it, for a backend that does not read it.
    Bitcode,
    /// Text, for a backend that does not read it.
    Text,
    /// A shared library without a name of its own, which came without a path by which the loader could find it.
    Nameless,
    /// An archive, where a single file is needed.
    Archive,
    /// An archive that holds paths instead of objects.
    ThinArchive,
    /// A universal file of Apple's systems, for several machines.
    Universal,
    /// A damaged file.
    Malformed {
        /// The error of the parser.
        reason: String,
    },
    /// Another kind of file where a relocatable object is needed.
    NotRelocatable {
        /// The kind of file.
        found: &'static str,
    },
    /// An object for another machine or in another format.
    Target {
        /// The machine to link for.
        expected: String,
        /// The machine of the file.
        found: String,
    },
    /// An object for Windows with functions that run when the library is loaded, which a linker without the start-up
    /// code of a compiler would forget.
    Constructors,
    /// An object that cannot become part of the output, or that the linker cannot take.
    Unlinkable {
        /// Contents that stand in the way.
        found: String,
        /// Way around them.
        advice: &'static str,
    },
    /// An object with linked routines that only another version of this library has.
    Routines,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Untrusted inputs are quoted.
        let mut f = Printable(f);
        match self {
            Error::Read { path, source } => write!(f, "cannot read {}: {source}", path.display()),
            Error::Object { file, fault } => write!(f, "{file}: {fault}"),
            Error::DuplicateSymbol { name, first, second } => {
                write!(f, "`{name}` is defined by {first} and again by {second}")
            }
            Error::Export { name, fault } => write!(f, "`{name}` cannot be exported: {fault}"),
            Error::CLibrary { file, symbol, version, sysroot: Some(root) } => {
                write!(f, "{file} uses `{symbol}` ({version}), which is in no C library of ")?;
                write!(f, "the sysroot {}", root.display())
            }
            Error::CLibrary { file, symbol, version, sysroot: None } => {
                write!(f, "{file} uses `{symbol}` ({version}), which is not in glibc {STATED}: ")?;
                f.write_str(
                    "link a file that defines it, take --sysroot (in Rust the field `sysroot`) with a \
                     newer glibc, or --linker cc with a compiler for one",
                )
            }
            Error::NoLibrary { name, folders } => {
                write!(f, "no library `{name}` in ")?;
                let folders: Vec<_> =
                    folders.iter().map(|path| path.display().to_string()).collect();
                f.write_str(&folders.join(", "))
            }
            Error::UnsupportedLink { target, reason } => {
                write!(f, "cannot link for {target}: {reason}")
            }
            Error::Option { option, reason } => write!(f, "option {option} {reason}"),
            Error::NotBuilt { name, feature } => {
                write!(f, "{name} is not part of this build: enable the cargo feature `{feature}`")
            }
            Error::Routines { source } => write!(f, "backend cranelift: {source}"),
            Error::Linker { name, reason } => write!(f, "linker {name}: {reason}"),
        }
    }
}

impl fmt::Display for ExportFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportFault::Name => {
                f.write_str("its name is not of letters, digits, `_`, `.` and `$` alone")
            }
            ExportFault::Sign { sign } => {
                write!(f, "its name has a `{sign}`, which linkers have a meaning for")
            }
            ExportFault::Undefined => f.write_str(
                "no linked file defines it; of archives those members are linked that others need",
            ),
            ExportFault::Hidden { file } => write!(f, "{file} defines it with hidden visibility"),
        }
    }
}

impl fmt::Display for ObjectFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectFault::Unrecognized => f.write_str("not an object file"),
            ObjectFault::Bitcode => {
                f.write_str("LLVM bitcode: take --backend llvm, or compile it without -flto")
            }
            ObjectFault::Text => f.write_str(
                "text, not an object file; LLVM IR and MLIR are for --backend llvm and mlir",
            ),
            ObjectFault::Nameless => f.write_str(
                "a shared library without a soname, by which the loader would find it: give its path",
            ),
            ObjectFault::Archive => {
                f.write_str("an archive; take its members, as `ar x` makes them")
            }
            ObjectFault::Universal => {
                f.write_str("for several machines; take the part of one, as `lipo -thin` makes it")
            }
            ObjectFault::ThinArchive => f.write_str("a thin archive; give its members"),
            ObjectFault::Malformed { reason } => write!(f, "malformed object file: {reason}"),
            ObjectFault::NotRelocatable { found } => {
                let article = if found.starts_with('e') { "an" } else { "a" };
                write!(f, "expected a relocatable object but got {article} {found}")
            }
            ObjectFault::Target { expected, found } => {
                write!(f, "expected an object for {expected} but got one for {found}")
            }
            ObjectFault::Constructors => f.write_str(
                "has functions to run when the library is loaded, which needs the start-up code of \
                 a compiler: take linker cc, with the compiler of MinGW",
            ),
            ObjectFault::Unlinkable { found, advice } => write!(f, "has {found}: {advice}"),
            ObjectFault::Routines => {
                f.write_str("made by another version of this library, which has other routines")
            }
        }
    }
}

/// The message contains that of an inner error, so the chain goes on behind that one.
impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        if let Error::Read { source, .. } = self {
            source.source()
        } else if let Error::Routines { source } = self {
            source.source()
        } else {
            None
        }
    }
}

impl error::Error for ExportFault {}

impl error::Error for ObjectFault {}
