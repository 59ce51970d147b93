//! `jit`: declarations and kernels become a module of this process. If all kernels are addresses, the JIT compiles the
//! module. If some are in files, the module is a shared library, which is loaded at once; functions that jump to the
//! addresses are linked into it.

use std::ffi::c_void;

use ::jit::{Error, Jit, JitOptions, Returned};
use abi_spec::TypeIndex;
use codegen::Library;
use driver::link::{self, Input};
use driver::{Form, Request};

use crate::fault::Fault;
use crate::ffi::{Outcome, entries, expected, global};
use crate::options::{JIT, Options};
use crate::{raising, undefined};

/// Makes a module of a text, kernels given by their addresses, and the files of the option `link`.
///
/// # Safety
/// The kernels keep the contract of [`Jit`]. No other thread looks anything up in a module from this function.
pub(crate) unsafe fn jit(text: &str, kernels: &Returned, options: &Returned) -> Outcome {
    let Options { mut request, raising } = Options::read(options, JIT)?;
    request.form = Form::Shared;
    let library = text.parse()?;
    let mut library = request.complete(&library)?.into_owned();
    raising::ask(&mut library, &raising);
    let address = |(name, kernel): (String, Returned)| {
        let address = address(&name, &kernel)?;
        Ok((name, address))
    };
    let kernels = entries(kernels)?.into_iter().map(address);
    let kernels = kernels.collect::<Result<Vec<_>, Fault>>()?;
    request.load()?;
    if request.kernels.is_empty() {
        // SAFETY: as required above.
        unsafe { in_process(&library, &kernels, &request) }
    } else {
        linked(&library, &kernels, request)
    }
}

/// Compiles with the JIT.
///
/// # Safety
/// The conditions of [`jit`].
unsafe fn in_process(library: &Library, kernels: &[(String, usize)], request: &Request) -> Outcome {
    let codegen::Options { metadata, unchecked, .. } = request.lowering();
    let lowering = codegen::Options { metadata, unchecked, ..Jit::OPTIONS };
    let mut jit = Jit::with_options(JitOptions { lowering, ..JitOptions::default() })?;
    for (name, address) in kernels {
        // SAFETY: as required above.
        jit = unsafe { jit.kernel_at(name, *address as *const u8) };
    }
    // SAFETY: as required above, which includes the kernels of images and the functions that bodies call.
    let jit = unsafe { jit.launches().calls() };
    let fault = |error| {
        let Error::Undefined { symbols } = error else { return error.into() };
        undefined::fault(library, &symbols, &names(kernels))
    };
    let compiled = jit.compile(library).map_err(fault)?;
    // SAFETY: as required above.
    Ok(unsafe { compiled.into_module() }?.into())
}

/// Links a shared library and loads it.
fn linked(library: &Library, kernels: &[(String, usize)], mut request: Request) -> Outcome {
    let files = request.kernels.iter().flat_map(Input::defined);
    let given: Vec<String> = names(kernels).into_iter().chain(files).collect();
    if !kernels.is_empty() {
        request.kernels.push(link::addresses(kernels)?);
    }
    let module = driver::lower(library, &request.lowering())?;
    let fault = |error| {
        let driver::Error::MissingSymbols { names } = error else { return error.into() };
        undefined::fault(library, &names, &given)
    };
    load(&request.emit_module(&module).map_err(fault)?)
}

/// Loads a shared library, whose file is removed afterwards, for the rest of the process.
fn load(library: &[u8]) -> Outcome {
    let folder = tempfile::Builder::new().prefix("tvm-ffi-codegen-").tempdir();
    let folder = folder.map_err(Fault::file)?;
    let path = folder.path().join("library.so");
    std::fs::write(&path, library).map_err(Fault::file)?;
    let path =
        path.to_str().ok_or_else(|| Fault::value("the folder of temporary files is no UTF-8"))?;
    // The runtime passes on the text of the system's loader without a kind of its own.
    let fault = |error: ::jit::CallError| {
        let why = error.message.rsplit_once(&format!("{path}: ")).map(|(_, why)| why);
        let why = why.unwrap_or(&error.message);
        Fault::runtime(format!(
            "what is linked cannot be loaded: {why} (link what defines it, too)"
        ))
    };
    let module = global("ffi.ModuleLoadFromFile")?.call((path,)).map_err(fault)?;
    // Objects that the module makes may outlive every reference to it.
    global("ffi.ModuleGlobalsAdd")?.call((&module,))?;
    Ok(module)
}

fn names(kernels: &[(String, usize)]) -> Vec<String> {
    kernels.iter().map(|(name, _)| name.clone()).collect()
}

/// Returns the address of a kernel.
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
