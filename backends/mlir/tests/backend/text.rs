//! Tests of the text form.

use codegen::Backend;
use codegen::ir::{Data, Linkage, SymbolKind};
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

/// The text with names parses to the same module.
#[test]
fn every_instruction_verifies_and_is_the_same_after_parsing() {
    let text = Mlir::default().text(&every(), &[]).unwrap();
    let context = Context::new();
    let module = parse(&context, &text);
    verify(&context, &module).unwrap();
    let original = Mlir::default().module(&context, &every(), &[]).unwrap();
    assert_eq!(module.as_operation().to_string(), original.as_operation().to_string());
    assert_eq!(Mlir::default().text(&every(), &[]).unwrap(), text);
}

/// Blocks and values have the names of the text of host IR.
#[test]
fn labels_and_names_are_those_of_host_ir() {
    let (source, text) = (every(), Mlir::default().text(&every(), &[]).unwrap());
    let body = |name: &str| {
        let (_, rest) = text.split_once(&format!("llvm.func @{name}(")).unwrap();
        rest.split_once("\n  }").unwrap().0
    };
    let function = source.functions.last().unwrap();
    let found = body(source.name(function.symbol));
    assert!(!found.contains("^bb"), "{found}");
    for (block, data) in function.blocks().skip(1) {
        let label = function.label(block);
        assert!(found.contains(&format!("\n  ^{label}")), "{label} {found}");
        for &param in &data.params {
            let name = &function.value_names()[param.index()];
            assert!(found.contains(&format!("%{name}: ")), "{name} {found}");
        }
    }
}

/// Text in quotes is unchanged.
#[test]
fn text_that_looks_like_a_label_stays() {
    let mut source = caller("^bb0", "^bb1");
    let symbol = source.declare("text", Linkage::Local, SymbolKind::Data);
    source.data.push(Data::constant(symbol, b"^bb0".to_vec(), 1));
    let text = Mlir::default().text(&source, &[]).unwrap();
    for expected in ["llvm.func @\"^bb0\"(", "llvm.call @\"^bb1\"(", "constant @text(\"^bb0\")"] {
        assert!(text.contains(expected), "{expected} {text}");
    }
}

#[test]
fn reads_well() {
    let linux = Mlir { triple: "x86_64-unknown-linux-gnu".parse().unwrap(), ..Mlir::default() };
    let text = Backend::text(&linux, &caller("f", "kernel"), &[]).unwrap();
    let (head, body) = text.split_once('\n').unwrap();
    assert!(head.contains("llvm.target_triple = \"x86_64-unknown-linux-gnu\""), "{head}");
    assert_eq!(
        body,
        "  llvm.func @kernel(i64, !llvm.ptr) -> i64
  llvm.func @f(%p0: i64) -> i64 attributes {passthrough = [[\"uwtable\", \"2\"], [\"probe-stack\", \"inline-asm\"]]} {
    %v1 = llvm.mlir.constant(1 : i64) : i64
    %v2 = llvm.mlir.zero : !llvm.ptr
    %v3 = llvm.call @kernel(%p0, %v2) : (i64, !llvm.ptr) -> i64
    %v4 = llvm.add %v3, %v1 : i64
    llvm.return %v4 : i64
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
