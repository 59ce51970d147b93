//! From declarations to bytes and files: [`parse_file`], [`lower`], [`Request::emit_module`], each by itself, and all
//! in one call, [`Request::emit`].

use std::path::Path;

use abi_spec::c_library::{self, loader};
use abi_spec::symbol::{LIBRARY_CTX, PREFIX};
use clap::ValueEnum;
use codegen::backend;
use codegen::ir::{self, Linkage, SymbolKind};
use codegen::language::Limit;
use codegen::linker::is_linked_routine;
use codegen::{Errors, Library, Loader, Resolved, Warning};
use link::Input;
use link::object_file::RUNTIME_PREFIX;
use target_lexicon::Triple;

use crate::file::{self, Mode};
use crate::stages::{Stage, Times};
use crate::{Error, File, Form, Request, explorer};

/// Parses a file of declarations; `-` is standard input.
///
/// # Errors
/// [`link::Error::Read`], also if the file is not UTF-8, and [`Error::Declaration`].
pub fn parse_file(path: &Path) -> Result<Library, Error> {
    parse_in_time(path, &mut Times::default()).map(|(_, library)| library)
}

/// Parses a file as [`parse_file`] does, and adds the time to that of the stages. Returns the text, too.
pub(crate) fn parse_in_time(path: &Path, times: &mut Times) -> Result<(String, Library), Error> {
    let text = times.of(Stage::Read, || read(path))?;
    let library = times.of(Stage::Parse, || parse(path, &text))?;
    Ok((text, library))
}

/// Returns the warnings about a file of valid declarations, with positions; `-` is standard input.
///
/// # Errors
/// The errors of [`parse_file`].
pub fn check_file(path: &Path) -> Result<Vec<Warning>, Error> {
    check_in_time(path, &mut Times::default()).map(|(_, warnings)| warnings)
}

/// Checks a file as [`check_file`] does, and adds the time to that of the stages. Returns the library, too.
pub(crate) fn check_in_time(
    path: &Path,
    times: &mut Times,
) -> Result<(Library, Vec<Warning>), Error> {
    let (text, library) = parse_in_time(path, times)?;
    let warnings = times.of(Stage::Warn, || Warning::locate_all(library.warnings(), &text));
    Ok((library, warnings))
}

fn read(path: &Path) -> Result<String, Error> {
    let too_long = || codegen::Error::excess(Limit::Text);
    file::text(path, Limit::Text.max())?.ok_or_else(|| declaration(Some(path), too_long()))
}

fn parse(path: &Path, text: &str) -> Result<Library, Error> {
    Library::parse(text).map_err(|errors| declaration(Some(path), errors))
}

/// Lowers a library for a file. [`Request::lowering`] makes the options.
///
/// # Errors
/// [`Error::Declaration`] if the library is not valid, or has a function that can exist only in process.
pub fn lower(library: &Library, options: &codegen::Options) -> Result<ir::Module, Error> {
    lower_resolved(&resolve(library)?, options)
}

fn resolve(library: &Library) -> Result<Resolved<'_>, Error> {
    library.resolve().map_err(|error| declaration(None, error))
}

fn lower_resolved(
    resolved: &Resolved<'_>,
    options: &codegen::Options,
) -> Result<ir::Module, Error> {
    resolved.ahead_of_time().map_err(|error| declaration(None, error))?;
    Ok(codegen::lower(resolved, options))
}

fn declaration(path: Option<&Path>, errors: impl Into<Errors>) -> Error {
    Error::Declaration { path: path.map(Path::to_owned), source: errors.into() }
}

impl Request {
    /// Compiles a library.
    ///
    /// An error of the declarations is the first one. [`Library::validate`] returns all faults: a compiler that shows
    /// errors to its users calls it first.
    ///
    /// # Errors
    /// The errors of [`check`](Request::check), [`complete`](Request::complete), [`lower`] and
    /// [`emit_module`](Request::emit_module).
    ///
    /// ```
    /// use tvm_ffi_codegen_driver::{Error, Form, Request, inspect};
    ///
    /// let library = "twice(n: int64) -> int64 = twice_kernel(n);".parse().unwrap();
    /// let object = Request::default().emit(&library)?;
    /// let found = inspect(&object).unwrap();
    /// assert_eq!(found.functions[0].name, "twice");
    /// assert_eq!(found.undefined[0].name, "twice_kernel");
    ///
    /// let shared = Request { form: Form::Shared, ..Request::default() };
    /// let error = shared.emit(&library).unwrap_err();
    /// assert!(matches!(error, Error::MissingSymbols { names, .. } if names == ["twice_kernel"]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn emit(&self, library: &Library) -> Result<Vec<u8>, Error> {
        self.emit_in_time(library, &mut Times::default())
    }

    /// Compiles a library as [`emit`](Request::emit) does, and adds the time to that of the stages.
    pub(crate) fn emit_in_time(
        &self,
        library: &Library,
        times: &mut Times,
    ) -> Result<Vec<u8>, Error> {
        self.check()?;
        // An unknown backend is refused for every form.
        self.backend()?;
        let library = times.of(Stage::Read, || self.complete(library))?;
        let resolve = |times: &mut Times| times.of(Stage::Resolve, || resolve(&library));
        match self.form {
            Form::Resolved => Ok(resolve(times)?.to_string().into_bytes()),
            Form::Header => {
                let header = || library.header().map_err(|error| declaration(None, error));
                Ok(times.of(Stage::Resolve, header)?.into_bytes())
            }
            Form::Html => {
                let resolved = resolve(times)?;
                let module =
                    times.of(Stage::Lower, || lower_resolved(&resolved, &self.lowering()))?;
                let page = || explorer::page(&resolved, &module, &self.target);
                Ok(times.of(Stage::Compile, page)?.into_bytes())
            }
            Form::Ir | Form::Native | Form::Bitcode | Form::Object | Form::Shared => {
                let resolved = resolve(times)?;
                let lower = || lower_resolved(&resolved, &self.lowering());
                self.emit_module_in_time(&times.of(Stage::Lower, lower)?, times)
            }
        }
    }

    /// Compiles a lowered library. Options of lowering, such as `images`, `imports` and `entry`, change nothing.
    ///
    /// # Errors
    /// The errors of [`check`](Request::check), [`backend`](Request::backend), [`load`](Request::load) and
    /// [`link`](Request::link); [`Error::Backend`], [`Error::MissingSymbols`], [`Error::Data`] and
    /// [`Error::LibraryContext`]; [`Error::Usage`] for forms that are made from declarations.
    pub fn emit_module(&self, module: &ir::Module) -> Result<Vec<u8>, Error> {
        self.emit_module_in_time(module, &mut Times::default())
    }

    fn emit_module_in_time(
        &self,
        module: &ir::Module,
        times: &mut Times,
    ) -> Result<Vec<u8>, Error> {
        if !self.is_loaded() {
            let mut loaded = self.clone();
            times.of(Stage::Read, || loaded.load())?;
            return loaded.emit_module_in_time(module, times);
        }
        self.check()?;
        let is_linked = |symbol: &ir::SymbolData| {
            symbol.linkage == Linkage::Import && is_linked_routine(&symbol.name)
        };
        if self.form == Form::Object && module.symbols.iter().any(is_linked) {
            link::check_target(&self.target)?;
        }
        let kernels: Vec<_> =
            self.sources.iter().map(|source| source.input(&self.exports)).collect();
        let form = match self.form {
            Form::Ir => return Ok(module.to_string().into_bytes()),
            Form::Native => backend::Form::Text,
            Form::Bitcode => backend::Form::Bitcode,
            Form::Object | Form::Shared => backend::Form::Object,
            Form::Resolved | Form::Header | Form::Html => {
                let form = self.form.to_possible_value();
                let name = form.as_ref().map_or("", |form| form.get_name());
                let reason = format!("{name} is made from declarations, not from host IR");
                return Err(Error::Usage { option: "form", reason });
            }
        };
        let backend = self.backend()?;
        let into = self.into.as_ref().and_then(File::input);
        let make = || match (into, form) {
            (Some(into), form) => backend.extend(into, module, &kernels, form),
            (None, backend::Form::Text) => backend.text(module, &kernels).map(String::into_bytes),
            (None, backend::Form::Bitcode) => backend.bitcode(module, &kernels),
            (None, backend::Form::Object) => backend.object(module, &kernels),
        };
        let bytes = times.of(Stage::Compile, make).map_err(|source| Error::Backend {
            name: self.backend.name(),
            source: source.into(),
        })?;
        let has_kernels = self.form == Form::Object && !self.kernels.is_empty();
        if self.form == Form::Shared || has_kernels {
            times.of(Stage::Link, || self.linked(module, bytes))
        } else {
            Ok(bytes)
        }
    }

    /// Links the object of the declarations and the kernels. What the module of `into` shows stays visible.
    fn linked(&self, module: &ir::Module, host: Vec<u8>) -> Result<Vec<u8>, Error> {
        let host = Input::new(HOST, host)?.showing(c_functions(module));
        let mut options = self.linking();
        if self.into.is_some() && self.form == Form::Shared {
            options.exports.extend(host.visible());
        }
        let inputs = [std::slice::from_ref(&host), &self.kernels].concat();
        check_context(&inputs)?;
        if self.form == Form::Shared {
            check_kernels(module, &host, self)?;
        }
        Ok(link::link(&inputs, &options)?)
    }

    /// Compiles a library to a file; when anything fails, the file is as it was.
    ///
    /// # Errors
    /// The errors of [`emit`](Request::emit), and [`Error::Write`].
    ///
    /// ```no_run
    /// use std::path::Path;
    /// use tvm_ffi_codegen_driver::link::Input;
    /// use tvm_ffi_codegen_driver::{Error, Form, Request, parse_file};
    ///
    /// let kernels = vec![Input::read(Path::new("kernel.o"))?];
    /// let request = Request { form: Form::Shared, kernels, ..Request::default() };
    /// request.write(&parse_file(Path::new("add_one.ffi"))?, Path::new("add_one.so"))?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn write(&self, library: &Library, output: &Path) -> Result<(), Error> {
        file::write(output, &self.emit(library)?, self.form.mode())
    }

    /// Compiles a lowered library to a file; when anything fails, the file is as it was.
    ///
    /// # Errors
    /// The errors of [`emit_module`](Request::emit_module), and [`Error::Write`].
    pub fn write_module(&self, module: &ir::Module, output: &Path) -> Result<(), Error> {
        file::write(output, &self.emit_module(module)?, self.form.mode())
    }
}

impl Form {
    /// Returns the mode of a file of this form.
    pub(crate) fn mode(self) -> Mode {
        if self == Form::Shared { Mode::Executable } else { Mode::Data }
    }
}

/// Name in messages of the object that the declarations compile to.
const HOST: &str = "the declarations";

/// Returns the names of the exported C functions, which are beside the functions of the FFI.
fn c_functions(module: &ir::Module) -> Vec<String> {
    let functions =
        module.functions.iter().map(|function| &module.symbols[function.symbol.index()]);
    let exported = functions.filter(|symbol| symbol.linkage == Linkage::Export);
    let own = exported.filter(|symbol| !symbol.name.starts_with(PREFIX));
    own.map(|symbol| symbol.name.clone()).collect()
}

/// Checks that every symbol that the declarations call is defined by a kernel, or is a function of the runtime, a
/// linked routine, or a function of the platform. Symbols that the kernels leave undefined are for the loader.
fn check_kernels(module: &ir::Module, host: &Input, request: &Request) -> Result<(), Error> {
    let platform = platform(&request.target);
    let imports = module.symbols.iter().filter(|symbol| symbol.linkage == Linkage::Import);
    let missing = imports.filter(|symbol| {
        let is_ours = symbol.name.starts_with(RUNTIME_PREFIX)
            || platform.contains(&&*symbol.name)
            || is_linked_routine(&symbol.name);
        let defined = || request.kernels.iter().any(|input| input.defines(&symbol.name));
        !is_ours && host.uses(&symbol.name) && !defined()
    });
    let names: Vec<String> = missing.map(|symbol| symbol.name.clone()).collect();
    if names.is_empty() {
        return check_functions(module, host, request);
    }
    let is_of_cxx = |symbol: &String| names.iter().any(|name| is_mangled(symbol, name));
    let mangled = request.kernels.iter().flat_map(Input::defined).find(is_of_cxx);
    Err(Error::MissingSymbols { names, mangled })
}

/// Checks that no symbol that the declarations call is data of a kernel's file.
fn check_functions(module: &ir::Module, host: &Input, request: &Request) -> Result<(), Error> {
    let called = module.symbols.iter().filter(|symbol| {
        let is_function = matches!(symbol.kind, SymbolKind::Function(_));
        symbol.linkage == Linkage::Import && is_function && host.uses(&symbol.name)
    });
    let mut data = called.filter_map(|symbol| {
        let file = request.kernels.iter().find(|input| input.has_data(&symbol.name))?;
        Some(Error::Data { name: symbol.name.clone(), file: file.name().to_owned() })
    });
    data.next().map_or(Ok(()), Err)
}

/// Returns true for the symbol of a function of C++ with this name, by the ABI of Itanium or of Windows.
fn is_mangled(symbol: &str, name: &str) -> bool {
    let starts = ["", "_"].map(|platform| format!("{platform}_Z{}{name}", name.len()));
    let windows = format!("?{name}@@Y");
    starts.iter().chain([&windows]).any(|start| symbol.starts_with(start))
}

/// Returns the functions of a target that allocate tensors, and those that open the driver of a device.
fn platform(target: &Triple) -> Vec<&'static str> {
    let loaders: &[&str] = match Loader::of(target) {
        Loader::Dl => &[loader::DLOPEN, loader::DLSYM, loader::DLERROR],
        Loader::Windows => &[loader::LOAD_LIBRARY, loader::GET_PROC_ADDRESS],
    };
    [&[c_library::MALLOC, c_library::FREE], loaders].concat()
}

/// Checks that `__tvm_ffi__library_ctx` is defined if an input uses it: only an import tree that holds the library
/// defines that variable.
fn check_context(inputs: &[Input]) -> Result<(), Error> {
    if inputs.iter().any(|input| input.defines(LIBRARY_CTX)) {
        return Ok(());
    }
    let user = inputs.iter().find(|input| input.uses(LIBRARY_CTX));
    user.map_or(Ok(()), |input| Err(Error::LibraryContext { file: input.name().to_owned() }))
}
