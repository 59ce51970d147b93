//! Appending the names of value types, element types and devices to a message.

use abi_spec::{DType, DeviceType, TypeCode, TypeIndex};
use rustc_hash::FxHashMap;

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Single, Text, constant, handles, routine};
use crate::lower::routines::access::is_object;
use crate::lower::routines::classes::{key_of, list_classes};
use crate::lower::routines::memory::{Any, ByteArray, MessageBuffer, NameEntry, bytes, slice};
use crate::lower::routines::release::release;
use crate::lower::routines::text::{put, put_int, put_unsigned};

/// Word of the element type `void`.
const VOID: u64 = DType::VOID.to_word() as u64;

/// Code of `bool`, whose name implies 8 bits and is also used, with the bits after it, for other widths.
const BOOL: u64 = TypeCode::Bool as u64;

const CPU: i64 = DeviceType::CPU.0 as i64;

handles! {
    /// A constant table of names, indexed by small numbers.
    pub(crate) struct Names {
        entries: Ref<NameEntry>,
        count: Int<u64>,
    }
}

/// Adds a constant table of names: an entry with offset and length for each number, then the names, each once. A number
/// without a name gets an empty one.
pub(crate) fn table<'n>(
    b: &mut Builder<'_>,
    names: impl ExactSizeIterator<Item = &'n [u8]>,
) -> Names {
    let (mut head, mut text, count) = (Vec::new(), Vec::new(), names.len());
    let mut places: FxHashMap<&[u8], usize> = FxHashMap::default();
    for name in names {
        let at = *places.entry(name).or_insert_with(|| {
            text.extend_from_slice(name);
            8 * count + text.len() - name.len()
        });
        head.extend((at as u32).to_le_bytes());
        head.extend((name.len() as u32).to_le_bytes());
    }
    head.extend(text);
    Names { entries: Ref::new(b.constant_bytes(&head, 8)), count: constant(b, count as u64) }
}

/// Returns the name of a number; empty if it has none.
#[routine(inline)]
pub(crate) fn name_of(names: Names, number: u64) -> Text {
    let name = name_at(names, if number < names.count { number } else { 0 });
    let len = name.len;
    slice(name.data, if number < names.count { len } else { 0 })
}

/// Returns the name of a number below the count of the table.
#[routine(inline)]
pub(crate) fn name_at(names: Names, number: u64) -> Text {
    let name = &names.entries[number];
    slice(&(names.entries as &u8)[name.offset], name.len as u64)
}

/// Returns the names of static type indices.
fn type_names(b: &mut Builder<'_>) -> Names {
    let last = TypeIndex::ALL.iter().map(|index| index.0).max().unwrap_or(0);
    let names: Vec<_> = (0..=last).map(|index| TypeIndex(index).received_name()).collect();
    table(b, names.iter().map(|name| name.unwrap_or("").as_bytes()))
}

/// Returns the names of the codes of element types.
fn code_names(b: &mut Builder<'_>) -> Names {
    table(b, TypeCode::ALL.iter().map(|code| code.name().as_bytes()))
}

/// Returns the names of device types.
fn device_names(b: &mut Builder<'_>) -> Names {
    let last = DeviceType::ALL.iter().map(|ty| ty.0).max().unwrap_or(0);
    let names: Vec<_> = (0..=last).map(|ty| DeviceType(ty).name()).collect();
    table(b, names.iter().map(|name| name.unwrap_or("").as_bytes()))
}

/// Returns one byte for each code of an element type: the width in bits that its name implies, or 0.
fn implied_bits(b: &mut Builder<'_>) -> Text {
    let bits: Vec<u8> = TypeCode::ALL.iter().map(|code| code.implied_bits().unwrap_or(0)).collect();
    constant(b, &bits[..])
}

/// Appends the type of a received value: its name, the key of its class, or its type index.
#[routine]
pub(crate) fn put_type(s: &MessageBuffer, value: &Any) {
    let index = value.type_index;
    let name = name_of(type_names(), index as i64 as u64);
    if name.len != 0 {
        put(s, name);
        return;
    }
    if index >= TypeIndex::DYN_OBJECT_BEGIN && value.object != null {
        let object = value.object;
        if object.type_index == index && put_key(s, index) != 0 {
            return;
        }
    }
    put(s, "type index ");
    put_int(s, index as i64);
}

/// Appends the key of a class and returns 1; returns 0 if the runtime does not know the type index.
#[routine]
pub(crate) fn put_key(s: &MessageBuffer, index: i32) -> i32 {
    let keys: Any;
    let array: ByteArray;
    list_classes(keys);
    let key = key_of(keys, index, array);
    let mut known: i32 = 0;
    if key != null {
        put(s, bytes(key));
        known = 1;
    }
    release(keys, 1);
    known
}

/// Appends the type of a value that a kernel has written, which may be borrowed or contradict its object.
#[routine]
pub(crate) fn put_written(s: &MessageBuffer, value: &Any) {
    let index = value.type_index;
    if index >= TypeIndex::DL_TENSOR_PTR && index <= TypeIndex::BYTE_ARRAY_PTR {
        put(s, "a borrowed ");
    }
    if is_object(index) {
        let object = value.object;
        if object == null {
            put(s, "NULL");
            return;
        }
        let own = object.type_index;
        if own != index {
            put(s, "type index ");
            put_int(s, index as i64);
            put(s, " of an object with type index ");
            put_int(s, own as i64);
            return;
        }
    }
    put_type(s, value);
}

/// Appends an element type, formatted like `DType`.
#[routine]
pub(crate) fn put_dtype(s: &MessageBuffer, word: u64) {
    if word == VOID {
        put(s, "void");
        return;
    }
    let code = word & 0xff;
    let bits = word >> 8 & 0xff;
    let lanes = word >> 16 & 0xffff;
    let widths = implied_bits();
    let usual = widths.data[if code < widths.len { code } else { 0 }] as u64;
    let name = name_of(code_names(), code);
    if name.len != 0 && (usual == 0 || usual == bits || code == BOOL) {
        put(s, name);
        if usual != bits {
            put_unsigned(s, bits);
        }
        put_lanes(s, lanes);
        return;
    }
    put(s, "dtype(");
    put_unsigned(s, code);
    put(s, ", ");
    put_unsigned(s, bits);
    put(s, ", ");
    put_unsigned(s, lanes);
    put(s, ")");
}

/// Appends the lanes of an element type: nothing for one, `x4` for four, `xvscalex4` for scalable ones.
#[routine(inline)]
fn put_lanes(s: &MessageBuffer, lanes: u64) {
    if lanes >= 0x8000 {
        put(s, "xvscalex");
        put_unsigned(s, 0x1_0000 - lanes);
    } else if lanes != 1 {
        put(s, "x");
        put_unsigned(s, lanes);
    }
}

/// Appends a device, formatted like `Device`.
#[routine]
pub(crate) fn put_device(s: &MessageBuffer, ty: i64, index: i64) {
    let name = name_of(device_names(), ty as u64);
    if name.len == 0 {
        put(s, "device(");
        put_int(s, ty);
        put(s, "):");
        put_int(s, index);
        return;
    }
    put(s, name);
    if ty != CPU || index != 0 {
        put(s, ":");
        put_int(s, index);
    }
}

/// Appends the name of a device type. It is the text of device 0 without its last two bytes, `:0`, which `cpu` lacks.
#[routine]
pub(crate) fn put_device_type(s: &MessageBuffer, ty: i64) {
    put_device(s, ty, 0);
    if ty != CPU {
        s.length -= 2;
    }
}
