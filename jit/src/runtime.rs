//! The runtime: where the `TVMFFI*` functions come from.

use std::env;
use std::ffi::{c_char, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cranelift_codegen::isa::OwnedTargetIsa;
use libloading::Library;

use crate::abi::{Any, ByteArray, Object, SafeCall};
use crate::builtin;
use crate::error::Error;
use crate::routines::{self, Routines};

/// The one static of the crate: the runtimes that are looked for once per process, and with each the
/// cold routines that were compiled for it. A library once loaded stays loaded, since objects that it
/// made may be anywhere. And a lock for its table of system library symbols, which has none.
static RUNTIMES: Runtimes =
    Runtimes { default: OnceLock::new(), builtin: OnceLock::new(), symbols: Mutex::new(()) };

struct Runtimes {
    default: OnceLock<&'static Runtime>,
    builtin: OnceLock<Runtime>,
    symbols: Mutex<()>,
}

/// Keeps others of this crate from registering symbols of the system library.
pub(crate) fn lock_symbols() -> MutexGuard<'static, ()> {
    RUNTIMES.symbols.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a runtime was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In the library that [`Runtime::load`] was told to load.
    Path(PathBuf),
    /// In the running process.
    Process,
    /// In the library that the environment variable `TVM_FFI_LIBRARY` names.
    Environment(PathBuf),
    /// In the library that `tvm-ffi-config --libdir` leads to.
    Config(PathBuf),
    /// In this crate: error slot, objects, functions, strings, tensors, arrays, streams; no modules, and no
    /// global functions but `ffi.Array`.
    BuiltIn,
}

/// `built in`, or where the library was found.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Path(path) | Kind::Environment(path) | Kind::Config(path) => {
                write!(f, "{}", path.display())
            }
            Kind::Process => f.write_str("libtvm_ffi of this process"),
            Kind::BuiltIn => f.write_str("built in"),
        }
    }
}

/// A set of `TVMFFI*` functions.
pub struct Runtime {
    kind: Kind,
    library: Option<Library>,
    rejected: Option<Error>,
    pub(crate) functions: Functions,
    isa: OnceLock<Result<OwnedTargetIsa, Error>>,
    routines: OnceLock<Result<Routines, Error>>,
}

/// The runtime that [`Jit::new`](crate::Jit::new) uses. Looked for once, in this order: the running
/// process, `TVM_FFI_LIBRARY`, `tvm-ffi-config --libdir`; else the built-in runtime.
pub fn runtime() -> &'static Runtime {
    RUNTIMES.default.get_or_init(Runtime::find)
}

impl Runtime {
    /// Loads a runtime from a library, for the rest of the process. Keep the result: each call makes
    /// another one, with routines of its own.
    ///
    /// # Safety
    /// The library is `libtvm_ffi` of any release, and its initialisers may run now.
    pub unsafe fn load(path: &Path) -> Result<&'static Runtime, Error> {
        // SAFETY: as required above.
        let runtime = unsafe { Runtime::open(path, Kind::Path(path.to_owned())) };
        Ok(Box::leak(Box::new(runtime?)))
    }

    /// The runtime that is part of this crate.
    pub fn builtin() -> &'static Runtime {
        RUNTIMES.builtin.get_or_init(|| Runtime::built_in(None))
    }

    /// Where it was found.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Why the library that `TVM_FFI_LIBRARY` names is not used, if that is so.
    pub fn rejected(&self) -> Option<&Error> {
        self.rejected.as_ref()
    }

    /// The address of a runtime function. Releases differ in which ones they have.
    pub fn symbol(&self, name: &str) -> Option<*const c_void> {
        match &self.library {
            Some(library) => library_symbol(library, name),
            None => builtin::symbol(name),
        }
    }

    /// The code generator for this machine.
    pub(crate) fn isa(&self) -> Result<&OwnedTargetIsa, Error> {
        self.isa.get_or_init(routines::isa).as_ref().map_err(Error::clone)
    }

    /// The cold routines that all functions share, compiled at the first call.
    pub(crate) fn routines(&'static self) -> Result<&'static Routines, Error> {
        self.routines.get_or_init(|| Routines::compile(self)).as_ref().map_err(Error::clone)
    }

    fn find() -> &'static Runtime {
        let mut rejected = None;
        let found = process().or_else(|| {
            let path = PathBuf::from(env::var_os("TVM_FFI_LIBRARY")?);
            // SAFETY: who sets the variable vouches for the library.
            let runtime = unsafe { Runtime::open(&path, Kind::Environment(path.clone())) };
            runtime.map_err(|error| rejected = Some(error)).ok()
        });
        match found.or_else(config) {
            Some(mut runtime) => {
                runtime.rejected = rejected;
                Box::leak(Box::new(runtime))
            }
            None if rejected.is_some() => Box::leak(Box::new(Runtime::built_in(rejected))),
            None => Runtime::builtin(),
        }
    }

    fn built_in(rejected: Option<Error>) -> Runtime {
        let functions = Functions::resolve(builtin::symbol)
            .unwrap_or_else(|missing| unreachable!("the built-in runtime lacks {missing}"));
        Runtime::new(Kind::BuiltIn, None, rejected, functions)
    }

    /// # Safety
    /// As for [`Runtime::load`].
    unsafe fn open(path: &Path, kind: Kind) -> Result<Runtime, Error> {
        let error = |reason| Error::Runtime { path: path.to_owned(), reason };
        // SAFETY: as required above.
        let library = unsafe { Library::new(path) }.map_err(|e| error(e.to_string()))?;
        Runtime::from_library(library, kind).map_err(|name| error(format!("it has no {name}")))
    }

    fn from_library(library: Library, kind: Kind) -> Result<Runtime, &'static str> {
        let functions = Functions::resolve(|name| library_symbol(&library, name))?;
        Ok(Runtime::new(kind, Some(library), None, functions))
    }

    fn new(
        kind: Kind,
        library: Option<Library>,
        rejected: Option<Error>,
        functions: Functions,
    ) -> Runtime {
        let (isa, routines) = (OnceLock::new(), OnceLock::new());
        Runtime { kind, library, rejected, functions, isa, routines }
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Runtime").field(&self.kind).finish()
    }
}

/// Looks only for functions of the runtime: the process has many other symbols.
fn library_symbol(library: &Library, name: &str) -> Option<*const c_void> {
    if !name.starts_with("TVMFFI") {
        return None;
    }
    // SAFETY: only the address is taken.
    let symbol = unsafe { library.get::<*const c_void>(name) }.ok()?;
    // SAFETY: `self.library` outlives the address; it is never unloaded.
    unsafe { symbol.try_as_raw_ptr() }.map(<*mut c_void>::cast_const)
}

/// The runtime that the process has loaded, whether its symbols are visible to all or not.
fn process() -> Option<Runtime> {
    loaded().into_iter().find_map(|library| Runtime::from_library(library, Kind::Process).ok())
}

/// Any symbol of the process, for code of the user's own.
pub(crate) fn process_symbol(name: &str) -> Option<*const u8> {
    #[cfg(unix)]
    let library = libloading::os::unix::Library::this();
    #[cfg(windows)]
    let library = libloading::os::windows::Library::this().ok()?;
    // SAFETY: only the address is taken.
    let symbol = unsafe { library.get::<*const c_void>(name) }.ok()?;
    Some(symbol.as_raw_ptr().cast_const().cast())
}

#[cfg(unix)]
fn loaded() -> Vec<Library> {
    use libloading::os::unix::{Library as Unix, RTLD_LAZY};
    /// Only what is loaded already. Linux and macOS.
    const RTLD_NOLOAD: i32 = if cfg!(target_os = "linux") { 0x4 } else { 0x10 };
    // SAFETY: nothing is loaded, so no initialiser runs.
    let hidden = unsafe { Unix::open(Some(FILE), RTLD_LAZY | RTLD_NOLOAD) };
    [Some(Unix::this()), hidden.ok()].into_iter().flatten().map(Library::from).collect()
}

#[cfg(windows)]
fn loaded() -> Vec<Library> {
    use libloading::os::windows::Library as Windows;
    Windows::open_already_loaded(FILE).into_iter().map(Library::from).collect()
}

/// What the library is called on this platform.
const FILE: &str = if cfg!(windows) {
    "tvm_ffi.dll"
} else if cfg!(target_os = "macos") {
    "libtvm_ffi.dylib"
} else {
    "libtvm_ffi.so"
};

/// The runtime of the Python package, if its tool is on the path.
fn config() -> Option<Runtime> {
    let output = Command::new("tvm-ffi-config").arg("--libdir").output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?;
    let path = Path::new(folder.trim()).join(FILE);
    // SAFETY: the package's own tool says that this is its runtime.
    unsafe { Runtime::open(&path, Kind::Config(path.clone())) }.ok()
}

/// Declares the functions that this crate calls itself. All of them exist since 0.1.0.
macro_rules! functions {
    ($($field:ident: $symbol:literal, fn($($arg:ty),*) $(-> $result:ty)?;)*) => {
        /// The functions that this crate calls itself; their contracts are those of `c_api.h`.
        #[derive(Clone, Copy)]
        pub(crate) struct Functions {
            $(pub(crate) $field: unsafe extern "C" fn($($arg),*) $(-> $result)?,)*
        }

        impl Functions {
            /// Looks all of them up; the name of the first that is missing.
            fn resolve(
                symbol: impl Fn(&str) -> Option<*const c_void>,
            ) -> Result<Functions, &'static str> {
                Ok(Functions {
                    // SAFETY: what a runtime exports under this name has this type.
                    $($field: unsafe {
                        std::mem::transmute::<
                            *const c_void,
                            unsafe extern "C" fn($($arg),*) $(-> $result)?,
                        >(symbol($symbol).ok_or($symbol)?)
                    },)*
                })
            }
        }
    };
}

functions! {
    inc_ref: "TVMFFIObjectIncRef", fn(*mut Object) -> i32;
    dec_ref: "TVMFFIObjectDecRef", fn(*mut Object) -> i32;
    move_from_raised: "TVMFFIErrorMoveFromRaised", fn(*mut *mut Object);
    function_create: "TVMFFIFunctionCreate",
        fn(*mut c_void, SafeCall, Option<unsafe extern "C" fn(*mut c_void)>, *mut *mut Object) -> i32;
    function_call: "TVMFFIFunctionCall", fn(*mut Object, *mut Any, i32, *mut Any) -> i32;
}

/// `TVMFFIFunctionSetGlobal`
type SetGlobal = unsafe extern "C" fn(*const ByteArray, *mut Object, i32) -> i32;
/// `TVMFFIFunctionGetGlobal`
type GetGlobal = unsafe extern "C" fn(*const ByteArray, *mut *mut Object) -> i32;

/// `TVMFFIEnvModRegisterSystemLibSymbol`
type RegisterSymbol = unsafe extern "C" fn(*const c_char, *const c_void) -> i32;
/// `TVMFFIBytesFromByteArray`
type MakeBytes = unsafe extern "C" fn(*const ByteArray, *mut Any) -> i32;

/// What the built-in runtime does not have.
impl Runtime {
    pub(crate) fn register_symbol(&self) -> Result<RegisterSymbol, Error> {
        let symbol = self.require("TVMFFIEnvModRegisterSystemLibSymbol")?;
        // SAFETY: what a runtime exports under this name has this type.
        Ok(unsafe { std::mem::transmute::<*const c_void, RegisterSymbol>(symbol) })
    }

    pub(crate) fn make_bytes(&self) -> Result<MakeBytes, Error> {
        let symbol = self.require("TVMFFIBytesFromByteArray")?;
        // SAFETY: what a runtime exports under this name has this type.
        Ok(unsafe { std::mem::transmute::<*const c_void, MakeBytes>(symbol) })
    }

    pub(crate) fn set_global(&self) -> Result<SetGlobal, Error> {
        let symbol = self.require("TVMFFIFunctionSetGlobal")?;
        // SAFETY: what a runtime exports under this name has this type.
        Ok(unsafe { std::mem::transmute::<*const c_void, SetGlobal>(symbol) })
    }

    pub(crate) fn get_global(&self) -> Result<GetGlobal, Error> {
        let symbol = self.require("TVMFFIFunctionGetGlobal")?;
        // SAFETY: what a runtime exports under this name has this type.
        Ok(unsafe { std::mem::transmute::<*const c_void, GetGlobal>(symbol) })
    }

    fn require(&self, function: &'static str) -> Result<*const c_void, Error> {
        self.symbol(function).ok_or(Error::Unavailable { function })
    }
}
