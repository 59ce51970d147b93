//! Compiles declarations in process with Cranelift.
