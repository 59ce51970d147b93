//! LLVM and MLIR yield the same machine code, so that other tests need not call that of MLIR.

use abi_spec::library_bin::{ImportTree, Module, Node};
use codegen::{Library, Loader, Options, ir};
use driver::{Form, Optimize, Request};
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::fake_cuda::CUBIN;
use tvm_ffi_codegen_tests::route::request;

use crate::snapshots::{bare, lowered, target};

/// Compares the objects of a module.
fn compare(module: &ir::Module, name: &str) {
    let object = |backend: &str| {
        let (target, optimization) = (target(), Optimize::O2);
        let request = Request { target, optimization, ..request(backend, Form::Object) };
        code(&request.emit_module(module).unwrap())
    };
    assert!(object("llvm") == object("mlir"), "{name}");
}

#[test]
fn llvm_and_mlir_compile_to_the_same_code() {
    for case in cases::table() {
        compare(&lowered(&case.function, &bare()), &case.function.to_string());
    }
}

/// Declarations of kinds that the table has not: launches, images, functions for C.
const LIBRARY: &str = "image code;
/// Launches.
launched(x: Tensor([n, 64], float32, device=cuda), a: float32) -> None = {
    for i in 0..n {
        launch code.\"axpy_kernel\"(x.data, x.data, int32(i), a) grid(ceildiv(n, 4), i) block(32, 2) smem(65536) pdl;
    }
    launch code.\"tma\"(tensormap(x, box=[1, 64]), x.data) grid(1) block(1);
};
by_name(n: int64) -> int64 = { let r: int64 = @\"imported\"(n); return r; };
extern plain(n: int64) -> int64 = { return n; };";

/// A library with metadata, documentation, imports, a function that prepares launches, and routines of its own; and a
/// module of all routines.
#[test]
fn whole_libraries_compile_to_the_same_code() {
    let mut library: Library = LIBRARY.parse().unwrap_or_else(|error| panic!("{error}"));
    library.images[0].bytes = Some(CUBIN.to_vec());
    let custom = Module::Custom { kind: "data".into(), bytes: b"bytes"[..].into() };
    let nodes = [(Module::Library, vec![1]), (custom, vec![])];
    let nodes = nodes.map(|(module, children)| Node { module, children }).into();
    let library = library.with_imports(ImportTree { nodes }).with_prepare("ready");
    compare(&codegen::lower(&library.resolve().unwrap(), &Options::default()), "the library");
    compare(&codegen::linker::routines(Loader::Dl), "all routines");
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
