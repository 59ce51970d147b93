//! The C API of XLA's foreign functions, `xla/ffi/api/c_api.h`: what a handler of a custom call reads of its call frame
//! and calls of XLA.
//!
//! A handler is `XLA_FFI_Error* handler(XLA_FFI_CallFrame* frame)`. It returns NULL, or an error that XLA then owns.
//! Each struct begins with its size, up to the last field that its writer knows, and a list of extensions.
//! `tests/systems/jax` checks every number against the headers of `jaxlib`.

use crate::layout::{Field, Struct, structs};
use crate::{DType, TypeCode};

/// Major version of the API: a runtime of another one is refused.
pub const MAJOR: i32 = 0;

/// Minor version of the API that the structs are of. Runtimes accept handlers of earlier versions for a year.
pub const MINOR: i32 = 3;

/// Type of the extension of a call frame by which XLA asks a handler for its [`METADATA`],
/// `XLA_FFI_Extension_Metadata`.
pub const METADATA_EXTENSION_TYPE: i32 = 1;

/// Kind of an attribute that is an array of numbers or truths, `XLA_FFI_AttrType_ARRAY`.
pub const ARRAY_ATTRIBUTE: i32 = 1;

/// Kind of an attribute that is a number or a truth, `XLA_FFI_AttrType_SCALAR`.
pub const SCALAR_ATTRIBUTE: i32 = 3;

/// Kind of an attribute that is text, `XLA_FFI_AttrType_STRING`.
pub const STRING_ATTRIBUTE: i32 = 4;

/// Largest alignment that `XLA_FFI_DeviceMemory_Allocate` accepts. What it allocates is more aligned.
pub const MAX_ALIGNMENT: u64 = 16;

/// Stage of a program that makes its state, `XLA_FFI_ExecutionStage_INSTANTIATE`: calls have attributes, and no
/// buffers.
pub const INSTANTIATE_STAGE: i32 = 0;

/// Codes of errors, `XLA_FFI_Error_Code`.
pub mod error_code {
    /// An argument is not valid.
    pub const INVALID_ARGUMENT: i32 = 3;
    /// Memory has run out.
    pub const RESOURCE_EXHAUSTED: i32 = 8;
    /// Any other failure.
    pub const INTERNAL: i32 = 13;
}

/// Numbers of the element types that attributes have, of those in [`DTYPES`].
pub mod dtype {
    /// A truth.
    pub const PRED: i32 = 1;
    /// Signed integers of 8 bits.
    pub const S8: i32 = 2;
    /// Signed integers of 16 bits.
    pub const S16: i32 = 3;
    /// Signed integers of 32 bits.
    pub const S32: i32 = 4;
    /// Signed integers of 64 bits.
    pub const S64: i32 = 5;
    /// Unsigned integers of 8 bits.
    pub const U8: i32 = 6;
    /// Unsigned integers of 16 bits.
    pub const U16: i32 = 7;
    /// Unsigned integers of 32 bits.
    pub const U32: i32 = 8;
    /// Unsigned integers of 64 bits.
    pub const U64: i32 = 9;
    /// A float of 32 bits.
    pub const F32: i32 = 11;
    /// Floats of 64 bits.
    pub const F64: i32 = 12;
}

/// Element types by their number, `XLA_FFI_DataType`; those of less than a byte, and of no known format, are left out.
pub const DTYPES: [(i32, DType); 23] = [
    (dtype::PRED, DType::BOOL),
    (dtype::S8, DType::INT8),
    (dtype::S16, DType::INT16),
    (dtype::S32, DType::INT32),
    (dtype::S64, DType::INT64),
    (dtype::U8, DType::UINT8),
    (dtype::U16, DType::UINT16),
    (dtype::U32, DType::UINT32),
    (dtype::U64, DType::UINT64),
    (10, DType::FLOAT16),
    (dtype::F32, DType::FLOAT32),
    (dtype::F64, DType::FLOAT64),
    (15, DType::new(TypeCode::Complex, 64, 1)),
    (16, DType::BFLOAT16),
    (18, DType::new(TypeCode::Complex, 128, 1)),
    (19, DType::new(TypeCode::Float8E5m2, 8, 1)),
    (20, DType::new(TypeCode::Float8E4m3fn, 8, 1)),
    (23, DType::new(TypeCode::Float8E4m3b11fnuz, 8, 1)),
    (24, DType::new(TypeCode::Float8E5m2fnuz, 8, 1)),
    (25, DType::new(TypeCode::Float8E4m3fnuz, 8, 1)),
    (28, DType::new(TypeCode::Float8E4m3, 8, 1)),
    (29, DType::new(TypeCode::Float8E3m4, 8, 1)),
    (33, DType::new(TypeCode::Float8E8m0fnu, 8, 1)),
];

/// Returns the bytes of a struct up to the end of its last field, which is what XLA means by its size.
pub const fn size(of: Struct) -> u32 {
    let last = of.fields[of.fields.len() - 1];
    last.offset as u32 + last.ty.size()
}

/// Returns every struct of this module.
pub fn structs() -> impl Iterator<Item = Struct> {
    STRUCTS.iter().copied()
}

structs! {
    /// A link of a list of extensions.
    EXTENSION = XLA_FFI_Extension_Base size 24 align 8, extension {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The type.
        TYPE = "type" at 8: FieldType::I32;
        /// The next one, or NULL.
        NEXT = "next" at 16: FieldType::Ptr;
    }

    /// A version of the API.
    API_VERSION = XLA_FFI_Api_Version size 24 align 8, api_version {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// [`MAJOR`](crate::xla::MAJOR).
        MAJOR = "major_version" at 16: FieldType::I32;
        /// [`MINOR`](crate::xla::MINOR).
        MINOR = "minor_version" at 20: FieldType::I32;
    }

    /// Facts that XLA asks a handler for when it is registered.
    METADATA = XLA_FFI_Metadata size 48 align 8, metadata {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The version that the handler is made for.
        API_VERSION = "api_version" at 8: FieldType::Struct(&crate::xla::API_VERSION);
        /// Traits; 1 is for handlers that may be traced into a command buffer.
        TRAITS = "traits" at 32: FieldType::U32;
    }

    /// The extension that asks for them.
    METADATA_EXTENSION = XLA_FFI_Metadata_Extension size 32 align 8, metadata_extension {
        /// The link.
        BASE = "extension_base" at 0: FieldType::Struct(&crate::xla::EXTENSION);
        /// The [`METADATA`](crate::xla::METADATA) to fill.
        METADATA = "metadata" at 24: FieldType::Ptr;
    }

    /// An array in the memory of a device, compact and row-major.
    BUFFER = XLA_FFI_Buffer size 48 align 8, buffer {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The number of the element type in [`DTYPES`](crate::xla::DTYPES).
        DTYPE = "dtype" at 16: FieldType::I32;
        /// The address of the first element.
        DATA = "data" at 24: FieldType::Ptr;
        /// The rank.
        RANK = "rank" at 32: FieldType::I64;
        /// The address of the extents, `int64_t`.
        DIMS = "dims" at 40: FieldType::Ptr;
    }

    /// The operands of a call. Results, `XLA_FFI_Rets`, have the same layout.
    ARGS = XLA_FFI_Args size 40 align 8, args {
        /// The size of the struct.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The number of operands.
        SIZE = "size" at 16: FieldType::I64;
        /// The address of their types, of which there is one, buffers.
        TYPES = "types" at 24: FieldType::Ptr;
        /// The address of their addresses.
        ARGS = "args" at 32: FieldType::Ptr;
    }

    /// The attributes of a call, in the order of their names.
    ATTRS = XLA_FFI_Attrs size 48 align 8, attrs {
        /// The size of the struct.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The number of attributes.
        SIZE = "size" at 16: FieldType::I64;
        /// The address of their kinds, 32 bits each.
        TYPES = "types" at 24: FieldType::Ptr;
        /// The address of the addresses of their names, [`BYTE_SPAN`](crate::xla::BYTE_SPAN).
        NAMES = "names" at 32: FieldType::Ptr;
        /// The address of the addresses of their values.
        ATTRS = "attrs" at 40: FieldType::Ptr;
    }

    /// A text, which need not end with a NUL.
    BYTE_SPAN = XLA_FFI_ByteSpan size 16 align 8, byte_span {
        /// The address of the bytes.
        PTR = "ptr" at 0: FieldType::Ptr;
        /// The number of bytes.
        LEN = "len" at 8: FieldType::U64;
    }

    /// A number or a truth.
    SCALAR = XLA_FFI_Scalar size 16 align 8, scalar {
        /// The number of its type in [`DTYPES`](crate::xla::DTYPES).
        DTYPE = "dtype" at 0: FieldType::I32;
        /// The address of the value.
        VALUE = "value" at 8: FieldType::Ptr;
    }

    /// An array of numbers or truths.
    ARRAY = XLA_FFI_Array size 24 align 8, array {
        /// The number of the type of its elements in [`DTYPES`](crate::xla::DTYPES).
        DTYPE = "dtype" at 0: FieldType::I32;
        /// The number of elements.
        SIZE = "size" at 8: FieldType::U64;
        /// The address of the first element.
        DATA = "data" at 16: FieldType::Ptr;
    }

    /// A call of a handler.
    CALL_FRAME = XLA_FFI_CallFrame size 176 align 8, call_frame {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The [`API`](crate::xla::API).
        API = "api" at 16: FieldType::Ptr;
        /// The context of the call, for functions of the API.
        CTX = "ctx" at 24: FieldType::Ptr;
        /// The stage; 3 is the execution.
        STAGE = "stage" at 32: FieldType::I32;
        /// The operands.
        ARGS = "args" at 40: FieldType::Struct(&crate::xla::ARGS);
        /// The results.
        RETS = "rets" at 80: FieldType::Struct(&crate::xla::ARGS);
        /// The attributes.
        ATTRS = "attrs" at 120: FieldType::Struct(&crate::xla::ATTRS);
    }

    /// Arguments of `XLA_FFI_Error_Create`, which copies the message.
    ERROR_CREATE_ARGS = XLA_FFI_Error_Create_Args size 32 align 8, error_create_args {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The message, which ends with a NUL.
        MESSAGE = "message" at 16: FieldType::Ptr;
        /// An [`error_code`](crate::xla::error_code).
        ERRC = "errc" at 24: FieldType::I32;
    }

    /// Arguments of `XLA_FFI_Stream_Get`.
    STREAM_GET_ARGS = XLA_FFI_Stream_Get_Args size 32 align 8, stream_get_args {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The context of the call.
        CTX = "ctx" at 16: FieldType::Ptr;
        /// The stream of the platform, which the function sets.
        STREAM = "stream" at 24: FieldType::Ptr;
    }

    /// Arguments of `XLA_FFI_DeviceOrdinal_Get`.
    DEVICE_ORDINAL_GET_ARGS = XLA_FFI_DeviceOrdinal_Get_Args size 32 align 8, device_ordinal_get_args {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The context of the call.
        CTX = "ctx" at 16: FieldType::Ptr;
        /// The index of the device, which the function sets.
        DEVICE_ORDINAL = "device_ordinal" at 24: FieldType::I32;
    }

    /// Arguments of `XLA_FFI_Error_GetMessage`.
    ERROR_GET_MESSAGE_ARGS = XLA_FFI_Error_GetMessage_Args size 32 align 8, error_get_message_args {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The error.
        ERROR = "error" at 16: FieldType::Ptr;
        /// Its message, which the function sets; the error's.
        MESSAGE = "message" at 24: FieldType::Ptr;
    }

    /// Arguments of `XLA_FFI_Error_Destroy`.
    ERROR_DESTROY_ARGS = XLA_FFI_Error_Destroy_Args size 24 align 8, error_destroy_args {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The error.
        ERROR = "error" at 16: FieldType::Ptr;
    }

    /// Arguments of `XLA_FFI_DeviceMemory_Allocate`, for the device of the call.
    DEVICE_MEMORY_ALLOCATE_ARGS = XLA_FFI_DeviceMemory_Allocate_Args size 48 align 8, device_memory_allocate_args {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The context of the call.
        CTX = "ctx" at 16: FieldType::Ptr;
        /// The number of bytes.
        SIZE = "size" at 24: FieldType::U64;
        /// The alignment, at most [`MAX_ALIGNMENT`](crate::xla::MAX_ALIGNMENT).
        ALIGNMENT = "alignment" at 32: FieldType::U64;
        /// The memory, which the function sets.
        DATA = "data" at 40: FieldType::Ptr;
    }

    /// Arguments of `XLA_FFI_DeviceMemory_Free`.
    DEVICE_MEMORY_FREE_ARGS = XLA_FFI_DeviceMemory_Free_Args size 40 align 8, device_memory_free_args {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The context of the call.
        CTX = "ctx" at 16: FieldType::Ptr;
        /// The number of bytes.
        SIZE = "size" at 24: FieldType::U64;
        /// The memory.
        DATA = "data" at 32: FieldType::Ptr;
    }

    /// Facts about a type of states.
    TYPE_INFO = XLA_FFI_TypeInfo size 24 align 8, type_info {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The address of `void deleter(void* state)`.
        DELETER = "deleter" at 16: FieldType::Ptr;
    }

    /// Arguments of `XLA_FFI_Type_Register`. A name that is registered with the same id is no error.
    TYPE_REGISTER_ARGS = XLA_FFI_Type_Register_Args size 48 align 8, type_register_args {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The name of the type, a [`BYTE_SPAN`](crate::xla::BYTE_SPAN).
        NAME = "name" at 16: FieldType::Struct(&crate::xla::BYTE_SPAN);
        /// The address of its id, an `int64_t`; XLA chooses one in place of 0.
        TYPE_ID = "type_id" at 32: FieldType::Ptr;
        /// The address of its [`TYPE_INFO`](crate::xla::TYPE_INFO).
        TYPE_INFO = "type_info" at 40: FieldType::Ptr;
    }

    /// Arguments of `XLA_FFI_State_Set`, after which the state is XLA's. Those of `XLA_FFI_State_Get` have the same
    /// layout; that sets the state.
    STATE_SET_ARGS = XLA_FFI_State_Set_Args size 48 align 8, state_set_args {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The context of the call.
        CTX = "ctx" at 16: FieldType::Ptr;
        /// The stage that makes the state.
        STAGE = "stage" at 24: FieldType::I32;
        /// The address of the id of its type.
        TYPE_ID = "type_id" at 32: FieldType::Ptr;
        /// The state.
        STATE = "state" at 40: FieldType::Ptr;
    }

    /// The functions of XLA. Each takes the address of its arguments, and returns an error or NULL.
    API = XLA_FFI_Api size 192 align 8, api {
        /// The size.
        STRUCT_SIZE = "struct_size" at 0: FieldType::U64;
        /// The extensions.
        EXTENSION_START = "extension_start" at 8: FieldType::Ptr;
        /// The version.
        API_VERSION = "api_version" at 16: FieldType::Struct(&crate::xla::API_VERSION);
        /// Makes an error.
        ERROR_CREATE = "XLA_FFI_Error_Create" at 48: FieldType::Ptr;
        /// Gets the message of an error.
        ERROR_GET_MESSAGE = "XLA_FFI_Error_GetMessage" at 56: FieldType::Ptr;
        /// Destroys an error.
        ERROR_DESTROY = "XLA_FFI_Error_Destroy" at 64: FieldType::Ptr;
        /// Gets the stream of a call.
        STREAM_GET = "XLA_FFI_Stream_Get" at 80: FieldType::Ptr;
        /// Registers a type of states.
        TYPE_REGISTER = "XLA_FFI_Type_Register" at 88: FieldType::Ptr;
        /// Sets the state of a program.
        STATE_SET = "XLA_FFI_State_Set" at 104: FieldType::Ptr;
        /// Gets the state of a program.
        STATE_GET = "XLA_FFI_State_Get" at 112: FieldType::Ptr;
        /// Allocates memory of the device of a call.
        DEVICE_MEMORY_ALLOCATE = "XLA_FFI_DeviceMemory_Allocate" at 120: FieldType::Ptr;
        /// Frees such memory.
        DEVICE_MEMORY_FREE = "XLA_FFI_DeviceMemory_Free" at 128: FieldType::Ptr;
        /// Gets the index of the device of a call.
        DEVICE_ORDINAL_GET = "XLA_FFI_DeviceOrdinal_Get" at 184: FieldType::Ptr;
    }
}

/// Returns a field of a struct that another struct holds, from the beginning of that one.
pub const fn inner(outer: Field, field: Field) -> i32 {
    outer.offset + field.offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_ascend_inside_their_struct() {
        for Struct { name, size, fields, .. } in structs() {
            assert!(fields.is_sorted_by_key(|field| field.offset), "{name}");
            let end = |field: &Field| field.offset as u32 + field.ty.size();
            assert!(fields.iter().all(|field| end(field) <= size), "{name}");
        }
        assert_eq!([size(CALL_FRAME), size(ERROR_CREATE_ARGS), size(BUFFER)], [168, 28, 48]);
    }

    #[test]
    fn element_types_are_in_the_order_of_their_numbers() {
        assert!(DTYPES.is_sorted_by(|(number, _), (next, _)| number < next));
    }
}
