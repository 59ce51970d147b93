//! One binary, since linking takes longer than running.

mod allocated;
mod caller;
mod closures;
mod collisions;
mod declarations;
mod export_macro;
mod imports;
mod libcalls;
mod metadata;
mod mirror;
mod once;
mod properties;
mod snapshots;
mod system;
mod table;
mod tracebacks;
mod unchecked;
