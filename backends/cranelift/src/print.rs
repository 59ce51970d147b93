//! Readable Cranelift IR.
