//! Fail routines for values that are neither scalars nor tensors. Each raises and returns -1, unless its comment says
//! otherwise.

use abi_spec::TypeIndex;

use crate::ir::typed::{Text, routine};
use crate::language::MAX_RANK;
use crate::lower::routines::access::{ALL, Borrowed, accepts, borrow, is_object, text};
use crate::lower::routines::big_int::is_big_int;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::fail::{failure, place_of, quoted, required_of};
use crate::lower::routines::memory::{Any, ByteArray, write};
use crate::lower::routines::message::{Failure, raise};
use crate::lower::routines::records::{Required, Requirement, Subject};
use crate::resolve::accepted::MAX_SMALL;

/// Largest number of integers of a shape.
const MOST: u64 = MAX_RANK as u64;

/// Raises the error for element `nth` of `values`, which is of a wrong type or violates another requirement.
#[routine]
pub(crate) fn fail_value(subject: &Subject, values: &Any, nth: u64, indices: &i64) -> i32 {
    let value = &values[nth];
    let required = required_of(subject) as &Required;
    let require = required.require;
    if require == Requirement::OneOf {
        return wrong_type(subject, value, indices);
    }
    fail_type(subject, value, indices)?;
    match require {
        Requirement::Dtype | Requirement::Device => fail_text(subject, value, indices),
        Requirement::Numbers => fail_numbers(subject, value, indices),
        Requirement::Size => fail_size(subject, value, indices),
        Requirement::Literal => fail_literal(subject, value, indices),
        _ => wrong_type(subject, value, indices),
    }
}

/// Raises the error for a value of a wrong type. For an rvalue reference, the message names the type of its object.
/// Names a `DLTensor*` as such where the type accepts tensor objects, but no `DLTensor*`.
#[routine]
pub(crate) fn wrong_type(subject: &Subject, value: &Any, indices: &i64) -> i32 {
    let required = required_of(subject) as &Required;
    let (low, high) = (required.low, required.high);
    let found: Any;
    let borrowed = borrow(value);
    write(found, borrowed.index, borrowed.object as u64);
    let expected = quoted(subject, required.expected);
    let is_view = borrowed.index == TypeIndex::DL_TENSOR_PTR && !accepts(borrowed.index, low, high);
    if is_view && accepts(TypeIndex::TENSOR, low, high) {
        raise!(failure(subject, indices), Complaint::TypeView, place_of(subject), expected);
    }
    raise!(failure(subject, indices), Complaint::Type, place_of(subject), expected, found);
}

/// Checks that a value is of an accepted type, not NULL, and no small text with an invalid length. Returns 0, or -1
/// once it has raised.
#[routine]
pub(crate) fn fail_type(subject: &Subject, value: &Any, indices: &i64) -> i32 {
    let required = required_of(subject) as &Required;
    let place = place_of(subject);
    let borrowed = borrow(value);
    let (low, high) = (required.low, required.high);
    let accepted = accepts(borrowed.index, low, high);
    let is_reference = borrowed.index == TypeIndex::OBJECT_RVALUE_REF && high != 0;
    if borrowed.object == null && points(borrowed) && (accepted || is_reference) {
        let expected = quoted(subject, required.expected);
        raise!(failure(subject, indices), Complaint::TypeNull, place, expected);
    }
    if !accepted {
        return wrong_type(subject, value, indices);
    }
    let is_small =
        borrowed.index == TypeIndex::SMALL_STR || borrowed.index == TypeIndex::SMALL_BYTES;
    let length = value.small_len as u64;
    if is_small && length > MAX_SMALL as u64 {
        raise!(failure(subject, indices), Complaint::SmallSize, place, MAX_SMALL, length);
    }
    0
}

/// Returns true if a value has a pointer that must not be NULL as its payload.
#[routine(inline)]
fn points(value: Borrowed) -> bool {
    let index = value.index;
    is_object(index)
        || index == TypeIndex::RAW_STR
        || index == TypeIndex::BYTE_ARRAY_PTR
        || index == TypeIndex::DL_TENSOR_PTR
        || index == TypeIndex::OBJECT_RVALUE_REF
}

/// Returns the text of a value; empty if it is no text.
#[routine(inline)]
fn text_of_value(value: &Any, array: &ByteArray) -> Text {
    let found = text(value, ALL, ALL, array);
    let mut data = array as &u8;
    let mut len: u64 = 0;
    if found != null {
        data = found.data;
        len = found.len;
    }
    Text { data, len }
}

/// Raises the error for text that is not accepted.
#[routine]
pub(crate) fn fail_text(subject: &Subject, value: &Any, indices: &i64) -> i32 {
    let array: ByteArray;
    let required = required_of(subject) as &Required;
    let expected = quoted(subject, required.expected);
    let found = text_of_value(value, array);
    raise!(failure(subject, indices), Complaint::LiteralText, place_of(subject), expected, found);
}

/// Raises the error for a shape, array or list with a wrong number of elements or an element that is neither integer
/// nor truth.
#[routine]
pub(crate) fn fail_numbers(subject: &Subject, value: &Any, indices: &i64) -> i32 {
    let failure = failure(subject, indices);
    let place = place_of(subject);
    let required = required_of(subject) as &Required;
    let borrowed = borrow(value);
    let object = borrowed.object;
    let size = object.size;
    if borrowed.index != TypeIndex::SHAPE {
        if size > MOST {
            raise!(failure, Complaint::SizeMost, place, MOST, size);
        }
        for at in 0..size {
            fail_element(failure, place, at, &object.elements[at])?;
        }
    }
    raise!(failure, Complaint::Size, place, required.size, size);
}

/// Checks that an element is an integer or a truth. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn fail_element(failure: Failure, place: u64, at: u64, element: &Any) -> i32 {
    if element.type_index != TypeIndex::INT && element.type_index != TypeIndex::BOOL {
        if is_big_int(element) {
            raise!(failure, Complaint::NumberBig, place, at, element.object);
        }
        raise!(failure, Complaint::Number, place, at, element);
    }
    0
}

/// Raises the error for a container with a wrong number of elements.
#[routine]
pub(crate) fn fail_size(subject: &Subject, value: &Any, indices: &i64) -> i32 {
    let required = required_of(subject) as &Required;
    let object = borrow(value).object;
    let place = place_of(subject);
    raise!(failure(subject, indices), Complaint::Size, place, required.size, object.size);
}

/// Raises the error for a value that is none of the literals.
#[routine]
pub(crate) fn fail_literal(subject: &Subject, value: &Any, indices: &i64) -> i32 {
    let place = place_of(subject);
    let required = required_of(subject) as &Required;
    let found: Any;
    let borrowed = borrow(value);
    write(found, borrowed.index, borrowed.object as u64);
    let expected = quoted(subject, required.expected);
    if is_big_int(found) {
        raise!(failure(subject, indices), Complaint::LiteralBig, place, expected, borrowed.object);
    }
    match borrowed.index {
        TypeIndex::BIG_INT => wrong_type(subject, value, indices),
        TypeIndex::BOOL => {
            raise!(failure(subject, indices), Complaint::LiteralBool, place, expected, found.number)
        }
        TypeIndex::INT => {
            raise!(failure(subject, indices), Complaint::LiteralInt, place, expected, found.number)
        }
        _ => fail_text(subject, value, indices),
    }
}
