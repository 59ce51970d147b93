//! Host IR: the result of lowering and the input of every backend.
//!
//! A [`Module`] holds functions in static single assignment form with block parameters, constant data, and symbols. Its
//! vocabulary is small on purpose: [`Inst`] lists every instruction. [`Builder`] builds functions, `Display` prints
//! modules, and [`verify()`] checks them.
//!
//! ```
//! use tvm_ffi_codegen::ir::{Binary, Builder, Linkage, Module, Signature, Type, verify};
//!
//! let mut module = Module::default();
//! let signature = Signature::new(&[Type::I64], Some(Type::I64));
//! let mut b = Builder::function(&mut module, "twice", Linkage::Export, signature);
//! let n = b.param(0);
//! let twice = b.binary(Binary::Add, n, n);
//! b.ret(Some(twice));
//! let function = b.finish();
//! module.functions.push(function);
//! verify(&module).unwrap();
//! assert_eq!(
//!     module.to_string(),
//!     "export func @twice(%p0: i64) -> i64 {\nentry:\n    %v1: i64 = add %p0, %p0\n    return %v1\n}\n"
//! );
//! ```

mod build;
mod calls;
mod entity;
mod flow;
mod inst;
mod module;
mod operator;
mod order;
mod print;
mod read;
mod signature;
mod symbols;
pub mod typed;
mod unused;
mod verify;

pub use abi_spec::layout::{Field, FieldType, Struct};
pub use build::Builder;
pub use entity::{Block, Symbol, TopicId, Value};
pub use flow::Values;
pub use inst::{Inst, Target, Terminator};
pub use module::{
    BlockData, Data, DataPart, DataPrinter, Function, Hint, Module, Placed, Pointee, Relocation,
    SourceLocation, Topic, ValueData,
};
pub use operator::{Binary, Checked, Cond, Convert};
pub use order::immediate_dominators;
pub use print::Line;
pub use read::ReadError;
pub use signature::{AbiType, Extend, Signature, Type};
pub use symbols::{DeclareError, Linkage, SymbolData, SymbolKind};
pub use verify::{Malformed, verify};
