//! Typed handles of values: what functions that are written with [`routine`](macro@routine) stand on.
//!
//! A handle is a value, or several, with a Rust type that says what it is: [`Int<u64>`], [`Ref<DLTensor>`](Ref), a
//! tuple of them. Its operations choose the instruction by that type: a comparison of `u64` is without a sign, a shift
//! of `i64` to the right fills with the sign, a field is loaded as wide as it is. What has no operation here, such as
//! the sum of an `u32` and an `u64`, does not compile.
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
/// Writes a function of host IR in a small subset of Rust.
pub use routine::routine;
