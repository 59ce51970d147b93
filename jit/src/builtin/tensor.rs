//! Tensors that an allocator makes.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Mutex;

use abi_spec::TypeIndex;

use super::object;
use crate::abi::{DLTensor, Object};

/// `DLManagedTensorVersioned`
#[repr(C)]
pub(super) struct Managed {
    version: [u32; 2],
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
    flags: u64,
    tensor: DLTensor,
}

/// Receives the error of an allocator: context, kind, message.
type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackManagedTensorAllocator`
pub(super) type Allocator =
    unsafe extern "C" fn(*mut DLTensor, *mut *mut Managed, *mut c_void, SetError) -> i32;

/// What follows the header of a tensor.
#[repr(C)]
struct Body {
    tensor: DLTensor,
    /// What `tensor` points at where the allocator gave no strides.
    strides: Box<[i64]>,
    managed: *mut Managed,
}

impl Drop for Body {
    fn drop(&mut self) {
        // SAFETY: the tensor owns what it was made of.
        if let Some(deleter) = unsafe { (*self.managed).deleter } {
            // SAFETY: as above.
            unsafe { deleter(self.managed) };
        }
    }
}

thread_local! {
    static ALLOCATOR: Cell<Option<Allocator>> = const { Cell::new(None) };
}

static GLOBAL: Mutex<Option<Allocator>> = Mutex::new(None);

fn global() -> std::sync::MutexGuard<'static, Option<Allocator>> {
    GLOBAL.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// `TVMFFIEnvGetDLPackManagedTensorAllocator`
pub(super) extern "C" fn get_allocator() -> Option<Allocator> {
    ALLOCATOR.try_with(Cell::get).ok().flatten().or_else(|| *global())
}

/// `TVMFFIEnvSetDLPackManagedTensorAllocator`
///
/// # Safety
/// `previous` is valid or NULL.
pub(super) unsafe extern "C" fn set_allocator(
    allocator: Option<Allocator>,
    everywhere: i32,
    previous: *mut Option<Allocator>,
) -> i32 {
    let Ok(old) = ALLOCATOR.try_with(|own| own.replace(allocator)) else {
        super::raise(b"RuntimeError", b"the thread is ending");
        return -1;
    };
    if everywhere != 0 {
        *global() = allocator;
    }
    if !previous.is_null() {
        // SAFETY: as required above.
        unsafe { *previous = old };
    }
    0
}

unsafe extern "C" fn set_error(_: *mut c_void, kind: *const c_char, message: *const c_char) {
    // SAFETY: allocators pass texts.
    let [kind, message] = [kind, message].map(|text| unsafe { CStr::from_ptr(text) }.to_bytes());
    super::raise(kind, message);
}

/// `TVMFFIEnvTensorAlloc`
///
/// # Safety
/// `prototype` describes a tensor, and `out` is valid.
pub(super) unsafe extern "C" fn alloc(prototype: *mut DLTensor, out: *mut *mut Object) -> i32 {
    let Some(allocator) = get_allocator() else {
        let message = b"TVMFFIEnvTensorAlloc: allocator is nullptr, likely because \
            TVMFFIEnvSetDLPackManagedTensorAllocator has not been called.";
        super::raise(b"RuntimeError", message);
        return -1;
    };
    let mut managed = ptr::null_mut();
    // SAFETY: who set the allocator vouches for it.
    let status = unsafe { allocator(prototype, &mut managed, ptr::null_mut(), set_error) };
    if status != 0 {
        return status;
    }
    if managed.is_null() {
        let message = b"TVMFFIEnvTensorAlloc: failed to allocate a tensor from the allocator";
        super::raise(b"RuntimeError", message);
        return -1;
    }
    // SAFETY: the allocator has made a tensor.
    unsafe { *out = from_managed(managed) };
    0
}

/// `TVMFFITensorFromDLPackVersioned`, for tensors of which nothing is required.
///
/// # Safety
/// `managed` is a tensor, which the caller gives up if this succeeds, and `out` is valid.
pub(super) unsafe extern "C" fn from_dl_pack(
    managed: *mut Managed,
    alignment: i32,
    contiguous: i32,
    out: *mut *mut Object,
) -> i32 {
    if (alignment, contiguous) != (0, 0) {
        super::raise(b"RuntimeError", b"FromDLPack: the built-in runtime checks no tensors");
        return -1;
    }
    // SAFETY: as required above.
    unsafe { *out = from_managed(managed) };
    0
}

/// # Safety
/// `managed` is a tensor, which the caller gives up.
unsafe fn from_managed(managed: *mut Managed) -> *mut Object {
    // SAFETY: as required above; there are as many extents as `ndim` says.
    let (mut tensor, shape) = unsafe {
        let tensor = (*managed).tensor;
        let rank = tensor.ndim as usize;
        let shape =
            if rank == 0 { &[][..] } else { std::slice::from_raw_parts(tensor.shape, rank) };
        (tensor, shape)
    };
    let mut strides: Box<[i64]> = Box::new([]);
    if tensor.strides.is_null() && !shape.is_empty() {
        let product = |dims: &[i64]| dims.iter().fold(1_i64, |a, b| a.wrapping_mul(*b));
        strides = (0..shape.len()).map(|dim| product(&shape[dim + 1..])).collect();
        tensor.strides = strides.as_mut_ptr();
    }
    object::allocate(TypeIndex::TENSOR, Body { tensor, strides, managed })
}
