//! Modules that share a function, a table and a word as once-symbols.

use codegen::ir::{
    Binary, Builder, Data, Linkage, Module, Relocation, Signature, SymbolKind, Type, verify,
};

/// The once-symbols of every module of [`user`].
pub(crate) const SHARED: [&str; 3] = ["shared_next", "shared_table", "shared_word"];

/// Returns a module that exports `name(n, addresses)`, which writes the addresses of three once-symbols: a function, a
/// table and a word. The function adds `n` to the word; `name` calls it and returns the sum.
pub(crate) fn user(name: &str) -> Module {
    let mut module = Module::default();
    let unary = Signature::new(&[Type::I64], Some(Type::I64));
    let word = module.declare("shared_word", Linkage::Once, SymbolKind::Data);
    module.data.push(Data::variable(word, vec![5, 0, 0, 0, 0, 0, 0, 0], 8));
    let next = SymbolKind::Function(unary);
    let next = module.declare("shared_next", Linkage::Once, next);
    let table = module.declare("shared_table", Linkage::Once, SymbolKind::Data);
    let relocations = vec![Relocation { offset: 8, symbol: next, addend: 0 }];
    module.data.push(Data { relocations, ..Data::constant(table, vec![0; 16], 8) });
    let mut b = Builder::define(&mut module, next);
    b.set_cold();
    let place = b.address(word);
    let value = b.load(Type::I64, place, 0);
    let sum = b.binary(Binary::Add, value, b.param(0));
    b.store(sum, place, 0);
    b.ret(Some(sum));
    let function = b.finish();
    module.functions.push(function);
    let signature = Signature::new(&[Type::I64, Type::Ptr], Some(Type::I64));
    let mut b = Builder::function(&mut module, name, Linkage::Export, signature);
    for (symbol, offset) in [(next, 0), (table, 8), (word, 16)] {
        let address = b.address(symbol);
        b.store(address, b.param(1), offset);
    }
    let sum = b.call_value(next, &[b.param(0)]);
    b.ret(Some(sum));
    let function = b.finish();
    module.functions.push(function);
    verify(&module).unwrap();
    module
}
