//! One copy of what several objects share, whichever backends made them and whoever links.

use codegen::ir::{
    Binary, Builder, Data, Linkage, Module, Relocation, Signature, SymbolKind, Type,
};
use driver::link::{Dependencies, Input, Linker, shared_bytes};
use object::{Object, ObjectSymbol};
use target_lexicon::Triple;
use tvm_ffi_codegen_tests::route::BACKENDS;

const SHARED: [&str; 3] = ["shared_next", "shared_table", "shared_word"];

/// A module that exports `name`, which adds to a shared word through a shared table of a shared function.
fn user(name: &str) -> Module {
    let mut module = Module::default();
    let unary = Signature::new(&[Type::I64], Some(Type::I64));
    let next = module.declare(SHARED[0], Linkage::Once, SymbolKind::Function(unary.clone()));
    let table = module.declare(SHARED[1], Linkage::Once, SymbolKind::Data);
    let word = module.declare(SHARED[2], Linkage::Once, SymbolKind::Data);
    let relocations = vec![Relocation { offset: 8, symbol: next, addend: 0 }];
    module.data.push(Data { relocations, ..Data::constant(table, vec![0; 16], 8) });
    module.data.push(Data::variable(word, vec![0; 8], 8));
    let mut b = Builder::define(&mut module, next);
    let place = b.address(word);
    let value = b.load(Type::I64, place, 0);
    let sum = b.binary(Binary::Add, value, b.param(0));
    b.store(sum, place, 0);
    b.ret(Some(sum));
    let function = b.finish();
    module.functions.push(function);
    let mut b = Builder::function(&mut module, name, Linkage::Export, unary.clone());
    let table = b.address(table);
    let callee = b.load(Type::Ptr, table, 8);
    let sum = b.call_indirect(unary, callee, &[b.param(0)]);
    b.ret(sum);
    let function = b.finish();
    module.functions.push(function);
    module
}

fn object(backend: &str, name: &str) -> Input {
    // Better code would not need the table any more.
    let optimization = driver::Optimize::O0;
    let backend = backend.to_owned();
    let options = driver::Options { backend, optimization, ..driver::Options::default() };
    let bytes = driver::emit_module(&user(name), driver::Form::Object, &options).unwrap();
    Input::new(format!("{name} by {}", options.backend), bytes).unwrap()
}

#[test]
fn every_linker_keeps_one_copy() {
    let names = ["__tvm_ffi_one", "__tvm_ffi_two"];
    for (first, second) in BACKENDS.iter().flat_map(|a| BACKENDS.iter().map(move |b| (a, b))) {
        for linker in [Linker::Wild, Linker::Cc("cc".into())] {
            let inputs = [object(first, names[0]), object(second, names[1])];
            let alone = Dependencies { runtime: false, rpath: Vec::new() };
            let bytes = shared_bytes(&inputs, &linker, &Triple::host(), &alone).unwrap();
            let file = object::File::parse(&*bytes).unwrap();
            for shared in SHARED {
                let copies = file.symbols().filter(|s| s.name() == Ok(shared)).count();
                assert_eq!(copies, 1, "{shared}: {first}, {second}, {linker:?}");
            }
            assert_eq!(calls(&bytes, names), [5, 12], "{first}, {second}, {linker:?}");
        }
    }
}

/// What two functions of a library return, called with 5 and 7.
fn calls(library: &[u8], names: [&str; 2]) -> [i64; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.so");
    std::fs::write(&path, library).unwrap();
    // SAFETY: the library has no constructors, and its functions have this type.
    unsafe {
        let library = libloading::Library::new(path).unwrap();
        [(names[0], 5), (names[1], 7)].map(|(name, x)| {
            let function: libloading::Symbol<'_, extern "C" fn(i64) -> i64> =
                library.get(name).unwrap();
            function(x)
        })
    }
}
