//! The stand-in for HIP: `driver/hip/*.c` and what it shares with the one for the CUDA driver, compiled when needed.
//!
//! Programs find it through `LD_LIBRARY_PATH` ([`folder`]), the current process after [`exclusive`] has loaded it.

use std::ffi::{c_int, c_uint, c_void};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::fake_cuda::{self, FakeCuda, in_c};

/// Every kernel of `driver/hip/kernels.hip`, for gfx942.
pub const HSACO: &[u8] = include_bytes!("../driver/hip/kernels.hsaco");
/// The first kernels of `driver/hip/kernels.hip`, for gfx90a and gfx942.
pub const BUNDLE: &[u8] = include_bytes!("../driver/hip/kernels.bundle");

/// Name of the library. Others that programs look for first are not found.
pub const SONAME: &str = "libamdhip64.so.6";

/// Returns the folder of the sources and images.
pub fn sources() -> PathBuf {
    fake_cuda::sources().join("hip")
}

/// Returns the folder of a `libamdhip64.so.6` that is the stand-in.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let shared = ["cuda.c", "entry.c", "event.c", "memory.c", "stream.c"];
        let mut files = in_c(&sources());
        files.extend(shared.map(|file| fake_cuda::sources().join(file)));
        fake_cuda::build("fake_hip", SONAME, &files, &["-DHIP"])
    })
}

/// The stand-in, loaded into this process. What tests ask of both stand-ins is that of [`FakeCuda`]; in
/// [`Live`](fake_cuda::Live) `pushed` is the device of the thread.
#[derive(Debug)]
pub struct FakeHip(FakeCuda);

/// Loads the stand-in at the first call, so that `dlopen("libamdhip64.so.6")` finds it from then on, and lends it to
/// one caller at a time, with an empty record and default settings.
pub fn exclusive() -> MutexGuard<'static, FakeHip> {
    static LOADED: OnceLock<Mutex<FakeHip>> = OnceLock::new();
    let loaded = LOADED
        .get_or_init(|| Mutex::new(FakeHip(FakeCuda::load(&folder().join(SONAME), "fake_hip_"))));
    // A panic of another test leaves the stand-in intact.
    let guard = loaded.lock().unwrap_or_else(PoisonError::into_inner);
    guard.defaults();
    guard.set_device(0);
    guard.reset();
    guard
}

impl Deref for FakeHip {
    type Target = FakeCuda;

    fn deref(&self) -> &FakeCuda {
        &self.0
    }
}

impl FakeHip {
    /// Makes a device the one of this thread.
    ///
    /// # Panics
    /// If there is no such device.
    pub fn set_device(&self, device: c_int) {
        // SAFETY: `device.c` defines the function with this type.
        let set: extern "C" fn(c_int) -> c_int = unsafe { self.function("hipSetDevice") };
        assert_eq!(set(device), 0, "there is no device {device}");
    }

    /// Creates a stream of the device of this thread, which does not wait for the NULL stream.
    pub fn create_stream(&self) -> *mut c_void {
        // SAFETY: `stream.c` defines the function with this type.
        let create: extern "C" fn(*mut *mut c_void, c_uint) -> c_int =
            unsafe { self.function("hipStreamCreateWithFlags") };
        let mut stream = std::ptr::null_mut();
        assert_eq!(create(&mut stream, 1), 0);
        stream
    }

    /// Runs `work` while a stream is captured in the strictest mode; returns the status at the end of the capture.
    pub fn capture(&self, stream: *mut c_void, work: impl FnOnce()) -> c_int {
        // SAFETY: `stream.c` defines the function with this type.
        let begin: extern "C" fn(*mut c_void, c_int) -> c_int =
            unsafe { self.function("hipStreamBeginCapture") };
        // SAFETY: as above.
        let end: extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int =
            unsafe { self.function("hipStreamEndCapture") };
        // SAFETY: as above.
        let destroy: extern "C" fn(*mut c_void) -> c_int =
            unsafe { self.function("hipGraphDestroy") };
        assert_eq!(begin(stream, 0), 0);
        work();
        let mut graph = std::ptr::null_mut();
        let status = end(stream, &mut graph);
        if status == 0 {
            assert_eq!(destroy(graph), 0);
        }
        status
    }

    /// Allocates zeroed memory of the device of this thread, which is memory of the process.
    pub fn allocate(&self, bytes: usize) -> *mut u8 {
        // SAFETY: `stream.c` defines the function with this type.
        let allocate: extern "C" fn(*mut *mut u8, usize) -> c_int =
            unsafe { self.function("hipMalloc") };
        let mut memory = std::ptr::null_mut();
        assert_eq!(allocate(&mut memory, bytes), 0);
        // SAFETY: it is memory of this size.
        unsafe { memory.write_bytes(0, bytes) };
        memory
    }

    /// Releases memory of [`FakeHip::allocate`].
    pub fn free(&self, memory: *mut u8) {
        // SAFETY: `stream.c` defines the function with this type.
        let free: extern "C" fn(*mut u8) -> c_int = unsafe { self.function("hipFree") };
        assert_eq!(free(memory), 0);
    }
}
