//! Tests of data with addresses: in process, and in the sections of each object format.

use codegen::ir::{
    Binary, Builder, Data, Linkage, Module, Relocation, Signature, Symbol, SymbolKind, Type, verify,
};
use object::{BinaryFormat, Object, ObjectSection, ObjectSymbol, RelocationKind};

use crate::objects::compiled;
use crate::sample::TRIPLES;
use crate::{functions, jit};

fn unary() -> Signature {
    Signature::new(&[Type::I64], Some(Type::I64))
}

/// Defines a function that multiplies by `factor`.
fn times(module: &mut Module, name: &str, linkage: Linkage, factor: i64) -> Symbol {
    let mut b = Builder::function(module, name, linkage, unary());
    let product = b.binary_const(Binary::Mul, b.param(0), factor);
    b.ret(Some(product));
    let function = b.finish();
    let symbol = function.symbol;
    module.functions.push(function);
    symbol
}

/// Defines a data object of two words.
fn words(module: &mut Module, name: &str, linkage: Linkage, words: [u64; 2]) -> Symbol {
    let symbol = module.declare(name, linkage, SymbolKind::Data);
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    module.data.push(Data::constant(symbol, bytes, 8));
    symbol
}

/// Defines a data object of addresses with addends between two numbers.
fn table(module: &mut Module, name: &str, linkage: Linkage, addresses: &[(Symbol, i64)]) -> Symbol {
    let symbol = module.declare(name, linkage, SymbolKind::Data);
    let mut bytes = vec![0; 8 * addresses.len() + 16];
    bytes[0] = 111;
    *bytes.last_mut().expect("there are two words") = 0x12;
    let addresses = addresses.iter().zip(1..);
    let relocation = |(&(symbol, addend), i): (&(Symbol, i64), u32)| Relocation {
        offset: 8 * i,
        symbol,
        addend,
    };
    let relocations = addresses.map(relocation).collect();
    module.data.push(Data { relocations, ..Data::constant(symbol, bytes, 16) });
    symbol
}

/// Returns a module with tables that hold the addresses of functions and data of every linkage, and of each other; and
/// its tables `functions` and `places`.
fn module() -> (Module, Symbol, Symbol) {
    let mut module = Module::default();
    let outside = module.declare("outside", Linkage::Import, SymbolKind::Data);
    let kernel = module.declare("kernel", Linkage::Import, SymbolKind::Function(unary()));
    let numbers = words(&mut module, "numbers", Linkage::Local, [20, 21]);
    let version = words(&mut module, "version", Linkage::Export, [30, 31]);
    let shared = words(&mut module, "shared", Linkage::Once, [40, 41]);
    let double = times(&mut module, "double", Linkage::Local, 2);
    let triple = times(&mut module, "triple", Linkage::Export, 3);
    let fourfold = times(&mut module, "fourfold", Linkage::Once, 4);
    let functions = [kernel, double, triple, fourfold].map(|symbol| (symbol, 0));
    let functions = table(&mut module, "functions", Linkage::Local, &functions);
    let places =
        [(outside, 8), (numbers, 8), (numbers, 0), (version, 8), (shared, 0), (functions, -8)];
    let places = table(&mut module, "places", Linkage::Once, &places);
    table(&mut module, "state", Linkage::Export, &[(double, 0), (places, 16)]);
    module.data.last_mut().expect("added above").writable = true;
    (module, functions, places)
}

extern "C" fn kernel(x: i64) -> i64 {
    x + 1
}

static OUTSIDE: [u64; 2] = [10, 11];

#[test]
fn tables_hold_addresses() {
    let (mut module, functions, places) = module();
    functions::define(&mut module, "call", &[Type::I64, Type::I64], |b, v| {
        let table = b.address(functions);
        let place = b.ptr_add(table, v[0]);
        let callee = b.load(Type::Ptr, place, 0);
        b.call_indirect(unary(), callee, &[v[1]]).expect("it has a result")
    });
    functions::define(&mut module, "read", &[Type::I64], |b, v| {
        let table = b.address(places);
        let place = b.ptr_add(table, v[0]);
        let place = b.load(Type::Ptr, place, 0);
        b.load(Type::I64, place, 0)
    });
    functions::define(&mut module, "number", &[Type::I64], |b, v| {
        let table = b.address(places);
        let place = b.ptr_add(table, v[0]);
        b.load(Type::I64, place, 0)
    });
    let imports = [("kernel", kernel as *const u8), ("outside", OUTSIDE.as_ptr().cast())];
    for running in jit::run(&module, &imports) {
        let called = [8, 16, 24, 32].map(|offset| running.call("call", &[offset, 7]));
        assert_eq!(called, [8, 14, 21, 28]);
        let read = [8, 16, 24, 32, 40].map(|offset| running.call("read", &[offset]));
        assert_eq!(read, [11, 21, 20, 31, 40]);
        let numbers = [0, 56].map(|offset| running.call("number", &[offset]));
        assert_eq!(numbers, [111, 0x12 << 56]);
    }
}

#[test]
fn every_format_has_a_place_for_them() {
    let (module, ..) = module();
    verify(&module).unwrap();
    for triple in TRIPLES {
        for bytes in compiled(triple, &module) {
            let file = object::File::parse(&*bytes).unwrap();
            for (name, addresses) in [("state", 2), ("places", 6)] {
                let under = if file.format() == BinaryFormat::MachO { "_" } else { "" };
                let symbol = file.symbol_by_name(&format!("{under}{name}")).unwrap();
                let section = file.section_by_index(symbol.section_index().unwrap()).unwrap();
                let found = section.name().unwrap();
                let expected = match (file.format(), name) {
                    (BinaryFormat::Elf, "places") => ".data.rel.ro",
                    (BinaryFormat::MachO, "places") => "__const",
                    (BinaryFormat::Coff, "places") => ".rdata",
                    (BinaryFormat::MachO, _) => "__data",
                    _ => ".data",
                };
                assert!(found.starts_with(expected), "{triple}: {name} is in {found}");
                let start = symbol.address() - section.address();
                let inside = start..start + 8 * (addresses + 2);
                let relocations = section.relocations().filter(|(at, _)| inside.contains(at));
                let relocations: Vec<_> = relocations.collect();
                assert_eq!(relocations.len() as u64, addresses, "{triple} {name}");
                for (_, relocation) in relocations {
                    let kind = (relocation.kind(), relocation.size());
                    assert_eq!(kind, (RelocationKind::Absolute, 64), "{triple} {name}");
                }
            }
        }
    }
}
