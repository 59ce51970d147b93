//! LLVM and MLIR yield the same machine code.

use driver::{Form, Optimize, Request};
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::route::request;

use crate::snapshots::{bare, lowered, target};

#[test]
fn llvm_and_mlir_compile_to_the_same_code() {
    for case in cases::table() {
        let module = lowered(&case.function, &bare());
        let object = |backend: &str| {
            let (target, optimization) = (target(), Optimize::O2);
            let request = Request { target, optimization, ..request(backend, Form::Object) };
            code(&request.emit_module(&module).unwrap())
        };
        assert!(object("llvm") == object("mlir"), "{}", case.function);
    }
}

/// Returns the sections of an object, and their relocations by the names of symbols.
fn code(bytes: &[u8]) -> Vec<String> {
    use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
    let file = object::File::parse(bytes).expect("the backend wrote an object");
    let name = |index| {
        let symbol = file.symbol_by_index(index).expect("relocations refer to symbols");
        symbol.name().expect("symbols have names").to_owned()
    };
    let relocation = |(offset, relocation): (u64, object::Relocation)| {
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            return format!("{offset} {:?}", relocation.target());
        };
        let (kind, addend) = (relocation.kind(), relocation.addend());
        format!("{offset} {} {kind:?} {addend}", name(symbol))
    };
    let described = file.sections().filter(|section| {
        let name = section.name().unwrap_or_default();
        name.starts_with(".text") || name.contains("rodata") || name.starts_with(".data")
    });
    described
        .flat_map(|section| {
            let data = section.data().expect("a section has data");
            let head = format!("{:?} {data:x?}", section.name());
            std::iter::once(head).chain(section.relocations().map(relocation)).collect::<Vec<_>>()
        })
        .collect()
}
