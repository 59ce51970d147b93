//! Results and other owned values: validating, copying and retaining them.

use abi_spec::TypeIndex;

use crate::ir::Builder;
use crate::ir::typed::{Bool, Int, Text, constant, handles, routine};
use crate::lower::routines::access::{accepts, borrow, is_object};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::fail::{fail_scalar, failure, place_of, quoted, required_of};
use crate::lower::routines::memory::{Any, ByteArray, Caller, Object, filled};
use crate::lower::routines::message::raise;
use crate::lower::routines::records::{Required, Subject};
use crate::lower::routines::runtime::{
    any_view_to_owned_any, object_inc_ref, string_from_byte_array,
};
use crate::resolve::accepted::{MAX_SMALL, owned};

/// Largest number of bytes of a small text, which is held in the value itself.
const SMALL: u64 = MAX_SMALL as u64;

/// Copies a value with its unused bytes cleared. An rvalue reference is replaced by the object that it refers to, which
/// is not retained.
#[routine]
pub(crate) fn copy_any(from: &Any, to: &Any) {
    let index = from.type_index;
    if index == TypeIndex::OBJECT_RVALUE_REF {
        let value = borrow(from);
        to.head = value.index as i64 as u64;
        to.object = value.object;
        return;
    }
    let head = from.head;
    let is_small = index == TypeIndex::SMALL_STR || index == TypeIndex::SMALL_BYTES;
    to.head = if is_small { head } else { head & 0xffff_ffff };
    to.payload = used_payload(from);
}

/// Returns the payload with its unused bytes cleared. The payload of a small text with an invalid length is returned
/// unchanged.
#[routine(inline)]
fn used_payload(value: &Any) -> u64 {
    let payload = value.payload;
    let len = value.small_len as u64;
    match value.type_index {
        TypeIndex::NONE => 0,
        TypeIndex::BOOL => (payload != 0) as u64,
        TypeIndex::DATA_TYPE => payload & 0xffff_ffff,
        TypeIndex::SMALL_STR | TypeIndex::SMALL_BYTES => {
            if len <= SMALL {
                payload & ((1u64 << (len << 3)) - 1)
            } else {
                payload
            }
        }
        _ => payload,
    }
}

handles! {
    /// Faults of a value that should be owned.
    struct Faults {
        /// The value is borrowed, or its object is NULL or of another type index.
        foreign: Bool,
        /// `length` exceeds `most`.
        long: Bool,
        /// The value is small text or bytes.
        small: Bool,
        /// The largest valid `length`: [`SMALL`] for small text or bytes, else 0.
        most: Int<u64>,
        /// The 32 bits after the type index: the length of small text or bytes, else padding.
        length: Int<u64>,
    }
}

/// Finds the faults of a value.
#[routine(inline)]
fn faults(value: &Any) -> Faults {
    let index = value.type_index;
    let small = index == TypeIndex::SMALL_STR || index == TypeIndex::SMALL_BYTES;
    let most: u64 = if small { SMALL } else { 0 };
    let length = value.small_len as u64;
    Faults { foreign: is_foreign(value, index), long: length > most, small, most, length }
}

/// Returns true if a value is borrowed, or its object is NULL or of another type index.
#[routine(inline)]
fn is_foreign(value: &Any, index: i32) -> bool {
    if !accepts(index, owned_low(), owned_high()) {
        return true;
    }
    if !is_object(index) {
        return false;
    }
    let object = value.object;
    object == null || object.type_index != index
}

/// Returns the lower mask of the type indices of owned values.
fn owned_low(b: &mut Builder<'_>) -> Int<u64> {
    constant(b, owned().low)
}

/// Returns the upper mask of the type indices of owned values.
fn owned_high(b: &mut Builder<'_>) -> Int<u64> {
    constant(b, owned().high)
}

/// Returns 1 if a value is owned and well-formed, else 0: its object has its type index, and the 32 bits after the type
/// index are 0, or a valid length of small text or bytes.
#[routine]
pub(crate) fn is_owned(value: &Any) -> i32 {
    let faults = faults(value);
    (!(faults.foreign || faults.long)) as i32
}

/// Raises the error for a value that should be owned. Returns -1.
///
/// If the value has none of the [`Faults`], it is small text or bytes instead of the scalar that `scalar` describes.
#[routine]
pub(crate) fn fail_owned(subject: &Subject, value: &Any, scalar: &Subject) -> i32 {
    let failure = failure(subject, null);
    let place = place_of(subject);
    let faults = faults(value);
    if faults.foreign {
        let required = required_of(subject) as &Required;
        raise!(failure, Complaint::Foreign, place, quoted(subject, required.expected), value);
    }
    if !faults.long {
        return fail_scalar(scalar, value, 0, null);
    }
    if faults.small {
        raise!(failure, Complaint::SmallLength, place, faults.most, faults.length);
    }
    raise!(failure, Complaint::Padding, place, faults.most, faults.length);
}

/// Makes a value owned in place: an object is retained, borrowed text is copied. Returns 0, or -1 once it has raised,
/// as for a `DLTensor*` and a NULL object or text, which cannot be owned.
#[routine]
pub(crate) fn own(caller: Caller, value: &Any) -> i32 {
    if is_null(value) {
        raise!(caller, Complaint::NullResult);
    }
    let index = value.type_index;
    if is_object(index) {
        object_inc_ref(value.object);
        return 0;
    }
    if index == TypeIndex::DL_TENSOR_PTR {
        raise!(caller, Complaint::Borrowed);
    }
    if index == TypeIndex::RAW_STR || index == TypeIndex::BYTE_ARRAY_PTR {
        // The call fails only if memory runs out. The message of the runtime is then that of a C++ exception, so
        // another one is raised.
        if any_view_to_owned_any(value, value) != 0 {
            raise!(caller, Complaint::ResultMemory);
        }
    }
    0
}

/// Returns true if an object, also one that is moved, or borrowed text is NULL. The runtime reads it without a look
/// when it makes the value owned.
#[routine(inline)]
pub(crate) fn is_null(value: &Any) -> bool {
    let index = value.type_index;
    let is_text = index == TypeIndex::RAW_STR || index == TypeIndex::BYTE_ARRAY_PTR;
    let is_moved = index == TypeIndex::OBJECT_RVALUE_REF;
    let mut object = value.object;
    if is_moved && object != null {
        object = *(object as &&Object);
    }
    (is_object(index) || is_text || is_moved) && object == null
}

/// Stores text as an owned string in `result`: the body of a getter. Returns 0, or -1 if the runtime has raised;
/// `result` is written only on success.
#[routine]
pub(crate) fn give_text(text: Text, result: &Any) -> i32 {
    let bytes: ByteArray;
    let string: Any;
    string.head = 0;
    string.payload = 0;
    if string_from_byte_array(filled(bytes, text.data, text.len), string) != 0 {
        return -1;
    }
    result.head = string.head;
    result.payload = string.payload;
    0
}
