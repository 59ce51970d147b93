//! Objects: allocation, and the reference counts of the ABI.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

use abi_spec::TypeIndex;

use crate::abi::Object;

/// One strong reference.
const STRONG: u64 = 1;
/// One weak reference.
const WEAK: u64 = 1 << 32;
/// Flag of deleters: run the destructor.
const DESTROY: i32 = 1;
/// Flag of deleters: free the memory.
const FREE: i32 = 2;

/// An object: the header and a body, which starts with the cell of its class.
#[repr(C)]
struct Allocation<T> {
    header: Object,
    body: T,
}

/// Allocates an object with one reference.
pub(super) fn allocate<T>(ty: TypeIndex, body: T) -> *mut Object {
    let header = Object {
        combined_ref_count: AtomicU64::new(STRONG | WEAK),
        type_index: ty.0,
        padding: 0,
        deleter: Some(delete::<T>),
    };
    Box::into_raw(Box::new(Allocation { header, body })).cast()
}

/// Returns the address of an object's body.
///
/// # Safety
/// `object` is live and was allocated with this `T`, or `T` is the cell of its class.
pub(super) unsafe fn body<T>(object: *mut Object) -> *mut T {
    // SAFETY: the object is an `Allocation<T>`, or has its layout as far as `T` goes.
    unsafe { &raw mut (*object.cast::<Allocation<T>>()).body }
}

unsafe extern "C" fn delete<T>(object: *mut c_void, flags: i32) {
    let allocation = object.cast::<Allocation<T>>();
    if flags & DESTROY != 0 {
        // SAFETY: the last strong reference is gone, so nobody else uses the body.
        unsafe { (&raw mut (*allocation).body).drop_in_place() };
    }
    if flags & FREE != 0 {
        // SAFETY: the last reference is gone and the body has been dropped; the memory came from a
        // box of this layout, which `ManuallyDrop` does not change.
        drop(unsafe { Box::from_raw(allocation.cast::<std::mem::ManuallyDrop<Allocation<T>>>()) });
    }
}

/// `TVMFFIObjectIncRef`
///
/// # Safety
/// `object` is live.
pub(super) unsafe extern "C" fn inc_ref(object: *mut Object) -> i32 {
    // SAFETY: the caller holds a reference.
    unsafe { &*object }.combined_ref_count.fetch_add(STRONG, Ordering::Relaxed);
    0
}

/// `TVMFFIObjectDecRef`. NULL is allowed.
///
/// # Safety
/// `object` is live or NULL, and the caller gives one reference up.
pub(crate) unsafe extern "C" fn dec_ref(object: *mut Object) -> i32 {
    if object.is_null() {
        return 0;
    }
    // SAFETY: the caller's reference keeps the header alive until the subtraction. After it another thread may free the
    // object, so these are raw pointers.
    let (count, deleter) = unsafe { (&raw const (*object).combined_ref_count, (*object).deleter) };
    let delete = |flags| {
        // Orders this after all that other threads did with the object. Thread sanitizers do not know fences, which
        // would do it, too.
        // SAFETY: the count reached zero in this thread, so nobody else frees the object.
        unsafe { (*count).load(Ordering::Acquire) };
        if let Some(deleter) = deleter {
            // SAFETY: this thread has seen the count reach zero, so it alone calls the deleter.
            unsafe { deleter(object.cast(), flags) };
        }
    };
    // SAFETY: as above.
    let old = unsafe { (*count).fetch_sub(STRONG, Ordering::Release) };
    if old == STRONG | WEAK {
        delete(DESTROY | FREE);
    } else if old & (WEAK - 1) == STRONG {
        delete(DESTROY);
        // SAFETY: all strong references together hold one weak reference, which is released here.
        if unsafe { (*count).fetch_sub(WEAK, Ordering::Release) } == WEAK {
            delete(FREE);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_weak_reference_keeps_the_memory_but_not_the_value() {
        let token = Arc::new(());
        let object = allocate(TypeIndex::OBJECT, token.clone());
        // SAFETY: each call gives up a reference that this test holds.
        unsafe {
            inc_ref(object);
            dec_ref(object);
            assert_eq!(Arc::strong_count(&token), 2);
            (*object).combined_ref_count.fetch_add(WEAK, Ordering::Relaxed);
            dec_ref(object);
            assert_eq!(Arc::strong_count(&token), 1);
            assert_eq!((*object).combined_ref_count.load(Ordering::Relaxed), WEAK);
            (*object).deleter.expect("objects have a deleter")(object.cast(), FREE);
        }
    }
}
