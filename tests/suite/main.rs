//! One binary, since linking takes longer than running.

mod allocated;
mod caller;
mod closures;
mod collisions;
mod damage;
mod declarations;
mod export_macro;
mod guarded;
mod imports;
mod metadata;
mod properties;
mod snapshots;
mod stack;
mod system;
mod table;
mod tracebacks;
mod unchecked;
