//! Sessions: a library of launches by every route, called directly, with the record of the stand-in.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use abi_spec::{Device, DeviceType, TypeIndex};
use codegen::Library;
use jit::abi::{Any, DLTensor, Object, Payload, SafeCall};
use jit::{Compiled, Jit, Runtime};
use libloading::os::unix::{Library as Loaded, RTLD_LOCAL, RTLD_NOW};
use tempfile::TempDir;
use tvm_ffi_codegen_tests::fake_cuda::{CUBIN, FATBIN, FakeCuda, PTX};
use tvm_ffi_codegen_tests::ffi::{Ffi, installed};
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::route::{lowering, request};

use super::hooks;

/// Images that every library declares.
const IMAGES: [(&str, &[u8]); 3] = [("cubin", CUBIN), ("fatbin", FATBIN), ("ptx", PTX.as_bytes())];

/// Name of a library in its folder.
const FILE: &str = "library.so";

/// Parses declarations after those of the images.
pub(super) fn library(text: &str) -> Library {
    library_on_load("", text)
}

/// Parses declarations after those of the images, which have this clause.
pub(super) fn library_on_load(on_load: &str, text: &str) -> Library {
    let images = IMAGES.map(|(name, _)| format!("image {name}{on_load};\n")).concat();
    let library: Result<Library, _> = format!("{images}{text}").parse();
    let mut library = library.unwrap_or_else(|error| panic!("{error}\n{text}"));
    for (image, (_, bytes)) in library.images.iter_mut().zip(IMAGES) {
        image.bytes = Some(bytes.to_vec());
    }
    library
}

/// A freshly compiled library without launches so far.
pub(super) struct Session {
    /// Name of the route in messages.
    pub(super) name: String,
    pub(super) ffi: Ffi,
    code: Code,
}

enum Code {
    Jit(Compiled),
    Shared(Loaded),
}

/// Makes a session by every route.
pub(super) fn sessions(library: &Library) -> Vec<Session> {
    makers(library).iter().map(|make| make()).collect()
}

/// Returns makers of fresh sessions of a library, one per route.
pub(super) fn makers(library: &Library) -> Vec<Maker<'_>> {
    let linked = shared(library);
    let in_process = [installed(), Runtime::builtin()]
        .map(|runtime| -> Maker<'_> { Box::new(move || in_process(library, runtime)) });
    linked.into_iter().chain(in_process).collect()
}

pub(super) type Maker<'a> = Box<dyn Fn() -> Session + 'a>;

/// Returns makers of sessions of shared libraries, each of which finds the driver itself. The JIT finds it once per
/// process. Links all at the same time, since other tests may be waiting for the stand-in meanwhile.
pub(super) fn shared(library: &Library) -> Vec<Maker<'static>> {
    let link = |backend: &&'static str| {
        let (backend, folder) = (*backend, tempfile::tempdir().expect("a folder can be made"));
        write(library, backend, &folder.path().join(FILE));
        (backend, folder)
    };
    let linked = thread::scope(|scope| {
        let threads: Vec<_> =
            backends().iter().map(|backend| scope.spawn(move || link(backend))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect::<Vec<_>>()
    });
    linked.into_iter().map(|(backend, folder)| loading(backend, folder)).collect()
}

fn in_process(library: &Library, runtime: &'static Runtime) -> Session {
    let jit = Jit::with_runtime(runtime).unwrap_or_else(|error| panic!("{error}"));
    let called: Vec<&str> =
        library.images.iter().filter_map(|image| image.on_load.as_deref()).collect();
    let jit = hooks::give(jit, &called, runtime);
    // SAFETY: the stand-in runs no kernel, and the functions that bodies call take any arguments.
    let compiled = unsafe { jit.launches().calls() }
        .compile(library)
        .unwrap_or_else(|error| panic!("{error}"));
    Session { name: format!("jit, {runtime:?}"), ffi: Ffi::new(runtime), code: Code::Jit(compiled) }
}

/// Writes a shared library without kernels of its own.
pub(super) fn write(library: &Library, backend: &str, path: &Path) {
    let lowered = driver::lower(library, &lowering(library, backend));
    let module = lowered.unwrap_or_else(|error| panic!("{error}"));
    codegen::ir::verify(&module).unwrap();
    request(backend, driver::Form::Shared)
        .write_module(&module, path)
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Returns a maker of sessions, each of which loads a copy of the library in a folder.
fn loading(backend: &'static str, folder: TempDir) -> Maker<'static> {
    let ffi = Ffi::new(installed());
    Box::new(move || {
        let copy = tempfile::NamedTempFile::new().expect("a file can be made");
        std::fs::copy(folder.path().join(FILE), &copy).expect("a file can be copied");
        // SAFETY: the library has no initialisers.
        let loaded = unsafe { Loaded::open(Some(copy.path()), RTLD_NOW | RTLD_LOCAL) };
        let code = Code::Shared(loaded.unwrap_or_else(|error| panic!("{error}")));
        Session { name: format!("shared library, {backend}"), ffi, code }
    })
}

impl Session {
    /// Returns the address of a function.
    pub(super) fn function(&self, name: &str) -> SafeCall {
        match &self.code {
            Code::Jit(compiled) => {
                compiled.function(name).unwrap_or_else(|| panic!("no function {name}")).as_ptr()
            }
            Code::Shared(loaded) => {
                // SAFETY: the functions of a library have this type.
                let found = unsafe { loaded.get::<SafeCall>(format!("__tvm_ffi_{name}")) };
                *found.unwrap_or_else(|error| panic!("{error}"))
            }
        }
    }

    /// Returns the code of the JIT; `None` for a shared library.
    pub(super) fn compiled(&self) -> Option<&Compiled> {
        match &self.code {
            Code::Jit(compiled) => Some(compiled),
            Code::Shared(_) => None,
        }
    }

    /// Calls a function without a result; returns its error, if it fails.
    pub(super) fn call(&self, function: &str, args: &[Any]) -> Result<(), String> {
        let result = self.value(function, args)?;
        self.ended(0, result)
    }

    /// Calls a function; returns its result or its error.
    pub(super) fn value(&self, function: &str, args: &[Any]) -> Result<Any, String> {
        let (function, mut result) = (self.function(function), Any::NONE);
        let count = args.len() as i32;
        // SAFETY: the arguments are valid, and the code is alive.
        let status = unsafe { function(std::ptr::null_mut(), args.as_ptr(), count, &mut result) };
        if status == 0 {
            return Ok(result);
        }
        self.ended(status, result)?;
        unreachable!("{}: a status that is not 0 is an error", self.name)
    }

    /// Returns the error of a call without a result, if it failed.
    pub(super) fn ended(&self, status: i32, result: Any) -> Result<(), String> {
        assert_eq!((result.type_index, result.bits()), (0, 0), "{}", self.name);
        match (status, self.ffi.take_error()) {
            (0, None) => Ok(()),
            (-1, Some((kind, message))) => Err(format!("{kind}: {message}")),
            (status, error) => panic!("{}: status {status}, error {error:?}", self.name),
        }
    }

    /// Sets the environment's stream of a device of CUDA for this thread.
    pub(super) fn set_stream(&self, device: i32, stream: *mut c_void) {
        self.set_stream_of(cuda(device), stream);
    }

    /// Sets the environment's stream of a device for this thread.
    pub(super) fn set_stream_of(&self, device: Device, stream: *mut c_void) {
        self.ffi.set_stream(device, stream.expose_provenance());
    }
}

/// A tensor of which only the address is used.
pub(super) struct Fake {
    dl: Box<DLTensor>,
    dims: Vec<Box<[i64]>>,
}

impl Fake {
    /// Creates a compact tensor of `float32` on cuda:0.
    pub(super) fn new(address: usize, shape: &[i64]) -> Fake {
        let mut shape: Box<[i64]> = shape.into();
        let dl = DLTensor {
            data: address as *mut c_void,
            device_type: DeviceType::CUDA.0,
            device_id: 0,
            ndim: shape.len() as i32,
            code: 2,
            bits: 32,
            lanes: 1,
            shape: shape.as_mut_ptr(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        Fake { dl: Box::new(dl), dims: vec![shape] }
    }

    pub(super) fn on(mut self, device: Device) -> Fake {
        (self.dl.device_type, self.dl.device_id) = (device.ty.0, device.id);
        self
    }

    /// Sets the type code and the bits of the elements.
    pub(super) fn of(mut self, code: u8, bits: u8) -> Fake {
        (self.dl.code, self.dl.bits) = (code, bits);
        self
    }

    pub(super) fn with_strides(mut self, strides: &[i64]) -> Fake {
        let mut strides: Box<[i64]> = strides.into();
        self.dl.strides = strides.as_mut_ptr();
        self.dims.push(strides);
        self
    }

    pub(super) fn arg(&self) -> Any {
        Any::ptr(TypeIndex::DL_TENSOR_PTR, (&raw const *self.dl).cast_mut().cast())
    }
}

/// A tensor object as the ABI lays it out.
#[repr(C)]
struct TensorObject {
    header: Object,
    tensor: DLTensor,
}

/// A tensor object over a [`Fake`].
pub(super) struct FakeObject {
    object: Box<TensorObject>,
    _fake: Fake,
}

impl FakeObject {
    pub(super) fn new(fake: Fake) -> FakeObject {
        // One strong and one weak reference.
        let header = Object {
            combined_ref_count: AtomicU64::new(1 << 32 | 1),
            type_index: TypeIndex::TENSOR.0,
            padding: 0,
            deleter: None,
        };
        FakeObject { object: Box::new(TensorObject { header, tensor: *fake.dl }), _fake: fake }
    }

    /// Has the elements, which are those of a vector, overwritten when nobody holds the object any more.
    pub(super) fn poisoned_at_last(mut self) -> FakeObject {
        self.object.header.deleter = Some(poison);
        self
    }

    pub(super) fn arg(&self) -> Any {
        Any::ptr(TypeIndex::TENSOR, (&raw const *self.object).cast_mut().cast())
    }

    /// Returns the number of strong references.
    pub(super) fn references(&self) -> u64 {
        self.object.header.combined_ref_count.load(Ordering::Relaxed) & 0xffff_ffff
    }
}

/// Overwrites the elements of a vector, as whoever gets its memory next.
unsafe extern "C" fn poison(object: *mut c_void, _flags: i32) {
    // SAFETY: the object is a tensor, whose elements are there.
    unsafe {
        let DLTensor { data, shape, bits, .. } = (*object.cast::<TensorObject>()).tensor;
        let bytes = (*shape).unsigned_abs() as usize * usize::from(bits / 8);
        std::ptr::write_bytes(data.cast::<u8>(), 0xee, bytes);
    }
}

pub(super) fn int(value: i64) -> Any {
    Any::int(TypeIndex::INT, value)
}

pub(super) fn float(value: f64) -> Any {
    Any { type_index: TypeIndex::FLOAT.0, small_len: 0, payload: Payload { float: value } }
}

/// Returns the GPU of a number.
pub(super) fn cuda(id: i32) -> Device {
    Device { ty: DeviceType::CUDA, id }
}

/// Returns an entry point of the stand-in.
fn entry<F: Copy>(name: &str) -> F {
    // SAFETY: the stand-in is loaded already.
    let library = unsafe { Loaded::new("libcuda.so.1") }.expect("it is found by its soname");
    // SAFETY: the caller knows the type.
    *unsafe { library.get::<F>(name) }.unwrap_or_else(|error| panic!("{error}"))
}

fn succeed(name: &str, status: c_int) {
    assert_eq!(status, 0, "{name}");
}

/// Returns the current context of this thread as a number; 0 if there is none.
pub(super) fn current_context() -> usize {
    let (get, mut context): (extern "C" fn(*mut *mut c_void) -> c_int, _) =
        (entry("cuCtxGetCurrent"), std::ptr::null_mut());
    succeed("get", get(&mut context));
    context.expose_provenance()
}

/// Returns the number of launches in the record, without taking it.
pub(super) fn launched_so_far() -> usize {
    let log: extern "C" fn(*mut c_char, usize) -> usize = entry("fake_cuda_log");
    let mut bytes = vec![0_u8; log(std::ptr::null_mut(), 0) + 1];
    log(bytes.as_mut_ptr().cast(), bytes.len());
    String::from_utf8_lossy(&bytes).matches("cuLaunchKernelEx(").count()
}

/// The driver, as a host program around the library uses it. Its calls are removed from the record.
pub(super) struct Driver<'a>(pub(super) &'a FakeCuda);

impl Driver<'_> {
    /// Retains the primary context of a device.
    pub(super) fn primary(&self, device: c_int) -> *mut c_void {
        let mut context = std::ptr::null_mut();
        let init: extern "C" fn(u32) -> c_int = entry("cuInit");
        succeed("cuInit", init(0));
        let retain: extern "C" fn(*mut *mut c_void, c_int) -> c_int =
            entry("cuDevicePrimaryCtxRetain");
        succeed("retain", retain(&mut context, device));
        self.0.reset();
        context
    }

    /// Releases the primary context of a device.
    pub(super) fn release(&self, device: c_int) {
        let release: extern "C" fn(c_int) -> c_int = entry("cuDevicePrimaryCtxRelease_v2");
        succeed("release", release(device));
        self.0.reset();
    }

    pub(super) fn push(&self, context: *mut c_void) {
        let push: extern "C" fn(*mut c_void) -> c_int = entry("cuCtxPushCurrent_v2");
        succeed("push", push(context));
        self.0.reset();
    }

    pub(super) fn pop(&self) -> *mut c_void {
        let (pop, mut context): (extern "C" fn(*mut *mut c_void) -> c_int, _) =
            (entry("cuCtxPopCurrent_v2"), std::ptr::null_mut());
        succeed("pop", pop(&mut context));
        self.0.reset();
        context
    }

    /// Returns the current context of this thread; NULL if there is none.
    pub(super) fn current(&self) -> *mut c_void {
        let (get, mut context): (extern "C" fn(*mut *mut c_void) -> c_int, _) =
            (entry("cuCtxGetCurrent"), std::ptr::null_mut());
        succeed("get", get(&mut context));
        context
    }

    /// Creates another context than the primary one and makes it current.
    pub(super) fn create_context(&self, device: c_int) -> *mut c_void {
        let (create, mut context): (extern "C" fn(*mut *mut c_void, u32, c_int) -> c_int, _) =
            (entry("cuCtxCreate_v2"), std::ptr::null_mut());
        succeed("create", create(&mut context, 0, device));
        self.0.reset();
        context
    }

    pub(super) fn destroy_context(&self, context: *mut c_void) {
        let destroy: extern "C" fn(*mut c_void) -> c_int = entry("cuCtxDestroy_v2");
        succeed("destroy", destroy(context));
        self.0.reset();
    }

    /// Creates a non-blocking stream of the primary context of a device.
    pub(super) fn create_stream(&self, device: c_int) -> *mut c_void {
        self.0.create_stream(device)
    }

    /// Destroys a stream of [`Driver::create_stream`].
    pub(super) fn destroy_stream(&self, device: c_int, stream: *mut c_void) {
        let destroy: extern "C" fn(*mut c_void) -> c_int = entry("cuStreamDestroy_v2");
        succeed("destroy", destroy(stream));
        self.release(device);
    }

    /// Allocates device memory, which is the host's and starts as zeros, on a device.
    pub(super) fn allocate(&self, device: c_int, bytes: usize) -> *mut u8 {
        self.push(self.primary(device));
        let (allocate, mut memory): (extern "C" fn(*mut *mut u8, usize) -> c_int, _) =
            (entry("cuMemAlloc_v2"), std::ptr::null_mut());
        succeed("allocate", allocate(&mut memory, bytes));
        self.pop();
        // SAFETY: the allocation has this size.
        unsafe { memory.write_bytes(0, bytes) };
        memory
    }

    /// Destroys the events that a failure has left.
    pub(super) fn destroy_events(&self) {
        let destroy: extern "C" fn() = entry("fake_cuda_destroy_events");
        destroy();
    }

    /// Releases memory of [`Driver::allocate`].
    pub(super) fn free(&self, device: c_int, memory: *mut u8) {
        let free: extern "C" fn(*mut u8) -> c_int = entry("cuMemFree_v2");
        succeed("free", free(memory));
        self.release(device);
    }

    /// Runs `work` while a stream is captured in the strictest mode; returns the status at the end of the capture.
    pub(super) fn capture(&self, stream: *mut c_void, work: impl FnOnce()) -> c_int {
        self.capture_and(stream, work, |_| ())
    }

    /// Runs `work` while a stream is captured, then `with` with a function that replays the graph; returns the status
    /// at the end of the capture. Nothing is replayed if that is not 0.
    pub(super) fn capture_and(
        &self,
        stream: *mut c_void,
        work: impl FnOnce(),
        with: impl FnOnce(&dyn Fn()),
    ) -> c_int {
        let begin: extern "C" fn(*mut c_void, c_int) -> c_int = entry("cuStreamBeginCapture_v2");
        let end: extern "C" fn(*mut c_void, *mut *mut c_void) -> c_int =
            entry("cuStreamEndCapture");
        let destroy: extern "C" fn(*mut c_void) -> c_int = entry("cuGraphDestroy");
        succeed("begin", begin(stream, 0));
        self.0.reset();
        work();
        let mut graph = std::ptr::null_mut();
        let status = end(stream, &mut graph);
        if status == 0 {
            let replay: extern "C" fn(*mut c_void) = entry("fake_cuda_replay");
            with(&|| replay(graph));
            succeed("destroy", destroy(graph));
        }
        status
    }
}

/// Takes the record since the last reset, and resets it. Handles depend on earlier tests, so their numbers are removed.
pub(super) fn take_record(cuda: &FakeCuda) -> String {
    let record = cuda.record();
    cuda.reset();
    ["lib", "stream", "ctx", " retained="]
        .into_iter()
        .fold(record, |text, name| unnumbered(&text, name))
}

/// Takes the lines of the record that launch or encode tensor maps.
pub(super) fn take_launches(cuda: &FakeCuda) -> String {
    only(&take_record(cuda), &["cuLaunchKernelEx", "cuTensorMapEncode"])
}

/// Takes the calls of the record that work on memory or on events, in one line, each followed by a blank. Streams have
/// the names that are given for them.
pub(super) fn take_commands(cuda: &FakeCuda, named: &[(*mut c_void, &str)]) -> String {
    let text: extern "C" fn(*mut c_void) -> *const c_char = entry("fake_cuda_stream_text");
    let mut record = cuda.record();
    cuda.reset();
    for (stream, name) in named {
        // SAFETY: the stand-in returns text that ends with a NUL.
        let number = unsafe { CStr::from_ptr(text(*stream)) }.to_str().expect("names are text");
        for after in [" ", ")"] {
            record = record.replace(&format!("{number}{after}"), &format!("{name}{after}"));
        }
    }
    let kinds = ["cuMem", "cuStreamBatch", "cuStreamWait", "cuEvent"];
    let lines = only(&record, &kinds);
    lines.lines().map(|line| format!("{line} ")).collect()
}

/// Calls that happen once per process with the JIT, once per library otherwise.
pub(super) const OPENING: [&str; 3] = ["cuDriverGetVersion", "cuInit", "cuDevicePrimaryCtxRetain"];

/// Takes the record without the lines of [`OPENING`].
pub(super) fn take_loading(cuda: &FakeCuda) -> String {
    let record = take_record(cuda);
    let opens = |line: &&str| OPENING.iter().any(|name| line.starts_with(name));
    record.lines().filter(|line| !opens(line)).map(|line| format!("{line}\n")).collect()
}

fn only(record: &str, names: &[&str]) -> String {
    let is_one = |line: &&str| names.iter().any(|name| line.starts_with(name));
    record.lines().filter(is_one).map(|line| format!("{line}\n")).collect()
}

fn unnumbered(text: &str, name: &str) -> String {
    let mut parts = text.split(name);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        result += name;
        result += part.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    result
}

/// Expands an error of a function, in which `…` stands for its place.
pub(super) fn error_of(library: &Library, function: &str, text: &str) -> String {
    let mut signatures = library.functions.iter().map(|function| &function.signature);
    let signature = signatures.find(|signature| signature.name == function);
    let signature = signature.unwrap_or_else(|| panic!("no function {function}"));
    text.replace('…', &format!("when calling: `{}`", signature.header()))
}

/// Compares texts; `?` stands for any character.
pub(super) fn assert_same(found: &str, expected: &str, place: &str) {
    let same = found.chars().count() == expected.chars().count()
        && found.chars().zip(expected.chars()).all(|(a, b)| a == b || b == '?');
    assert!(same, "{place}\nexpected {expected}\nbut got  {found}");
}
