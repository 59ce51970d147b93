//! What a library carries besides its functions: the import tree.

use abi_spec::library_bin::{ImportTree, Module as Imported};
use abi_spec::symbol::{LIBRARY_BIN, LIBRARY_CTX};

use crate::ir::{Data, Linkage, Module, SymbolKind};

/// Constants of more bytes than this stay out of the way of code, as those of Apache TVM do.
const LARGE: usize = 1 << 30;

/// Adds the tree as bytes. If it holds the library, the loader has a module for it, and there is a
/// variable into which it writes that module: kernels find the functions of imports by way of it.
pub(crate) fn imports(module: &mut Module, tree: &ImportTree<'_>) {
    let bytes = tree.encode().expect("the tree was validated when the library was resolved");
    let large = bytes.len() > LARGE;
    let symbol = module.declare(LIBRARY_BIN, Linkage::Export, SymbolKind::Data);
    module.data.push(Data { large, ..Data::constant(symbol, bytes, 1) });
    if tree.nodes.iter().any(|node| node.module == Imported::Library) {
        context(module);
    }
}

/// A pointer, NULL until the loader writes it; a module has one.
pub(crate) fn context(module: &mut Module) {
    if module.find(LIBRARY_CTX).is_none() {
        let symbol = module.declare(LIBRARY_CTX, Linkage::Export, SymbolKind::Data);
        module.data.push(Data::variable(symbol, vec![0; 8], 8));
    }
}
