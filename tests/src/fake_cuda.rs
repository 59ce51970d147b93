//! The stand-in for the CUDA driver: `driver/*.c`, compiled by the system's C compiler. What it has in common with the
//! one for HIP is here too.
//!
//! Programs find it through `LD_LIBRARY_PATH` ([`folder`]), the current process after [`exclusive`] has loaded it.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use libloading::os::unix::Library;

use crate::kernels::cc;

/// Every kernel of `driver/kernels.ptx`, for the architecture 90.
pub const CUBIN: &[u8] = include_bytes!("../driver/kernels.cubin");
/// The first kernels of `driver/kernels.ptx`, for the architectures 80 and 90.
pub const FATBIN: &[u8] = include_bytes!("../driver/kernels.fatbin");
/// Every kernel as PTX; the driver wants a NUL at the end.
pub const PTX: &str = include_str!("../driver/kernels.ptx");

/// Returns the folder of the sources and images.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("driver")
}

/// Lists the C files of a folder.
pub fn in_c(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let paths = files.map(|file| file.expect("the folder can be read").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "c")).collect()
}

/// Returns the folder of a `libcuda.so.1` that is the stand-in.
///
/// The folder lies beside the program, because nobody would remove a temporary one, and so that child processes find
/// the library. Processes that build it at the same time replace the file with the same contents, atomically.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| build("fake_cuda", "libcuda.so.1", &in_c(&sources()), &[]))
}

/// Compiles a library from C files into a folder beside the program, unless one is there that is newer than the program
/// and all files of [`sources`]; returns the folder.
pub(crate) fn build(folder: &str, soname: &str, files: &[PathBuf], options: &[&str]) -> PathBuf {
    let program = std::env::current_exe().expect("the program has a path");
    let folder = program.with_file_name(folder);
    let made = modified(&folder.join(soname));
    let files_of = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let used = [sources(), sources().join("hip")].into_iter().flat_map(files_of);
    let newest = used.map(|file| modified(&file.path())).chain([modified(&program)]).max();
    if made > newest.flatten() {
        return folder;
    }
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let new = tempfile::tempdir_in(&folder).expect("a folder can be made");
    let library = new.path().join(soname);
    compile("cc", soname, files, options, &library);
    std::fs::rename(&library, folder.join(soname)).expect("the library can be moved");
    folder
}

/// Returns when a file was written; `None` if there is none.
fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|data| data.modified()).ok()
}

/// Compiles a stand-in from C files with the C compiler of a machine.
pub fn compile(compiler: &str, soname: &str, files: &[PathBuf], options: &[&str], library: &Path) {
    let mut compile = Command::new(compiler);
    compile.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]);
    compile.args(["-fPIC", "-fvisibility=hidden", "-shared"]).args(options);
    compile.arg(format!("-Wl,-soname,{soname}"));
    cc(compile.args(files).args(["-lpthread", "-o"]).arg(library));
}

/// The stand-in, loaded into this process.
#[derive(Debug)]
pub struct FakeCuda {
    library: Library,
    /// Start of the names of what tests call.
    prefix: &'static str,
}

/// Resources of the stand-in that have not been released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Live {
    /// Loaded libraries.
    pub libraries: i64,
    /// Contexts that the calling thread has pushed.
    pub pushed: i64,
    /// Created streams.
    pub streams: i64,
    /// Allocations of device memory.
    pub memory: i64,
    /// Retains of primary contexts.
    pub retained: i64,
    /// Created events.
    pub events: i64,
}

/// Loads the stand-in at the first call, so that `dlopen("libcuda.so.1")` finds it from then on, and lends it to one
/// caller at a time, with an empty record and default settings.
pub fn exclusive() -> MutexGuard<'static, FakeCuda> {
    static LOADED: OnceLock<Mutex<FakeCuda>> = OnceLock::new();
    let loaded = LOADED
        .get_or_init(|| Mutex::new(FakeCuda::load(&folder().join("libcuda.so.1"), "fake_cuda_")));
    // A panic of another test leaves the stand-in intact.
    let guard = loaded.lock().unwrap_or_else(PoisonError::into_inner);
    guard.defaults();
    guard
}

impl FakeCuda {
    /// Loads a stand-in that this crate has built.
    pub(crate) fn load(path: &Path, prefix: &'static str) -> FakeCuda {
        // SAFETY: the initialiser reads the environment.
        let library = unsafe { Library::new(path) }.unwrap_or_else(|error| panic!("{error}"));
        FakeCuda { library, prefix }
    }

    /// Returns an entry point.
    ///
    /// # Safety
    /// `F` is the type of the function.
    pub(crate) unsafe fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the caller knows the type.
        *unsafe { self.library.get::<F>(name) }.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns a function of the list in `cuda.c`, by the name after the prefix.
    ///
    /// # Safety
    /// `F` is the type of the function.
    unsafe fn own<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the caller knows the type.
        unsafe { self.function(&format!("{}{name}", self.prefix)) }
    }

    /// Returns the record: one line per call since the last reset.
    pub fn record(&self) -> String {
        // SAFETY: `cuda.c` defines the function with this type.
        let log: extern "C" fn(*mut c_char, usize) -> usize = unsafe { self.own("log") };
        let mut bytes = vec![0; log(std::ptr::null_mut(), 0) + 1];
        log(bytes.as_mut_ptr().cast(), bytes.len());
        bytes.pop();
        String::from_utf8(bytes).expect("names are text")
    }

    /// Returns the number of calls since the last reset.
    pub fn calls(&self) -> i64 {
        // SAFETY: `cuda.c` defines the function with this type.
        let calls: extern "C" fn() -> i64 = unsafe { self.own("calls") };
        calls()
    }

    /// Clears the record, the count and the planned failure.
    pub fn reset(&self) {
        // SAFETY: `cuda.c` defines the function with this type.
        let reset: extern "C" fn() = unsafe { self.own("reset") };
        reset();
    }

    /// Resets everything, settings too.
    pub(crate) fn defaults(&self) {
        // SAFETY: `cuda.c` defines the function with this type.
        let defaults: extern "C" fn() = unsafe { self.own("defaults") };
        defaults();
    }

    /// Makes the `n`-th call from now on fail, counted from 1.
    pub fn fail_at(&self, n: i64, status: i32) {
        // SAFETY: `cuda.c` defines the function with this type.
        let fail_at: extern "C" fn(i64, c_int) = unsafe { self.own("fail_at") };
        fail_at(n, status);
    }

    /// Changes a setting of the list in `cuda.c`.
    pub fn set(&self, name: &str, value: i64) {
        // SAFETY: `cuda.c` defines the function with this type.
        let set: extern "C" fn(*const c_char, i64) -> c_int = unsafe { self.own("set") };
        let text = CString::new(name).expect("a name has no NUL");
        assert_eq!(set(text.as_ptr(), value), 0, "there is no {name}");
    }

    /// Returns the resources that have not been released.
    pub fn live(&self) -> Live {
        // SAFETY: `cuda.c` defines the function with this type; it writes six numbers.
        let live: extern "C" fn(*mut Live) = unsafe { self.own("live") };
        let mut found = Live::default();
        live(&mut found);
        found
    }

    /// Creates a non-blocking stream of the primary context of a device, which it retains.
    ///
    /// # Panics
    /// If there is no such device, or a call was to fail.
    pub fn create_stream(&self, device: c_int) -> *mut c_void {
        type Make = extern "C" fn(*mut *mut c_void, c_int) -> c_int;
        let (mut context, mut stream) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the driver defines the functions with these types; a flag is a number.
        let (init, retain, push, create, pop): (
            extern "C" fn(u32) -> c_int,
            Make,
            extern "C" fn(*mut c_void) -> c_int,
            Make,
            extern "C" fn(*mut *mut c_void) -> c_int,
        ) = unsafe {
            (
                self.function("cuInit"),
                self.function("cuDevicePrimaryCtxRetain"),
                self.function("cuCtxPushCurrent_v2"),
                self.function("cuStreamCreate"),
                self.function("cuCtxPopCurrent_v2"),
            )
        };
        let statuses = [
            init(0),
            retain(&mut context, device),
            push(context),
            create(&mut stream, 1),
            pop(&mut context),
        ];
        assert_eq!(statuses, [0; 5], "a stream of device {device}");
        self.reset();
        stream
    }

    /// Pops the contexts of this thread that a failed pop has left.
    pub fn pop_all(&self) {
        // SAFETY: `cuda.c` defines the function with this type.
        let pop: extern "C" fn(*mut *mut c_void) -> c_int =
            unsafe { self.function("cuCtxPopCurrent_v2") };
        while self.live().pushed > 0 {
            pop(std::ptr::null_mut());
        }
    }

    /// Turns recording and checking off or on.
    pub fn quiet(&self, is_quiet: bool) {
        // SAFETY: `cuda.c` defines the function with this type.
        let quiet: extern "C" fn(c_int) = unsafe { self.own("quiet") };
        quiet(c_int::from(is_quiet));
    }
}
