//! Tests of kernels in text.

use codegen::Backend;
use melior::Context;
use melior::ir::Module;
use object::{Object, ObjectSymbol};
use tvm_ffi_codegen_mlir::{Error, Input, Mlir, compile, emit, link};

use crate::caller;

const KERNEL: &str =
    "module attributes {dlti.dl_spec = #dlti.dl_spec<\"dlti.endianness\" = \"little\">} {
  llvm.func @kernel(%n: i64, %p: !llvm.ptr) -> i64 {
    %0 = llvm.call @helper(%n) : (i64) -> i64
    llvm.return %0 : i64
  }
  llvm.func private @helper(%n: i64) -> i64 {
    %0 = llvm.mul %n, %n : i64
    llvm.return %0 : i64
  }
}";

fn input(text: &str) -> Input<'_> {
    Input { name: "kernels.mlir", bytes: text.as_bytes(), exports: &[] }
}

/// Returns the error of linking `text` into a module with `before`, which stays unchanged.
fn refused(before: &str, text: &[&str]) -> Error {
    let context = Context::new();
    melior::dialect::DialectHandle::llvm().load_dialect(&context);
    let module = Module::parse(&context, before).unwrap();
    let before = module.as_operation().to_string();
    let inputs: Vec<_> = text.iter().map(|text| input(text)).collect();
    let error = link(&context, &module, &inputs).unwrap_err();
    assert_eq!(module.as_operation().to_string(), before);
    error
}

#[test]
fn kernels_are_inlined_and_not_seen() {
    let context = Context::new();
    let mlir = Mlir::default();
    let module = mlir.module(&context, &caller("f", "kernel"), &[input(KERNEL)]).unwrap();
    let bytes = compile(&context, &module, &mlir).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let names: Vec<_> = file.symbols().filter(|s| !s.is_local()).flat_map(|s| s.name()).collect();
    assert_eq!(names, ["f"]);
    assert!(!file.symbols().any(|s| s.name() == Ok("kernel") || s.name() == Ok("helper")));
}

#[test]
fn kernels_may_be_hidden() {
    let context = Context::new();
    let kernel = "llvm.func hidden @kernel(%n: i64, %p: !llvm.ptr) -> i64 { llvm.return %n : i64 }";
    let mlir = Mlir::default();
    let module = mlir.module(&context, &caller("f", "kernel"), &[input(kernel)]).unwrap();
    compile(&context, &module, &mlir).unwrap();
}

#[test]
fn declarations_and_definitions_meet_in_any_order() {
    let other = "llvm.func @kernel(i64, !llvm.ptr) -> i64
        llvm.func @twice(%n: i64, %p: !llvm.ptr) -> i64 {
          %0 = llvm.call @kernel(%n, %p) : (i64, !llvm.ptr) -> i64
          llvm.return %0 : i64
        }
        llvm.func internal @helper() { llvm.return }";
    for inputs in [[input(other), input(KERNEL)], [input(KERNEL), input(other)]] {
        let context = Context::new();
        let module = Module::new(melior::ir::Location::unknown(&context));
        emit(&context, &module, &caller("f", "twice")).unwrap();
        link(&context, &module, &inputs).unwrap();
        tvm_ffi_codegen_mlir::verify(&context, &module).unwrap();
        let text = module.as_operation().to_string();
        for function in ["internal @kernel(", "internal @twice(", "private @helper"] {
            assert_eq!(text.matches(&format!("llvm.func {function}")).count(), 1, "{text}");
        }
        assert_eq!(text.matches("llvm.func internal @helper").count(), 1, "{text}");
        let (_, private) = text.split_once("llvm.func private @").unwrap();
        let (helper, _) = private.split_once('(').unwrap();
        assert!(text.contains(&format!("llvm.call @{helper}(%arg0) : (i64) -> i64")), "{text}");
    }
}

#[test]
fn invalid_mlir_is_refused() {
    for (text, reason) in [
        ("llvm.func @k(", "kernels.mlir: 1:13: "),
        ("llvm.func @k() -> i64 { llvm.return }", "kernels.mlir: 1:25: "),
        ("func.func @k() { return }", "kernels.mlir: 1:1: "),
        ("module {}\0", "kernels.mlir: a NUL character"),
    ] {
        let error = refused("", &[text]);
        let Error::Native { reason: found, .. } = &error else { panic!("{error}") };
        assert!(found.starts_with(reason), "{found}");
    }
    let context = Context::new();
    let module = Module::new(melior::ir::Location::unknown(&context));
    let error = link(&context, &module, &[Input { name: "k.bc", bytes: &[0xff], exports: &[] }])
        .unwrap_err();
    assert!(error.to_string().starts_with("mlir: k.bc: invalid utf-8"), "{error}");
}

#[test]
fn conflicts_are_refused() {
    let kernel = "llvm.func @kernel(%n: i64, %p: !llvm.ptr) -> i64 { llvm.return %n : i64 }";
    assert_eq!(refused(kernel, &[KERNEL]), Error::Defined { symbol: "kernel".into() });
    assert_eq!(refused("", &[KERNEL, kernel]), Error::Defined { symbol: "kernel".into() });
    let error = refused("llvm.func @kernel(i64, i64) -> i64", &[KERNEL]);
    assert_eq!(error.to_string(), "`kernel`: argument 1 is !llvm.ptr in the module, expected i64");
}

#[test]
fn what_llvm_cannot_have_is_refused() {
    let context = Context::new();
    melior::dialect::DialectHandle::func().load_dialect(&context);
    let module = Module::parse(&context, "func.func private @f()").unwrap();
    let error = compile(&context, &module, &Mlir::default()).unwrap_err();
    assert!(error.to_string().contains("func.func"), "{error}");
    let mlir = Mlir { triple: "wasm32-unknown-unknown".parse().unwrap(), ..Mlir::default() };
    let error = mlir.object(&caller("f", "kernel"), &[]).unwrap_err();
    assert!(matches!(error, Error::Target { .. }), "{error}");
}
