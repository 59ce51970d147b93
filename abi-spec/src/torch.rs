//! The stable C ABI of PyTorch, `torch/csrc/stable/c/shim.h` and `torch/csrc/inductor/aoti_torch/c/shim.h`: what a
//! library calls to register operators, and what its kernels call.
//!
//! A kernel is `void kernel(StableIValue* stack, uint64_t inputs, uint64_t outputs)`. A `StableIValue` is a word: a
//! number, a truth, or a handle. The kernel owns the handles of its inputs, and PyTorch those of the outputs, which
//! begin where the inputs began. An optional value is NULL or the address of a word, which the kernel deletes. A kernel
//! reports an error by an exception of C++, which `aoti_torch_check` throws for it. `tests/systems/pytorch` checks
//! every prototype against the headers of `torch`.

use crate::{DType, DeviceType, TypeCode};

/// Oldest version with the ABI, 2.10.0, as kernels are registered for it: a byte each for major, minor and patch,
/// highest first. PyTorch hands kernels values in the form of this version.
pub const VERSION: u64 = 2 << 56 | 10 << 48;

/// File with the functions, in a process that has loaded PyTorch.
pub const FILE: &str = "libtorch_cpu.so";

/// Files with `aoti_torch_get_current_cuda_stream`, the second in builds for ROCm.
pub const ACCELERATOR_FILES: [&str; 2] = ["libtorch_cuda.so", "libtorch_hip.so"];

/// Key of the dispatcher for kernels that serve every device.
pub const DISPATCH_KEY: &str = "CompositeExplicitAutograd";

/// `operator delete(void*)`, as the C++ ABI of Itanium spells it. Before `torch_delete_stable_ivalue`, which 2.13 has,
/// it frees the words of optional values.
pub const OPERATOR_DELETE: &str = "_ZdlPv";

/// `operator new(size_t)`. Before `torch_new_stable_ivalue`, which 2.13 has, it makes the words of optional results.
pub const OPERATOR_NEW: &str = "_Znwm";

/// Functions that return the number of an element type, `int32_t getter(void)`, with the type. Only their numbers are
/// not part of the ABI.
pub const DTYPES: [(&str, DType); 22] = [
    ("aoti_torch_dtype_bool", DType::BOOL),
    ("aoti_torch_dtype_int8", DType::INT8),
    ("aoti_torch_dtype_int16", DType::INT16),
    ("aoti_torch_dtype_int32", DType::INT32),
    ("aoti_torch_dtype_int64", DType::INT64),
    ("aoti_torch_dtype_uint8", DType::UINT8),
    ("aoti_torch_dtype_uint16", DType::UINT16),
    ("aoti_torch_dtype_uint32", DType::UINT32),
    ("aoti_torch_dtype_uint64", DType::UINT64),
    ("aoti_torch_dtype_float16", DType::FLOAT16),
    ("aoti_torch_dtype_bfloat16", DType::BFLOAT16),
    ("aoti_torch_dtype_float32", DType::FLOAT32),
    ("aoti_torch_dtype_float64", DType::FLOAT64),
    ("aoti_torch_dtype_complex32", DType::new(TypeCode::Complex, 32, 1)),
    ("aoti_torch_dtype_complex64", DType::new(TypeCode::Complex, 64, 1)),
    ("aoti_torch_dtype_complex128", DType::new(TypeCode::Complex, 128, 1)),
    ("aoti_torch_dtype_float8_e4m3fn", DType::new(TypeCode::Float8E4m3fn, 8, 1)),
    ("aoti_torch_dtype_float8_e4m3fnuz", DType::new(TypeCode::Float8E4m3fnuz, 8, 1)),
    ("aoti_torch_dtype_float8_e5m2", DType::new(TypeCode::Float8E5m2, 8, 1)),
    ("aoti_torch_dtype_float8_e5m2fnuz", DType::new(TypeCode::Float8E5m2fnuz, 8, 1)),
    ("aoti_torch_dtype_float4_e2m1fn_x2", DType::new(TypeCode::Float4E2m1fn, 4, 2)),
    ("torch_dtype_float8_e8m0fnu", DType::new(TypeCode::Float8E8m0fnu, 8, 1)),
];

/// Functions that return the number of a type of devices, `int32_t getter(void)`, with the type. That of CUDA is that
/// of ROCm in builds for ROCm.
pub const DEVICES: [(&str, DeviceType); 5] = [
    ("aoti_torch_device_type_cpu", DeviceType::CPU),
    ("aoti_torch_device_type_cuda", DeviceType::CUDA),
    ("aoti_torch_device_type_xpu", DeviceType::ONEAPI),
    ("aoti_torch_device_type_mps", DeviceType::METAL),
    ("aoti_torch_device_type_privateuse1", DeviceType::EXT_DEV),
];

/// Numbers of element types and of types of devices are below these, with room for more.
pub const MOST_DTYPES: usize = 64;

/// See [`MOST_DTYPES`].
pub const MOST_DEVICES: usize = 32;

/// Returns what the last exception of the thread says, since 2.13.
pub const EXCEPTION: &str = "torch_exception_get_what_without_backtrace";

/// Functions with their types in C++. Those that return `AOTITorchError`, an `int32_t`, return 0, or another number
/// once they have printed why, or keep it for [`EXCEPTION`].
pub const FUNCTIONS: [(&str, &str); 35] = [
    (
        "aoti_torch_library_init_fragment",
        "AOTITorchError(const char*, const char*, uint32_t, TorchLibraryHandle*)",
    ),
    (
        "aoti_torch_library_init_impl",
        "AOTITorchError(const char*, const char*, const char*, uint32_t, TorchLibraryHandle*)",
    ),
    ("aoti_torch_library_def", "AOTITorchError(TorchLibraryHandle, const char*)"),
    (
        "torch_library_def_with_tags",
        "AOTITorchError(TorchLibraryHandle, const char*, const int32_t*, int32_t)",
    ),
    ("torch_tag_pt2_compliant_tag", "int32_t()"),
    (
        "torch_library_impl",
        "AOTITorchError(TorchLibraryHandle, const char*, void (*)(StableIValue*, uint64_t, uint64_t), uint64_t)",
    ),
    ("torch_get_const_data_ptr", "AOTITorchError(AtenTensorHandle, const void**)"),
    ("torch_get_mutable_data_ptr", "AOTITorchError(AtenTensorHandle, void**)"),
    ("aoti_torch_new_tensor_handle", "AOTITorchError(AtenTensorHandle, AtenTensorHandle*)"),
    ("aoti_torch_get_dim", "AOTITorchError(AtenTensorHandle, int64_t*)"),
    ("aoti_torch_get_sizes", "AOTITorchError(AtenTensorHandle, int64_t**)"),
    ("aoti_torch_get_strides", "AOTITorchError(AtenTensorHandle, int64_t**)"),
    ("aoti_torch_get_dtype", "AOTITorchError(AtenTensorHandle, int32_t*)"),
    ("aoti_torch_get_device_type", "AOTITorchError(AtenTensorHandle, int32_t*)"),
    ("aoti_torch_get_device_index", "AOTITorchError(AtenTensorHandle, int32_t*)"),
    ("aoti_torch_delete_tensor_object", "AOTITorchError(AtenTensorHandle)"),
    (
        "aoti_torch_empty_strided",
        "AOTITorchError(int64_t, const int64_t*, const int64_t*, int32_t, int32_t, int32_t, AtenTensorHandle*)",
    ),
    ("torch_string_length", "AOTITorchError(StringHandle, size_t*)"),
    ("torch_string_c_str", "AOTITorchError(StringHandle, const char**)"),
    ("torch_delete_string", "AOTITorchError(StringHandle)"),
    ("torch_new_string_handle", "AOTITorchError(const char*, size_t, StringHandle*)"),
    ("torch_list_size", "AOTITorchError(StableListHandle, size_t*)"),
    ("torch_list_get_item", "AOTITorchError(StableListHandle, size_t, StableIValue*)"),
    ("torch_delete_list", "AOTITorchError(StableListHandle)"),
    ("torch_new_list_reserve_size", "AOTITorchError(size_t, StableListHandle*)"),
    ("torch_list_push_back", "AOTITorchError(StableListHandle, StableIValue)"),
    (
        "torch_from_blob",
        "AOTITorchError(void*, int64_t, const int64_t*, const int64_t*, int64_t, int32_t, int32_t, int32_t, AtenTensorHandle*, int32_t, const uint8_t*, int64_t, void (*)(void*, void*), void*)",
    ),
    ("aoti_torch_layout_strided", "int32_t()"),
    ("aoti_torch_check", "void(bool, const char*, const char*, uint32_t, const char*)"),
    ("aoti_torch_warn", "void(const char*, const char*, uint32_t, const char*)"),
    ("torch_new_stable_ivalue", "AOTITorchError(StableIValue**)"),
    ("torch_delete_stable_ivalue", "AOTITorchError(StableIValue*)"),
    (EXCEPTION, "const char*()"),
    ("aoti_torch_get_current_cuda_stream", "AOTITorchError(int32_t, void**)"),
    ("aoti_torch_abi_version", "uint64_t()"),
];

/// Words that no schema has as a name: those of TorchScript's lexer.
pub const KEYWORDS: [&str; 26] = [
    "False", "None", "True", "and", "as", "assert", "break", "class", "continue", "def", "del",
    "elif", "else", "for", "global", "if", "import", "in", "is", "not", "or", "pass", "raise",
    "return", "while", "with",
];
