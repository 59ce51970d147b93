//! What a library has besides wrappers: the entry, and what it says of its functions, as constant texts and
//! getters that return them.

use abi_spec::symbol;

use crate::declaration::Library;
use crate::ir::{Data, Linkage, Module, Symbol, SymbolKind};
use crate::lower::library::metadata::Subject;
use crate::lower::routines::Routine;
use crate::lower::value::{exported, safe_call};

/// Adds the getters of metadata, and of documentation where there is some, for every function of a library whose
/// symbols get a prefix.
pub(crate) fn metadata(module: &mut Module, library: &Library, linkage: Linkage) {
    if library.functions.is_empty() {
        return;
    }
    let symbol = module.declare(TEXTS, Linkage::Local, SymbolKind::Data);
    let mut texts = Texts { symbol, bytes: Vec::new() };
    let prefix = library.system_lib.as_deref().unwrap_or_default();
    for function in &library.functions {
        let name = &function.signature.name;
        let mut add = |subject: Subject, getter_prefix: &str, text: &str| {
            let text = texts.add(&subject.record(&format!("{prefix}{name}"), text), text.len());
            getter(module, &format!("{getter_prefix}{name}"), text, linkage);
        };
        add(Subject::Metadata, symbol::METADATA_PREFIX, &function.metadata());
        if !function.docs.is_empty() {
            add(Subject::Doc, symbol::DOC_PREFIX, &function.docs);
        }
    }
    let Texts { symbol, bytes } = texts;
    module.data.push(Data { listed: true, ..Data::constant(symbol, bytes, 1) });
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

/// The constant that holds the texts of a library.
const TEXTS: &str = "tvm_ffi_codegen.texts";

/// All texts of a library, in one constant.
struct Texts {
    symbol: Symbol,
    bytes: Vec<u8>,
}

impl Texts {
    /// Adds a record that starts with a text of this length.
    fn add(&mut self, record: &[u8], length: usize) -> Text {
        let text = Text { symbol: self.symbol, offset: self.bytes.len(), length };
        self.bytes.extend_from_slice(record);
        text
    }
}

/// A text in memory: where, and its length without the NUL that ends it.
#[derive(Clone, Copy)]
struct Text {
    symbol: Symbol,
    offset: usize,
    length: usize,
}

/// A function without arguments, which the runtime calls with none, so that it does not count them.
fn getter(module: &mut Module, name: &str, text: Text, linkage: Linkage) {
    let mut b = exported(module, name);
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
