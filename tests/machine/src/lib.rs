//! A machine for host IR: it runs modules and watches what they do.
//!
//! A [`Machine`] links modules of host IR with each other, with a model of the runtime ([`runtime`]), of
//! the C library and of the CUDA driver, and with kernels that are closures of the caller. Memory consists
//! of [regions](Region): every pointer knows the region that it was made for, and every access is checked
//! against the region's bounds, its lifetime, its alignment, and against the bytes that have been written.
//! Every violation is a [`Finding`], which ends the run.
//!
//! The machine knows nothing of declarations: callers compare the outcome of a call with the expected one.
//!
//! ```
//! use codegen::ir::{Builder, Linkage, Module, Signature, Type};
//! use tvm_ffi_codegen_machine::{Machine, Word};
//!
//! let mut module = Module::default();
//! let signature = Signature::new(&[Type::Ptr], Some(Type::I64));
//! let mut b = Builder::function(&mut module, "second", Linkage::Export, signature);
//! let at = b.param(0);
//! let second = b.load(Type::I64, at, 8);
//! b.ret(Some(second));
//! let function = b.finish();
//! module.functions.push(function);
//!
//! let mut machine = Machine::link(&[&module], &|_| None);
//! let pair = machine.memory.constant("pair", &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0], 8);
//! let single = machine.memory.constant("single", &[1, 0, 0, 0, 0, 0, 0, 0], 8);
//! let second = machine.symbol("second").unwrap();
//! assert_eq!(machine.call(second, &[pair]).unwrap(), Word::int(2));
//! let finding = machine.call(second, &[single]).unwrap_err();
//! assert!(finding.reason.contains("ends 8 bytes behind `single`"), "{finding}");
//! ```

#![forbid(unsafe_code)]

mod arithmetic;
mod c_library;
pub mod cuda;
mod fault;
mod finding;
mod link;
mod memory;
mod run;
pub mod runtime;
mod word;

pub use fault::{Failing, Fault};
pub use finding::Finding;
pub use link::{Host, Machine};
pub use memory::{Memory, Region};
pub use run::Outcome;
pub use word::Word;
