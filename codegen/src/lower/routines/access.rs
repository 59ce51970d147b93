//! Reads of values in every form that callers may pass: objects and rvalue references to them, text, integers of
//! shapes, names of element types and of devices, instances of classes.

use abi_spec::TypeIndex;

use crate::ir::Builder;
use crate::ir::typed::{Int, Literal, Ref, Text, constant, handles, ne, routine, select};
use crate::language::MAX_RANK;
use crate::lower::routines::errors::forget_error;
use crate::lower::routines::memory::{Any, ByteArray, KnownText, Numbers, Object, filled, slice};
use crate::lower::routines::runtime::data_type_from_string;
use crate::resolve::accepted::{DYNAMIC, MAX_SMALL};

/// A mask of all type indices.
pub(crate) const ALL: u64 = u64::MAX;

/// The bit of a set that stands for all dynamic type indices.
const OTHERS: u64 = DYNAMIC as u64;

handles! {
    /// A type index and an object. Rvalue references are replaced by the objects that they refer to.
    pub(crate) struct Borrowed {
        index: Int<i32>,
        object: Ref<Object>,
    }
}

/// Returns type index and payload of a value, or of the object that an rvalue reference refers to. A reference to NULL
/// yields the type index of rvalue references and a NULL object.
#[routine(inline)]
pub(crate) fn borrow(any: &Any) -> Borrowed {
    let index = any.type_index;
    let object = any.object;
    if index == TypeIndex::OBJECT_RVALUE_REF && object != null {
        let referred = *(object as &&Object);
        if referred != null {
            return Borrowed { index: referred.type_index, object: referred };
        }
        return Borrowed { index, object: referred };
    }
    Borrowed { index, object }
}

/// Returns true if a type index is in a set: `low` has the bits of 0 to 63, `high` those of 64 and more.
#[routine(inline)]
pub(crate) fn accepts(index: i32, low: u64, high: u64) -> bool {
    let wide = index as i64 as u64;
    let is_low = wide < 64;
    let above = wide - 64;
    let above = if above < OTHERS { above } else { OTHERS };
    let shift = if is_low { wide } else { above };
    let mask = if is_low { low } else { high };
    mask >> shift & 1 != 0 && index >= 0
}

/// Returns true if values of a type index are objects.
#[routine(inline)]
pub(crate) fn is_object(index: i32) -> bool {
    index >= TypeIndex::STATIC_OBJECT_BEGIN
}

/// Returns the object of a value if its type index is in the set, else NULL.
#[routine]
pub(crate) fn object(any: &Any, low: u64, high: u64) -> &Object {
    let value = borrow(any);
    let is_object = is_object(value.index);
    let accepted = accepts(value.index, low, high) && is_object;
    let object = value.object;
    let nothing: &Object = null;
    if accepted { object } else { nothing }
}

/// Writes the address that a handle stands for to `out`: NULL for None, the `DLTensor*` of a tensor, else the pointer
/// or the object. Returns 1, or 0 if the type index is not in the set or a tensor or another object is NULL.
#[routine]
pub(crate) fn to_handle(any: &Any, low: u64, high: u64, out: &u64) -> i32 {
    let value = borrow(any);
    let index = value.index;
    let object = value.object;
    if !accepts(index, low, high) {
        return 0;
    }
    let mut address = object as u64;
    if index == TypeIndex::NONE {
        address = 0;
    } else if index != TypeIndex::OPAQUE_PTR && object == null {
        return 0;
    }
    if index == TypeIndex::TENSOR {
        address = object.tensor as u64;
    }
    *out = address;
    1
}

/// Returns text or bytes as a `TVMFFIByteArray`. Fills and returns `array` if the value holds no such struct itself.
///
/// Returns NULL if the type index is not in the set, if the value is neither text nor bytes or is a NULL pointer, or if
/// a small text claims more bytes than the value has room for.
#[routine]
pub(crate) fn text(any: &Any, low: u64, high: u64, array: &ByteArray) -> &ByteArray {
    let value = borrow(any);
    let index = value.index;
    if !accepts(index, low, high) {
        return null;
    }
    if index == TypeIndex::SMALL_STR || index == TypeIndex::SMALL_BYTES {
        let len = any.small_len as u64;
        if len > MAX_SMALL as u64 {
            return null;
        }
        return filled(array, any.bytes, len);
    }
    if value.object == null {
        return null;
    }
    if index == TypeIndex::RAW_STR {
        let data = value.object as &u8;
        return filled(array, data, c_length(data));
    }
    if index == TypeIndex::BYTE_ARRAY_PTR {
        return value.object as &ByteArray;
    }
    if index == TypeIndex::STR || index == TypeIndex::BYTES {
        return value.object.text;
    }
    null
}

/// Returns the length of text that ends with a NUL.
#[routine(inline)]
pub(crate) fn c_length(text: &u8) -> u64 {
    let mut len: u64 = 0;
    while text[len] != 0 {
        len += 1;
    }
    len
}

/// Returns 1 if a text equals one of `count` texts in a row, else 0.
#[routine]
pub(crate) fn one_of_texts(text: Text, texts: &KnownText, count: u64) -> i32 {
    let mut at = texts;
    for _ in 0..count {
        let len = at.len as u64;
        if same_text(text, slice(at.bytes, len)) != 0 {
            return 1;
        }
        at = &at.bytes[len] as &KnownText;
    }
    0
}

/// Returns 1 if two texts are equal, else 0.
#[routine]
pub(crate) fn same_text(text: Text, other: Text) -> i32 {
    if text.len != other.len {
        return 0;
    }
    for at in 0..text.len {
        if text.data[at] != other.data[at] {
            return 0;
        }
    }
    1
}

/// Returns the integers of a shape, an array or a list. Of a shape, its cell is returned; the integers of an array or
/// list are copied to `buffer`.
///
/// Returns NULL if the value is none of the three, or an array or list of more than [`MAX_RANK`] elements or with an
/// element that is neither integer nor truth.
#[routine]
pub(crate) fn numbers(any: &Any, buffer: &Numbers) -> &Numbers {
    let value = borrow(any);
    let object = value.object;
    if object == null {
        return null;
    }
    if value.index == TypeIndex::SHAPE {
        return object.text as &Numbers;
    }
    if value.index != TypeIndex::ARRAY && value.index != TypeIndex::LIST
        || object.size > MAX_RANK as u64
    {
        return null;
    }
    let size = object.size;
    let elements = object.elements;
    for at in 0..size {
        let element = &elements[at];
        if element.type_index != TypeIndex::INT && element.type_index != TypeIndex::BOOL {
            return null;
        }
        buffer.values[at] = element.number;
    }
    buffer.data = buffer.values;
    buffer.size = size;
    buffer
}

/// Parses the name of an element type and writes its word to `out`. Returns 1. Returns 0, and leaves no error, if the
/// value is no text in the set or names no element type. The empty text names none, though the runtime takes it for
/// `void`.
#[routine]
pub(crate) fn to_dtype(any: &Any, low: u64, high: u64, out: &u64) -> i32 {
    let array: ByteArray;
    let name = text(any, low, high, array);
    if name == null || name.len == 0 {
        return 0;
    }
    *out = 0;
    if data_type_from_string(name, out) != 0 {
        forget_error();
        return 0;
    }
    1
}

/// Parses the name of a device, `type` or `type:index`, and writes type and index to `out`. Returns 1, or 0 if the
/// value is no text in the set or names no device.
#[routine]
pub(crate) fn to_device(any: &Any, low: u64, high: u64, out: &u64) -> i32 {
    let array: ByteArray;
    let name = text(any, low, high, array);
    if name == null {
        return 0;
    }
    let text = name.data;
    let len = name.len;
    let mut colon: u64 = 0;
    while colon < len && text[colon] != b':' {
        colon += 1;
    }
    let ty = device_type(slice(text, colon));
    let digits = len - colon - 1;
    // If there is no digit, the subtraction wraps. A number of more than nine digits may not fit 32 bits.
    if colon < len && digits - 1 > 8 {
        return 0;
    }
    let mut index: u64 = 0;
    for at in colon + 1..len {
        let digit = text[at] - b'0';
        if digit > 9 {
            return 0;
        }
        index = index * 10 + digit as u64;
    }
    if ty == 0 {
        return 0;
    }
    *out = index << 32 | ty;
    1
}

/// Finds a device type by its name; 0 if there is none.
fn device_type(b: &mut Builder<'_>, name: Text) -> Int<u64> {
    let mut ty = constant(b, 0_u64);
    for (known, number) in abi_spec::DeviceType::texts() {
        let known = constant(b, known);
        let same = same_text(b, name, known);
        let (same, number) = (ne(b, same, Literal::<0>), constant(b, number.0 as u64));
        ty = select(b, same, number, ty);
    }
    ty
}
