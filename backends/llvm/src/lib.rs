//! Emits host IR as LLVM IR.
