//! Peers: systems that provide the measured functions, as folders with a shared library per case; and the kernels of
//! all.

mod build;
mod python;

use std::path::{Path, PathBuf};

use driver::link::Input;
use libloading::Library;
use serde_json::Value;

use crate::cases::cases;
use crate::setup::Setup;

pub(crate) use build::{compilers, link_command};
pub(crate) use python::environment;

/// The kernels: linked into every library, and as a library of their own for the JIT.
#[derive(Debug)]
pub(crate) struct Kernels {
    pub(crate) object: PathBuf,
    library: Library,
}

extern "C" fn nothing() {}

impl Kernels {
    /// Returns the address of a kernel, or of one that ignores its arguments.
    pub(crate) fn address(&self, name: &str) -> *const u8 {
        // SAFETY: only the address is taken, and the library is never unloaded.
        let symbol = unsafe { self.library.get::<*const u8>(name) };
        symbol.map_or(nothing as *const u8, |symbol| *symbol)
    }

    /// Returns the kernels as an input of the driver's linker.
    pub(crate) fn input(&self) -> Input {
        Input::read(&self.object).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Maker of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Our backend of this name.
    Ours(&'static str),
    /// A C or C++ compiler.
    Compiler,
    /// Another system for DSL compilers.
    System,
}

/// The folder in the folder of our peers with the same libraries, whose code is at other addresses.
pub(crate) const MOVED: &str = "moved";

/// A folder with a shared library per case.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) folder: PathBuf,
    /// Times that the peer's script reports: cases, stages, milliseconds.
    pub(crate) times: Value,
    /// Checks that the peer's script states it omits, by case.
    pub(crate) unchecked: Value,
}

impl Peer {
    fn new(name: &str, kind: Kind, folder: PathBuf) -> Peer {
        let (times, unchecked) = (Value::Null, Value::Null);
        Peer { name: name.to_owned(), kind, folder, times, unchecked }
    }

    /// Returns the peer whose code is at other addresses, if there is one.
    pub(crate) fn moved(&self) -> Option<Peer> {
        let folder = Some(self.folder.join(MOVED)).filter(|folder| folder.exists())?;
        Some(Peer::new(&self.name, self.kind, folder))
    }

    /// Reads the peer of a folder.
    pub(crate) fn of_folder(folder: PathBuf) -> Peer {
        Peer::new("", Kind::System, folder)
    }

    /// Returns the library of a case, if there is one.
    pub(crate) fn library(&self, case: &str) -> Option<PathBuf> {
        Some(self.folder.join(format!("{case}.so"))).filter(|path| path.exists())
    }

    /// Returns false for a peer that only reports times.
    pub(crate) fn has_libraries(&self) -> bool {
        cases().iter().any(|case| self.library(case.name).is_some())
    }

    /// Returns the libraries to open globally before any of the peer's.
    pub(crate) fn needs(&self) -> Vec<PathBuf> {
        let text = std::fs::read_to_string(self.folder.join("needs")).unwrap_or_default();
        text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
    }
}

/// Peers on this machine, and the reasons why others are left out.
#[derive(Debug)]
pub(crate) struct Peers {
    pub(crate) kernels: Kernels,
    pub(crate) all: Vec<Peer>,
    pub(crate) left_out: Vec<String>,
}

impl Peers {
    /// Builds the peers, unless they are up to date.
    pub(crate) fn new(setup: &Setup) -> Peers {
        let kernels = build::kernels(setup);
        let mut peers = Peers { kernels, all: Vec::new(), left_out: Vec::new() };
        build::ours(setup, &mut peers);
        build::compiled(setup, &mut peers);
        python::systems(setup, &mut peers);
        peers
    }

    /// Returns the kernels of an earlier build, for children.
    pub(crate) fn built(setup: &Setup) -> Kernels {
        build::kernels(setup)
    }
}

/// Opens a library for the rest of the process.
pub(crate) fn open(path: &Path, global: bool) -> Result<&'static Library, String> {
    use libloading::os::unix::{Library as Unix, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
    let flags = RTLD_NOW | if global { RTLD_GLOBAL } else { RTLD_LOCAL };
    // SAFETY: it is a library of a peer, whose initialisers are to run.
    let library = unsafe { Unix::open(Some(path), flags) }.map_err(|error| error.to_string())?;
    Ok(Box::leak(Box::new(Library::from(library))))
}
