//! TVM FFI host functions: declarations, host IR and lowering.

mod backend;
mod declaration;
mod expr;
pub mod ir;

pub use backend::Backend;
pub use declaration::{
    Body, Comparison, Constraint, Device, Dim, Function, Library, Param, ParamType, ResultType,
    Shape, Signature, Strides, Tensor,
};
pub use expr::{BinaryOp, Builtin, Expr, Member};
