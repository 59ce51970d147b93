//! `jit`: declarations and kernels become a module of this process. If all kernels are addresses, the JIT compiles the
//! module. If some are in files, the module is a shared library, which is loaded at once; functions that jump to the
//! addresses are linked into it. `functions` returns the functions alone, which own their code.

use std::ffi::c_void;
use std::fs::{self, File};
use std::io;
#[cfg(target_os = "linux")]
use std::io::Write as _;
#[cfg(target_os = "linux")]
use std::os::{fd::AsRawFd as _, unix::fs::symlink};
use std::path::Path;

use ::jit::{
    Arg, ArrayObject, Compiled, Context, Error, FfiFunction, IntoArg, Jit, JitOptions, Observers,
    Returned, runtime,
};
use abi_spec::TypeIndex;
use codegen::{Inquiry, Library};
use driver::{Cache, Form, Key, Request};
use link::Input;
#[cfg(target_os = "linux")]
use rustix::fs::{MemfdFlags, memfd_create};

use crate::cache::Loaded;
use crate::fault::Fault;
use crate::ffi::{Outcome, entries, expected, global};
use crate::options::{FUNCTIONS, JIT, Options};
use crate::undefined;

/// Name of the function, which the Python package registers, that raises the exception of a kernel in Python.
const RAISE: &str = "tvm_ffi_codegen.raise_left";

/// Makes a module of a text, kernels given by their addresses, and the files of the option `link`.
///
/// # Safety
/// The kernels keep the contract of [`Jit`]. No other thread looks anything up in a module from this function.
pub(crate) unsafe fn jit(text: &str, kernels: &Returned, options: &Returned) -> Outcome {
    let job = Job::read(text, kernels, options, JIT)?;
    if job.request.kernels.is_empty() {
        // SAFETY: as required above.
        Ok(unsafe { job.in_process(None)?.into_module() }?.into())
    } else {
        job.linked()
    }
}

/// Makes the functions of a text with kernels at addresses: an array of each one's name, function, metadata and
/// documentation. The code, and with it `kept`, is freed with the last function.
///
/// # Safety
/// The kernels keep the contract of [`Jit`].
pub(crate) unsafe fn functions(
    text: &str,
    kernels: &Returned,
    options: &Returned,
    kept: Returned,
) -> Outcome {
    let job = Job::read(text, kernels, options, FUNCTIONS)?;
    let kept = FfiFunction::try_from(kept).ok();
    // SAFETY: as required above.
    let compiled = unsafe { job.in_process(kept)? };
    let resolved = job.library.resolve()?;
    let of_name = |name: &str| {
        let function = compiled.function(name).expect("the code has this name");
        let function = function.into_ffi_function(Context::none())?;
        let all = job.library.functions.iter();
        let declared = all.enumerate().find(|(_, declared)| declared.signature.name == name);
        let metadata = declared.filter(|_| job.request.lowering().metadata);
        let metadata = metadata.map(|(index, _)| resolved.metadata(index));
        let docs = declared.map(|(_, declared)| declared.documentation());
        let docs = docs.as_deref().filter(|docs| !docs.is_empty());
        let parts = ArrayObject::new((name, &function, metadata.as_deref(), docs), runtime())?;
        Ok::<_, Fault>(Returned::from(parts.into_object()))
    };
    let made = compiled.names().map(of_name).collect::<Result<Vec<_>, _>>()?;
    let made: Vec<Arg<'_>> = made.iter().map(IntoArg::hold).collect();
    Ok(ArrayObject::new(made, runtime())?.into_object().into())
}

/// Declarations with the addresses of their kernels, files and options.
struct Job<'t> {
    text: &'t str,
    library: Library,
    kernels: Vec<(String, usize)>,
    request: Request,
    observers: Observers,
    cache: Option<Cache>,
}

impl<'t> Job<'t> {
    fn read(
        text: &'t str,
        kernels: &Returned,
        options: &Returned,
        known: &[&str],
    ) -> Result<Job<'t>, Fault> {
        let Options { mut request, raising, observers, cache } = Options::read(options, known)?;
        request.form = Form::Shared;
        request.in_process = true;
        let cache = cache.map(Cache::new);
        let library = text.parse()?;
        let completed = request.complete(&library).map_err(|error| error.locate(text))?;
        let mut library = completed.into_owned();
        if !raising.is_empty() {
            library.inquiry = Some(Inquiry::new(RAISE, raising));
        }
        let address = |(name, kernel): (String, Returned)| {
            let address = address(&name, &kernel)?;
            Ok((name, address))
        };
        let kernels = entries(kernels)?.into_iter().map(address);
        let kernels = kernels.collect::<Result<Vec<_>, Fault>>()?;
        request.load()?;
        Ok(Job { text, library, kernels, request, observers, cache })
    }

    /// Compiles with the JIT. The code keeps `kept`.
    ///
    /// # Safety
    /// The kernels keep the contract of [`Jit`].
    unsafe fn in_process(&self, kept: Option<FfiFunction>) -> Result<Compiled, Fault> {
        let codegen::Options { metadata, unchecked, .. } = self.request.lowering();
        let lowering = codegen::Options { metadata, unchecked, ..Jit::OPTIONS };
        let options = JitOptions { lowering, observers: self.observers, ..JitOptions::default() };
        let mut jit = Jit::with_options(options)?;
        for (name, address) in &self.kernels {
            // SAFETY: as required above.
            jit = unsafe { jit.kernel_at(name, *address as *const u8) };
        }
        // SAFETY: as required above, which includes the kernels of images and the functions that bodies call.
        let jit = unsafe { jit.launches().calls() }.keep(kept);
        let fault = |error| {
            if let Error::Undefined { symbols } = error {
                return undefined::fault(&self.library, &symbols, &self.names());
            }
            let Error::Declaration(error) = error else { return error.into() };
            error.locate(self.text).into()
        };
        jit.compile(&self.library).map_err(fault)
    }

    /// Links a shared library and loads it, or returns the module of an equal one.
    fn linked(mut self) -> Outcome {
        let files = self.request.kernels.iter().flat_map(Input::defined);
        let given: Vec<String> = self.names().into_iter().chain(files).collect();
        if !self.kernels.is_empty() {
            self.request.kernels.push(link::addresses(&self.kernels)?);
        }
        let fault = |error| {
            let driver::Error::MissingSymbols { names, .. } = error else {
                return error.locate(self.text).into();
            };
            undefined::fault(&self.library, &names, &given)
        };
        let key = Key::of(&self.request, &self.library);
        let loaded = LOADED.get(&key);
        // No later process has functions at these addresses.
        let cache = self.cache.as_ref().filter(|_| self.kernels.is_empty());
        if let Some(Shared(loaded)) = &loaded
            && cache.is_none_or(|cache| cache.has(&key))
        {
            return Ok(loaded.clone());
        }
        let bytes = match cache.and_then(|cache| cache.read(&key)) {
            Some(bytes) => bytes,
            None => {
                let made = self.request.emit(&self.library).map_err(fault)?;
                cache.map_or(Ok(()), |cache| cache.write(&key, &made))?;
                made
            }
        };
        if let Some(Shared(loaded)) = loaded {
            return Ok(loaded);
        }
        let module = load(&bytes)?;
        LOADED.keep(key, &bytes, &Shared(module.clone()));
        Ok(module)
    }

    /// Names of the kernels at addresses.
    fn names(&self) -> Vec<String> {
        self.kernels.iter().map(|(name, _)| name.clone()).collect()
    }
}

/// Modules of libraries that are loaded once.
static LOADED: Loaded<Shared> = Loaded::new();

/// A module, which every thread may use.
#[derive(Clone)]
struct Shared(Returned);

// SAFETY: references to objects of the runtime are counted atomically, and modules of shared libraries have locks.
unsafe impl Send for Shared {}

/// Loads a shared library, whose file is removed afterwards, for the rest of the process.
fn load(library: &[u8]) -> Outcome {
    // The loader knows libraries by their paths, so each has a folder of its own.
    let folder = tempfile::Builder::new().prefix("tvm-ffi-codegen-").tempdir();
    let folder = folder.map_err(Fault::file)?;
    let path = folder.path().join("library.so");
    let _memory = write(&path, library).map_err(Fault::file)?;
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

/// Writes a file that can be executed: a link to one in memory, since the folder of temporary files may be mounted
/// without that right. Returns what keeps it.
#[cfg(target_os = "linux")]
fn write(path: &Path, contents: &[u8]) -> io::Result<Option<File>> {
    let Ok(memory) = memfd_create("tvm-ffi-codegen", MemfdFlags::CLOEXEC) else {
        // The system forbids such files.
        return fs::write(path, contents).map(|()| None);
    };
    let mut memory = File::from(memory);
    memory.write_all(contents)?;
    symlink(format!("/proc/self/fd/{}", memory.as_raw_fd()), path)?;
    Ok(Some(memory))
}

/// Writes a file that can be executed.
#[cfg(not(target_os = "linux"))]
fn write(path: &Path, contents: &[u8]) -> io::Result<Option<File>> {
    fs::write(path, contents).map(|()| None)
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
