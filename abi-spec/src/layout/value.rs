//! Values, the object header, and structs that values point to without being objects.

use super::{Struct, structs};

structs! {
    /// The version of the runtime.
    VERSION = TVMFFIVersion size 12 align 4, version {
        /// The major version; incompatible changes increase it.
        MAJOR = "major" at 0: FieldType::U32;
        /// The minor version; releases increase it.
        MINOR = "minor" at 4: FieldType::U32;
        /// The patch version; fixes increase it.
        PATCH = "patch" at 8: FieldType::U32;
    }

    /// A value and its type. Only 8-byte aligned: no aligned 16-byte vector loads.
    ANY = TVMFFIAny size 16 align 8, any {
        /// A [`TypeIndex`](crate::TypeIndex).
        TYPE_INDEX = "type_index" at 0: FieldType::I32;
        /// The length of a small string or of small bytes; 0 for every other type.
        SMALL_LEN = "small_str_len" at 4: FieldType::U32;
        /// The payload; unused bytes are 0.
        PAYLOAD = "v_int64" at 8: FieldType::Union;
    }

    /// The header of every object.
    OBJECT = TVMFFIObject size 24 align 8, object {
        /// The strong count in the low half, the weak count in the high half; all strong references
        /// together hold one weak reference.
        REF_COUNT = "combined_ref_count" at 0: FieldType::U64;
        /// A [`TypeIndex`](crate::TypeIndex), the same as in the `TVMFFIAny` that holds the object.
        TYPE_INDEX = "type_index" at 8: FieldType::I32;
        /// `void(void* self, int flags)`; flag 1 destroys the object, flag 2 frees its memory.
        DELETER = "deleter" at 16: FieldType::Ptr;
    }

    /// A string of bytes. Also the cell of string and bytes objects, where a NUL follows the bytes.
    BYTE_ARRAY = TVMFFIByteArray size 16 align 8, byte_array {
        /// The address of the first byte.
        DATA = "data" at 0: FieldType::Ptr;
        /// The number of bytes.
        SIZE = "size" at 8: FieldType::U64;
    }
}
