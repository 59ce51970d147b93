//! Tensors from the allocator of the environment.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Mutex;

use super::dlpack;
use crate::abi::{DLManagedTensorVersioned, DLTensor, Object};

/// The callback that receives the error of an allocator: context, kind, message.
type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackManagedTensorAllocator`
pub(super) type Allocator = unsafe extern "C" fn(
    *mut DLTensor,
    *mut *mut DLManagedTensorVersioned,
    *mut c_void,
    SetError,
) -> i32;

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
    // SAFETY: allocators pass NUL-terminated texts.
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
    // SAFETY: whoever set the allocator vouches for it.
    let status = unsafe { allocator(prototype, &mut managed, ptr::null_mut(), set_error) };
    if status != 0 {
        return status;
    }
    if managed.is_null() {
        let message = b"TVMFFIEnvTensorAlloc: failed to allocate a tensor from the allocator";
        super::raise(b"RuntimeError", message);
        return -1;
    }
    // SAFETY: the allocator has made a tensor, which this function owns.
    unsafe { dlpack::from_versioned(managed, 0, 0, out) }
}
