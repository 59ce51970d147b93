//! Attributes of modules.

/// The attributes of the Python class `tvm_ffi.Module`, release 0.1.15, but for those that Python gives a
/// meaning. They hide functions of the same names, which only `module[name]` returns.
pub const PYTHON: [&str; 22] = [
    "_abc_impl",
    "_move",
    "clear_imports",
    "entry_name",
    "get_function",
    "get_function_doc",
    "get_function_metadata",
    "get_property_mask",
    "get_write_formats",
    "id_",
    "implements_function",
    "import_module",
    "imports",
    "imports_",
    "inspect_source",
    "is_",
    "is_binary_serializable",
    "is_compilation_exportable",
    "is_runnable",
    "kind",
    "same_as",
    "write_to_file",
];
