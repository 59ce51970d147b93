//! The runtime's record of a type.

use super::{Struct, structs};

structs! {
    /// The record of a type, as `TVMFFIGetTypeInfo` returns it.
    TYPE_INFO = TVMFFITypeInfo size 72 align 8, type_info {
        /// A [`TypeIndex`](crate::TypeIndex).
        TYPE_INDEX = "type_index" at 0: FieldType::I32;
        /// The number of ancestors.
        TYPE_DEPTH = "type_depth" at 4: FieldType::I32;
        /// The name of the type.
        TYPE_KEY = "type_key" at 8: FieldType::Struct(&crate::layout::BYTE_ARRAY);
        /// A pointer to the record of each ancestor, from the root.
        TYPE_ANCESTORS = "type_ancestors" at 24: FieldType::Ptr;
        /// The hash of the name.
        TYPE_KEY_HASH = "type_key_hash" at 32: FieldType::U64;
        /// The number of fields.
        NUM_FIELDS = "num_fields" at 40: FieldType::I32;
        /// The number of methods.
        NUM_METHODS = "num_methods" at 44: FieldType::I32;
        /// The fields.
        FIELDS = "fields" at 48: FieldType::Ptr;
        /// The methods.
        METHODS = "methods" at 56: FieldType::Ptr;
        /// Further metadata of the type, or NULL.
        METADATA = "metadata" at 64: FieldType::Ptr;
    }
}
