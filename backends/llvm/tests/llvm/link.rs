//! Tests of kernels in LLVM's text and bitcode, valid and invalid.

use codegen::ir::{Linkage, Module, Signature, SymbolKind, Type};
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::{Linkage as NativeLinkage, Module as Native};
use tvm_ffi_codegen_llvm::{Error, Input, Optimize, emit, link};

use crate::functions;
use crate::jit::{Running, empty, host};

const KERNEL: &str = "
    @scale = global i64 10
    @table = internal constant [2 x i64] [i64 1, i64 2]
    declare i64 @helper(i64)
    define i64 @kernel(i64 %x) {
        %y = call i64 @helper(i64 %x)
        %scale = load i64, ptr @scale
        %z = mul i64 %y, %scale
        ret i64 %z
    }
    @alias = alias i64 (i64), ptr @kernel";

const HELPER: &str = "
    $helper = comdat any
    define linkonce_odr i64 @helper(i64 %x) comdat { %y = add i64 %x, 1 ret i64 %y }";

fn input<'a>(name: &'a str, bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Input<'a> {
    Input { name, bytes: bytes.as_ref(), exports: &[] }
}

fn bitcode(text: &str) -> Vec<u8> {
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "");
    let module = context.create_module_from_ir(buffer).unwrap();
    module.write_bitcode_to_memory().as_slice().to_vec()
}

/// An exported `user` that calls an imported function.
fn user(kernel: &str) -> Module {
    let mut module = Module::default();
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let kernel = module.declare(kernel, Linkage::Import, SymbolKind::Function(signature));
    functions::define(&mut module, "user", &[Type::I64], |b, v| b.call_value(kernel, &[v[0]]));
    module
}

#[test]
fn text_and_bitcode_are_linked_and_hidden() {
    for (kernel, level) in
        [("kernel", Optimize::O0), ("kernel", Optimize::O2), ("alias", Optimize::O2)]
    {
        let module = empty();
        let helper = bitcode(HELPER);
        link(&module, &[input("kernel.ll", KERNEL), input("helper.bc", &helper)]).unwrap();
        for name in ["kernel", "helper"] {
            assert_eq!(module.get_function(name).unwrap().get_linkage(), NativeLinkage::Internal);
        }
        let scale = module.get_global("scale").unwrap();
        assert_eq!(scale.get_linkage(), NativeLinkage::Internal);
        emit(&module, &user(kernel)).unwrap();
        assert_eq!(Running::start(&module, level, &[]).call("user", &[4]), 50);
    }
}

/// Symbols that the module had before are the caller's exports, and stay exported.
#[test]
fn what_the_caller_defined_stays_visible() {
    let module = empty();
    link(&module, &[input("kernel.ll", HELPER)]).unwrap();
    let ty = module.get_context().i64_type().fn_type(&[], false);
    let own = module.add_function("own", ty, None);
    let builder = module.get_context().create_builder();
    builder.position_at_end(module.get_context().append_basic_block(own, ""));
    builder.build_return(Some(&module.get_context().i64_type().const_zero())).unwrap();
    link(&module, &[input("own.ll", "define weak i64 @own() { ret i64 1 }")]).unwrap();
    assert_eq!(own.get_linkage(), NativeLinkage::External);
}

#[test]
fn a_kernel_may_be_an_alias_of_an_alias() {
    let text = "define internal i64 @inner(i64 %x) { ret i64 %x }
        @between = alias i64 (i64), ptr @inner
        @kernel = alias i64 (i64), ptr @between";
    let module = empty();
    link(&module, &[input("kernel.ll", text)]).unwrap();
    emit(&module, &user("kernel")).unwrap();
    assert_eq!(Running::start(&module, Optimize::O0, &[]).call("user", &[4]), 4);
}

#[test]
fn a_linked_kernel_of_another_type_is_refused() {
    let context = Context::create();
    let text = "define i32 @kernel(i64 %x) { ret i32 0 }";
    let error = host(Optimize::O2)
        .module(&context, &user("kernel"), &[input("kernel.ll", text)])
        .unwrap_err();
    assert_eq!(error.to_string(), "`kernel` is i32 (i64) in the module, expected i64 (i64)");
}

/// Links and expects an error that leaves the module unchanged; returns LLVM's message.
fn refused(module: &Native<'_>, inputs: &[Input<'_>]) -> String {
    let before = module.print_to_string().to_string();
    let error = link(module, inputs).unwrap_err();
    assert_eq!(module.print_to_string().to_string(), before);
    let Error::Native { reason, .. } = error else { panic!("{error}") };
    reason
}

#[test]
fn bad_inputs_are_refused() {
    let good = bitcode(HELPER);
    let cases: [(&str, &[u8], &str); 6] = [
        ("garbage", &[0x13, 0x37, 0, 0xff], "expected top-level entity"),
        ("syntax", b"define i64 @f( {", "expected"),
        ("types", b"define i64 @f(i32 %x) { ret i64 %x }", "defined with type 'i32'"),
        ("truncated", &good[..good.len() / 2], ""),
        ("header", &good[..4], ""),
        ("object", b"\x7fELF\x02\x01\x01", "expected top-level entity"),
    ];
    for (name, bytes, message) in cases {
        let reason = refused(&empty(), &[input("good.bc", &good), input(name, bytes)]);
        assert!(reason.starts_with(&format!("{name}:")), "{reason}");
        assert!(!reason.starts_with(&format!("{name}: {name}:")), "{reason}");
        assert!(reason.contains(message) && reason.len() > name.len() + 2, "{reason}");
    }
}

#[test]
fn bitcode_cut_anywhere_is_refused() {
    let good = bitcode(KERNEL);
    for length in 1..good.len() {
        refused(&empty(), &[input("short.bc", &good[..length])]);
    }
}

#[test]
fn kernels_for_another_machine_are_refused() {
    let module = empty();
    let own = module.get_triple();
    let own = own.as_str().to_string_lossy();
    let text = format!("target triple = \"s390x-ibm-linux\"\n{HELPER}");
    let reason = refused(&module, &[input("kernel.ll", &text)]);
    assert_eq!(reason, format!("kernel.ll: it is for s390x-ibm-linux, the module for {own}"));
    let text = format!("target datalayout = \"E-p:32:32\"\n{HELPER}");
    let reason = refused(&module, &[input("kernel.ll", &text)]);
    assert!(
        reason.starts_with("kernel.ll: its data layout is E-p:32:32, the module's "),
        "{reason}"
    );
}

#[test]
fn conflicts_are_refused_even_if_found_late() {
    let module = empty();
    emit(&module, &user("kernel")).unwrap();
    let twice = "define void @f() { ret void }";
    let reason = refused(&module, &[input("a.ll", twice), input("b.ll", twice)]);
    assert_eq!(reason, "b.ll: Linking globals named 'f': symbol multiply defined!");
    let flag = |value| {
        format!("!llvm.module.flags = !{{!0}}\n!0 = !{{i32 1, !\"abi\", i32 {value}}}\n{KERNEL}")
    };
    let (one, two) = (flag(1), flag(2).replace("@kernel", "@other").replace("@alias", "@alias2"));
    let reason = refused(&module, &[input("a.ll", &one), input("b.ll", &two)]);
    assert!(reason.starts_with("b.ll: "), "{reason}");
}
