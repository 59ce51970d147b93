//! Emits host IR as Cranelift code.
//!

#![forbid(unsafe_code)]

mod data;
mod error;
mod function;
mod object;
mod print;
mod symbols;
mod types;

use codegen::ir;
use cranelift_codegen::ir::Signature;
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::{DataDescription, FuncId, FuncOrDataId, Module};

pub use error::Error;
pub use object::{Settings, isa};

/// Emits `source` into `module`, a JIT's or an object's; the functions it exports, in order.
pub fn emit(module: &mut dyn Module, source: &ir::Module) -> Result<Vec<FuncId>, Error> {
    let plan = symbols::plan(module, source)?;
    define(module, source, &plan)
}

/// Emits what has been planned.
fn define(
    module: &mut dyn Module,
    source: &ir::Module,
    plan: &[symbols::Plan<'_>],
) -> Result<Vec<FuncId>, Error> {
    let symbols = symbols::declare(module, source, plan)?;
    let mut description = DataDescription::new();
    for data in &source.data {
        if let FuncOrDataId::Data(id) = symbols[data.symbol.index()] {
            data::define(module, id, data, &mut description)?;
        }
    }
    let mut functions = function::Functions::new(module, &symbols);
    let mut exports = Vec::new();
    for function in &source.functions {
        if let FuncOrDataId::Func(id) = symbols[function.symbol.index()] {
            function::define(&mut functions, id, function)?;
            if source.symbols[function.symbol.index()].linkage == ir::Linkage::Export {
                exports.push(id);
            }
        }
    }
    Ok(exports)
}

/// The native type of a function, for users who define their kernel in the same module.
pub fn signature(isa: &dyn TargetIsa, source: &ir::Signature) -> Signature {
    types::signature(isa, source)
}
