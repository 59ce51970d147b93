//! The text form.

use codegen::Backend;
use melior::Context;
use melior::ir::attribute::FlatSymbolRefAttribute;
use melior::ir::operation::OperationBuilder;
use melior::ir::{BlockLike, Identifier, Location, Module};
use tvm_ffi_codegen_mlir::{Mlir, verify};

use crate::every::every;
use crate::{caller, kernel_signature};

fn parse<'c>(context: &'c Context, text: &str) -> Module<'c> {
    melior::dialect::DialectHandle::llvm().load_dialect(context);
    Module::parse(context, text).unwrap()
}

#[test]
fn every_instruction_verifies_and_prints_the_same_after_parsing() {
    let text = Mlir::default().text(&every()).unwrap();
    let context = Context::new();
    let module = parse(&context, &text);
    verify(&context, &module).unwrap();
    assert_eq!(module.as_operation().to_string(), text);
    assert_eq!(Mlir::default().text(&every()).unwrap(), text);
}

#[test]
fn reads_well() {
    let linux = Mlir { triple: "x86_64-unknown-linux-gnu".parse().unwrap(), ..Mlir::default() };
    let text = Backend::text(&linux, &caller("f", "kernel")).unwrap();
    let (head, body) = text.split_once('\n').unwrap();
    assert!(head.contains("llvm.target_triple = \"x86_64-unknown-linux-gnu\""), "{head}");
    assert_eq!(
        body,
        "  llvm.func @kernel(i64, !llvm.ptr) -> i64
  llvm.func @f(%arg0: i64) -> i64 attributes {no_unwind, passthrough = [[\"probe-stack\", \"inline-asm\"]]} {
    %0 = llvm.mlir.constant(1 : i64) : i64
    %1 = llvm.mlir.zero : !llvm.ptr
    %2 = llvm.call @kernel(%arg0, %1) : (i64, !llvm.ptr) -> i64
    %3 = llvm.add %2, %0 : i64
    llvm.return %3 : i64
  }
}
"
    );
}

#[test]
fn signature_is_what_the_kernel_is_defined_with() {
    let context = Context::new();
    let ty = tvm_ffi_codegen_mlir::signature(&context, &kernel_signature());
    assert_eq!(ty.to_string(), "!llvm.func<i64 (i64, ptr)>");
}

#[test]
fn verifier_speaks_through_the_error() {
    let context = Context::new();
    let module = parse(&context, "llvm.func @f() -> i64");
    verify(&context, &module).unwrap();
    let address = OperationBuilder::new("llvm.mlir.addressof", Location::unknown(&context))
        .add_attributes(&[(
            Identifier::new(&context, "global_name"),
            FlatSymbolRefAttribute::new(&context, "missing").into(),
        )])
        .add_results(&[melior::dialect::llvm::r#type::pointer(&context, 0)])
        .build()
        .unwrap();
    module.body().append_operation(address);
    assert_eq!(
        verify(&context, &module).unwrap_err().to_string(),
        "mlir: 'llvm.mlir.addressof' op must reference a global defined by 'llvm.mlir.global', \
         'llvm.mlir.alias' or 'llvm.func' or 'llvm.mlir.ifunc'"
    );
}
