//! The cells of objects, which follow the header. The cell of strings and bytes is [`BYTE_ARRAY`](super::BYTE_ARRAY),
//! that of tensors is [`DL_TENSOR`](super::DL_TENSOR). Maps and modules have no public cell.

use super::{Struct, structs};

/// The cell of integers that do not fit `int64_t`, since 0.1.14. Only C++ has a struct for it, with private fields.
pub mod big_int {
    use crate::layout::{Field, FieldType};

    /// The number of words, a `size_t`; at least two.
    pub const SIZE: Field = Field { name: "size_", offset: 0, ty: FieldType::U64 };
    /// The first 64-bit word, the least significant one. The words are in two's complement and as few as possible.
    pub const WORDS: Field = Field { name: "words", offset: 8, ty: FieldType::U64 };
}

structs! {
    /// The cell of shape objects.
    SHAPE_CELL = TVMFFIShapeCell size 16 align 8, shape_cell {
        /// The address of the extents, `int64_t`.
        DATA = "data" at 0: FieldType::Ptr;
        /// The number of extents.
        SIZE = "size" at 8: FieldType::U64;
    }

    /// The cell of arrays and lists. The struct has its name since 0.1.9, and arrays have its layout since 0.1.0.
    SEQ_CELL = TVMFFISeqCell size 32 align 8, seq_cell {
        /// The address of the elements, `TVMFFIAny`.
        DATA = "data" at 0: FieldType::Ptr;
        /// The number of elements.
        SIZE = "size" at 8: FieldType::I64;
        /// The capacity, in elements.
        CAPACITY = "capacity" at 16: FieldType::I64;
        /// The function that frees the elements; NULL where they are part of the object.
        DATA_DELETER = "data_deleter" at 24: FieldType::Ptr;
    }

    /// The cell of errors. It ends after `update_backtrace` before 0.1.8.
    ERROR_CELL = TVMFFIErrorCell size 72 align 8, error_cell {
        /// The kind, such as `ValueError`.
        KIND = "kind" at 0: FieldType::Struct(&crate::layout::BYTE_ARRAY);
        /// The message.
        MESSAGE = "message" at 16: FieldType::Struct(&crate::layout::BYTE_ARRAY);
        /// Lines `  File "<file>", line <n>, in <function>`, innermost first.
        BACKTRACE = "backtrace" at 32: FieldType::Struct(&crate::layout::BYTE_ARRAY);
        /// `void(TVMFFIObjectHandle self, const TVMFFIByteArray* lines, int32_t mode)`; mode 0 replaces the
        /// backtrace, mode 1 appends to it.
        UPDATE_BACKTRACE = "update_backtrace" at 48: FieldType::Ptr;
        /// The error that led to this one, or NULL. Since 0.1.8.
        CAUSE_CHAIN = "cause_chain" at 56: FieldType::Ptr;
        /// Any object, or NULL. Since 0.1.8.
        EXTRA_CONTEXT = "extra_context" at 64: FieldType::Ptr;
    }

    /// The cell of functions.
    FUNCTION_CELL = TVMFFIFunctionCell size 16 align 8, function_cell {
        /// The C entry point, a `TVMFFISafeCallType`.
        SAFE_CALL = "safe_call" at 0: FieldType::Ptr;
        /// The C++ entry point. It throws: never call it from generated code.
        CPP_CALL = "cpp_call" at 8: FieldType::Ptr;
    }

    /// The cell of opaque objects.
    OPAQUE_OBJECT_CELL = TVMFFIOpaqueObjectCell size 8 align 8, opaque_object_cell {
        /// The opaque handle, a `PyObject*` in Python.
        HANDLE = "handle" at 0: FieldType::Ptr;
    }
}
