//! Symbols of which a linker keeps one copy.

use std::path::Path;
use std::process::Command;

use codegen::ir::{
    Binary, Builder, Data, Linkage, Module, Relocation, Signature, SymbolKind, Type, verify,
};
use object::{BinaryFormat, Object, ObjectComdat, ObjectSymbol, SymbolScope};

use crate::objects::compiled;
use crate::sample::TRIPLES;

/// What every module that [`user`] makes defines.
const SHARED: [&str; 3] = ["shared_next", "shared_table", "shared_word"];

/// A module that exports `name`, which yields the addresses of a function, a table and a word that every
/// such module has, and in whose calls the function takes part.
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

/// Two callers of one function, which counts.
const MAIN: &str = "
    #include <string.h>
    long long one(long long, void**);
    long long two(long long, void**);
    int main(void) {
        void *first[3], *second[3];
        if (one(10, first) != 15 || two(20, second) != 35) return 1;
        if (memcmp(first, second, sizeof first)) return 2;
        if (((void**)first[1])[1] != first[0]) return 3;
        return *(long long*)second[2] == 35 ? 0 : 4;
    }";

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Links two objects into a program and into a shared library; one copy is left, and the program works.
pub(crate) fn link(folder: &Path, one: &[u8], two: &[u8]) {
    let path = |name: &str| folder.join(name);
    for (name, bytes) in [("one.o", one), ("two.o", two), ("main.c", MAIN.as_bytes())] {
        std::fs::write(path(name), bytes).unwrap();
    }
    let objects = ["one.o", "two.o"].map(path);
    run(Command::new("cc").arg("-o").arg(path("main")).arg(path("main.c")).args(&objects));
    run(&mut Command::new(path("main")));
    run(Command::new("cc").args(["-shared", "-o"]).arg(path("library.so")).args(&objects));
    for name in ["main", "library.so"] {
        let bytes = std::fs::read(path(name)).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        for shared in SHARED {
            let defined = file.symbols().filter(|s| s.name() == Ok(shared) && s.is_definition());
            assert_eq!(defined.count(), 1, "{shared} in {name}");
            let dynamic = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(shared));
            assert!(dynamic.is_none(), "{shared} in {name}");
        }
    }
}

#[test]
fn a_linker_keeps_one_copy() {
    let host = target_lexicon::Triple::host().to_string();
    let [one, two] = ["one", "two"].map(|name| compiled(&host, &user(name)));
    for (one, two) in one.iter().zip(two.iter().rev()) {
        let folder = tempfile::tempdir().unwrap();
        link(folder.path(), one, two);
    }
}

#[test]
fn every_format_has_a_way_to_say_it() {
    for triple in TRIPLES {
        for bytes in compiled(triple, &user("one")) {
            let file = object::File::parse(&*bytes).unwrap();
            let under = if file.format() == BinaryFormat::MachO { "_" } else { "" };
            for name in SHARED {
                let name = format!("{under}{name}");
                let symbol = file.symbol_by_name(&name).unwrap();
                assert!(symbol.is_definition() && symbol.is_global(), "{triple} {name}");
                assert_eq!(symbol.scope(), SymbolScope::Linkage, "{triple} {name}");
                let weak = file.format() != BinaryFormat::Coff;
                assert_eq!(symbol.is_weak(), weak, "{triple} {name}");
                let groups = file.comdats().filter(|group| group.name() == Ok(&name)).count();
                let grouped = usize::from(file.format() != BinaryFormat::MachO);
                assert_eq!(groups, grouped, "{triple} {name}");
            }
        }
    }
}
