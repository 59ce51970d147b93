//! Declarations: libraries of functions, their signatures and bodies, as values.
//!
//! All types are plain data with public fields. `Display` prints the canonical text and `FromStr` parses it;
//! [`validate`](crate::Library::validate) checks that a library has a meaning. The text covers functions and the
//! names of images. Import trees, the entry, the prefix of a system library and the bytes of images exist as values
//! only.

mod body;
mod command;
mod expr;
mod image;
mod launch;
mod leaf;
mod library;
pub(crate) mod limit;
mod param_type;
pub(crate) mod reserved;
mod signature;
mod tensor;

pub use body::{
    Arm, Body, Call, FunctionRef, KernelCall, Local, Statement, StatementKind, StatusError,
};
pub use command::{MemoryCopy, MemoryFill, Target, Upload, Wait};
pub use expr::{BinaryOp, Builtin, Comparison, DeviceAttribute, Expr, Logic, Member};
pub(crate) use image::is_whole;
pub use image::{GpuKernelFacts, Image, ImageKind};
pub(crate) use launch::AttributeValue;
pub use launch::{
    AttributeKind, Fill, Interleave, Launch, LaunchArg, LaunchAttribute, MapType, Promotion,
    Swizzle, TensorMap,
};
pub(crate) use leaf::Kind;
pub use leaf::Leaf;
pub use library::{Function, Library, Location, Prepare};
pub use param_type::{Element, Literal, Mapping, ObjectClass, ParamType, Sequence};
pub(crate) use param_type::{is_text, literal_scalar};
pub(crate) use reserved::is_identifier;
pub(crate) use signature::CLOSURE;
pub use signature::{Constraint, Output, Param, ResultType, Signature};
pub(crate) use tensor::OwnDim;
pub use tensor::{Device, Dim, Shape, Strides, Tensor};
