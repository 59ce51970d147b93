//! Values that somebody else has made: whether they are owned, how they are copied, and released.

use abi_spec::TypeIndex;

use crate::ir::Builder;
use crate::ir::typed::{Bool, Int, Text, constant, handles, routine};
use crate::lower::routines::access::{accepts, borrow, is_object};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::errors::{set_raised, take_error};
use crate::lower::routines::fail::{fail_scalar, failure, place_of, quoted, required_of};
use crate::lower::routines::memory::{Any, ByteArray, Caller, filled};
use crate::lower::routines::message::raise;
use crate::lower::routines::records::{Required, Subject};
use crate::lower::routines::runtime::{
    any_view_to_owned_any, object_dec_ref, object_inc_ref, string_from_byte_array,
};
use crate::resolve::accepted::{MAX_SMALL, owned};

/// Bytes of a text that has its place in the value.
const SMALL: u64 = MAX_SMALL as u64;

/// Copies a value without the bytes that mean nothing; a reference to an object becomes it.
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

/// The payload without the bytes that mean nothing. What claims to be longer than it can be stays as it is.
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
    /// What is wrong with a value that should be owned.
    struct Faults {
        /// It is borrowed, or an object that is none.
        foreign: Bool,
        /// The second word of the value is more than it may be.
        long: Bool,
        /// It is that of small text or bytes.
        small: Bool,
        most: Int<u64>,
        length: Int<u64>,
    }
}

#[routine(inline)]
fn faults(value: &Any) -> Faults {
    let index = value.type_index;
    let small = index == TypeIndex::SMALL_STR || index == TypeIndex::SMALL_BYTES;
    let most: u64 = if small { SMALL } else { 0 };
    let length = value.small_len as u64;
    Faults { foreign: is_foreign(value, index), long: length > most, small, most, length }
}

/// Whether a value is borrowed, or an object that is none.
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

/// The masks of the types of owned values.
fn owned_low(b: &mut Builder<'_>) -> Int<u64> {
    constant(b, owned().low)
}

fn owned_high(b: &mut Builder<'_>) -> Int<u64> {
    constant(b, owned().high)
}

/// 1 if a value is owned, there is an object where it says so, and the word after the type index is 0, or a length
/// that there is room for.
#[routine]
pub(crate) fn is_owned(value: &Any) -> i32 {
    let faults = faults(value);
    (!(faults.foreign || faults.long)) as i32
}

/// Raises what is wrong with a value that is not owned. One that is, is small text where a scalar should be, of which
/// the second word says nothing.
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

/// Makes a value owned, or raises and returns -1: text is copied, an object gets an owner more; a `DLTensor*` cannot be
/// owned.
#[routine]
pub(crate) fn own(caller: Caller, value: &Any) -> i32 {
    let index = value.type_index;
    if is_object(index) {
        object_inc_ref(value.object);
        return 0;
    }
    if index == TypeIndex::DL_TENSOR_PTR {
        raise!(caller, Complaint::Borrowed);
    }
    if index == TypeIndex::RAW_STR || index == TypeIndex::BYTE_ARRAY_PTR {
        // It fails only where there is no room for a copy, in words of C++.
        if any_view_to_owned_any(value, value) != 0 {
            raise!(caller, Complaint::ResultMemory);
        }
    }
    0
}

/// Gives up the objects among values.
#[routine]
pub(crate) fn release(values: &Any, count: i64) {
    for at in 0..count {
        let value = &values[at];
        if is_object(value.type_index) {
            // NULL is fine.
            object_dec_ref(value.object);
        }
    }
}

/// The same after something has failed. Deleters may overwrite the error in the thread's slot, so it is set again.
#[routine]
pub(crate) fn leave(values: &Any, count: i64) {
    let error = take_error();
    release(values, count);
    if error != null {
        set_raised(error);
    }
}

/// The whole of a function that returns a constant text, as an owned string. The result is written at once and whole, if
/// all went well; else the runtime has raised, and so has this.
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
