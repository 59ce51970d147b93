//! The command line. Exit codes: 0, 1 if the input is at fault, 2 for wrong usage.

#![forbid(unsafe_code)]

mod import_triton;
mod report;
mod write_routines;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use abi_spec::library_bin::ImportTree;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use codegen::{Library, Loader, Prepare, Routines, Unchecked, ir};
use import_triton::ImportTriton;
use report::Report;
use target_lexicon::{OperatingSystem, Triple};
use tvm_ffi_codegen_driver::file::{self, Mode};
use tvm_ffi_codegen_driver::imports::{read_modules, read_tree};
use tvm_ffi_codegen_driver::link::{self, Dependencies, Input, Linker, library};
use tvm_ffi_codegen_driver::{
    BACKENDS, Error, Form, Optimize, Options, backend, check_file, lower_with, parse_file,
    write_module,
};
use write_routines::WriteRoutines;

/// Emits TVM FFI host functions from their declarations.
#[derive(Parser)]
#[command(name = "tvm-ffi-codegen", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compiles declarations.
    Emit(Box<Emit>),
    /// Shows what a library or object exports and needs.
    Inspect(Report),
    /// Checks declarations.
    Check {
        /// Declarations; `-` for standard input.
        file: PathBuf,
    },
    /// Declares a kernel of Triton, launch and all.
    ImportTriton(ImportTriton),
    /// Writes the routines that objects with --linked-routines want, as an archive for another linker.
    Routines(WriteRoutines),
}

#[derive(Args)]
struct Emit {
    /// Declarations; `-` for standard input.
    file: PathBuf,
    /// The code generator.
    #[arg(long, value_name = "NAME", value_parser = BACKENDS, default_value = "cranelift")]
    backend: String,
    /// What to emit.
    #[arg(long, value_name = "FORM", default_value = "object", value_parser = emission())]
    emit: Emission,
    /// How much llvm and mlir optimise.
    #[arg(short = 'O', value_name = "LEVEL", default_value_t, value_parser = level())]
    optimization: Optimize,
    #[command(flatten)]
    linking: Linking,
    /// A module that the library imports: what FILE holds, for the loader of this kind. May be given
    /// several times.
    #[arg(long, value_name = "KIND=FILE", value_parser = import, conflicts_with = "import_tree")]
    import: Vec<(String, PathBuf)>,
    /// Everything that the library imports, as a TOML file describes it.
    #[arg(long, value_name = "TREE.toml")]
    import_tree: Option<PathBuf>,
    /// The machine that the code is for, such as aarch64-unknown-linux-gnu [default: this one].
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The processor that the code is for, as LLVM names it, such as x86-64-v3; with llvm and mlir
    /// [default: what every machine of the target has].
    #[arg(long, value_name = "NAME")]
    cpu: Option<String>,
    /// The function that is exported as `main` too: what calling the loaded module calls.
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// GPU code that the declarations launch from: the bytes of `image NAME;` are those of FILE, a cubin, a fatbin or
    /// PTX. May be given several times.
    #[arg(long, value_name = "NAME=FILE", value_parser = image)]
    image: Vec<(String, PathBuf)>,
    /// Export one more function, of this name, which loads all GPU code on a device: `(device_id: int64) -> None`.
    #[arg(long, value_name = "NAME")]
    prepare: Option<String>,
    /// Be linked into a program instead of loaded: registered when it starts, and found as the system
    /// library of this prefix, which may be empty (`--system-lib ''`).
    #[arg(long, value_name = "PREFIX")]
    system_lib: Option<String>,
    /// Leave out the metadata and documentation of the functions.
    #[arg(long)]
    no_metadata: bool,
    /// Leave routines to the linker, which has one copy for all objects: `--emit shared` adds them to what it links,
    /// `tvm-ffi-codegen routines` writes them for other linkers.
    #[arg(long)]
    linked_routines: bool,
    /// Checks that are left out, for callers that have made them already: names with commas in between.
    /// What makes the wrapper's own loads legal is checked always.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    unchecked: Vec<Group>,
    /// Where to write; `-` for standard output.
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
}

/// What is linked, and how.
#[derive(Args)]
struct Linking {
    /// What defines kernels: an object or an archive of objects; a shared library, which is then needed when
    /// ours is loaded; with llvm LLVM IR as text or bitcode, with mlir MLIR, which may be inlined. May be given
    /// several times.
    #[arg(long, value_name = "KERNEL")]
    link: Vec<PathBuf>,
    /// A library by its name, libNAME.so or else libNAME.a, or by that of its file, `:FILE`. May be given several
    /// times.
    #[arg(short = 'l', value_name = "NAME")]
    library: Vec<String>,
    /// A folder in which libraries are looked for, before those of the system. May be given several times.
    #[arg(short = 'L', value_name = "DIR")]
    folder: Vec<PathBuf>,
    /// A folder in which the loader looks for what the shared library needs; `$ORIGIN` is that of the library. May
    /// be given several times.
    #[arg(long, value_name = "DIR")]
    rpath: Vec<String>,
    /// Do not say that the shared library needs libtvm_ffi.so: for processes that hold it in another file.
    #[arg(long)]
    no_runtime_dependency: bool,
    /// Who links; `wild` is part of this program, `cc` is $CC or else `cc` [default: wild].
    #[arg(long)]
    linker: Option<LinkerName>,
}

/// A group of checks.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Group {
    /// Extents against what is known of them
    Shape,
    /// Strides
    Strides,
    /// Devices
    Device,
    /// Alignment of the first element
    Alignment,
}

/// The levels, which help and errors list.
fn level() -> impl TypedValueParser<Value = Optimize> {
    let levels = Optimize::ALL.map(|level| level.name());
    PossibleValuesParser::new(levels).try_map(|level| level.parse::<Optimize>())
}

/// What to emit: a form of the library, or the C header of its functions.
#[derive(Clone, Copy)]
enum Emission {
    Form(Form),
    Header,
}

fn emission() -> impl TypedValueParser<Value = Emission> {
    let header = PossibleValue::new("header").help("A C header of the functions after `extern`");
    let forms = Form::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    PossibleValuesParser::new(forms.chain([header])).map(|name| {
        // What is no form is the header.
        Form::from_str(&name, false).map_or(Emission::Header, Emission::Form)
    })
}

#[derive(Clone, Copy, ValueEnum)]
enum LinkerName {
    Wild,
    Cc,
}

fn main() -> ExitCode {
    // A file that grows too large is then an error like any other, and leaves nothing behind.
    #[cfg(unix)]
    let _ = signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)),
    );
    let result = match Cli::parse().command {
        Command::Emit(arguments) => emit(&arguments),
        Command::Inspect(report) => report.run(),
        Command::Check { file } => check(&file),
        Command::ImportTriton(arguments) => arguments.run(),
        Command::Routines(arguments) => arguments.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Says what is wrong, or what may not be what was meant.
fn check(file: &Path) -> Result<(), Error> {
    for warning in check_file(file)? {
        eprintln!("warning: {}:{warning}", file.display());
    }
    Ok(())
}

fn emit(arguments: &Emit) -> Result<(), Error> {
    match arguments.emit {
        Emission::Form(form) => emit_form(arguments, form),
        Emission::Header => emit_header(arguments),
    }
}

/// Writes the header. What else is asked for has no part in it.
fn emit_header(arguments: &Emit) -> Result<(), Error> {
    refuse_overwriting(arguments, &[])?;
    let library = declared(arguments).map_err(|error| in_file(error, &arguments.file))?;
    let resolved = library.resolve().map_err(|source| {
        let path = Some(arguments.file.clone());
        Error::Declaration { path, source: Box::new(source) }
    })?;
    file::write(&arguments.output, resolved.header().as_bytes(), Mode::Data)
}

fn emit_form(arguments: &Emit, form: Form) -> Result<(), Error> {
    let linking = &arguments.linking;
    if let Err(message) = check_usage(arguments, form) {
        Cli::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
    let module = lowered(arguments, form).map_err(|error| in_file(error, &arguments.file))?;
    let mut options = Options {
        backend: arguments.backend.clone(),
        target: target(arguments.target.as_deref())?,
        cpu: arguments.cpu.clone(),
        optimization: arguments.optimization,
        linker: linking.linker.map_or_else(Linker::default, linker),
        dependencies: Dependencies {
            runtime: !linking.no_runtime_dependency,
            rpath: linking.rpath.clone(),
        },
        ..Options::default()
    };
    add_kernels(&mut options, linking)?;
    if !options.kernels.is_empty() && !links(form) {
        let message = "objects for --link need --emit object or --emit shared";
        Cli::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
    refuse_overwriting(arguments, &options.kernels)?;
    write_module(&module, form, &arguments.output, &options)
}

/// What is read must not be written.
fn refuse_overwriting(arguments: &Emit, kernels: &[Input]) -> Result<(), Error> {
    let imports = arguments.import.iter().map(|(_, path)| path.as_path());
    let inputs = [&*arguments.file].into_iter().chain(imports);
    let inputs = inputs.chain(arguments.image.iter().map(|(_, path)| path.as_path()));
    let inputs = inputs.chain(arguments.import_tree.as_deref());
    let inputs = inputs.chain(arguments.linking.link.iter().map(PathBuf::as_path));
    let mut inputs = inputs.chain(kernels.iter().map(|input| Path::new(input.name())));
    if inputs.any(|input| file::is_same(&arguments.output, input)) {
        let source = io::Error::other("it is one of the inputs");
        return Err(Error::Write { path: arguments.output.clone(), source });
    }
    Ok(())
}

/// Says which arguments mean nothing together.
fn check_usage(arguments: &Emit, form: Form) -> Result<(), &'static str> {
    let linking = &arguments.linking;
    let needs = !linking.rpath.is_empty() || linking.no_runtime_dependency;
    if needs && form != Form::Shared {
        return Err("--rpath and --no-runtime-dependency need --emit shared");
    }
    let links_any = !linking.library.is_empty() || linking.linker.is_some();
    if links_any && !links(form) {
        return Err("-l and --linker need --emit object or --emit shared");
    }
    if arguments.system_lib.is_some() && form == Form::Shared {
        return Err("--system-lib is for programs, and --emit shared is loaded by them");
    }
    Ok(())
}

/// Whether a linker has a part in it.
fn links(form: Form) -> bool {
    match form {
        Form::Ir | Form::Native | Form::Bitcode => false,
        Form::Object | Form::Shared => true,
    }
}

/// Adds what is linked.
fn add_kernels(options: &mut Options, linking: &Linking) -> Result<(), Error> {
    // What is wrong with the backend is said before what is wrong with a file.
    backend(options)?;
    for path in &linking.link {
        options.add_kernel(path.display().to_string(), link::read(path)?)?;
    }
    for name in &linking.library {
        options.kernels.extend(library(name, &linking.folder, &options.target)?);
    }
    Ok(())
}

/// The library with what the command line says of it.
fn declared(arguments: &Emit) -> Result<Library, Error> {
    let imports = imports(arguments)?;
    let mut library = parse_file(&arguments.file)?;
    library.imports = imports;
    library.entry.clone_from(&arguments.entry);
    library.system_lib.clone_from(&arguments.system_lib);
    library.prepare = arguments.prepare.as_deref().map(Prepare::new);
    for (name, path) in &arguments.image {
        let Some(image) = library.images.iter_mut().find(|image| image.name == *name) else {
            let message = format!("{} has no `image {name};`", arguments.file.display());
            Cli::command().error(ErrorKind::ValueValidation, message).exit();
        };
        image.bytes = Some(file::read(path)?);
    }
    Ok(library)
}

/// The module, which has its own copy of what the library imports.
fn lowered(arguments: &Emit, form: Form) -> Result<ir::Module, Error> {
    let target = target(arguments.target.as_deref())?;
    let windows = target.operating_system == OperatingSystem::Windows;
    let options = codegen::Options {
        metadata: !arguments.no_metadata,
        unchecked: unchecked(&arguments.unchecked),
        loader: if windows { Loader::Windows } else { Loader::Dl },
        routines: if arguments.linked_routines { Routines::Linked } else { form.routines() },
    };
    lower_with(&declared(arguments)?, &options)
}

fn unchecked(groups: &[Group]) -> Unchecked {
    Unchecked {
        shape: groups.contains(&Group::Shape),
        strides: groups.contains(&Group::Strides),
        device: groups.contains(&Group::Device),
        alignment: groups.contains(&Group::Alignment),
    }
}

/// The kind and the file of a module.
fn import(text: &str) -> Result<(String, PathBuf), &'static str> {
    let (kind, file) = text.split_once('=').ok_or("expected KIND=FILE")?;
    Ok((kind.to_owned(), file.into()))
}

/// The name and the file of an image.
fn image(text: &str) -> Result<(String, PathBuf), &'static str> {
    let (name, file) = text.split_once('=').ok_or("expected NAME=FILE")?;
    Ok((name.to_owned(), file.into()))
}

fn imports(arguments: &Emit) -> Result<Option<ImportTree<'static>>, Error> {
    match &arguments.import_tree {
        Some(path) => read_tree(path).map(Some),
        None if arguments.import.is_empty() => Ok(None),
        None => read_modules(&arguments.import).map(Some),
    }
}

/// Names the file in an error about its declarations.
fn in_file(error: Error, file: &Path) -> Error {
    if let Error::Declaration { path: None, source } = error {
        Error::Declaration { path: Some(file.to_owned()), source }
    } else {
        error
    }
}

fn target(name: Option<&str>) -> Result<Triple, Error> {
    let Some(name) = name else { return Ok(Triple::host()) };
    name.parse().map_err(|source| Error::Target { name: name.to_owned(), source })
}

fn linker(name: LinkerName) -> Linker {
    match name {
        LinkerName::Wild => Linker::Wild,
        LinkerName::Cc => Linker::Cc(env::var_os("CC").unwrap_or_else(|| "cc".into()).into()),
    }
}
