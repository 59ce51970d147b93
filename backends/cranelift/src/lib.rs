//! Emits host IR as Cranelift code.
