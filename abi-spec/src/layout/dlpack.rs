//! The structs of DLPack.

use super::{Struct, structs};

structs! {
    /// The type of the elements of a tensor, a [`DType`](crate::DType).
    DL_DATA_TYPE = DLDataType size 4 align 2, dl_data_type {
        /// A [`TypeCode`](crate::TypeCode).
        CODE = "code" at 0: FieldType::U8;
        /// The bits of one lane.
        BITS = "bits" at 1: FieldType::U8;
        /// The lanes of one element.
        LANES = "lanes" at 2: FieldType::U16;
    }

    /// The device of a tensor, a [`Device`](crate::Device).
    DL_DEVICE = DLDevice size 8 align 4, dl_device {
        /// A [`DeviceType`](crate::DeviceType).
        DEVICE_TYPE = "device_type" at 0: FieldType::I32;
        /// The index of the device.
        DEVICE_ID = "device_id" at 4: FieldType::I32;
    }

    /// A view of a tensor. `ndim` and `dtype` are one aligned 64-bit word, and so is `device`.
    DL_TENSOR = DLTensor size 48 align 8, dl_tensor {
        /// The address of the memory; the first element is `byte_offset` bytes further.
        DATA = "data" at 0: FieldType::Ptr;
        /// The device of the memory.
        DEVICE = "device" at 8: FieldType::Struct(&crate::layout::DL_DEVICE);
        /// A [`DeviceType`](crate::DeviceType).
        DEVICE_TYPE = "device.device_type" at 8: FieldType::I32;
        /// The index of the device.
        DEVICE_ID = "device.device_id" at 12: FieldType::I32;
        /// The rank.
        NDIM = "ndim" at 16: FieldType::I32;
        /// The type of the elements.
        DTYPE = "dtype" at 20: FieldType::Struct(&crate::layout::DL_DATA_TYPE);
        /// The address of the extents, `int64_t`; any pointer where `ndim` is 0.
        SHAPE = "shape" at 24: FieldType::Ptr;
        /// The address of the strides, `int64_t` in elements; NULL means compact and row-major.
        STRIDES = "strides" at 32: FieldType::Ptr;
        /// The bytes from `data` to the first element.
        BYTE_OFFSET = "byte_offset" at 40: FieldType::U64;
    }

    /// The version of DLPack that a producer follows.
    DL_PACK_VERSION = DLPackVersion size 8 align 4, dl_pack_version {
        /// The major version; incompatible changes increase it.
        MAJOR = "major" at 0: FieldType::U32;
        /// The minor version; compatible changes increase it.
        MINOR = "minor" at 4: FieldType::U32;
    }

    /// A tensor that owns its memory, before DLPack 1.0.
    DL_MANAGED_TENSOR = DLManagedTensor size 64 align 8, dl_managed_tensor {
        /// The tensor.
        DL_TENSOR = "dl_tensor" at 0: FieldType::Struct(&crate::layout::DL_TENSOR);
        /// The context of the deleter.
        MANAGER_CTX = "manager_ctx" at 48: FieldType::Ptr;
        /// `void(DLManagedTensor* self)`, or NULL.
        DELETER = "deleter" at 56: FieldType::Ptr;
    }

    /// A tensor that owns its memory, since DLPack 1.0.
    DL_MANAGED_TENSOR_VERSIONED = DLManagedTensorVersioned size 80 align 8, dl_managed_tensor_versioned {
        /// The version that the other fields follow.
        VERSION = "version" at 0: FieldType::Struct(&crate::layout::DL_PACK_VERSION);
        /// The context of the deleter.
        MANAGER_CTX = "manager_ctx" at 8: FieldType::Ptr;
        /// `void(DLManagedTensorVersioned* self)`, or NULL.
        DELETER = "deleter" at 16: FieldType::Ptr;
        /// Flags: 1 read only; 2 a copy; 4 elements below a byte are padded.
        FLAGS = "flags" at 24: FieldType::U64;
        /// The tensor.
        DL_TENSOR = "dl_tensor" at 32: FieldType::Struct(&crate::layout::DL_TENSOR);
    }

    /// The header of the exchange table, with its version.
    DL_PACK_EXCHANGE_API_HEADER = DLPackExchangeAPIHeader size 16 align 8, dl_pack_exchange_api_header {
        /// The version of this table.
        VERSION = "version" at 0: FieldType::Struct(&crate::layout::DL_PACK_VERSION);
        /// The table of an older version, or NULL.
        PREV_API = "prev_api" at 8: FieldType::Ptr;
    }

    /// The table of functions by which a framework exchanges tensors with C code.
    DL_PACK_EXCHANGE_API = DLPackExchangeAPI size 56 align 8, dl_pack_exchange_api {
        /// The version and the predecessor.
        HEADER = "header" at 0: FieldType::Struct(&crate::layout::DL_PACK_EXCHANGE_API_HEADER);
        /// The function that allocates a tensor.
        MANAGED_TENSOR_ALLOCATOR = "managed_tensor_allocator" at 16: FieldType::Ptr;
        /// The function that converts a Python object to an owned tensor.
        FROM_PY_OBJECT = "managed_tensor_from_py_object_no_sync" at 24: FieldType::Ptr;
        /// The function that converts an owned tensor to a Python object.
        TO_PY_OBJECT = "managed_tensor_to_py_object_no_sync" at 32: FieldType::Ptr;
        /// The function that converts a Python object to a borrowed tensor.
        VIEW_PY_OBJECT = "dltensor_from_py_object_no_sync" at 40: FieldType::Ptr;
        /// The function that returns the framework's current stream.
        CURRENT_WORK_STREAM = "current_work_stream" at 48: FieldType::Ptr;
    }
}
