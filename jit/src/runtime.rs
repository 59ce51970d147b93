//! Runtimes: the libraries that provide the `TVMFFI*` functions.

mod find;
mod functions;

use std::env;
use std::ffi::{c_char, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

use libloading::Library;

use crate::abi::{Any, ByteArray, Object};
use crate::builtin;
use crate::error::Error;
pub(crate) use find::process_symbol;
use functions::Functions;

/// The result of [`runtime`]. Runtimes are never unloaded, since objects of theirs may be anywhere.
static DEFAULT: OnceLock<&'static Runtime> = OnceLock::new();
/// The result of [`Runtime::builtin`].
static BUILT_IN: OnceLock<Runtime> = OnceLock::new();

/// The origin of a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The library that was given to [`Runtime::load`].
    Path(PathBuf),
    /// A library that the process had loaded.
    Process,
    /// The library that the environment variable `TVM_FFI_LIBRARY` names.
    Environment(PathBuf),
    /// The library in the folder that `tvm-ffi-config --libdir` prints, see [`Runtime::ask_tool`].
    Tool(PathBuf),
    /// This crate: error slot, objects, functions, strings, tensors, arrays, shapes, streams; no modules, and no global
    /// functions but `ffi.Array` and `ffi.Shape`.
    BuiltIn,
}

/// The path of the library, `libtvm_ffi of this process`, or `built in`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Path(path) | Origin::Environment(path) | Origin::Tool(path) => {
                write!(f, "{}", path.display())
            }
            Origin::Process => f.write_str("libtvm_ffi of this process"),
            Origin::BuiltIn => f.write_str("built in"),
        }
    }
}

/// A set of `TVMFFI*` functions.
pub struct Runtime {
    origin: Origin,
    library: Option<Library>,
    rejected: Option<Error>,
    pub(crate) functions: Functions,
}

/// Returns the runtime that [`Jit::new`](crate::Jit::new) uses. The first call looks for it, in this order: a
/// `libtvm_ffi` that the process has loaded, the library that `TVM_FFI_LIBRARY` names, the built-in runtime. It starts
/// no process and searches for no file; [`Runtime::ask_tool`] does.
///
/// The result does not change if the process loads `libtvm_ffi` later. Then two runtimes are in the process, each with
/// its own errors and classes, and calls refuse objects of the other runtime.
pub fn runtime() -> &'static Runtime {
    DEFAULT.get_or_init(Runtime::find)
}

impl Runtime {
    /// Loads a runtime from a library, for the rest of the process. Keep the result: each call allocates another
    /// handle.
    ///
    /// # Safety
    /// The library is `libtvm_ffi` of any release, and its initialisers may run now.
    ///
    /// # Errors
    /// [`Error::Runtime`] if it cannot be loaded, or lacks a function.
    pub unsafe fn load(path: &Path) -> Result<&'static Runtime, Error> {
        // SAFETY: as required above.
        let runtime = unsafe { Runtime::open(path, Origin::Path(path.to_owned())) };
        Ok(Box::leak(Box::new(runtime?)))
    }

    /// Loads the runtime of the Python package: runs `tvm-ffi-config --libdir`, waits for its answer no longer than
    /// `limit`, and loads the library from that folder. Keep the result: each call allocates another handle.
    ///
    /// # Safety
    /// The first `tvm-ffi-config` on the `PATH` is that of the package, and the initialisers of its library may run
    /// now.
    ///
    /// # Errors
    /// [`Error::Runtime`] if there is no such tool, if it does not answer in time, or if the folder has no runtime.
    pub unsafe fn ask_tool(limit: Duration) -> Result<&'static Runtime, Error> {
        let path = find::ask_tool(limit)?;
        // SAFETY: as required above.
        let runtime = unsafe { Runtime::open(&path, Origin::Tool(path.clone())) };
        Ok(Box::leak(Box::new(runtime?)))
    }

    /// Returns the runtime that is part of this crate.
    pub fn builtin() -> &'static Runtime {
        BUILT_IN.get_or_init(|| Runtime::built_in(None))
    }

    /// The origin of the runtime.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The error that kept the library that `TVM_FFI_LIBRARY` names from being used.
    pub fn rejected(&self) -> Option<&Error> {
        self.rejected.as_ref()
    }

    /// Returns the address of a function of the runtime; `None` if this release lacks it.
    pub fn symbol(&self, name: &str) -> Option<*const c_void> {
        match &self.library {
            Some(library) => find::library_symbol(library, name),
            None => builtin::symbol(name),
        }
    }

    /// True if both are the same library, so that functions of one take objects of the other.
    #[inline]
    pub fn is_same(&self, other: &Runtime) -> bool {
        ptr::eq(self, other) || self.id() == other.id()
    }

    /// A number that is the same for handles to the same library.
    #[inline]
    pub(crate) fn id(&self) -> usize {
        self.functions.move_from_raised as usize
    }

    /// Raises an error: puts it into this runtime's slot of the thread, and returns the status -1. The error has no
    /// backtrace. See [`raise`](crate::raise()), which chooses the runtime itself.
    pub fn raise(&self, kind: &str, message: impl fmt::Display) -> i32 {
        self.raise_traced(kind, &message.to_string(), "")
    }

    /// Raises an error with a backtrace.
    pub(crate) fn raise_traced(&self, kind: &str, message: &str, backtrace: &str) -> i32 {
        let [kind, message, backtrace] =
            [kind, message, backtrace].map(|text| ByteArray::new(text.as_bytes()));
        let mut error = ptr::null_mut();
        // SAFETY: all pointers are valid; the runtime copies the texts, and takes a reference of its own to the error.
        unsafe {
            if (self.functions.error_create)(&kind, &message, &backtrace, &mut error) == 0 {
                (self.functions.error_set_raised)(error);
                (self.functions.dec_ref)(error);
            }
        }
        -1
    }

    fn find() -> &'static Runtime {
        let from_process = |library| Runtime::from_library(library, Origin::Process).ok();
        if let Some(runtime) = find::loaded().into_iter().find_map(from_process) {
            return Box::leak(Box::new(runtime));
        }
        let Some(path) = env::var_os("TVM_FFI_LIBRARY").map(PathBuf::from) else {
            return Runtime::builtin();
        };
        // SAFETY: whoever sets the variable vouches for the library.
        let runtime = unsafe { Runtime::open(&path, Origin::Environment(path.clone())) };
        Box::leak(Box::new(runtime.unwrap_or_else(|error| Runtime::built_in(Some(error)))))
    }

    fn built_in(rejected: Option<Error>) -> Runtime {
        let functions = Functions::resolve(builtin::symbol)
            .unwrap_or_else(|missing| unreachable!("the built-in runtime lacks {missing}"));
        Runtime { origin: Origin::BuiltIn, library: None, rejected, functions }
    }

    /// # Safety
    /// As for [`Runtime::load`].
    unsafe fn open(path: &Path, origin: Origin) -> Result<Runtime, Error> {
        let error = |reason| Error::Runtime { path: path.to_owned(), reason };
        // SAFETY: as required above.
        let library = unsafe { Library::new(path) }.map_err(|e| error(e.to_string()))?;
        Runtime::from_library(library, origin).map_err(|name| error(format!("it has no {name}")))
    }

    fn from_library(library: Library, origin: Origin) -> Result<Runtime, &'static str> {
        let functions = Functions::resolve(|name| find::library_symbol(&library, name))?;
        Ok(Runtime { origin, library: Some(library), rejected: None, functions })
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Runtime").field(&self.origin).finish()
    }
}

/// Declares functions that some runtimes lack. Each is looked up when it is needed.
macro_rules! optional {
    ($($field:ident: $symbol:literal, fn($($arg:ty),*) -> $result:ty;)*) => {
        impl Runtime {
            $(
                pub(crate) fn $field(
                    &self,
                ) -> Result<unsafe extern "C" fn($($arg),*) -> $result, Error> {
                    let symbol = self.symbol($symbol);
                    let symbol = symbol.ok_or(Error::Unavailable { function: $symbol })?;
                    // SAFETY: this is the type of the function in `c_api.h`.
                    Ok(unsafe {
                        std::mem::transmute::<
                            *const c_void,
                            unsafe extern "C" fn($($arg),*) -> $result,
                        >(symbol)
                    })
                }
            )*
        }
    };
}

optional! {
    register_symbol: "TVMFFIEnvModRegisterSystemLibSymbol",
        fn(*const c_char, *const c_void) -> i32;
    make_bytes: "TVMFFIBytesFromByteArray", fn(*const ByteArray, *mut Any) -> i32;
    set_global: "TVMFFIFunctionSetGlobal", fn(*const ByteArray, *mut Object, i32) -> i32;
    get_global: "TVMFFIFunctionGetGlobal", fn(*const ByteArray, *mut *mut Object) -> i32;
}
