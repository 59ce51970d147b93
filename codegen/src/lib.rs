//! TVM FFI host functions: declarations, host IR and lowering.

#![forbid(unsafe_code)]

mod backend;
mod declaration;
mod error;
mod expr;
pub mod ir;
pub mod language;
mod linear;
mod lower;
mod resolve;
mod scope;
mod validate;

pub use backend::Backend;
pub use declaration::{
    Body, Comparison, Constraint, Device, Dim, Function, Library, Param, ParamType, ResultType,
    Shape, Signature, Strides, Tensor,
};
pub use error::{Error, Part, Position, Site};
pub use expr::{BinaryOp, Builtin, Expr, Member};
pub use lower::{Options, Routines, lower, routines};
