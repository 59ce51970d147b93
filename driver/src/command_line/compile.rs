//! The command `emit`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::file::{self, Mode};
use crate::imports::{read_modules, read_tree};
use crate::link::{self, Dependencies, Input, Linker, library};
use crate::{Error, Form, Options, backend, lower_with, parse_file, write_module};
use abi_spec::library_bin::ImportTree;
use clap::CommandFactory;
use clap::error::ErrorKind;
use codegen::{Library, Prepare, Unchecked};

use super::arguments::{Emission, Emit, Group, LinkerName, Linking};
use super::probe::probe;
use super::{Cli, Stop, target};

/// Compiles declarations.
pub(super) fn run(arguments: &Emit, program: &[OsString]) -> Result<(), Stop> {
    match arguments.emit {
        Emission::Form(form) => emit_form(arguments, form, program),
        Emission::Header => emit_header(arguments),
    }
}

/// Writes the header. What else is asked for has no part in it.
fn emit_header(arguments: &Emit) -> Result<(), Stop> {
    refuse_overwriting(arguments, &[])?;
    let library = declared(arguments)?;
    let resolved = library.resolve().map_err(|source| {
        let path = Some(arguments.file.clone());
        Error::Declaration { path, source: Box::new(source) }
    })?;
    Ok(file::write(&arguments.output, resolved.header().as_bytes(), Mode::Data)?)
}

fn emit_form(arguments: &Emit, form: Form, program: &[OsString]) -> Result<(), Stop> {
    check_usage(arguments, form).map_err(conflict)?;
    let mut options = options(arguments)?;
    let lowering = codegen::Options {
        metadata: !arguments.no_metadata,
        unchecked: unchecked(&arguments.unchecked),
        ..options.lowering(form)
    };
    let library = declared(arguments)?;
    let module = lower_with(&library, &lowering);
    let module = module.map_err(|error| in_file(error, &arguments.file))?;
    add_kernels(&mut options, &arguments.linking, program)?;
    if !options.kernels.is_empty() && !links(form) {
        return Err(conflict("objects for --link need --emit object or --emit shared"));
    }
    refuse_overwriting(arguments, &options.kernels)?;
    Ok(write_module(&module, form, &arguments.output, &options)?)
}

/// Arguments that mean nothing together.
fn conflict(message: &str) -> Stop {
    Cli::command().error(ErrorKind::ArgumentConflict, message).into()
}

/// All but what is linked.
fn options(arguments: &Emit) -> Result<Options, Error> {
    let linking = &arguments.linking;
    Ok(Options {
        backend: arguments.backend.clone(),
        target: target(arguments.target.as_deref())?,
        cpu: arguments.cpu.clone(),
        optimization: arguments.optimization,
        routines: arguments.routines,
        linker: linking.linker.map_or_else(Linker::default, linker),
        dependencies: Dependencies {
            runtime: !linking.no_runtime_dependency,
            rpath: linking.rpath.clone(),
        },
        ..Options::default()
    })
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
fn add_kernels(
    options: &mut Options,
    linking: &Linking,
    program: &[OsString],
) -> Result<(), Error> {
    // What is wrong with the backend is said before what is wrong with a file.
    backend(options)?;
    for path in &linking.link {
        options.add_kernel(path.display().to_string(), link::read(path)?)?;
    }
    options.sources.iter().try_for_each(|kernel| probe(program, options, kernel))?;
    for name in &linking.library {
        options.kernels.extend(library(name, &linking.folder, &options.target)?);
    }
    Ok(())
}

/// The library with what the command line says of it.
fn declared(arguments: &Emit) -> Result<Library, Stop> {
    let imports = imports(arguments)?;
    let mut library = parse_file(&arguments.file)?;
    library.imports = imports;
    library.entry.clone_from(&arguments.entry);
    library.system_lib.clone_from(&arguments.system_lib);
    library.prepare = arguments.prepare.as_deref().map(Prepare::new);
    for (name, path) in &arguments.image {
        let Some(image) = library.images.iter_mut().find(|image| image.name == *name) else {
            let message = format!("{} has no `image {name};`", arguments.file.display());
            return Err(Cli::command().error(ErrorKind::ValueValidation, message).into());
        };
        image.bytes = Some(file::read(path)?);
    }
    Ok(library)
}

fn unchecked(groups: &[Group]) -> Unchecked {
    Unchecked {
        shape: groups.contains(&Group::Shape),
        strides: groups.contains(&Group::Strides),
        device: groups.contains(&Group::Device),
        alignment: groups.contains(&Group::Alignment),
    }
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

fn linker(name: LinkerName) -> Linker {
    match name {
        LinkerName::Wild => Linker::Wild,
        LinkerName::Cc => Linker::Cc(env::var_os("CC").unwrap_or_else(|| "cc".into()).into()),
    }
}
