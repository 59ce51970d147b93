//! The driver from outside: linking, inspection and the command line.

mod bound;
mod cache;
mod cli;
mod contents;
mod damage;
mod deep;
mod dependencies;
mod explorer;
mod exports;
mod files;
mod formats;
mod hostile;
mod imports;
mod inspect;
#[cfg(feature = "mlir")]
mod into;
#[cfg(feature = "mlir")]
mod ir_kernels;
mod link;
mod processors;
mod refused;
mod routines;
mod stages;
mod support;
#[cfg(unix)]
mod system;
mod triton;
mod triton_columns;
