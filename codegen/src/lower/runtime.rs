//! Functions of the runtime as imports of a module.

use abi_spec::runtime::{CType, Function};

use crate::ir::{self, Linkage, Signature, Symbol, SymbolKind, Type};

/// Declares a function of the runtime.
pub(crate) fn runtime(module: &mut ir::Module, function: &Function) -> Symbol {
    let params: Vec<Type> = function.params.iter().filter_map(|&ty| c_type(ty)).collect();
    let signature = Signature::new(&params, c_type(function.result));
    module.declare(function.name, Linkage::Import, SymbolKind::Function(signature))
}

/// Returns the type of a C type in host IR; `None` for `void`.
fn c_type(ty: CType) -> Option<Type> {
    match ty {
        CType::Void => None,
        CType::I32 => Some(Type::I32),
        CType::Ptr(_) | CType::Code(_) => Some(Type::Ptr),
        CType::ByteArray => unreachable!("generated code calls no function that passes structs"),
    }
}
