//! C functions of a runtime, as tests call them.

use std::ffi::c_void;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use abi_spec::{Device, DeviceType, TypeIndex};
use jit::Runtime;
use jit::abi::{Any, ByteArray, ErrorCell, Object};

/// Functions of a runtime. The built-in runtime lacks the optional ones.
#[derive(Clone, Copy)]
pub struct Ffi {
    runtime: &'static Runtime,
    call: unsafe extern "C" fn(*mut Object, *const Any, i32, *mut Any) -> i32,
    take_error: unsafe extern "C" fn(*mut *mut Object),
    retain: unsafe extern "C" fn(*mut Object) -> i32,
    release: unsafe extern "C" fn(*mut Object) -> i32,
    set_stream: unsafe extern "C" fn(i32, i32, *mut c_void, *mut *mut c_void) -> i32,
    set_allocator: unsafe extern "C" fn(*const c_void, i32, *mut *const c_void) -> i32,
    get_global: Option<unsafe extern "C" fn(*const ByteArray, *mut *mut Object) -> i32>,
    class: Option<unsafe extern "C" fn(*const ByteArray, i32, i32, i32, i32, i32) -> i32>,
}

/// An error: its kind and message.
pub type Raised = (String, String);

impl Ffi {
    /// Looks up the functions of a runtime.
    pub fn new(runtime: &'static Runtime) -> Ffi {
        // SAFETY: the types are those of `c_api.h` and `c_env_api.h`.
        unsafe {
            Ffi {
                runtime,
                call: function(runtime, "TVMFFIFunctionCall").expect("a runtime calls functions"),
                take_error: function(runtime, "TVMFFIErrorMoveFromRaised").expect("and has a slot"),
                retain: function(runtime, "TVMFFIObjectIncRef").expect("and keeps objects"),
                release: function(runtime, "TVMFFIObjectDecRef").expect("and frees objects"),
                set_stream: function(runtime, "TVMFFIEnvSetStream").expect("and has streams"),
                set_allocator: function(runtime, "TVMFFIEnvSetDLPackManagedTensorAllocator")
                    .expect("and has allocators"),
                get_global: function(runtime, "TVMFFIFunctionGetGlobal"),
                class: function(runtime, "TVMFFITypeGetOrAllocIndex"),
            }
        }
    }

    /// Returns the address of a function.
    pub fn symbol(&self, name: &str) -> Option<*const c_void> {
        self.runtime.symbol(name)
    }

    /// Takes the error out of the slot of this thread.
    pub fn take_error(&self) -> Option<Raised> {
        let mut error = std::ptr::null_mut();
        // SAFETY: the place is valid; the slot holds errors, of which the reference is ours now.
        unsafe {
            (self.take_error)(&mut error);
            if error.is_null() {
                return None;
            }
            let cell = error.add(1).cast::<ErrorCell>();
            let text = |part: ByteArray| String::from_utf8_lossy(part.bytes()).into_owned();
            let raised = (text((*cell).kind), text((*cell).message));
            (self.release)(error);
            Some(raised)
        }
    }

    /// Calls a function object.
    ///
    /// # Safety
    /// The function is live and the arguments are valid.
    pub unsafe fn call(
        &self,
        function: *mut Object,
        args: *const Any,
        count: i32,
        result: *mut Any,
    ) -> i32 {
        // SAFETY: as required above.
        unsafe { (self.call)(function, args, count, result) }
    }

    /// Increments the reference count.
    ///
    /// # Safety
    /// The object is live.
    pub unsafe fn retain(&self, object: *mut Object) {
        // SAFETY: as required above.
        unsafe { (self.retain)(object) };
    }

    /// Decrements the reference count.
    ///
    /// # Safety
    /// The reference is the caller's, or the pointer is NULL.
    pub unsafe fn release(&self, object: *mut Object) {
        // SAFETY: as required above.
        unsafe { (self.release)(object) };
    }

    /// Sets distinct streams for two devices in this thread.
    pub fn set_streams(&self) {
        for id in 0..2 {
            let device = Device { ty: DeviceType::CUDA, id };
            self.set_stream(device, STREAM as usize + id as usize);
        }
    }

    /// Sets the stream of a device in this thread, by the address that is its handle.
    pub fn set_stream(&self, device: Device, stream: usize) {
        let stream = std::ptr::with_exposed_provenance_mut(stream);
        // SAFETY: nothing but the stand-in uses the stream.
        let status =
            unsafe { (self.set_stream)(device.ty.0, device.id, stream, std::ptr::null_mut()) };
        assert_eq!(status, 0, "{:?}", self.take_error());
    }

    /// Sets the allocator of tensors of this thread.
    ///
    /// # Safety
    /// The pointer is an allocator or NULL.
    pub unsafe fn set_allocator(&self, allocator: *const c_void) {
        // SAFETY: as required above.
        let status = unsafe { (self.set_allocator)(allocator, 0, std::ptr::null_mut()) };
        assert_eq!(status, 0, "{:?}", self.take_error());
    }

    /// Looks up a global function and returns a reference; `None` if the runtime has no function of that name.
    pub fn global(&self, name: &str) -> Option<*mut Object> {
        let (get_global, mut object) = (self.get_global?, std::ptr::null_mut());
        // SAFETY: both places are valid.
        let status = unsafe { get_global(&ByteArray::new(name.as_bytes()), &mut object) };
        assert!(status == 0, "{name}: {:?}", self.take_error());
        (!object.is_null()).then_some(object)
    }

    /// Returns the type index of a class and registers the class if it is new. `classes` are its key and those of its
    /// ancestors, nearest first; the last one is a child of `ffi.Object`.
    pub fn class(&self, classes: &[String]) -> Option<i32> {
        let Some((key, above)) = classes.split_first() else { return Some(TypeIndex::OBJECT.0) };
        let (register, parent) = (self.class?, self.class(above)?);
        let (key, depth) = (ByteArray::new(key.as_bytes()), classes.len() as i32);
        // SAFETY: the key is valid, and the parent is a class of that depth; its children get indices
        // out of order.
        Some(unsafe { register(&key, -1, depth, 0, 1, parent) })
    }

    /// Looks up a function of the runtime.
    ///
    /// # Safety
    /// `F` is a function pointer of the type that the runtime's function has.
    pub unsafe fn function<F: Copy>(&self, name: &str) -> Option<F> {
        // SAFETY: as required above.
        unsafe { function(self.runtime, name) }
    }
}

impl fmt::Debug for Ffi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ffi").field(&self.runtime).finish()
    }
}

/// The stream of cuda:0 in every test; that of cuda:1 is `STREAM + 1`.
pub const STREAM: i64 = 0x5000;

/// # Safety
/// `F` is a function pointer of the type that the runtime's function has.
unsafe fn function<F: Copy>(runtime: &Runtime, name: &str) -> Option<F> {
    let symbol = runtime.symbol(name)?;
    // SAFETY: as required above.
    Some(unsafe { std::mem::transmute_copy::<*const c_void, F>(&symbol) })
}

/// Returns the answer of `tvm-ffi-config` to an option.
pub fn config(option: &str) -> String {
    let output = Command::new("tvm-ffi-config").arg(option).output();
    let output = output.unwrap_or_else(|error| panic!("tvm-ffi-config: {error}; use tests/run"));
    assert!(output.status.success(), "tvm-ffi-config {option} failed; use tests/run");
    String::from_utf8(output.stdout).expect("paths are UTF-8").trim().to_owned()
}

/// Returns the options of compilers for the headers of the runtime.
pub fn includes() -> [String; 2] {
    ["--includedir", "--dlpack-includedir"].map(|option| format!("-I{}", config(option)))
}

/// Loads the installed runtime, visible to libraries that are loaded later, as Python does.
pub fn installed() -> &'static Runtime {
    static RUNTIME: OnceLock<&'static Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
        let path = PathBuf::from(config("--libdir")).join("libtvm_ffi.so");
        // SAFETY: this is libtvm_ffi.
        let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) };
        std::mem::forget(library.unwrap_or_else(|error| panic!("{error}")));
        // SAFETY: as above.
        unsafe { Runtime::load(&path) }.unwrap_or_else(|error| panic!("{error}"))
    })
}
