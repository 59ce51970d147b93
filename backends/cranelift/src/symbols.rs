//! Symbols: what the caller's module has is checked against what the host IR wants before anything is
//! declared, so that a refusal leaves no trace.

use std::borrow::Cow;

use codegen::ir;
use cranelift_codegen::ir::{AbiParam, ArgumentPurpose, Signature};
use cranelift_codegen::isa::TargetIsa;
use cranelift_module::{FuncOrDataId, Linkage, Module};
use target_lexicon::{Architecture, BinaryFormat};

use crate::error::Error;
use crate::types;

/// What becomes of one symbol of the host IR.
#[derive(Debug)]
pub(crate) enum Plan<'a> {
    /// The caller's module has it.
    Reuse(FuncOrDataId),
    /// It is declared under this name.
    Declare(Cow<'a, str>, Linkage),
}

/// Plans every symbol, in the order of the host IR. Changes nothing.
pub(crate) fn plan<'a>(
    module: &dyn Module,
    source: &'a ir::Module,
) -> Result<Vec<Plan<'a>>, Error> {
    source.symbols.iter().map(|symbol| plan_symbol(module, source, symbol)).collect()
}

fn plan_symbol<'a>(
    module: &dyn Module,
    source: &ir::Module,
    symbol: &'a ir::SymbolData,
) -> Result<Plan<'a>, Error> {
    let found = module.get_name(&symbol.name);
    let name = Cow::Borrowed(symbol.name.as_str());
    match (symbol.linkage, found) {
        (ir::Linkage::Import, Some(id)) => {
            check_type(module, symbol, id)?;
            Ok(Plan::Reuse(id))
        }
        (ir::Linkage::Import, None) => Ok(Plan::Declare(name, Linkage::Import)),
        (ir::Linkage::Local, _) => {
            Ok(Plan::Declare(unused_name(module, source, symbol), Linkage::Local))
        }
        (ir::Linkage::Export, Some(id)) => {
            check_type(module, symbol, id)?;
            check_undefined(module, symbol, id)?;
            Ok(Plan::Declare(name, Linkage::Export))
        }
        (ir::Linkage::Export, None) => Ok(Plan::Declare(name, Linkage::Export)),
    }
}
