//! Emits host IR as the LLVM dialect of MLIR.
