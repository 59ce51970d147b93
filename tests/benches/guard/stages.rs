//! Measures of the stages from text to code, and of the codec of import trees.

use std::hint::black_box;

use abi_spec::library_bin::{ImportTree, Module, Node};
use codegen::{Library, Options, Routines, lower};
use driver::Form;
use tvm_ffi_codegen_tests::callgrind::{collect, count};
use tvm_ffi_codegen_tests::route::request;

use crate::calls::{declarations, list};

/// Declarations that are measured one by one.
const NAMES: [&str; 5] = ["add_one", "strided8", "many32", "union", "wide"];

/// Declarations whose objects are measured: passes of LLVM take long under valgrind.
const OBJECTS: [&str; 2] = ["add_one", "strided8"];

/// Returns the declaration of a function of so many words that a stage whose time grows with their square shows.
fn wide() -> String {
    let params = list(400, |i| format!("s{i}: str"));
    format!("wide({params}) -> None = wide_kernel({});\n", list(400, |i| format!("s{i}")))
}

fn text(name: &str) -> String {
    let all = declarations() + &wide();
    let found = all.split_inclusive(";\n").find(|text| text.trim_start().starts_with(name));
    found.unwrap_or_else(|| panic!("no declaration of {name}")).to_owned()
}

fn parse(text: &str) -> Library {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Lowers a library without the routines that compose messages, which exist once per library or process.
fn lowered(library: &Library, routines: Routines) -> codegen::ir::Module {
    let options = Options { routines, ..Options::default() };
    lower(&library.resolve().unwrap_or_else(|error| panic!("{error}")), &options)
}

/// Measures parsing and lowering, which are independent of backends.
pub(crate) fn front() {
    for name in NAMES {
        let text = text(name);
        count(&format!("parse {name}"), || collect(|| parse(black_box(&text))));
        let library = parse(&text);
        count(&format!("lower {name}"), || collect(|| lowered(&library, Routines::Shared)));
    }
    let library = parse(&text("add_one"));
    let all = || lowered(&library, Routines::Embedded);
    count("lower add_one with routines", || collect(all));
}

/// Measures the stages after lowering: emission and compilation for Cranelift, emission for LLVM, emission and printing
/// for MLIR.
pub(crate) fn back(backend: &str) {
    let form = match backend {
        "cranelift" => Form::Object,
        "llvm" => Form::Bitcode,
        _ => Form::Native,
    };
    let request = request(backend, form);
    for name in NAMES {
        let module = lowered(&parse(&text(name)), Routines::Shared);
        let emit = || request.emit_module(&module).expect("emits");
        count(&format!("emit {backend} {name}"), || collect(emit));
    }
}

/// Measures all of the way from host IR to an object through LLVM, at the level of the driver.
pub(crate) fn objects() {
    let request = request("llvm", Form::Object);
    for name in OBJECTS {
        let module = lowered(&parse(&text(name)), Routines::Linked);
        let compile = || request.emit_module(&module).expect("compiles");
        count(&format!("object llvm {name}"), || collect(compile));
    }
}

/// Makes a tree of many modules, each of which imports the next two.
fn tree() -> ImportTree<'static> {
    const MODULES: usize = 200;
    let node = |index: usize| Node {
        module: match index {
            0 => Module::Library,
            _ => Module::Custom { kind: "weights".into(), bytes: vec![index as u8; 64].into() },
        },
        children: (index + 1..MODULES.min(index + 3)).collect(),
    };
    ImportTree { nodes: (0..MODULES).map(node).collect() }
}

/// Measures encoding and decoding.
pub(crate) fn codec() {
    let tree = tree();
    let blob = tree.encode().expect("the tree is valid");
    assert_eq!(ImportTree::decode(&blob).as_ref(), Ok(&tree));
    count("library_bin encode", || collect(|| black_box(&tree).encode()));
    count("library_bin decode", || {
        collect(|| drop(black_box(ImportTree::decode(black_box(&blob)))))
    });
}
