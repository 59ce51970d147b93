//! Tests of constructors.

use codegen::ir::{self, Builder, Linkage, Signature};
use inkwell::context::Context as LlvmContext;
use melior::Context;
use melior::ir::Module;
use tvm_ffi_codegen_mlir::{emit, object, verify};

use crate::constructor;

#[test]
fn constructors_join_those_of_the_module() {
    let own = "
        llvm.func @own() { llvm.return }
        llvm.mlir.global_ctors ctors = [@own], priorities = [7 : i32], data = [#llvm.zero]
    ";
    let context = Context::new();
    melior::dialect::DialectHandle::llvm().load_dialect(&context);
    let module = Module::parse(&context, own).unwrap();
    (0..2).for_each(|_| emit(&context, &module, &constructor::module()).unwrap());
    verify(&context, &module).unwrap();
    let text = module.as_operation().to_string();
    let list = "llvm.mlir.global_ctors ctors = [@start.1], priorities = [65535 : i32], data = [#llvm.zero]";
    assert!(text.contains(list), "{text}");
    assert!(Module::parse(&context, &text).unwrap().as_operation().to_string() == text);
    let llvm = LlvmContext::create();
    let translated = object::translate(&context, &module, &llvm).unwrap();
    let text = translated.print_to_string().to_string();
    let list = text.lines().find(|line| line.starts_with("@llvm.global_ctors")).unwrap();
    let entry = |priority, name: &str| {
        format!("{{ i32, ptr, ptr }} {{ i32 {priority}, ptr @{name}, ptr null }}")
    };
    let entries = [entry(7, "own"), entry(65535, "start"), entry(65535, "start.1")].join(", ");
    let expected =
        format!("@llvm.global_ctors = appending global [3 x {{ i32, ptr, ptr }}] [{entries}]");
    assert_eq!(list, expected);
}

/// Calls of a function that the module exports use its local name.
#[test]
fn exported_functions_are_called_by_their_alias() {
    let mut source = ir::Module::default();
    let nothing = || Signature::new(&[], None);
    let mut b = Builder::function(&mut source, "callee", Linkage::Export, nothing());
    b.ret(None);
    let callee = b.finish();
    let symbol = callee.symbol;
    source.functions.push(callee);
    let mut b = Builder::function(&mut source, "caller", Linkage::Export, nothing());
    b.call(symbol, &[]);
    b.ret(None);
    let caller = b.finish();
    source.functions.push(caller);
    let context = Context::new();
    let module = Module::new(melior::ir::Location::unknown(&context));
    emit(&context, &module, &source).unwrap();
    let llvm = LlvmContext::create();
    let translated = object::translate(&context, &module, &llvm).unwrap();
    let text = translated.print_to_string().to_string();
    assert!(text.contains("  call void @callee.local()"), "{text}");
}
