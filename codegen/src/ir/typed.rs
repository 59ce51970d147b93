//! Typed handles of values, on which functions written with [`routine`](macro@routine) are built.
//!
//! A handle is one or several values with a Rust type: [`Int<u64>`], [`Ref<DLTensor>`](Ref), a tuple of handles. The
//! type chooses the instructions: a comparison of `u64` is unsigned, a right shift of `i64` is arithmetic, a field is
//! loaded at its width. Operations without an implementation, such as the sum of a `u32` and a `u64`, do not compile.
//!
//! ```
//! use tvm_ffi_codegen::ir::typed::{Routine, define, routine};
//! use tvm_ffi_codegen::ir::{Linkage, Module, verify};
//!
//! /// The greatest number that divides both.
//! #[routine]
//! fn divisor(x: u64, y: u64) -> u64 {
//!     let mut greater = x;
//!     let mut less = y;
//!     while less != 0 {
//!         let rest = greater % less;
//!         greater = less;
//!         less = rest;
//!     }
//!     greater
//! }
//!
//! let mut module = Module::default();
//! define::<divisor>(&mut module, Linkage::Export);
//! verify(&module).unwrap();
//! assert_eq!(divisor::NAME, "tvm_ffi_codegen.divisor");
//! ```

mod constant;
mod control;
mod function;
mod handle;
mod memory;
mod number;

pub use constant::{Const, Literal, Make, NULL, Null, constant, like, make};
pub use control::{Arm, arm, branch, is_less, join, jump, params, params_like, select, tried};
pub use function::{
    Failing, Raise, Routine, call, call_indirect, declare, define, param, signature_of,
};
pub(crate) use handle::handles;
pub use handle::{Handle, Single, Text, words};
pub(crate) use memory::structs;
pub use memory::{
    Address, Field, Index, Member, Nested, Pointee, Ref, Stored, Struct, Unaligned, address_of, at,
    get, load, load_at, room, set, store, store_at,
};
pub use number::{
    Arithmetic, Bits, Bool, Cast, Compare, Conds, Float, FloatType, Int, Integer, Negate, Not,
    Remainder, add, bit_and, bit_or, bit_xor, cast, div, eq, ge, gt, le, lt, mul, ne, neg, not,
    rem, shl, shr, sub,
};
/// Translates a function in a small subset of Rust to host IR.
pub use routine::routine;
