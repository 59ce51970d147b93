//! Kinds of errors.

/// The kinds that Python raises as exceptions of that name, as the package `apache-tvm-ffi` registers them. Any other
/// kind becomes a `RuntimeError`, unless a program registers it with `tvm_ffi.register_error`.
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
