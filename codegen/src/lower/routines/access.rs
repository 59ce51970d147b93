//! Reading values in any of their forms: objects also behind rvalue references, text, numbers, classes.

use abi_spec::TypeIndex;

use crate::ir::Builder;
use crate::ir::typed::{Int, Literal, Ref, Text, constant, handles, ne, routine, select};
use crate::language::MAX_RANK;
use crate::lower::routines::errors::forget_error;
use crate::lower::routines::memory::{Any, ByteArray, KnownText, Numbers, Object, filled, slice};
use crate::lower::routines::runtime::{data_type_from_string, get_type_info, type_key_to_index};
use crate::resolve::accepted::{DYNAMIC, MAX_SMALL};

/// The bit of all indices that have none of their own.
const OTHERS: u64 = DYNAMIC as u64;

handles! {
    /// A value behind any rvalue reference.
    pub(crate) struct Borrowed {
        index: Int<i32>,
        object: Ref<Object>,
    }
}

/// A value, or what it refers to if it is an rvalue reference; one to nothing keeps its index and has no object.
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

/// Whether an index is in a set, given by its masks.
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

/// Whether a value of this index is an object.
#[routine(inline)]
pub(crate) fn is_object(index: i32) -> bool {
    index >= TypeIndex::STATIC_OBJECT_BEGIN
}

/// The object, if its type is in the set; else NULL.
#[routine]
pub(crate) fn object(any: &Any, low: u64, high: u64) -> &Object {
    let value = borrow(any);
    let is_object = is_object(value.index);
    let accepted = accepts(value.index, low, high) && is_object;
    let object = value.object;
    let nothing: &Object = null;
    if accepted { object } else { nothing }
}

/// The address of text or bytes as a `TVMFFIByteArray`, which is `array` where the value has none; NULL if its type is
/// not in the set, or it is no text, or a small one that claims to be longer than it can be.
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

/// The length of text that ends with a NUL.
#[routine(inline)]
pub(crate) fn c_length(text: &u8) -> u64 {
    let mut len: u64 = 0;
    while text[len] != 0 {
        len += 1;
    }
    len
}

/// 1 if a text is one of these, each a length in 32 bits and its bytes.
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

/// 1 if two texts are the same.
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

/// The cell of a shape, or `buffer`, filled with the integers of an array or list; NULL if it is neither or too long.
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
        if element.type_index != TypeIndex::INT {
            return null;
        }
        buffer.values[at] = element.number;
    }
    buffer.data = buffer.values;
    buffer.size = size;
    buffer
}

/// 1 if a value is or names an element type, which goes into `out`. Leaves no error behind.
#[routine]
pub(crate) fn to_dtype(any: &Any, low: u64, high: u64, out: &u64) -> i32 {
    let array: ByteArray;
    let name = text(any, low, high, array);
    if name == null {
        return 0;
    }
    *out = 0;
    if data_type_from_string(name, out) != 0 {
        forget_error();
        return 0;
    }
    1
}

/// 1 if a value names a device, a type, and `:` and an index or not, which goes into `out`.
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
    // At most nine digits.
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

/// The type of device of a name; 0 if there is none.
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

/// 1 if an object, which may be NULL, is of the class of this key or one derived from it. The cache, which may be NULL,
/// holds the index of the class once it is known. Nothing can be of a class that nobody has registered.
#[routine]
pub(crate) fn is_instance(object: &Object, key: Text, cache: &i64) -> i32 {
    if object == null {
        return 0;
    }
    let index = object.type_index;
    let mut class: i64 = 0;
    if cache != null {
        class = cache.load_atomic();
    }
    if class == 0 {
        let array: ByteArray;
        let found: i32;
        if type_key_to_index(filled(array, key.data, key.len), found) != 0 {
            forget_error();
            return 0;
        }
        class = *found as i64;
        if cache != null {
            cache.store_atomic(class);
        }
    }
    if index as i64 == class {
        return 1;
    }
    // The runtime ends the process when it is asked about an index that it does not know.
    if index < TypeIndex::DYN_OBJECT_BEGIN {
        return 0;
    }
    let info = get_type_info(index);
    let ancestors = info.ancestors;
    for at in 0..info.depth {
        let ancestor = ancestors[at];
        if ancestor.type_index as i64 == class {
            return 1;
        }
    }
    0
}
