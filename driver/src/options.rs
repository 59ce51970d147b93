//! What to emit, and how.

use clap::ValueEnum;
use codegen::Loader;
use codegen::backend::{self, Optimize};
use target_lexicon::{OperatingSystem, Triple};

use crate::Error;
use crate::backend::backend;
use crate::link::{Dependencies, Input, Linker};

/// What to emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Host IR as text: the same for every backend and target
    Ir,
    /// The text form of the backend
    Native,
    /// LLVM bitcode; of the backends llvm and mlir
    Bitcode,
    /// A relocatable object
    Object,
    /// A shared library that a TVM FFI host can load
    Shared,
}

/// Where the routines that compose messages are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Routines {
    /// Just what these declarations need, compiled and optimised by the backend: the smallest file
    Embedded,
    /// Made beforehand and left to the linker: compiles fastest, and many objects in one library have one copy; ELF only
    Linked,
}

impl Routines {
    /// Those of a form: what is linked here has them linked, and everything else is complete by itself.
    fn of(form: Form) -> Routines {
        match form {
            Form::Ir | Form::Native | Form::Bitcode | Form::Object => Routines::Embedded,
            Form::Shared => Routines::Linked,
        }
    }
}

impl From<Routines> for codegen::Routines {
    fn from(routines: Routines) -> Self {
        match routines {
            Routines::Embedded => codegen::Routines::Embedded,
            Routines::Linked => codegen::Routines::Linked,
        }
    }
}

/// A kernel in a language of the backend: LLVM IR, as text or bitcode, or MLIR's LLVM dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What errors call it: the name of its file.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl Kernel {
    pub(crate) fn input(&self) -> backend::Input<'_> {
        backend::Input { name: &self.name, bytes: &self.bytes }
    }
}

/// How to emit.
#[derive(Clone, Debug)]
pub struct Options {
    /// One of [`BACKENDS`](crate::BACKENDS).
    pub backend: String,
    /// What machine the code is for.
    pub target: Triple,
    /// What processor the code is for, as LLVM names it; of the backends llvm and mlir. Without it, what
    /// every machine of the target has.
    pub cpu: Option<String>,
    /// How much the backends llvm and mlir optimise objects.
    pub optimization: Optimize,
    /// For what is lowered here: where its routines are from. Without it linked ones for [`Form::Shared`], else embedded
    /// ones.
    pub routines: Option<Routines>,
    /// Kernels in the language of the backend: they become part of the module and may be inlined. LLVM reads what LLVM has
    /// written: a damaged file may end the process.
    pub sources: Vec<Kernel>,
    /// For [`Form::Shared`]: the objects that define the other kernels, and the shared libraries that are
    /// needed when the library is loaded. For [`Form::Object`]: objects that become part of the one emitted.
    pub kernels: Vec<Input>,
    /// For [`Form::Shared`], and [`Form::Object`] with `kernels`: who links.
    pub linker: Linker,
    /// For [`Form::Shared`]: what else the library says of what it needs.
    pub dependencies: Dependencies,
}

impl Options {
    /// How to lower what becomes a file of this form.
    pub fn lowering(&self, form: Form) -> codegen::Options {
        let windows = self.target.operating_system == OperatingSystem::Windows;
        codegen::Options {
            routines: self.routines.unwrap_or(Routines::of(form)).into(),
            loader: if windows { Loader::Windows } else { Loader::Dl },
            ..codegen::Options::default()
        }
    }

    /// Adds what defines kernels: what the backend reads becomes part of its module, anything else is linked.
    ///
    /// # Errors
    /// Those of [`backend()`](crate::backend()), and those of [`Input::new`].
    pub fn add_kernel(&mut self, name: String, bytes: Vec<u8>) -> Result<(), Error> {
        if backend(self)?.reads(&bytes) {
            self.sources.push(Kernel { name, bytes });
        } else {
            self.kernels.push(Input::new(name, bytes)?);
        }
        Ok(())
    }
}

impl Default for Options {
    /// Cranelift, for the machine that this runs on, with no kernels.
    fn default() -> Self {
        Options {
            backend: "cranelift".to_owned(),
            target: Triple::host(),
            cpu: None,
            optimization: Optimize::default(),
            routines: None,
            sources: Vec::new(),
            kernels: Vec::new(),
            linker: Linker::default(),
            dependencies: Dependencies::default(),
        }
    }
}
