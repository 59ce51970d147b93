//! Strings and bytes: up to seven bytes inside the value, more in an object.

use std::ffi::{CStr, c_void};
use std::ptr;

use abi_spec::TypeIndex;

use super::object;
use crate::abi::{Any, ByteArray, Object, Payload};

/// The body of a string or bytes object.
#[repr(C)]
struct StringBody {
    cell: ByteArray,
    bytes: Vec<u8>,
}

/// Copies bytes into a value of type `small` or, for long ones, into an object of type `object`. Returns `None` if
/// memory is exhausted.
fn owned(bytes: &[u8], small: TypeIndex, object: TypeIndex) -> Option<Any> {
    let mut payload = [0; 8];
    if bytes.len() < payload.len() {
        payload[..bytes.len()].copy_from_slice(bytes);
        let small_len = bytes.len() as u32;
        return Some(Any { type_index: small.0, small_len, payload: Payload { bytes: payload } });
    }
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len() + 1).ok()?;
    copy.extend_from_slice(bytes);
    // C expects a NUL after the bytes, which the size does not count.
    copy.push(0);
    let cell = ByteArray { data: copy.as_ptr().cast(), size: bytes.len() };
    Some(Any::ptr(object, object::allocate(object, StringBody { cell, bytes: copy }).cast()))
}

/// Copies text into a string value; `None` if memory is exhausted.
pub(super) fn text(bytes: &[u8]) -> Option<Any> {
    owned(bytes, TypeIndex::SMALL_STR, TypeIndex::STR)
}

/// Writes a value and returns 0, or raises a `MemoryError` and returns -1.
///
/// # Safety
/// `out` is valid.
unsafe fn hand_over(made: Option<Any>, out: *mut Any) -> i32 {
    let Some(made) = made else {
        super::raise(b"MemoryError", b"out of memory");
        return -1;
    };
    // SAFETY: as required above.
    unsafe { *out = made };
    0
}

/// `TVMFFIStringFromByteArray`
///
/// # Safety
/// Both pointers are valid.
pub(super) unsafe extern "C" fn string_from_byte_array(
    text: *const ByteArray,
    out: *mut Any,
) -> i32 {
    // SAFETY: as required above.
    unsafe { hand_over(self::text((*text).bytes()), out) }
}

/// `TVMFFIBytesFromByteArray`
///
/// # Safety
/// Both pointers are valid.
pub(super) unsafe extern "C" fn bytes_from_byte_array(
    bytes: *const ByteArray,
    out: *mut Any,
) -> i32 {
    // SAFETY: as required above.
    unsafe { hand_over(owned((*bytes).bytes(), TypeIndex::SMALL_BYTES, TypeIndex::BYTES), out) }
}

/// `TVMFFIAnyViewToOwnedAny`: a borrowed `DLTensor*` stays borrowed.
///
/// # Safety
/// Both pointers are valid, and so is the memory that the value points at.
pub(super) unsafe extern "C" fn any_view_to_owned_any(view: *const Any, out: *mut Any) -> i32 {
    // SAFETY: as required above, for each kind of value.
    unsafe {
        let view = *view;
        let made = match view.ty() {
            TypeIndex::RAW_STR => {
                let text = CStr::from_ptr(view.pointer().cast()).to_bytes();
                self::text(text)
            }
            TypeIndex::BYTE_ARRAY_PTR => {
                let bytes = (*view.pointer().cast::<ByteArray>()).bytes();
                owned(bytes, TypeIndex::SMALL_BYTES, TypeIndex::BYTES)
            }
            TypeIndex::OBJECT_RVALUE_REF => {
                let slot = view.pointer().cast::<*mut Object>();
                let object = slot.replace(ptr::null_mut());
                if object.is_null() {
                    super::raise(b"InternalError", b"the reference has been moved already");
                    return -1;
                }
                Some(Any::ptr(TypeIndex((*object).type_index), object.cast::<c_void>()))
            }
            ty if ty.is_object() => {
                object::inc_ref(view.pointer().cast());
                Some(view)
            }
            _ => Some(view),
        };
        hand_over(made, out)
    }
}
