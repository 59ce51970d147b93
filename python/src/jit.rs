//! `jit`: declarations and kernels become a module of this process. Kernels are addresses, and files where there are any:
//! then it is a shared library that is loaded at once, in which the addresses are functions like those of the files.

use std::ffi::c_void;

use ::jit::{Error, Jit, JitOptions, Returned};
use abi_spec::TypeIndex;
use codegen::Library;
use driver::link::{self, Input};
use driver::{Form, Options};

use crate::declared::{library, lowering};
use crate::fault::Fault;
use crate::ffi::{Outcome, entries, expected, global};
use crate::link::add_kernels;
use crate::settings::Settings;
use crate::{raising, undefined};

const KNOWN: &[&str] =
    &["link", "rpath", "raising", "images", "imports", "prepare", "entry", "metadata", "unchecked"];

/// Compiles a text with kernels by address, and those of option `link`.
///
/// # Safety
/// The kernels keep the contract of [`Jit`]. No other thread looks anything up in a module that came from here.
pub(crate) unsafe fn jit(text: &str, kernels: &Returned, options: &Returned) -> Outcome {
    let settings = Settings::read(options, KNOWN)?;
    let mut library = library(text, &settings)?;
    raising::ask(&mut library, &settings.texts("raising")?);
    let address = |(name, kernel): (String, Returned)| {
        let address = address(&name, &kernel)?;
        Ok((name, address))
    };
    let kernels = entries(kernels)?.into_iter().map(address);
    let kernels = kernels.collect::<Result<Vec<_>, Fault>>()?;
    let mut files = Options::default();
    files.dependencies.rpath = settings.texts("rpath")?;
    add_kernels(&mut files, &settings)?;
    if files.kernels.is_empty() {
        // SAFETY: as required above.
        unsafe { in_process(&library, &kernels, &settings) }
    } else {
        linked(&library, &kernels, files, &settings)
    }
}

/// Compiles without a file.
///
/// # Safety
/// That of [`jit`].
unsafe fn in_process(
    library: &Library,
    kernels: &[(String, usize)],
    settings: &Settings,
) -> Outcome {
    let lowering = lowering(settings, Jit::OPTIONS)?;
    let mut jit = Jit::with_options(JitOptions { lowering, ..JitOptions::default() })?;
    for (name, address) in kernels {
        // SAFETY: as required above.
        jit = unsafe { jit.kernel_at(name, *address as *const u8) };
    }
    // SAFETY: as required above: those of images are kernels too.
    let jit = unsafe { jit.launches() };
    let fault = |error| {
        let Error::Undefined { symbols } = error else { return error.into() };
        undefined::fault(library, &symbols, &names(kernels))
    };
    let compiled = jit.compile(library).map_err(fault)?;
    // SAFETY: as required above.
    Ok(unsafe { compiled.into_module() }?.into())
}

/// Links a shared library and loads it.
fn linked(
    library: &Library,
    kernels: &[(String, usize)],
    mut options: Options,
    settings: &Settings,
) -> Outcome {
    let files = options.kernels.iter().flat_map(Input::defined);
    let given: Vec<String> = names(kernels).into_iter().chain(files).collect();
    if !kernels.is_empty() {
        options.kernels.push(link::addresses(kernels)?);
    }
    let lowering = lowering(settings, options.lowering(Form::Shared))?;
    let module = driver::lower_with(library, &lowering)?;
    let fault = |error| {
        let driver::Error::MissingSymbols { names } = error else { return error.into() };
        undefined::fault(library, &names, &given)
    };
    load(&driver::emit_module(&module, Form::Shared, &options).map_err(fault)?)
}

/// The module of a shared library, which needs its file only while it is loaded, and stays.
fn load(library: &[u8]) -> Outcome {
    let folder = tempfile::Builder::new().prefix("tvm-ffi-codegen-").tempdir();
    let folder = folder.map_err(Fault::file)?;
    let path = folder.path().join("library.so");
    std::fs::write(&path, library).map_err(Fault::file)?;
    let path =
        path.to_str().ok_or_else(|| Fault::value("the folder of temporary files is no UTF-8"))?;
    // The loader of the system says what is wrong, for which the runtime has no kind of its own.
    let fault = |error: ::jit::CallError| {
        let why = error.message.rsplit_once(&format!("{path}: ")).map(|(_, why)| why);
        let why = why.unwrap_or(&error.message);
        Fault::runtime(format!(
            "what is linked cannot be loaded: {why} (link what defines it, too)"
        ))
    };
    let module = global("ffi.ModuleLoadFromFile")?.call((path,)).map_err(fault)?;
    // Objects that it has made may be anywhere.
    global("ffi.ModuleGlobalsAdd")?.call((&module,))?;
    Ok(module)
}

fn names(kernels: &[(String, usize)]) -> Vec<String> {
    kernels.iter().map(|(name, _)| name.clone()).collect()
}

/// Where a kernel is.
fn address(name: &str, kernel: &Returned) -> Result<usize, Fault> {
    let pointer = <*mut c_void>::try_from(kernel.clone()).map(|pointer| pointer as usize);
    let address = pointer.or_else(|_| usize::try_from(kernel.clone()));
    let what = format!("kernels[{name:?}]");
    match address {
        Ok(0) => Err(Fault::value(format!("{what} is NULL"))),
        Ok(address) => Ok(address),
        Err(_) if kernel.ty() == TypeIndex::INT => {
            Err(Fault::value(format!("{what} is negative, which is no address")))
        }
        Err(_) => Err(Fault::ty(expected(&what, "int or ptr", kernel))),
    }
}
