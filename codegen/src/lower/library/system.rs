//! System libraries: libraries that are linked into a program and register themselves with the runtime when it starts.

use abi_spec::library_bin::{ImportTree, Module as Imported, Node};
use abi_spec::runtime;
use abi_spec::symbol::{LIBRARY_BIN, PREFIX, system_symbol};

use crate::ir::{Builder, Data, Linkage, Module, Signature, Symbol, SymbolKind};
use crate::lower::library::exports;

/// Symbols of the constructor and of the names that it registers.
const REGISTER: &str = "tvm_ffi_codegen.register";
const NAMES: &str = "tvm_ffi_codegen.register.names";

/// Makes a module a system library: prefixes the symbols of FFI that it exports, and adds a constructor that registers
/// their addresses. Exported C functions already have the prefix. They are not registered, since the runtime never
/// looks them up.
///
/// A library with a prefix always has an import tree and a context. If one were missing, the runtime would use the one
/// without a prefix, which belongs to another library.
pub(crate) fn register(module: &mut Module, prefix: &str) {
    if !prefix.is_empty() {
        complete(module);
    }
    let exported = |symbol: &Symbol| {
        let is_ours = module.name(*symbol).starts_with(PREFIX);
        module.symbols[symbol.index()].linkage.is_exported() && is_ours
    };
    let functions = module.functions.iter().map(|function| function.symbol);
    let all = functions.chain(module.data.iter().map(|data| data.symbol));
    let all: Vec<Symbol> = all.filter(exported).collect();
    if !prefix.is_empty() {
        let renamed = |&symbol: &Symbol| (symbol, system_symbol(prefix, module.name(symbol)));
        let renames: Vec<(Symbol, String)> = all.iter().map(renamed).collect();
        module.rename(&renames).expect("no kernel has a name of the runtime behind the prefix");
    }
    constructor(module, &all);
}

/// Adds an import tree of the library alone and the context, unless they exist.
fn complete(module: &mut Module) {
    if module.find(LIBRARY_BIN).is_none() {
        let library = Node { module: Imported::Library, children: Vec::new() };
        exports::import_tree(module, &ImportTree { nodes: vec![library] });
    }
    exports::context(module);
}

/// Adds the constructor that registers symbols. It ignores the statuses, since the runtime never fails to register.
fn constructor(module: &mut Module, found: &[Symbol]) {
    let names = module.declare(NAMES, Linkage::Local, SymbolKind::Data);
    let mut bytes = Vec::new();
    let mut b = Builder::function(module, REGISTER, Linkage::Local, Signature::new(&[], None));
    b.set_cold();
    let register = crate::lower::runtime(b.module, &runtime::ENV_MOD_REGISTER_SYSTEM_LIB_SYMBOL);
    let base = b.address(names);
    for &symbol in found {
        let name = b.ptr_offset(base, bytes.len() as i64);
        bytes.extend_from_slice(b.module.name(symbol).as_bytes());
        bytes.push(0);
        let address = b.address(symbol);
        b.call(register, &[name, address]);
    }
    b.ret(None);
    let function = b.finish();
    module.constructors.push(function.symbol);
    module.functions.push(function);
    module.data.push(Data::constant(names, bytes, 1));
}
