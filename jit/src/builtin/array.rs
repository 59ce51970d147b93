//! Arrays and shapes, and the global functions that make them.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use abi_spec::TypeIndex;

use super::{function, object};
use crate::abi::{Any, ByteArray, Object, SafeCall};

/// The body of an array object: its cell, then the elements that it owns.
#[repr(C)]
struct ArrayBody {
    data: *const Any,
    size: i64,
    capacity: i64,
    data_deleter: *mut c_void,
    elements: Vec<Any>,
}

impl Drop for ArrayBody {
    fn drop(&mut self) {
        for element in self.elements.iter().filter(|element| element.ty().is_object()) {
            // SAFETY: the array owns a reference to the element.
            unsafe { object::dec_ref(element.pointer().cast()) };
        }
    }
}

/// `TVMFFIFunctionGetGlobal`: NULL for every name but `ffi.Array` and `ffi.Shape`.
///
/// # Safety
/// Both pointers are valid.
pub(super) unsafe extern "C" fn get_global(name: *const ByteArray, out: *mut *mut Object) -> i32 {
    // SAFETY: as required above; the function needs no context.
    unsafe {
        *out = ptr::null_mut();
        let make: SafeCall = match (*name).bytes() {
            b"ffi.Array" => make,
            b"ffi.Shape" => make_shape,
            _ => return 0,
        };
        function::create(ptr::null_mut(), make, None, out)
    }
}

/// `TVMFFIEnvModLookupFromImports`: raises for every name, since modules have no imports here.
///
/// # Safety
/// `name` is a C string; `out` is valid.
pub(super) unsafe extern "C" fn look_up(
    _: *mut c_void,
    name: *const c_char,
    out: *mut *mut Object,
) -> i32 {
    // SAFETY: as required above.
    let name = unsafe {
        *out = ptr::null_mut();
        CStr::from_ptr(name).to_string_lossy()
    };
    let message =
        format!("Cannot find function {name} in the imported modules or global registry.");
    super::error::raise(b"RuntimeError", message.as_bytes());
    -1
}

/// The body of a shape object: its cell, then its numbers.
#[repr(C)]
struct ShapeBody {
    data: *const i64,
    size: usize,
    numbers: Vec<i64>,
}

/// Makes a shape of its arguments, which must be integers.
unsafe extern "C" fn make_shape(
    _: *mut c_void,
    args: *const Any,
    count: i32,
    result: *mut Any,
) -> i32 {
    let mut numbers = Vec::with_capacity(count.max(0) as usize);
    for index in 0..count.max(0) as usize {
        // SAFETY: `count` is the number of arguments.
        let number = unsafe { &*args.add(index) };
        if number.ty() != TypeIndex::INT {
            super::error::raise(b"TypeError", b"a shape is made of integers");
            return -1;
        }
        numbers.push(number.bits());
    }
    let body = ShapeBody { data: numbers.as_ptr(), size: numbers.len(), numbers };
    let shape = object::allocate(TypeIndex::SHAPE, body);
    // SAFETY: callers give a place for the result.
    unsafe { *result = Any::ptr(TypeIndex::SHAPE, shape.cast()) };
    0
}

/// Makes an array of owned copies of its arguments.
unsafe extern "C" fn make(_: *mut c_void, args: *const Any, count: i32, result: *mut Any) -> i32 {
    let mut elements = vec![Any::NONE; count.max(0) as usize];
    for (index, element) in elements.iter_mut().enumerate() {
        // SAFETY: `count` is the number of arguments; `element` takes the copy.
        if unsafe { super::string::any_view_to_owned_any(args.add(index), element) } != 0 {
            return -1;
        }
    }
    let (data, size) = (elements.as_ptr(), elements.len() as i64);
    let body = ArrayBody { data, size, capacity: size, data_deleter: ptr::null_mut(), elements };
    let array = object::allocate(TypeIndex::ARRAY, body);
    // SAFETY: callers give a place for the result.
    unsafe { *result = Any::ptr(TypeIndex::ARRAY, array.cast()) };
    0
}
