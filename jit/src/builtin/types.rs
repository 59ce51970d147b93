//! Type information of classes, and data types by name.

use std::ptr;

use abi_spec::{DType, TypeIndex};

use crate::abi::{ByteArray, TypeInfo};

/// Number of static type indices.
const COUNT: usize = TypeIndex::ALL.len();

/// The records of all static type indices, and one for all others.
struct Table {
    known: [TypeInfo; COUNT],
    unknown: TypeInfo,
}

// SAFETY: records are constants and point at constants.
unsafe impl Sync for Table {}

static TABLE: Table = {
    let unknown = info(TypeIndex::OBJECT);
    let mut known = [unknown; COUNT];
    let mut i = 0;
    while i < COUNT {
        known[i] = info(TypeIndex::ALL[i]);
        i += 1;
    }
    Table { known, unknown }
};

const fn info(ty: TypeIndex) -> TypeInfo {
    let key = match ty.type_key() {
        Some(key) => key,
        None => "ffi.Object",
    };
    TypeInfo {
        type_index: ty.0,
        type_depth: (ty.0 > TypeIndex::OBJECT.0) as i32,
        type_key: ByteArray::new(key.as_bytes()),
        type_ancestors: ptr::null(),
        type_key_hash: 0,
        num_fields: 0,
        num_methods: 0,
        fields: ptr::null(),
        methods: ptr::null(),
        metadata: ptr::null(),
    }
}

/// `TVMFFIGetTypeInfo`. For an unknown index the real function ends the process; this one returns the record of
/// `ffi.Object`.
pub(super) extern "C" fn get_type_info(type_index: i32) -> *const TypeInfo {
    let found = TABLE.known.iter().find(|info| info.type_index == type_index);
    found.unwrap_or(&TABLE.unknown)
}

/// `TVMFFITypeKeyToIndex`: knows the static type indices, since no class is ever registered.
///
/// # Safety
/// Both pointers are valid.
pub(super) unsafe extern "C" fn type_key_to_index(key: *const ByteArray, out: *mut i32) -> i32 {
    // SAFETY: as required above.
    let key = unsafe { (*key).bytes() };
    let found = TypeIndex::ALL.iter().find(|ty| ty.type_key().map(str::as_bytes) == Some(key));
    let Some(found) = found else {
        let key = String::from_utf8_lossy(key);
        super::raise(b"InternalError", format!("Cannot find type `{key}`").as_bytes());
        return -1;
    };
    // SAFETY: as required above.
    unsafe { *out = found.0 };
    0
}

/// `TVMFFIDataTypeFromString`: knows the full names of data types, not the abbreviations of the real function.
///
/// # Safety
/// Both pointers are valid.
pub(super) unsafe extern "C" fn data_type_from_string(
    text: *const ByteArray,
    out: *mut DType,
) -> i32 {
    // SAFETY: as required above.
    let text = String::from_utf8_lossy(unsafe { (*text).bytes() });
    let Ok(dtype) = text.parse::<DType>() else {
        super::raise(b"ValueError", format!("unknown dtype `{text}`").as_bytes());
        return -1;
    };
    // SAFETY: as required above; DLPack's struct is these four bytes.
    unsafe { out.cast::<[u8; 4]>().write(dtype.to_word().to_le_bytes()) };
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys() {
        let cases = [(65, "ffi.String"), (4, "void*"), (64, "ffi.Object"), (500, "ffi.Object")];
        for (type_index, key) in cases {
            // SAFETY: records are constants.
            let found = unsafe { (*get_type_info(type_index)).type_key.bytes() };
            assert_eq!(found, key.as_bytes(), "{type_index}");
        }
    }
}
