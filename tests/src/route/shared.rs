//! The route through libtvm_ffi: a shared library, loaded as hosts do.

use std::ffi::CString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use abi_spec::TypeIndex;
use codegen::{Library, Options, Routines, ir};
use driver::{Form, Headers, Optimize, Request};
use jit::abi::{Any, Object};

use super::{
    ALLOCATOR, Around, Call, RECORDED, Reason, Route, perform, plainly, request, set_allocator,
    with_recorder,
};
use crate::ffi::{self, Ffi};
use crate::hosts::host;
use crate::kernels::{cc, kernels};
use crate::outcome::Outcome;

/// The warnings of C that includes the runtime's headers. The table compares numbers with themselves, and has values
/// that nobody reads.
const WARNINGS: [&str; 5] =
    ["-Wall", "-Wextra", "-Werror", "-Wno-tautological-compare", "-Wno-unused-but-set-variable"];

/// Source of the prototypes that stand before C with the runtime's headers.
#[derive(Clone, Copy, Debug)]
pub enum Before {
    /// The kernels themselves, in the same file.
    Kernels,
    /// The library's header.
    Header,
}

/// A shared library that libtvm_ffi has loaded.
#[derive(Debug)]
pub struct Shared {
    backend: &'static str,
    ffi: Ffi,
    /// Code around each call.
    pub around: Around,
    /// True if the kernels' allocator is set for the calls.
    pub allocator: bool,
    module: Any,
}

impl Shared {
    /// Compiles, links and loads a library.
    pub fn new(library: &Library, backend: &'static str) -> Shared {
        Shared::with_options(library, backend, &lowering(library, backend))
    }

    /// Compiles at a level of optimisation, links and loads a library.
    pub fn optimized(library: &Library, backend: &'static str, level: Optimize) -> Shared {
        let options = lowering(library, backend);
        Shared::load(backend, |path| build_at(library, backend, &options, level, path))
    }

    /// Lowers with options, compiles, links and loads a library.
    pub fn with_options(library: &Library, backend: &'static str, options: &Options) -> Shared {
        Shared::load(backend, |path| build_with_options(library, backend, options, path))
    }

    /// Compiles the library's C, with the runtime's headers and behind the prototypes of the kernels, and loads it.
    /// `compiler` is a program and its options; each warning is an error.
    pub fn including(library: &Library, compiler: &[&str], before: Before) -> Shared {
        Shared::load("c", |path| {
            let library = with_recorder(library);
            let emit = |request: Request| {
                let text = request.emit(&library).unwrap_or_else(|error| panic!("{error}"));
                String::from_utf8(text).expect("C is text")
            };
            let before = match before {
                Before::Kernels => "#include <kernels.c>\n".to_owned(),
                Before::Header => {
                    // The header declares only what nobody has looked into before.
                    format!("#include <tvm/ffi/c_api.h>\n{}", emit(Request::new(Form::Header)))
                }
            };
            let text = emit(Request { headers: Headers::Include, ..request("c", Form::Native) });
            let folder = tempfile::tempdir().expect("a folder can be made");
            let [source, object] = ["host.c", "host.o"].map(|name| folder.path().join(name));
            fs::write(&source, format!("{before}\n{text}")).expect("the folder is there");
            let mut command = Command::new(compiler[0]);
            command.args(&compiler[1..]).args(WARNINGS);
            command.args(["-ffp-contract=off", "-fPIC", "-isystem"]).arg(host(""));
            command.args(ffi::includes().map(|option| option.replace("-I", "-isystem")));
            cc(command.arg("-c").arg("-o").arg(&object).arg(&source));
            let object = fs::read(&object).expect("the compiler has written it");
            let mut objects = vec![("host.o", object)];
            if !before.contains("kernels.c") {
                objects.push(("kernels.o", kernels().object.clone()));
            }
            let input = |(name, bytes)| {
                driver::link::Input::new(name, bytes).unwrap_or_else(|error| panic!("{error}"))
            };
            let kernels = objects.into_iter().map(input).collect();
            let bytes = Request { kernels, ..Request::new(Form::Shared) }.link();
            fs::write(path, bytes.unwrap_or_else(|error| panic!("{error}"))).expect("it is there");
        })
    }

    fn load(backend: &'static str, write: impl FnOnce(&Path)) -> Shared {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("library.so");
        write(&path);
        let ffi = Ffi::new(ffi::installed());
        let path = text(path.to_str().expect("the path is text"));
        let args = [string(&path), string(c"")];
        let module = ffi.call_global("ffi.Module.load_from_file.so", &args);
        let module = module.expect("the runtime loads modules");
        Shared { backend, ffi, around: plainly, allocator: true, module }
    }

    /// Returns a function object of the module.
    fn function(&self, name: &str) -> *mut Object {
        let name = text(name);
        let args = [self.module, string(&name), Any::int(TypeIndex::BOOL, 0)];
        let function = self.ffi.call_global("ffi.ModuleGetFunction", &args);
        let function = function.expect("the runtime has modules");
        assert_eq!(function.ty(), TypeIndex::FUNCTION, "no function {name:?}");
        function.pointer().cast()
    }
}

/// Writes a shared library that includes the kernels.
pub fn build(library: &Library, backend: &str, path: &Path) {
    build_with_options(library, backend, &lowering(library, backend), path);
}

/// The number of functions from which on a library is large: building it takes several seconds.
const LARGE: usize = 100;

/// Returns the options with which tests lower a library for a backend. Large libraries, such as the table, embed the
/// routines, and so do those of Cranelift and LLVM. For MLIR and C, compiling the routines takes longer than the rest
/// of a test, so that small libraries link them, as shared libraries do by default.
pub fn lowering(library: &Library, backend: &str) -> Options {
    let link = matches!(backend, "mlir" | "c") && library.functions.len() < LARGE;
    let routines = if link { Routines::Linked } else { Routines::Embedded };
    Options { routines, ..Options::default() }
}

fn build_with_options(library: &Library, backend: &str, options: &Options, path: &Path) {
    build_at(library, backend, options, Optimize::default(), path);
}

/// Parts of which a shared library is built: declarations, the backend, options and the level of optimisation.
type Parts = (Library, String, Options, Optimize);

/// The large libraries that this process has built, or is building: several tests call the same.
static BUILT: Mutex<Vec<(Parts, Built)>> = Mutex::new(Vec::new());

/// The bytes of a library, once they are built.
type Built = Arc<OnceLock<Vec<u8>>>;

fn build_at(
    library: &Library,
    backend: &str,
    options: &Options,
    optimization: Optimize,
    path: &Path,
) {
    let build = || {
        let kernels = driver::link::Input::new("kernels.o", kernels().object.clone());
        let kernels = vec![kernels.unwrap_or_else(|error| panic!("{error}"))];
        let how = Request { kernels, optimization, ..request(backend, Form::Shared) };
        build_with(library, options, &how, path);
    };
    if library.functions.len() < LARGE {
        return build();
    }
    let parts = (library.clone(), backend.to_owned(), options.clone(), optimization);
    let built = {
        let mut all = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
        match all.iter().find(|(known, _)| *known == parts) {
            Some((_, built)) => built.clone(),
            None => all.push_mut((parts, Arc::default())).1.clone(),
        }
    };
    let bytes = built.get_or_init(|| {
        build();
        fs::read(path).expect("it was written")
    });
    fs::write(path, bytes).expect("the folder is there");
}

/// Writes a shared library with given kernels, for any target.
pub fn build_with(library: &Library, lowered: &Options, request: &Request, path: &Path) {
    let library = with_recorder(library);
    let module = driver::lower(&library, lowered).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module).unwrap();
    request.write_module(&module, path).unwrap_or_else(|error| panic!("{error}"));
}

fn text(text: &str) -> CString {
    CString::new(text).expect("no NUL in a text")
}

fn string(text: &std::ffi::CStr) -> Any {
    Any::ptr(TypeIndex::RAW_STR, text.as_ptr().cast_mut().cast())
}

impl Route for Shared {
    fn name(&self) -> String {
        format!("shared library, {}", self.backend)
    }

    fn run(&self, calls: &[Call<'_>]) -> Vec<Result<Outcome, Reason>> {
        self.ffi.set_streams();
        let (recorder, allocator) = (self.function(RECORDED), self.function(ALLOCATOR));
        if self.allocator {
            // SAFETY: it takes no arguments.
            set_allocator(&self.ffi, &|args, n, result| unsafe {
                self.ffi.call(allocator, args, n, result)
            });
        }
        let call = |call: &Call<'_>| {
            let function = self.function(call.function);
            let outcome = perform(
                &self.ffi,
                call,
                self.around,
                // SAFETY: the function is live and the arguments are valid.
                &|args, n, result| unsafe { self.ffi.call(function, args, n, result) },
                // SAFETY: as above.
                &|args, n, result| unsafe { self.ffi.call(recorder, args, n, result) },
            );
            // SAFETY: the function came with a reference.
            unsafe { self.ffi.release(function) };
            outcome
        };
        let outcomes = calls.iter().map(call).collect();
        // SAFETY: as above.
        unsafe { self.ffi.release(recorder) };
        // SAFETY: as above.
        unsafe { self.ffi.release(allocator) };
        outcomes
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the module came with a reference, and so have all functions.
        unsafe { self.ffi.release(self.module.pointer().cast()) };
    }
}
