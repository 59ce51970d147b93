//! Strings and bytes: small ones inside the value, longer ones as objects.

use std::ffi::{CStr, c_void};
use std::ptr;

use abi_spec::TypeIndex;

use super::object;
use crate::abi::{Any, ByteArray, Object, Payload};

/// What follows the header of a string or of bytes.
#[repr(C)]
struct Body {
    cell: ByteArray,
    bytes: Vec<u8>,
}

/// A copy, or `None` where there is no room for it.
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
    // The terminating NUL is not counted.
    copy.push(0);
    let cell = ByteArray { data: copy.as_ptr().cast(), size: bytes.len() };
    Some(Any::ptr(object, object::allocate(object, Body { cell, bytes: copy }).cast()))
}

/// A string.
pub(super) fn text(bytes: &[u8]) -> Option<Any> {
    owned(bytes, TypeIndex::SMALL_STR, TypeIndex::STR)
}

/// Writes what has been made; -1 once it has raised that there is nothing.
///
/// # Safety
/// The place is valid.
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
/// Both are valid.
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
/// Both are valid.
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
/// Both are valid, and so is what the value points at.
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
