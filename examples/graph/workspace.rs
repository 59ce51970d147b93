//! The allocator that `alloc` asks for intermediates. Frameworks set theirs; a program without one sets its own,
//! here on the heap of Rust.

use std::error::Error;
use std::ffi::{c_char, c_void};
use std::ptr;

use jit::Runtime;
use jit::abi::DLTensor;

/// `DLManagedTensorVersioned`, and what it points at behind it.
#[repr(C)]
struct Managed {
    version: [u32; 2],
    context: *mut c_void,
    deleter: unsafe extern "C" fn(*mut Managed),
    flags: u64,
    tensor: DLTensor,
    shape: Vec<i64>,
    data: Vec<[f32; 16]>,
}

unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: `allocate` made it, and this is the end of it.
    drop(unsafe { Box::from_raw(managed) });
}

/// `DLPackManagedTensorAllocator`, for tensors of `float32` on the cpu.
unsafe extern "C" fn allocate(
    prototype: *const DLTensor,
    result: *mut *mut Managed,
    _: *mut c_void,
    _: unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char),
) -> i32 {
    // SAFETY: the prototype says what is wanted.
    let mut tensor = unsafe { ptr::read(prototype) };
    // SAFETY: it has as many extents.
    let shape = unsafe { std::slice::from_raw_parts(tensor.shape, tensor.ndim as usize) }.to_vec();
    let count = shape.iter().product::<i64>() as usize;
    let data = vec![[0.0; 16]; count.div_ceil(16)];
    (tensor.shape, tensor.data) = (shape.as_ptr().cast_mut(), data.as_ptr().cast_mut().cast());
    let (version, context) = ([1, 1], ptr::null_mut());
    let managed = Managed { version, context, deleter: delete, flags: 0, tensor, shape, data };
    // SAFETY: a place for the result.
    unsafe { *result = Box::into_raw(Box::new(managed)) };
    0
}

/// Sets the allocator of this thread.
pub(crate) fn set(runtime: &Runtime) -> Result<(), Box<dyn Error>> {
    type Set = unsafe extern "C" fn(*const c_void, i32, *mut *const c_void) -> i32;
    let name = "TVMFFIEnvSetDLPackManagedTensorAllocator";
    let symbol = runtime.symbol(name).ok_or("the runtime has no allocators")?;
    // SAFETY: the type is that of `c_env_api.h`.
    let set: Set = unsafe { std::mem::transmute(symbol) };
    // SAFETY: an allocator that lives as long as the program.
    let status = unsafe { set(allocate as *const c_void, 0, ptr::null_mut()) };
    if status == 0 { Ok(()) } else { Err("the runtime takes no allocator".into()) }
}
