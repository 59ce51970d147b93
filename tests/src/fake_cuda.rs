//! The stand-in for the CUDA driver: `driver/*.c`, compiled once per process by the system's C compiler.
//!
//! Programs find it through `LD_LIBRARY_PATH`, see [`folder`]; this process does once it is loaded, see [`exclusive`].

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libloading::os::unix::Library;

use crate::kernels::cc;

/// Every kernel of `driver/kernels.ptx`, for the architecture 90.
pub const CUBIN: &[u8] = include_bytes!("../driver/kernels.cubin");
/// The first kernels, for 80 and 90.
pub const FATBIN: &[u8] = include_bytes!("../driver/kernels.fatbin");
/// Every kernel as text, which the driver wants ended by NUL.
pub const PTX: &str = include_str!("../driver/kernels.ptx");

/// Where the sources and the images are.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("driver")
}

/// The files of a folder that the compiler takes.
pub fn in_c(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let paths = files.map(|file| file.expect("the folder can be read").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "c")).collect()
}

/// The folder of a `libcuda.so.1` that is the stand-in.
///
/// It lies beside the program, not in a temporary folder that nobody would remove; whoever else builds it puts the
/// same there, as a whole.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let program = std::env::current_exe().expect("the program has a path");
        let folder = program.with_file_name("fake_cuda");
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let new = tempfile::tempdir_in(&folder).expect("a folder can be made");
        let library = new.path().join("libcuda.so.1");
        let mut compile = Command::new("cc");
        compile.args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]);
        compile.args(["-fPIC", "-fvisibility=hidden", "-shared", "-Wl,-soname,libcuda.so.1"]);
        cc(compile.args(in_c(&sources())).args(["-lpthread", "-o"]).arg(&library));
        std::fs::rename(&library, folder.join("libcuda.so.1")).expect("the library can be moved");
        folder
    })
}

/// The stand-in in this process.
#[derive(Debug)]
pub struct FakeCuda(Library);

/// What is there, and has not been given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Live {
    /// Libraries that are loaded.
    pub libraries: i64,
    /// Contexts that this thread has pushed.
    pub pushed: i64,
    /// Streams.
    pub streams: i64,
    /// Pieces of device memory.
    pub memory: i64,
    /// Primary contexts, each as often as it is retained.
    pub retained: i64,
}

/// Loads the stand-in with the first call, so that `dlopen("libcuda.so.1")` finds it from then on, and lends it to one
/// caller at a time, with an empty record and all values as they were at first.
pub fn exclusive() -> MutexGuard<'static, FakeCuda> {
    static LOADED: OnceLock<Mutex<FakeCuda>> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let path = folder().join("libcuda.so.1");
        // SAFETY: the initialiser reads the environment.
        let library = unsafe { Library::new(&path) }.unwrap_or_else(|error| panic!("{error}"));
        Mutex::new(FakeCuda(library))
    });
    // A test that failed has not damaged it.
    let guard = loaded.lock().unwrap_or_else(PoisonError::into_inner);
    guard.defaults();
    guard
}

impl FakeCuda {
    /// One of the functions that `cuda.c` lists.
    ///
    /// # Safety
    /// `F` is the type of the function.
    unsafe fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the caller knows the type.
        *unsafe { self.0.get::<F>(name) }.unwrap_or_else(|error| panic!("{error}"))
    }

    /// One line per call since the last reset.
    pub fn record(&self) -> String {
        // SAFETY: it is declared so.
        let log: extern "C" fn(*mut c_char, usize) -> usize =
            unsafe { self.function("fake_cuda_log") };
        let mut bytes = vec![0; log(std::ptr::null_mut(), 0) + 1];
        log(bytes.as_mut_ptr().cast(), bytes.len());
        bytes.pop();
        String::from_utf8(bytes).expect("names are text")
    }

    /// How many calls there were since the last reset.
    pub fn calls(&self) -> i64 {
        // SAFETY: it is declared so.
        let calls: extern "C" fn() -> i64 = unsafe { self.function("fake_cuda_calls") };
        calls()
    }

    /// Forgets the record, the count and the failure to come.
    pub fn reset(&self) {
        // SAFETY: it is declared so.
        let reset: extern "C" fn() = unsafe { self.function("fake_cuda_reset") };
        reset();
    }

    /// The same, and whatever was set is as it was at first.
    fn defaults(&self) {
        // SAFETY: it is declared so.
        let defaults: extern "C" fn() = unsafe { self.function("fake_cuda_defaults") };
        defaults();
    }

    /// Lets a call fail: the `n`-th from now on, counted from 1.
    pub fn fail_at(&self, n: i64, status: i32) {
        // SAFETY: it is declared so.
        let fail_at: extern "C" fn(i64, c_int) = unsafe { self.function("fake_cuda_fail_at") };
        fail_at(n, status);
    }

    /// Sets one of the values that `cuda.c` lists.
    pub fn set(&self, name: &str, value: i64) {
        // SAFETY: it is declared so.
        let set: extern "C" fn(*const c_char, i64) -> c_int =
            unsafe { self.function("fake_cuda_set") };
        let text = CString::new(name).expect("a name has no NUL");
        assert_eq!(set(text.as_ptr(), value), 0, "there is no {name}");
    }

    /// What has not been given back.
    pub fn live(&self) -> Live {
        // SAFETY: it writes five numbers.
        let live: extern "C" fn(*mut Live) = unsafe { self.function("fake_cuda_live") };
        let mut found = Live::default();
        live(&mut found);
        found
    }

    /// Pops the contexts of this thread that a pop which failed has left there.
    pub fn pop_all(&self) {
        // SAFETY: it is declared so.
        let pop: extern "C" fn(*mut *mut c_void) -> c_int =
            unsafe { self.function("cuCtxPopCurrent_v2") };
        while self.live().pushed > 0 {
            pop(std::ptr::null_mut());
        }
    }

    /// Nothing is recorded or checked any more, or it is again.
    pub fn quiet(&self, is_quiet: bool) {
        // SAFETY: it is declared so.
        let quiet: extern "C" fn(c_int) = unsafe { self.function("fake_cuda_quiet") };
        quiet(c_int::from(is_quiet));
    }
}
