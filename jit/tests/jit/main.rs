//! Tests of the JIT, with every runtime on the machine.

mod addresses;
mod alone;
mod arguments;
mod cached;
mod calls;
#[cfg(feature = "tvm-ffi")]
mod conversions;
#[cfg(all(feature = "half", feature = "complex", feature = "ndarray"))]
mod crates;
mod declarations;
mod embedded;
mod externals;
mod function_maps;
mod function_objects;
mod given;
mod imports;
mod ir;
mod kernels;
mod launches;
mod left_out;
mod memory;
mod modules;
mod observers;
mod passing;
mod raising;
mod runtime;
mod shared;
mod signatures;
mod tensors;
mod typed;
mod unwinding;
mod wrapped;
mod wrong;
