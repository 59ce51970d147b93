//! Routines that objects leave to the linker.

use std::fs;
use std::process::Command;

use codegen::{Library, Options as Lowering, Routines};
use object::{Object, ObjectSymbol};
use target_lexicon::Triple;
use tvm_ffi_codegen_driver::link::{self, Dependencies, Input, Linker};
use tvm_ffi_codegen_driver::{Error, Form, ObjectFault, Options, emit_module, lower_with};

use crate::support::{folder, undefined};

/// Declarations, and whose routines they want.
const DECLARATIONS: [(&str, &str); 3] = [
    ("f(x: Tensor([n], float32)) -> int64 = { return n; };", "tensors"),
    ("g(x: Tensor([n], float32), y: Tensor([n], float32)) -> int64 = { return n; };", "tensors"),
    ("h(x: str) -> str = { return x; };", "values"),
];

/// An object of a library that leaves its routines out.
fn linked(text: &str, target: &str) -> Result<Vec<u8>, Error> {
    let library: Library = text.parse().unwrap();
    let lowering = Lowering { routines: Routines::Linked, ..Lowering::default() };
    let options = Options { target: target.parse().unwrap(), ..Options::default() };
    emit_module(&lower_with(&library, &lowering)?, Form::Object, &options)
}

fn inputs(target: &str) -> Vec<Input> {
    let object = |(i, (text, _)): (usize, &(&str, &str))| {
        Input::new(format!("{i}.o"), linked(text, target).unwrap()).unwrap()
    };
    DECLARATIONS.iter().enumerate().map(object).collect()
}

/// How many definitions of `explain` a library has for an extent.
fn copies(library: &[u8], extent: &str) -> usize {
    let file = object::File::parse(library).unwrap();
    let start = format!("tvm_ffi_codegen.explain.{extent}.");
    let is_copy = |name: &str| name.starts_with(&start);
    let symbols = file.symbols().filter(|symbol| symbol.name().is_ok_and(is_copy));
    symbols.filter(|symbol| symbol.is_definition()).count()
}

#[test]
fn many_objects_have_one_copy() {
    let host = Triple::host().to_string();
    for linker in [Linker::Wild, Linker::Cc("cc".into())] {
        let needs = Dependencies::default();
        let library = link::shared_bytes(&inputs(&host), &linker, &Triple::host(), &needs).unwrap();
        for (_, extent) in DECLARATIONS {
            assert_eq!(copies(&library, extent), 1, "{linker:?} {extent}");
        }
        assert_eq!(copies(&library, "all"), 0);
    }
}

#[test]
fn they_are_compiled_for_other_machines() {
    for target in ["aarch64-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu"] {
        let (triple, needs) = (target.parse().unwrap(), Dependencies::default());
        let library = link::shared_bytes(&inputs(target), &Linker::Wild, &triple, &needs);
        assert_eq!(copies(&library.unwrap(), "values"), 1, "{target}");
    }
    let refused = linked(DECLARATIONS[0].0, "x86_64-pc-windows-msvc");
    assert!(matches!(refused, Err(Error::UnsupportedLink { .. })), "{refused:?}");
}

#[test]
fn another_linker_takes_them_from_an_archive() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let host = Triple::host();
    fs::write(path("f.o"), linked(DECLARATIONS[0].0, &host.to_string()).unwrap()).unwrap();
    fs::write(path("libroutines.a"), link::routines_archive(&host).unwrap()).unwrap();
    let mut cc = Command::new("cc");
    cc.arg("-shared").args([path("f.o"), path("libroutines.a")]).arg("-o").arg(path("f.so"));
    assert!(cc.status().unwrap().success());
    let library = fs::read(path("f.so")).unwrap();
    assert_eq!(["tensors", "values", "all"].map(|extent| copies(&library, extent)), [1, 0, 0]);
}

#[test]
fn those_of_another_version_are_refused() {
    let name = "tvm_ffi_codegen.explain.tensors.0123456789abcdef";
    let input = Input::new("old.o", undefined(&[name])).unwrap();
    let target = "x86_64-unknown-linux-gnu".parse().unwrap();
    let error = link::shared_bytes(&[input], &Linker::Wild, &target, &Dependencies::default());
    let Err(Error::Object { file, fault: ObjectFault::Routines }) = error else {
        panic!("{error:?}");
    };
    assert_eq!(file, "old.o");
}
