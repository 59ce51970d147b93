//! Functions of the FFI that are called by name: their variables, and the constants from which routines look them up.

use abi_spec::symbol::LIBRARY_CTX;

use crate::ir::{Data, Linkage, Module, Relocation, Symbol, SymbolKind};
use crate::lower::routines::memory::named;
use crate::lower::value::variable;

/// Returns the symbol of the variable of a module that caches the function which bodies call by a name, `@"name"(…)`:
/// the address of a function object, or NULL until the first call has looked it up.
///
/// The symbol is local. A JIT may fill the variable before the first call, which then looks nothing up, with an object
/// that outlives the code.
pub fn callee_variable(name: &str) -> String {
    format!("tvm_ffi_codegen.callee.{name}")
}

/// Returns the constant from which a routine looks a name up. The first call adds it to the module.
pub(crate) fn named_callee(module: &mut Module, name: &str) -> Symbol {
    let cache = variable(module, &callee_variable(name));
    let symbol = format!("tvm_ffi_codegen.named.{name}");
    let known = module.find(&symbol).is_some();
    let symbol = module.declare(&symbol, Linkage::Local, SymbolKind::Data);
    if !known {
        let context = module.declare(LIBRARY_CTX, Linkage::Weak, SymbolKind::Data);
        let address = |(offset, symbol)| Relocation { offset, symbol, addend: 0 };
        let relocations = [(named::CACHE, cache), (named::CONTEXT, context)].map(address);
        let data = Data::constant(symbol, named::encode(name), 8);
        module.data.push(Data { relocations: relocations.into(), ..data });
    }
    symbol
}
