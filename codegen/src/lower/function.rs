//! The wrapper of one function, from its parameters to its return.

use abi_spec::symbol;

use super::failure::records::Records;
use super::value::ffi_function;
use super::{body, library, prologue};
use crate::ir::{Linkage, Module};
use crate::resolve::function::Function;

/// Prefix of the symbols of functions that bodies make.
const CLOSURES: &str = "tvm_ffi_codegen.closure.";

/// Adds the wrapper of a function of the library, and those of the functions that its body makes, to the module; returns
/// the offset of its record.
pub(crate) fn wrapper<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    linkage: Linkage,
    records: &mut Records,
) -> u32 {
    let name = &function.declared.signature.name;
    let symbols =
        Symbols { own: symbol::function_symbol(name), closures: format!("{CLOSURES}{name}") };
    lower_one(module, function, &symbols, (Linkage::Export, linkage), records)
}

/// Symbols of a function: its own, and the beginning of those of the functions that its body makes.
struct Symbols {
    own: String,
    closures: String,
}

fn lower_one<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    symbols: &Symbols,
    (own, linkage): (Linkage, Linkage),
    records: &mut Records,
) -> u32 {
    let host = define(module, function, symbols, (own, linkage), records);
    for (index, closure) in function.closures.iter().enumerate() {
        let name = body::closure_symbol(&symbols.closures, index);
        let symbols = Symbols { own: name.clone(), closures: name };
        lower_one(module, &closure.function, &symbols, (Linkage::Local, linkage), records);
    }
    host
}

fn define<'a>(
    module: &mut Module,
    function: &'a Function<'a>,
    symbols: &Symbols,
    (own, linkage): (Linkage, Linkage),
    records: &mut Records,
) -> u32 {
    if !function.callees().is_empty() || !function.closures.is_empty() {
        library::exports::context(module);
    }
    if !function.closures.is_empty() {
        library::exports::keeper(module);
    }
    let mut b = ffi_function(module, &symbols.own, own);
    let header = function.declared.signature.header().to_string();
    let host = records.host(function, function.declared.location.as_ref(), &header);
    b.about(header);
    let c = prologue::prologue(b, function, linkage, (host, records));
    let mut host_function = body::body(c, &symbols.closures);
    if !function.captured.is_empty() {
        host_function.remove_unused_loads();
    }
    module.functions.push(host_function);
    host
}
