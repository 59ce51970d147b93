//! Tests that LLVM and MLIR outputs compile to the same code.

use backend_llvm::Llvm;
use codegen::{Backend, Library, ir};
use object::{Object, ObjectSection};
use tvm_ffi_codegen_mlir::{Mlir, Optimize};

use crate::every::{every, kinds};

/// Returns name, contents and relocations of every loaded section.
type Sections = Vec<(String, Vec<u8>, Vec<String>)>;

fn sections(bytes: &[u8]) -> Sections {
    use object::{ObjectSymbol, RelocationTarget};
    let file = object::File::parse(bytes).unwrap();
    let target = |target| {
        let RelocationTarget::Symbol(index) = target else { return format!("{target:?}") };
        let symbol = file.symbol_by_index(index).unwrap();
        let place = (symbol.section_index(), symbol.address());
        format!("{} {place:?}", symbol.name().unwrap())
    };
    let wanted =
        [".text", ".rodata", ".rdata", ".lrodata", ".data", ".bss", "__text", "__const", "__data"];
    let sections = file
        .sections()
        .filter(|section| wanted.iter().any(|wanted| section.name().unwrap().starts_with(wanted)));
    let section = |section: object::Section<'_, '_>| {
        let relocations = section.relocations().map(|(at, relocation)| {
            format!(
                "{at:#x} {:?} {} {}",
                relocation.flags(),
                target(relocation.target()),
                relocation.addend()
            )
        });
        (section.name().unwrap().into(), section.data().unwrap().into(), relocations.collect())
    };
    sections.map(section).collect()
}

fn both(module: &ir::Module, triple: &str, optimize: Optimize) -> [Sections; 2] {
    let mlir = Mlir { triple: triple.parse().unwrap(), optimize, ..Mlir::default() };
    let llvm = Llvm { triple: triple.parse().unwrap(), optimize, ..Llvm::default() };
    [sections(&llvm.object(module, &[]).unwrap()), sections(&mlir.object(module, &[]).unwrap())]
}

#[test]
fn the_module_has_every_instruction() {
    assert_eq!(kinds(&every()), [true; 17]);
}

#[test]
fn same_code_as_llvm_on_every_target() {
    for triple in [
        "x86_64-unknown-linux-gnu",
        "aarch64-unknown-linux-gnu",
        "riscv64gc-unknown-linux-gnu",
        "x86_64-apple-darwin",
        "aarch64-apple-darwin",
        "x86_64-pc-windows-msvc",
        "aarch64-pc-windows-msvc",
    ] {
        let [llvm, mlir] = both(&every(), triple, Optimize::O2);
        assert!(!llvm.is_empty());
        assert!(llvm == mlir, "{triple}: {llvm:?}\n{mlir:?}");
    }
}

#[test]
fn same_code_as_llvm_at_every_level() {
    for level in [Optimize::O0, Optimize::O1, Optimize::O3] {
        let [llvm, mlir] = both(&every(), "x86_64-unknown-linux-gnu", level);
        assert!(llvm == mlir, "{level:?}: {llvm:?}\n{mlir:?}");
    }
}

#[test]
fn same_code_as_llvm_for_lowered_declarations() {
    let library: Library = "
        add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
            = add_one_kernel(x.data, y.data, n);
        scale(x: Tensor([n, 64], float32, strides=[s, 1], align=16), factor: float64) -> None
            where n % 4 == 0, n <= 4096
            = try scale_kernel(x.data, int32(n), s, factor);
        narrow(a: int8, b: uint16, c: float16, d: bool) -> int64 = narrow_kernel(a, b, c, d);"
        .parse()
        .unwrap();
    let module = codegen::lower(&library.resolve().unwrap(), &codegen::Options::default());
    for triple in ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"] {
        let [llvm, mlir] = both(&module, triple, Optimize::O2);
        assert!(!llvm.is_empty());
        assert!(llvm == mlir, "{triple}: {llvm:?}\n{mlir:?}");
    }
}

#[test]
fn objects_are_deterministic() {
    let mlir = Mlir::default();
    assert_eq!(mlir.object(&every(), &[]).unwrap(), mlir.object(&every(), &[]).unwrap());
    assert_eq!(mlir.bitcode(&every(), &[]).unwrap(), mlir.bitcode(&every(), &[]).unwrap());
}
