//! From declarations to bytes: each stage by itself, and all of them in one call.
//!
//! The stages are [`parse_file`], [`lower`], [`emit_module`] and [`file::write`]; a shared library is an
//! object, which [`link::shared_bytes`] links.

use std::path::Path;

use abi_spec::c_library;
use abi_spec::symbol::{LIBRARY_CTX, PREFIX};
use codegen::ir::{self, Linkage};
use codegen::language::Limit;
use codegen::{Library, Warning, backend as native, is_linked_routine};

use crate::backend::backend;
use crate::file::{self, Mode};
use crate::link::{self, Input};
use crate::object_file::RUNTIME_PREFIX;
use crate::{Error, Form, Kernel, Options};

/// Reads declarations from a file; `-` is standard input.
///
/// # Errors
/// [`Error::Read`], also if the file is not UTF-8, and [`Error::Declaration`].
pub fn parse_file(path: &Path) -> Result<Library, Error> {
    parse(path, &read(path)?)
}

/// What in a file of valid declarations may not be what was meant, with positions; `-` is standard input.
///
/// # Errors
/// Those of [`parse_file`].
pub fn check_file(path: &Path) -> Result<Vec<Warning>, Error> {
    let text = read(path)?;
    let warnings = parse(path, &text)?.warnings().into_iter();
    Ok(warnings.map(|warning| warning.locate(&text)).collect())
}

fn read(path: &Path) -> Result<String, Error> {
    let too_long = || codegen::Error::Limit { limit: Limit::Text, site: None, position: None };
    file::text(path, Limit::Text.max())?.ok_or_else(|| declaration(Some(path), too_long()))
}

fn parse(path: &Path, text: &str) -> Result<Library, Error> {
    text.parse().map_err(|error| declaration(Some(path), error))
}

/// Lowers for use ahead of time: the module contains every routine that it needs, and metadata.
///
/// # Errors
/// [`Error::Declaration`] if the library is not valid, or has a function that can exist only in process.
pub fn lower(library: &Library) -> Result<ir::Module, Error> {
    lower_with(library, &codegen::Options::default())
}

/// Lowers as the options say; those for a file are [`Options::lowering`].
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
    emit_module(&lower_with(library, &options.lowering(form))?, form, options)
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
    let module = lower_with(library, &options.lowering(Form::Shared))?;
    write_module(&module, Form::Shared, output, options)
}

/// Compiles a lowered library.
///
/// # Errors
/// Those of [`backend`](crate::backend), of [`link::shared_bytes`] and [`link::object_bytes`],
/// [`Error::Backend`], [`Error::MissingSymbols`] and [`Error::LibraryContext`].
pub fn emit_module(module: &ir::Module, form: Form, options: &Options) -> Result<Vec<u8>, Error> {
    if form == Form::Ir {
        return Ok(module.to_string().into_bytes());
    }
    let is_linked = |symbol: &ir::SymbolData| is_linked_routine(&symbol.name);
    if form == Form::Object && module.symbols.iter().any(is_linked) {
        link::linkable(&options.target)?;
    }
    let backend = backend(options)?;
    let kernels: Vec<_> = options.sources.iter().map(Kernel::input).collect();
    let bytes = match form {
        Form::Ir => Ok(module.to_string().into_bytes()),
        Form::Native => backend.text(module, &kernels).map(String::into_bytes),
        Form::Bitcode => backend.bitcode(module, &kernels),
        Form::Object | Form::Shared => backend.object(module, &kernels),
    };
    let refused =
        |source: native::Error| Error::Backend { name: backend.name(), source: source.into() };
    let bytes = bytes.map_err(refused)?;
    match form {
        Form::Ir | Form::Native | Form::Bitcode => Ok(bytes),
        Form::Object if options.kernels.is_empty() => Ok(bytes),
        Form::Object | Form::Shared => linked(module, bytes, form, options),
    }
}

/// The C functions beside functions of the FFI.
fn c_functions(module: &ir::Module) -> Vec<String> {
    let functions =
        module.functions.iter().map(|function| &module.symbols[function.symbol.index()]);
    let exported = functions.filter(|symbol| symbol.linkage == Linkage::Export);
    let own = exported.filter(|symbol| !symbol.name.starts_with(PREFIX));
    own.map(|symbol| symbol.name.clone()).collect()
}

/// How messages name the object that the declarations compile to.
const HOST: &str = "the declarations";

/// The declarations' object and the other kernels, as one file.
fn linked(
    module: &ir::Module,
    host: Vec<u8>,
    form: Form,
    options: &Options,
) -> Result<Vec<u8>, Error> {
    let Options { kernels, linker, target, dependencies, .. } = options;
    let mut inputs = vec![Input::new(HOST, host)?.showing(c_functions(module))];
    inputs.extend_from_slice(kernels);
    check_context(&inputs)?;
    if form == Form::Object {
        return link::object_bytes(&inputs, linker, target);
    }
    check_kernels(module, &inputs[0], kernels)?;
    link::shared_bytes(&inputs, linker, target, dependencies)
}

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
    let imports = module.symbols.iter().filter(|symbol| symbol.linkage == Linkage::Import);
    let missing = imports.filter(|symbol| {
        let is_ours = symbol.name.starts_with(RUNTIME_PREFIX)
            || c_library::ALL.contains(&&*symbol.name)
            || is_linked_routine(&symbol.name);
        let defined = || kernels.iter().any(|input| input.defines(&symbol.name));
        !is_ours && host.uses(&symbol.name) && !defined()
    });
    let names: Vec<String> = missing.map(|symbol| symbol.name.clone()).collect();
    if names.is_empty() { Ok(()) } else { Err(Error::MissingSymbols { names }) }
}

/// The variable of the loader exists where there is an import tree that holds the library, or not at all.
fn check_context(inputs: &[Input]) -> Result<(), Error> {
    if inputs.iter().any(|input| input.defines(LIBRARY_CTX)) {
        return Ok(());
    }
    let user = inputs.iter().find(|input| input.uses(LIBRARY_CTX));
    user.map_or(Ok(()), |input| Err(Error::LibraryContext { file: input.name().to_owned() }))
}
