//! One binary, since linking takes longer than running.

mod allocated;
mod caller;
mod closures;
mod collisions;
mod declarations;
#[cfg(feature = "mlir")]
mod equivalence;
mod export_macro;
mod imports;
mod metadata;
mod mirror;
mod once;
mod properties;
mod same_bytes;
mod snapshots;
mod stack;
mod system;
mod table;
mod tracebacks;
mod unchecked;
