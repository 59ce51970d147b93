//! Exports of a library besides wrappers: the entry, getters of metadata and documentation, the import tree, and the
//! function that unloads images.

use abi_spec::library_bin::{ImportTree, Module as Imported};
use abi_spec::symbol::{self, LIBRARY_BIN, LIBRARY_CTX};

use crate::ir::{Builder, Data, Linkage, Module, Signature, Symbol, SymbolKind};
use crate::lower::cuda::kernel;
use crate::lower::images::{HIP_IMAGES, HIP_KERNELS, HOOKS, IMAGES, KERNELS, PLACES};
use crate::lower::library::metadata::TextKind;
use crate::lower::routines::Routine;
use crate::lower::routines::cached::SITES;
use crate::lower::routines::memory::KEEPER;
use crate::lower::value::{ffi_function, safe_call};
use crate::resolve::Resolved;

/// Adds a getter of the metadata of each function, and of its documentation if it has some. Those of handlers of XLA
/// are not listed: no caller of the FFI looks for them.
pub(crate) fn getters(module: &mut Module, resolved: &Resolved<'_>, linkage: Linkage) {
    let library = resolved.library;
    if library.functions.is_empty() {
        return;
    }
    let symbol = module.declare(TEXTS, Linkage::Local, SymbolKind::Data);
    let mut texts = TextTable { symbol, bytes: Vec::new() };
    let prefix = library.system_lib.as_deref().unwrap_or_default();
    for (index, function) in library.functions.iter().enumerate() {
        let name = &function.signature.name;
        let mut add = |kind: TextKind, getter_prefix: &str, text: &str| {
            let text = texts.add(&kind.record(&format!("{prefix}{name}"), text), text.len());
            getter(module, &format!("{getter_prefix}{name}"), text, linkage);
        };
        add(TextKind::Metadata, symbol::METADATA_PREFIX, &resolved.metadata(index));
        let docs = function.documentation();
        if !docs.is_empty() {
            add(TextKind::Doc, symbol::DOC_PREFIX, &docs);
        }
    }
    let TextTable { symbol, bytes } = texts;
    module.data.push(Data { listed: true, ..Data::constant(symbol, bytes, 1) });
    for handler in &resolved.handlers {
        if let Some(text) = resolved.metadata_of_handler(handler) {
            let name = format!("{}{}", symbol::METADATA_PREFIX, handler.getter());
            let data = format!("{TEXTS}.{}", handler.symbol);
            let symbol = module.declare(&data, Linkage::Local, SymbolKind::Data);
            getter(module, &name, TextRange { symbol, offset: 0, length: text.len() }, linkage);
            module.data.push(Data::constant(symbol, (text + "\0").into_bytes(), 1));
        }
    }
}

/// Adds the function `main`, which passes its arguments to the entry.
pub(crate) fn entry(module: &mut Module, entry: &str) {
    let kind = SymbolKind::Function(safe_call());
    let callee = module.declare(&symbol::function_symbol(entry), Linkage::Export, kind);
    let mut b = ffi_function(module, symbol::MAIN, Linkage::Export);
    let args = [0, 1, 2, 3].map(|i| b.param(i));
    let status = b.call(callee, &args);
    b.ret(status);
    let function = b.finish();
    module.functions.push(function);
}

/// Symbol of the constant that holds the texts of a library.
const TEXTS: &str = "tvm_ffi_codegen.texts";

/// The constant of the texts of a library under construction.
struct TextTable {
    symbol: Symbol,
    bytes: Vec<u8>,
}

impl TextTable {
    /// Appends a record that starts with a text of `length` bytes. Returns the text.
    fn add(&mut self, record: &[u8], length: usize) -> TextRange {
        let text = TextRange { symbol: self.symbol, offset: self.bytes.len(), length };
        self.bytes.extend_from_slice(record);
        text
    }
}

/// A text within a constant. The length is in bytes, without the NUL at the end.
#[derive(Clone, Copy)]
struct TextRange {
    symbol: Symbol,
    offset: usize,
    length: usize,
}

/// Adds a function that returns a text. The runtime calls it without arguments, so it does not check their number.
fn getter(module: &mut Module, name: &str, text: TextRange, linkage: Linkage) {
    let mut b = ffi_function(module, name, Linkage::Export);
    b.set_cold();
    let base = b.address(text.symbol);
    let address = b.ptr_offset(base, text.offset as i64);
    let length = b.i64(text.length as i64);
    let result = b.param(3);
    let give = Routine::GiveText.declare(b.module, linkage);
    let status = b.call(give, &[address, length, result]);
    b.ret(status);
    let function = b.finish();
    module.functions.push(function);
}

/// Size in bytes above which the import tree goes to a section for large data, as in Apache TVM.
const LARGE: usize = 1 << 30;

/// Adds the encoded import tree. A tree with a node for the library itself also needs the [`context`], through which
/// calls find functions of imported modules.
pub(crate) fn import_tree(module: &mut Module, tree: &ImportTree<'_>) {
    let bytes = tree.encode().expect("the tree was validated when the library was resolved");
    let large = bytes.len() > LARGE;
    let symbol = module.declare(LIBRARY_BIN, Linkage::Export, SymbolKind::Data);
    module.data.push(Data { large, ..Data::constant(symbol, bytes, 1) });
    if tree.nodes.iter().any(|node| node.module == Imported::Library) {
        context(module);
    }
}

/// Declares the context of the library, once for a module: a pointer that the loader sets to the module of the library.
pub(crate) fn context(module: &mut Module) {
    if module.find(LIBRARY_CTX).is_none() {
        let symbol = module.declare(LIBRARY_CTX, Linkage::Weak, SymbolKind::Data);
        module.data.push(Data::variable(symbol, vec![0; 8], 8));
    }
}

/// Declares the variable [`KEEPER`], once for a module.
pub(crate) fn keeper(module: &mut Module) {
    if module.find(KEEPER).is_none() {
        let symbol = module.declare(KEEPER, Linkage::Local, SymbolKind::Data);
        module.data.push(Data::variable(symbol, vec![0; 16], 8));
    }
}

/// Symbol of `void tvm_ffi_codegen.unload(void)`, which unloads all images of a module from the driver.
///
/// A module that launches GPU kernels and [shares](crate::Routines::Shared) its routines, as JIT code does, exports it.
/// The next launch loads its image again. While `unload` runs, no function of the module may run. A kernel that was
/// loaded before may run neither then nor later, for example in a captured graph.
pub const UNLOAD: &str = "tvm_ffi_codegen.unload";

/// Symbol of `void tvm_ffi_codegen.forget(void)`, which releases what cached calls of a module keep.
///
/// A module with such calls exports it [in process](crate::Options::in_process). While it runs, no function of the
/// module may run.
pub const FORGET: &str = "tvm_ffi_codegen.forget";

/// Adds the function [`FORGET`] if the module has cached calls.
pub(crate) fn forget(module: &mut Module, linkage: Linkage) {
    let all = module.data.iter().map(|data| data.symbol);
    let sites: Vec<Symbol> = all.filter(|&symbol| module.name(symbol).starts_with(SITES)).collect();
    if sites.is_empty() {
        return;
    }
    let mut b = Builder::function(module, FORGET, Linkage::Export, Signature::new(&[], None));
    b.set_cold();
    for site in sites {
        let (routine, address) =
            (Routine::CachedForget.declare(b.module, linkage), b.address(site));
        b.call(routine, &[address]);
    }
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
}

/// Adds the function [`UNLOAD`] if the module has images.
pub(crate) fn unload(module: &mut Module, linkage: Linkage) {
    let all = module.data.iter().map(|data| data.symbol);
    let of = |start| all.clone().filter(|&symbol| module.name(symbol).starts_with(start)).collect();
    let (images, kernels): (Vec<Symbol>, Vec<Symbol>) = (of(IMAGES), of(KERNELS));
    let (hip_images, hip_kernels): (Vec<Symbol>, Vec<Symbol>) = (of(HIP_IMAGES), of(HIP_KERNELS));
    if images.is_empty() && hip_images.is_empty() {
        return;
    }
    let tables = module.data.iter().filter_map(|data| {
        let name = module.name(data.symbol);
        let is_table = name.starts_with(PLACES) || name.starts_with(HOOKS);
        is_table.then_some((data.symbol, data.bytes.len() as i64 / 8))
    });
    let tables: Vec<(Symbol, i64)> = tables.collect();
    let mut b = Builder::function(module, UNLOAD, Linkage::Export, Signature::new(&[], None));
    b.set_cold();
    let (null, zero) = (b.null(), b.i64(0));
    for symbol in kernels {
        let address = b.address(symbol);
        b.atomic_store(null, address, kernel::KERNEL);
        b.atomic_store(zero, address, kernel::DEVICES);
    }
    for (symbol, words) in tables {
        let (routine, address) = (Routine::Clear.declare(b.module, linkage), b.address(symbol));
        let words = b.i64(words);
        b.call(routine, &[address, words]);
    }
    let calls = [
        (Routine::ForgetFunction, hip_kernels),
        (Routine::Unload, images),
        (Routine::UnloadModules, hip_images),
    ];
    for (routine, symbols) in calls {
        for symbol in symbols {
            let (routine, address) = (routine.declare(b.module, linkage), b.address(symbol));
            b.call(routine, &[address]);
        }
    }
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
}
