//! The runtime: where the `TVMFFI*` functions come from.

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

/// The runtimes that are looked for once per process. A library once loaded stays loaded, since objects
/// that it made may be anywhere.
static DEFAULT: OnceLock<&'static Runtime> = OnceLock::new();
/// See [`Runtime::builtin`].
static BUILT_IN: OnceLock<Runtime> = OnceLock::new();

/// Where a runtime was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In the library that [`Runtime::load`] was told to load.
    Path(PathBuf),
    /// In the running process.
    Process,
    /// In the library that the environment variable `TVM_FFI_LIBRARY` names.
    Environment(PathBuf),
    /// In the library that `tvm-ffi-config --libdir` leads to, see [`Runtime::ask_tool`].
    Tool(PathBuf),
    /// In this crate: error slot, objects, functions, strings, tensors, arrays, streams; no modules, and no
    /// global functions but `ffi.Array`.
    BuiltIn,
}

/// `built in`, or where the library was found.
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

/// The runtime that [`Jit::new`](crate::Jit::new) uses. Looked for once, at the first call, in this order:
/// what the process has loaded, the library that `TVM_FFI_LIBRARY` names, the built-in runtime. No process
/// is started and no file searched for; who wants that asks for it, see [`Runtime::ask_tool`].
///
/// If the process loads `libtvm_ffi` later, the runtime stays what it is: two runtimes are in the process
/// then, each with its own errors and classes. Objects that cross are refused with an error.
pub fn runtime() -> &'static Runtime {
    DEFAULT.get_or_init(Runtime::find)
}

impl Runtime {
    /// Loads a runtime from a library, for the rest of the process. Keep the result: each call makes
    /// another one.
    ///
    /// # Safety
    /// The library is `libtvm_ffi` of any release, and its initialisers may run now.
    ///
    /// # Errors
    /// [`Error::Runtime`] if it is none.
    pub unsafe fn load(path: &Path) -> Result<&'static Runtime, Error> {
        // SAFETY: as required above.
        let runtime = unsafe { Runtime::open(path, Origin::Path(path.to_owned())) };
        Ok(Box::leak(Box::new(runtime?)))
    }

    /// The runtime of the Python package: runs `tvm-ffi-config --libdir`, waits for its answer no longer
    /// than `limit`, and loads the library that it leads to. Keep the result.
    ///
    /// # Safety
    /// The tool that the path leads to is that of the package, and the initialisers of its library may
    /// run now.
    ///
    /// # Errors
    /// [`Error::Runtime`] if there is no such tool, if it does not answer in time, or if what it names is
    /// no runtime.
    pub unsafe fn ask_tool(limit: Duration) -> Result<&'static Runtime, Error> {
        let path = find::ask_tool(limit)?;
        // SAFETY: as required above.
        let runtime = unsafe { Runtime::open(&path, Origin::Tool(path.clone())) };
        Ok(Box::leak(Box::new(runtime?)))
    }

    /// The runtime that is part of this crate.
    pub fn builtin() -> &'static Runtime {
        BUILT_IN.get_or_init(|| Runtime::built_in(None))
    }

    /// Where it was found.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Why the library that `TVM_FFI_LIBRARY` names is not used, if that is so.
    pub fn rejected(&self) -> Option<&Error> {
        self.rejected.as_ref()
    }

    /// The address of a runtime function. Releases differ in which ones they have.
    pub fn symbol(&self, name: &str) -> Option<*const c_void> {
        match &self.library {
            Some(library) => find::library_symbol(library, name),
            None => builtin::symbol(name),
        }
    }

    /// Whether objects of the one may be given to functions of the other: both are the same library.
    #[inline]
    pub fn is_same(&self, other: &Runtime) -> bool {
        ptr::eq(self, other) || self.id() == other.id()
    }

    /// Tells runtimes apart.
    #[inline]
    pub(crate) fn id(&self) -> usize {
        self.functions.move_from_raised as usize
    }

    fn find() -> &'static Runtime {
        let from_process = |library| Runtime::from_library(library, Origin::Process).ok();
        if let Some(runtime) = find::loaded().into_iter().find_map(from_process) {
            return Box::leak(Box::new(runtime));
        }
        let Some(path) = env::var_os("TVM_FFI_LIBRARY").map(PathBuf::from) else {
            return Runtime::builtin();
        };
        // SAFETY: who sets the variable vouches for the library.
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
                    // SAFETY: what a runtime exports under this name has this type.
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
