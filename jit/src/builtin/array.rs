//! Arrays, and the one global function, which makes them.

use std::ffi::c_void;
use std::ptr;

use abi_spec::TypeIndex;

use super::{function, object};
use crate::abi::{Any, ByteArray, Object};

/// What follows the header of an array: its cell, then the elements that it owns.
#[repr(C)]
struct Body {
    data: *const Any,
    size: i64,
    capacity: i64,
    data_deleter: *mut c_void,
    elements: Box<[Any]>,
}

impl Drop for Body {
    fn drop(&mut self) {
        for element in self.elements.iter().filter(|element| element.ty().is_object()) {
            // SAFETY: the array owns a reference.
            unsafe { object::dec_ref(element.pointer().cast()) };
        }
    }
}

/// `TVMFFIFunctionGetGlobal`: NULL for every name but `ffi.Array`.
///
/// # Safety
/// Both are valid.
pub(super) unsafe extern "C" fn get_global(name: *const ByteArray, out: *mut *mut Object) -> i32 {
    // SAFETY: as required above; the function needs no context.
    unsafe {
        *out = ptr::null_mut();
        if (*name).bytes() != b"ffi.Array" {
            return 0;
        }
        function::create(ptr::null_mut(), make, None, out)
    }
}

/// An array of owned copies of the arguments.
unsafe extern "C" fn make(_: *mut c_void, args: *const Any, count: i32, result: *mut Any) -> i32 {
    let mut elements = vec![Any::NONE; count.max(0) as usize].into_boxed_slice();
    for (index, element) in elements.iter_mut().enumerate() {
        // SAFETY: there are as many arguments; `element` takes the copy.
        if unsafe { super::string::any_view_to_owned_any(args.add(index), element) } != 0 {
            return -1;
        }
    }
    let (data, size) = (elements.as_ptr(), elements.len() as i64);
    let body = Body { data, size, capacity: size, data_deleter: ptr::null_mut(), elements };
    let array = object::allocate(TypeIndex::ARRAY, body);
    // SAFETY: callers give a place for the result.
    unsafe { *result = Any::ptr(TypeIndex::ARRAY, array.cast()) };
    0
}
