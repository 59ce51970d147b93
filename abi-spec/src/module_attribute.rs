//! Attributes of modules.

/// What the class `tvm_ffi.Module` has in Python, release 0.1.15, without the names that start with `_`. As an attribute
/// of a module such a name is not the function of this name; `module[name]` is.
pub const PYTHON: [&str; 20] = [
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
