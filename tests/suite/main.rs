//! One binary, since linking takes longer than running.

mod allocated;
mod big_int;
mod caller;
mod closures;
mod collisions;
mod cross;
mod damage;
mod declarations;
#[cfg(feature = "mlir")]
mod equivalence;
mod export_macro;
mod external;
mod fake_cuda;
mod gpu;
mod guarded;
mod imports;
mod launches;
mod libcalls;
mod messages;
mod metadata;
mod mirror;
mod once;
mod programs;
mod properties;
mod results;
mod runtime_state;
mod same_bytes;
mod snapshots;
mod stack_of_failure;
mod stack_of_success;
mod system;
mod table;
mod tracebacks;
mod triton;
mod unallocated;
mod unchecked;
