//! Compiles declarations in process with Cranelift.
//!
//! Declare a function, give its kernels, and call it: from Rust, or as a function object of the runtime
//! from any language that knows TVM FFI.
//!
//! ```
//! use codegen::Library;
//! use tvm_ffi_codegen_jit::{Jit, Tensor};
//!
//! extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
//!     for i in 0..n as usize {
//!         // SAFETY: the declaration says that both have `n` elements.
//!         unsafe { *y.add(i) = *x.add(i) + 1.0 };
//!     }
//! }
//!
//! let library: Library = "
//!     add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
//!         = add_one_kernel(x.data, y.data, n);
//! ".parse()?;
//! let mut jit = Jit::new()?;
//! // SAFETY: the kernel has the type that the declaration calls it with, and stays where it is.
//! unsafe { jit.kernel("add_one_kernel", add_one_kernel as *const u8) };
//! let add_one = jit.compile(&library)?.function("add_one").expect("it is declared");
//!
//! let (mut x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
//! add_one.call(&[(&Tensor::new(&mut x)).into(), (&Tensor::new(&mut y)).into()])?;
//! assert_eq!(y, [2.0, 3.0, 4.0]);
//!
//! let mut short = [0.0_f32; 2];
//! let error = add_one.call(&[(&Tensor::new(&mut x)).into(), (&Tensor::new(&mut short)).into()]);
//! assert_eq!(
//!     error.unwrap_err().to_string(),
//!     "ValueError: Mismatched y.shape[0] on argument #1 when calling: \
//!      `add_one(x: Tensor([n], float32), y: Tensor([n], float32))`, \
//!      expected 3 (= x.shape[0]) but got 2"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The runtime
//! Code calls `TVMFFI*` functions, to raise errors for instance. They come from `libtvm_ffi` where there
//! is one, else from a small runtime in this crate, so that everything works with nothing but Rust;
//! [`runtime`] says which.
//!
//! # Lifetime
//! [`Compiled`], [`Function`] and [`FfiFunction`] are handles. The code is freed with the last of them
//! and of the function objects that the runtime, or somebody it was passed to, still holds.
//!
//! The code of a library that became a module object, [`Compiled::into_module`], is never freed.
//!
//! # Unsafety
//! Giving a kernel is a promise, see [`Jit`]; calling a compiled function is safe then. Inside the crate
//! `unsafe` is where C's side of the ABI is: `abi`, `builtin`, `runtime`, `object`, `ffi_function`, `module`; and in
//! `memory`.

pub mod abi;

mod builtin;
mod compiled;
#[cfg(feature = "tvm-ffi")]
mod convert;
mod error;
mod ffi_function;
mod jit;
mod memory;
mod module;
mod object;
mod routines;
mod runtime;
mod symbols;
mod tensor;
mod value;

pub use compiled::{Compiled, Function};
pub use error::Error;
pub use ffi_function::{Context, FfiFunction};
pub use jit::Jit;
pub use object::ObjectRef;
pub use runtime::{Kind, Runtime, runtime};
pub use tensor::{Element, Tensor};
pub use value::{CallError, Returned, Value};
