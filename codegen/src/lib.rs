//! TVM FFI host functions: declarations, host IR and lowering.
//!
//! A kernel compiler *declares* a function once. This crate turns the declaration into the *wrapper*
//! `__tvm_ffi_<name>`, which counts and checks the arguments, unpacks them, calls the *kernel*, writes the
//! result and raises errors, as host IR that any backend translates.
//!
//! ```
//! use tvm_ffi_codegen::{Library, Options, ir, lower};
//!
//! let library: Library = "
//!     scale(x: Tensor([n, 64], float32), factor: float64) -> None
//!         where n % 4 == 0
//!         = scale_kernel(x.data, int32(n), factor);
//! ".parse()?;
//! assert_eq!(
//!     library.functions[0].signature.to_string(),
//!     "scale(x: Tensor([n, 64], float32), factor: float64) -> None where n % 4 == 0"
//! );
//! let module = lower(&library.resolve()?, &Options::default());
//! ir::verify(&module).unwrap();
//! assert!(module.to_string().contains("export func @__tvm_ffi_scale("));
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! The same library as Rust values, without text:
//!
//! ```
//! use tvm_ffi_codegen::{Call, DType, Expr, Library, Scalar, Signature, Tensor, exprs};
//!
//! let [x, n] = ["x", "n"].map(Expr::name);
//! let scale = Signature::new("scale")
//!     .param("x", Tensor::new(exprs![&n, 64], DType::FLOAT32))
//!     .param("factor", Scalar::Float64)
//!     .require((&n % 4).equal(0))
//!     .body(Call::kernel("scale_kernel", exprs![x.data(), n.cast(Scalar::Int32), "factor"]));
//! let library = Library::new([scale]);
//! assert_eq!(library.to_string().parse(), Ok(library.clone()));
//! let resolved = library.resolve()?;
//! assert_eq!(resolved.kernels()[0].signature.to_string(), "(ptr, i32, f64)");
//! # Ok::<(), tvm_ffi_codegen::Error>(())
//! ```
//!
//! # Constructors
//! [`Signature::new`] and the methods of [`Signature`], [`Tensor::new`], the functions of [`ParamType`], [`Call`] and
//! [`Statement`], and the operators of [`Expr`] build declarations; [`exprs!`] lists operands of several types.
//!
//! Fields are public: read them, and change them in a value that a constructor has made. Most structs are
//! `#[non_exhaustive]`, since a later release may add fields, so Rust refuses `Signature { … }` outside of this crate;
//! call the constructor.
//!
//! Declarations contain [`DType`], [`DeviceType`], [`Scalar`] and the import tree of [`library_bin`], which the crate
//! of the ABI defines.
//!
//! # The stages of a declaration
//! 1. [`language`] parses text to a [`Library`] and prints a [`Library`] as text.
//! 2. [`Library::resolve`] binds names, chooses the occurrence that binds each symbol, and orders the checks as
//!    failures are reported.
//! 3. [`lower()`] emits host IR. A check is a branch with a cold exit, which hands a constant record to a shared
//!    routine; the routine raises the error that the record describes. All ABI policy is here.
//! 4. [`ir`] defines host IR: data, printed and verified without any backend.
//! 5. [`Backend`] is the interface of every code generator; each also emits into a module of its user.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::too_many_lines, reason = "tables have as many rows as they need"))]

// The code that `routine` generates uses this name, also inside this crate.
extern crate self as tvm_ffi_codegen;

pub mod backend;
mod declaration;
mod error;
mod explain;
pub mod guide;
pub mod ir;
pub mod language;
mod lower;
mod resolve;
mod trace;

/// Facts for whoever links or loads compiled code without the crates of this project: the modules of shared routines
/// ([`Routines::Shared`], [`Routines::Linked`]), and the symbols of what the owner of code in process calls or fills.
pub mod linker {
    pub use crate::lower::{
        FORGET, KEEPER, UNLOAD, callee_variable, is_linked_routine, linked_routines, routines,
    };
}

pub use abi_spec::symbol::function_symbol;
pub use abi_spec::{DType, DeviceType, ParseError, Scalar, TypeCode, library_bin};
pub use backend::{Backend, UnknownWord};
pub use declaration::{
    Access, Arm, AttributeKind, BinaryOp, Body, Branch, Builtin, Call, Comparison, Constraint,
    Device, DeviceAttribute, Dim, Element, Expr, Fill, Function, FunctionCall, FunctionRef, Global,
    GlobalFacts, GpuKernelFacts, Handlers, Im2col, Image, ImageKind, Inquiry, Interleave,
    KernelCall, KernelRef, Launch, LaunchArg, LaunchAttribute, Leaf, Library, Literal, Local,
    Location, Logic, MapMode, MapType, Mapping, Member, MemoryCopy, MemoryFill, ObjectClass,
    Output, Param, ParamType, Platform, Prepare, Promotion, ResultType, Sequence, Shape, Signature,
    Statement, StatementKind, StatusError, Strides, Swizzle, Target, Tensor, TensorMap,
    TorchOperators, Upload, Wait,
};
pub use error::{Error, Errors, Part, Position, Site};
pub use explain::{AboutLine, Explanation};
pub use language::Fingerprint;
pub use lower::{Loader, Options, Routines, Unchecked, library::metadata, library::shapes, lower};
pub use resolve::{
    Kernel, Resolved,
    warning::{Subject, Warning, WarningKind},
};
