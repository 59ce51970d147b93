//! Declarations: libraries of functions, their signatures and bodies, as values.
//!
//! All types are plain data with public fields. `Display` prints the canonical text and `FromStr` parses it;
//! [`validate`](crate::Library::validate) checks that a library has a meaning. The text covers functions and the
//! names of images. Import trees, the entry, the prefix of a system library and the bytes of images exist as values
//! only.

mod access;
mod body;
mod call;
mod command;
mod conversion;
mod derived;
mod expr;
mod global;
mod handlers;
mod image;
mod join;
mod launch;
mod leaf;
mod library;
pub(crate) mod limit;
mod operand;
mod operator;
mod param_type;
mod platform;
pub(crate) mod reserved;
mod signature;
mod statement;
mod teardown;
mod tensor;
mod tensor_map;

pub use access::Access;
pub use body::Body;
pub use call::{Call, FunctionCall, FunctionRef, KernelCall, KernelRef, StatusError};
pub use command::{MemoryCopy, MemoryFill, Target, Upload, Wait};
pub use expr::{BinaryOp, Builtin, Comparison, DeviceAttribute, Expr, Logic, Member};
pub use global::Global;
pub use handlers::{Handlers, TorchOperators};
pub(crate) use image::is_whole;
pub use image::{GlobalFacts, GpuKernelFacts, Image, ImageKind, Platform};
pub(crate) use launch::AttributeValue;
pub use launch::{AttributeKind, Launch, LaunchArg, LaunchAttribute};
pub(crate) use leaf::Kind;
pub use leaf::Leaf;
pub use library::{Function, Inquiry, Library, Location, Prepare};
pub use param_type::{Element, Literal, Mapping, ObjectClass, ParamType, Sequence};
pub(crate) use param_type::{is_text, literal_scalar};
pub(crate) use reserved::is_identifier;
pub(crate) use signature::CLOSURE;
pub use signature::{Constraint, Output, Param, ResultType, Signature};
pub use statement::{Arm, Branch, Local, Statement, StatementKind};
pub(crate) use tensor::{ANY_DTYPE, OwnDim};
pub use tensor::{Device, Dim, Shape, Strides, Tensor};
pub use tensor_map::{Fill, Im2col, Interleave, MapMode, MapType, Promotion, Swizzle, TensorMap};
