//! What a library has besides wrappers: the entry, and what it says of its functions, as constant texts and
//! getters that return them.

use abi_spec::symbol;

use crate::declaration::Function;
use crate::ir::{Data, Linkage, Module, Symbol, SymbolKind};
use crate::lower::explain::routines::Routine;
use crate::lower::library::metadata::{DOC_DATA, METADATA_DATA};
use crate::lower::value::{exported, safe_call};

/// Adds the getter of a function's metadata and, if it has documentation, the getter of that.
pub(crate) fn metadata(module: &mut Module, function: &Function, linkage: Linkage) {
    let name = &function.signature.name;
    let text = constant(module, &format!("{METADATA_DATA}{name}"), function.metadata());
    getter(module, &format!("{}{name}", symbol::METADATA_PREFIX), text, linkage);
    if !function.docs.is_empty() {
        let text = constant(module, &format!("{DOC_DATA}{name}"), function.docs.clone());
        getter(module, &format!("{}{name}", symbol::DOC_PREFIX), text, linkage);
    }
}

/// Exports the function `main`, which does what the entry does: it passes on all that it gets.
pub(crate) fn entry(module: &mut Module, entry: &str) {
    let kind = SymbolKind::Function(safe_call());
    let callee = module.declare(&symbol::function_symbol(entry), Linkage::Export, kind);
    let mut b = exported(module, symbol::MAIN);
    let args = [0, 1, 2, 3].map(|i| b.param(i));
    let status = b.call(callee, &args);
    b.ret(status);
    let function = b.finish();
    module.functions.push(function);
}

/// A text in memory: where, and its length without the NUL that ends it.
#[derive(Clone, Copy)]
struct Text {
    symbol: Symbol,
    length: usize,
}

/// Others see it too, since tools find it in the file by its name.
fn constant(module: &mut Module, name: &str, text: String) -> Text {
    let symbol = module.declare(name, Linkage::Export, SymbolKind::Data);
    let (length, mut bytes) = (text.len(), text.into_bytes());
    bytes.push(0);
    module.data.push(Data::constant(symbol, bytes, 1));
    Text { symbol, length }
}

/// A function without arguments, which the runtime calls with none, so that it does not count them.
fn getter(module: &mut Module, name: &str, text: Text, linkage: Linkage) {
    let mut b = exported(module, name);
    b.set_cold();
    let address = b.address(text.symbol);
    let length = b.i64(text.length as i64);
    let result = b.param(3);
    let give = Routine::GiveText.declare(b.module, linkage);
    let status = b.call(give, &[address, length, result]);
    b.ret(status);
    let function = b.finish();
    module.functions.push(function);
}
