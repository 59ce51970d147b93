//! The command line. Exit codes: 0, 1 if the input is at fault, 2 for wrong usage.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use target_lexicon::Triple;
use tvm_ffi_codegen_driver::file::{self, Mode};
use tvm_ffi_codegen_driver::link::{Input, Linker};
use tvm_ffi_codegen_driver::{
    BACKENDS, Error, Form, Kernel, Optimization, Options, inspect, lower, parse_file, write_module,
};

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
    Emit(Emit),
    /// Shows what a library or object exports and needs.
    Inspect {
        /// A shared library or an object; `-` for standard input.
        file: PathBuf,
    },
    /// Checks declarations.
    Check {
        /// Declarations; `-` for standard input.
        file: PathBuf,
    },
}

#[derive(Args)]
struct Emit {
    /// Declarations; `-` for standard input.
    file: PathBuf,
    /// The code generator.
    #[arg(long, value_name = "NAME", value_parser = BACKENDS, default_value = "cranelift")]
    backend: String,
    /// What to emit.
    #[arg(long, value_name = "FORM", default_value = "object")]
    emit: EmitForm,
    /// How much llvm and mlir optimise.
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2")]
    optimization: Level,
    /// An object, or an archive of objects, that defines kernels; with llvm also .ll and .bc, with mlir
    /// .mlir, which may be inlined. May be given several times.
    #[arg(long, value_name = "KERNEL")]
    link: Vec<PathBuf>,
    /// Who links a shared library; `wild` is part of this program, `cc` is $CC or else `cc` [default:
    /// wild].
    #[arg(long)]
    linker: Option<LinkerName>,
    /// The machine that the code is for, such as aarch64-unknown-linux-gnu [default: this one].
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Where to write; `-` for standard output.
    #[arg(short, value_name = "OUT")]
    output: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum EmitForm {
    /// Host IR as text
    Ir,
    /// The backend's own text form
    Native,
    /// LLVM bitcode, by llvm and mlir
    Bitcode,
    /// A relocatable object
    Object,
    /// A shared library
    Shared,
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    #[value(name = "0")]
    O0,
    #[value(name = "1")]
    O1,
    #[value(name = "2")]
    O2,
    #[value(name = "3")]
    O3,
}

#[derive(Clone, Copy, ValueEnum)]
enum LinkerName {
    Wild,
    Cc,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Emit(arguments) => emit(&arguments),
        Command::Inspect { file } => report(&file),
        Command::Check { file } => parse_file(&file).map(drop),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn emit(arguments: &Emit) -> Result<(), Error> {
    let form = match arguments.emit {
        EmitForm::Ir => Form::Ir,
        EmitForm::Native => Form::Native,
        EmitForm::Bitcode => Form::Bitcode,
        EmitForm::Object => Form::Object,
        EmitForm::Shared => Form::Shared,
    };
    let (sources, objects): (Vec<_>, Vec<_>) = arguments.link.iter().partition(|path| is_ir(path));
    let links = !objects.is_empty() || arguments.linker.is_some();
    if links && form != Form::Shared {
        let message = "objects for --link, and --linker, need --emit shared";
        Cli::command().error(ErrorKind::ArgumentConflict, message).exit();
    }
    let library = parse_file(&arguments.file)?;
    let module = lower(&library).map_err(|error| in_file(error, &arguments.file))?;
    let source =
        |path: &PathBuf| Ok(Kernel { name: path.display().to_string(), bytes: file::read(path)? });
    let options = Options {
        backend: arguments.backend.clone(),
        target: target(arguments.target.as_deref())?,
        optimization: optimization(arguments.optimization),
        sources: sources.into_iter().map(source).collect::<Result<_, Error>>()?,
        kernels: objects.into_iter().map(|path| Input::read(path)).collect::<Result<_, _>>()?,
        linker: arguments.linker.map_or_else(Linker::default, linker),
    };
    write_module(&module, form, &arguments.output, &options)
}

/// Kernels that become part of the module, by the ending of the file's name.
fn is_ir(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "ll" || end == "bc" || end == "mlir")
}

fn optimization(level: Level) -> Optimization {
    match level {
        Level::O0 => Optimization::O0,
        Level::O1 => Optimization::O1,
        Level::O2 => Optimization::O2,
        Level::O3 => Optimization::O3,
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

fn report(path: &Path) -> Result<(), Error> {
    let bytes = file::read(path)?;
    let fault = |fault| Error::Object { file: path.display().to_string(), fault };
    let found = inspect(&bytes).map_err(fault)?;
    file::write(Path::new("-"), found.to_string().as_bytes(), Mode::Data)
}
