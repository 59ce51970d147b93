//! From declarations to bytes: each stage by itself, and all of them in one call.
//!
//! The stages are [`parse_file`], [`lower`], [`emit_module`] and [`file::write`]; a shared library is an
//! object, which [`link::shared_bytes`] links.

use std::io;
use std::path::Path;

use abi_spec::c_library;
use codegen::Library;
use codegen::ir::{self, Linkage};
use target_lexicon::Triple;

use crate::backend::{Product, produce};
use crate::file::{self, Mode};
use crate::link::{self, Input, Linker};
use crate::{Error, inspect};

/// What to emit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Host IR as text: the same for every backend and target.
    Ir,
    /// The text form of the backend.
    Native,
    /// LLVM bitcode; of the backends llvm and mlir.
    Bitcode,
    /// A relocatable object.
    Object,
    /// A shared library that a TVM FFI host can load.
    Shared,
}

/// How much to optimise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Optimization {
    /// Not at all.
    O0,
    /// What is cheap.
    O1,
    /// Inlining and vectorisation.
    #[default]
    O2,
    /// Whatever may help.
    O3,
}

/// A kernel as LLVM IR, as text or bitcode, or as MLIR's LLVM dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What errors call it: the name of its file.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
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
    pub optimization: Optimization,
    /// Kernels in the language of the backend: they become part of the module and may be inlined.
    pub sources: Vec<Kernel>,
    /// For [`Form::Shared`]: the objects that define the other kernels.
    pub kernels: Vec<Input>,
    /// For [`Form::Shared`]: who links.
    pub linker: Linker,
}

impl Default for Options {
    /// Cranelift, for the machine that this runs on, with no kernels.
    fn default() -> Self {
        Options {
            backend: "cranelift".to_owned(),
            target: Triple::host(),
            cpu: None,
            optimization: Optimization::default(),
            sources: Vec::new(),
            kernels: Vec::new(),
            linker: Linker::default(),
        }
    }
}

/// Reads declarations from a file; `-` is standard input.
///
/// # Errors
/// [`Error::Read`], also if the file is not UTF-8, and [`Error::Declaration`].
pub fn parse_file(path: &Path) -> Result<Library, Error> {
    let text = String::from_utf8(file::read(path)?).map_err(|error| Error::Read {
        path: path.to_owned(),
        source: io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()),
    })?;
    text.parse().map_err(|error| declaration(Some(path), error))
}

/// Lowers for use ahead of time: the module contains every routine that it needs, and metadata.
///
/// # Errors
/// [`Error::Declaration`] if the library is not valid, or has a function that can exist only in process.
pub fn lower(library: &Library) -> Result<ir::Module, Error> {
    lower_with(library, &codegen::Options::default())
}

/// Lowers as the options say.
///
/// # Errors
/// Those of [`lower`].
pub fn lower_with(library: &Library, options: &codegen::Options) -> Result<ir::Module, Error> {
    let resolved = library.resolve().map_err(|error| declaration(None, error))?;
    resolved.ahead_of_time().map_err(|error| declaration(None, error))?;
    Ok(codegen::lower(&resolved, options))
}

fn declaration(path: Option<&Path>, error: codegen::Error) -> Error {
    Error::Declaration { path: path.map(Path::to_owned), source: Box::new(error) }
}

/// Compiles a library.
///
/// # Errors
/// Those of [`lower`] and [`emit_module`].
///
/// ```
/// use tvm_ffi_codegen_driver::{Error, Form, Options, emit, inspect};
///
/// let library = "twice(n: int64) -> int64 = twice_kernel(n);".parse().unwrap();
/// let object = emit(&library, Form::Object, &Options::default())?;
/// let found = inspect(&object).unwrap();
/// assert_eq!(found.functions[0].name, "twice");
/// assert_eq!(found.undefined[0].name, "twice_kernel");
///
/// let error = emit(&library, Form::Shared, &Options::default()).unwrap_err();
/// assert!(matches!(error, Error::MissingSymbols { names } if names == ["twice_kernel"]));
/// # Ok::<(), Error>(())
/// ```
pub fn emit(library: &Library, form: Form, options: &Options) -> Result<Vec<u8>, Error> {
    emit_module(&lower(library)?, form, options)
}

/// Compiles a library to a shared library on disk, in one call.
///
/// # Errors
/// Those of [`emit`], and [`Error::Write`]; when anything fails, `output` is as it was.
///
/// ```no_run
/// use std::path::Path;
/// use tvm_ffi_codegen_driver::link::Input;
/// use tvm_ffi_codegen_driver::{Error, Options, compile_shared, parse_file};
///
/// let kernels = vec![Input::read(Path::new("kernel.o"))?];
/// let options = Options { kernels, ..Options::default() };
/// compile_shared(&parse_file(Path::new("add_one.ffi"))?, Path::new("add_one.so"), &options)?;
/// # Ok::<(), Error>(())
/// ```
pub fn compile_shared(library: &Library, output: &Path, options: &Options) -> Result<(), Error> {
    write_module(&lower(library)?, Form::Shared, output, options)
}

/// Compiles a lowered library.
///
/// # Errors
/// Those of [`backend`](crate::backend), of [`link::shared_bytes`], [`Error::Backend`] and [`Error::MissingSymbols`].
pub fn emit_module(module: &ir::Module, form: Form, options: &Options) -> Result<Vec<u8>, Error> {
    match form {
        Form::Ir => Ok(module.to_string().into_bytes()),
        Form::Native => produce(module, Product::Text, options),
        Form::Bitcode => produce(module, Product::Bitcode, options),
        Form::Object => produce(module, Product::Object, options),
        Form::Shared => {
            let host = Input::new(HOST, produce(module, Product::Object, options)?)?;
            check_kernels(module, &host, &options.kernels)?;
            let mut inputs = vec![host];
            inputs.extend_from_slice(&options.kernels);
            link::shared_bytes(&inputs, &options.linker, &options.target)
        }
    }
}

/// How messages name the object that the declarations compile to.
const HOST: &str = "the declarations";

/// Writes what [`emit_module`] yields; when anything fails, `output` is as it was.
///
/// # Errors
/// Those of [`emit_module`], and [`Error::Write`].
pub fn write_module(
    module: &ir::Module,
    form: Form,
    output: &Path,
    options: &Options,
) -> Result<(), Error> {
    let mode = if form == Form::Shared { Mode::Executable } else { Mode::Data };
    file::write(output, &emit_module(module, form, options)?, mode)
}

/// Every symbol that the declarations call must be defined, by an object or by what has become part of
/// the module, or be a function of the C library that allocates tensors; what the kernels want in turn is between them and the loader.
fn check_kernels(module: &ir::Module, host: &Input, kernels: &[Input]) -> Result<(), Error> {
    let fault = |fault| Error::Object { file: HOST.to_owned(), fault };
    let undefined = inspect(host.bytes()).map_err(fault)?.undefined;
    let imports = module.symbols.iter().filter(|symbol| symbol.linkage == Linkage::Import);
    let missing = imports.filter(|symbol| {
        undefined.iter().any(|wanted| wanted.name == symbol.name)
            && !c_library::ALL.contains(&&*symbol.name)
            && !kernels.iter().any(|input| input.defines(&symbol.name))
    });
    let names: Vec<String> = missing.map(|symbol| symbol.name.clone()).collect();
    if names.is_empty() { Ok(()) } else { Err(Error::MissingSymbols { names }) }
}
