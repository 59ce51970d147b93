//! Kinds of errors.

/// The kinds that are exceptions of their own in Python, as the package `apache-tvm-ffi` registers them. Any other
/// becomes a `RuntimeError` there, unless a program has registered it with `tvm_ffi.register_error`.
pub const PYTHON: [&str; 8] = [
    "RuntimeError",
    "ValueError",
    "TypeError",
    "AttributeError",
    "KeyError",
    "IndexError",
    "AssertionError",
    "MemoryError",
];
