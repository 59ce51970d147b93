//! Tests of emission into modules of the caller.

use codegen::ir::{self, Data, Linkage, SymbolKind};
use melior::Context;
use melior::dialect::DialectHandle;
use melior::ir::Module;
use tvm_ffi_codegen_mlir::{Error, emit, verify};

use crate::caller;
use crate::every::every;

fn context() -> Context {
    let context = Context::new();
    DialectHandle::llvm().load_dialect(&context);
    context
}

/// Emits into a module with `text`; returns the text after that.
fn emitted(text: &str, source: &ir::Module) -> String {
    let context = context();
    let module = Module::parse(&context, text).unwrap();
    emit(&context, &module, source).unwrap();
    verify(&context, &module).unwrap();
    module.as_operation().to_string()
}

/// Returns the error of emitting into a module with `text`, which stays unchanged.
fn refused(text: &str, source: &ir::Module) -> Error {
    let context = context();
    let module = Module::parse(&context, text).unwrap();
    let before = module.as_operation().to_string();
    let error = emit(&context, &module, source).unwrap_err();
    assert_eq!(module.as_operation().to_string(), before);
    error
}

fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

#[test]
fn loads_the_dialect() {
    let context = Context::new();
    let module = Module::new(melior::ir::Location::unknown(&context));
    emit(&context, &module, &every()).unwrap();
    verify(&context, &module).unwrap();
}

#[test]
fn kernel_is_used_as_it_is() {
    for kernel in [
        "llvm.func @kernel(i64, !llvm.ptr) -> i64",
        "llvm.func internal @kernel(%n: i64, %p: !llvm.ptr) -> i64 { llvm.return %n : i64 }",
    ] {
        let text = emitted(kernel, &caller("f", "kernel"));
        assert_eq!(count(&text, "@kernel("), 2, "{text}");
        assert_eq!(count(&text, "llvm.call @kernel(%arg0, %1) :"), 1, "{text}");
    }
}

#[test]
fn kernel_keeps_its_calling_convention() {
    let text = emitted("llvm.func fastcc @kernel(i64, !llvm.ptr) -> i64", &caller("f", "kernel"));
    assert!(text.contains("llvm.call fastcc @kernel("), "{text}");
}

#[test]
fn kernel_of_another_type_is_refused() {
    let refused = |text| refused(text, &caller("f", "kernel"));
    let kernel = |argument, expected: &str, found: &str| {
        let (expected, found) = (expected.to_owned(), found.to_owned());
        Error::Kernel { symbol: "kernel".into(), argument, expected, found }
    };
    let ty = "!llvm.func<i64 (i64, ptr)>";
    assert_eq!(refused("llvm.func @kernel(i32, !llvm.ptr) -> i64"), kernel(Some(0), "i64", "i32"));
    assert_eq!(refused("llvm.func @kernel(i64, f32) -> i64"), kernel(Some(1), "!llvm.ptr", "f32"));
    for (text, found) in [
        ("llvm.func @kernel(i64) -> i64", "!llvm.func<i64 (i64)>"),
        ("llvm.func @kernel(i64, !llvm.ptr)", "!llvm.func<void (i64, ptr)>"),
        ("llvm.func @kernel(i64, !llvm.ptr, ...) -> i64", "!llvm.func<i64 (i64, ptr, ...)>"),
    ] {
        assert_eq!(refused(text), kernel(None, ty, found));
    }
    assert_eq!(
        refused("llvm.mlir.global external @kernel() : i8"),
        kernel(None, "llvm.func", "llvm.mlir.global")
    );
    assert_eq!(
        refused("llvm.func @kernel(i32, !llvm.ptr) -> i64").to_string(),
        "`kernel`: argument 0 is i32 in the module, expected i64"
    );
}

#[test]
fn kernel_that_extends_otherwise_is_refused() {
    let kernel = "llvm.func @kernel(i8 {llvm.zeroext}, i8 {llvm.zeroext}, i16, i16, i32, i64, f32, \
                  f64, !llvm.ptr) -> i16";
    let error = refused(kernel, &every());
    assert_eq!(
        error.to_string(),
        "`kernel`: argument 0 is i8 llvm.zeroext in the module, expected i8 llvm.signext"
    );
}

/// Receivers rely on an extension only if the ABI promises it, whatever a kernel's declaration says.
#[test]
fn result_is_extended_only_if_the_platform_promises_it() {
    let params = "(i8, i8, i16, i16, i32, i64, f32, f64, !llvm.ptr)";
    for (triple, extended) in [("x86_64-unknown-linux-gnu", 0), ("riscv64-unknown-linux-gnu", 1)] {
        for result in ["i16", "(i16 {llvm.zeroext})"] {
            let head = format!("module attributes {{llvm.target_triple = \"{triple}\"}}");
            let kernel = format!("{head} {{ llvm.func @kernel{params} -> {result} }}");
            let text = emitted(&kernel, &every());
            let calls = text.lines().filter(|line| line.contains("llvm.call @kernel("));
            let calls: Vec<_> = calls.collect();
            assert_eq!(calls.len(), 1, "{text}");
            assert_eq!(count(calls[0], "(i16 {llvm.zeroext})"), extended, "{}", calls[0]);
        }
    }
}

#[test]
fn export_is_defined_where_it_is_declared() {
    let text = emitted("llvm.func @f(i64) -> i64", &caller("f", "kernel"));
    assert_eq!(count(&text, "@f("), 1, "{text}");
    assert!(text.contains("llvm.func @f(%arg0: i64) -> i64 attributes {passthrough = "), "{text}");
    let text = emitted("llvm.func extern_weak @f(i64) -> i64", &caller("f", "kernel"));
    assert!(text.contains("llvm.func @f(%arg0: i64)"), "{text}");
    let text = emitted("llvm.mlir.global external @version() : i32", &every());
    assert!(text.contains("global external constant @version(\"1.0\\00\")"), "{text}");
}

/// Attributes of a declaration in a module need not be true of the definition that is added.
#[test]
fn declaration_says_only_the_type_of_its_definition() {
    let source = caller("f", "kernel");
    let bare = emitted("llvm.func @f(i64) -> i64", &source);
    for declared in [
        "llvm.func @f(i64) -> i64 attributes {sym_visibility = \"private\"}",
        "llvm.func hidden @f(i64) -> i64",
        "llvm.func protected unnamed_addr @f(i64) -> i64 attributes {dso_local, section = \"mine\"}",
        "llvm.func @f(i64 {llvm.noundef}) -> (i64 {llvm.noundef}) attributes {will_return, memory = \
         #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none, errnoMem = none, \
         targetMem0 = none, targetMem1 = none>, passthrough = [\"noreturn\"]}",
    ] {
        assert_eq!(emitted(declared, &source), bare, "{declared}");
    }
    let global = |start: &str, end: &str| {
        emitted(&format!("llvm.mlir.global external {start}@version() {end}: i32"), &every())
    };
    assert_eq!(global("hidden ", "{sym_visibility = \"private\"} "), global("", ""));
    let text = emitted("llvm.func @f(i64) -> i64 attributes {mine.tag}", &source);
    assert!(text.contains("mine.tag"), "{text}");
    // Functions that are not defined here stay as the module says.
    let import =
        "llvm.func hidden @kernel(i64, !llvm.ptr) -> i64 attributes {sym_visibility = \"private\"}";
    let text = emitted(import, &source);
    assert!(text.contains(import), "{text}");
}

#[test]
fn export_that_is_defined_is_refused() {
    let text = "llvm.func @f(%n: i64) -> i64 { llvm.return %n : i64 }";
    let error = refused(text, &caller("f", "kernel"));
    assert_eq!(error, Error::Defined { symbol: "f".into() });
    let error = refused("llvm.mlir.global constant @version(1 : i32) : i32", &every());
    assert_eq!(error, Error::Defined { symbol: "version".into() });
}

#[test]
fn export_declared_otherwise_is_refused() {
    let error = refused("llvm.func @f(i32) -> i64", &caller("f", "kernel"));
    assert!(matches!(error, Error::Kernel { argument: Some(0), .. }), "{error}");
    let error = refused("llvm.func fastcc @f(i64) -> i64", &caller("f", "kernel"));
    assert!(matches!(error, Error::Kernel { argument: None, .. }), "{error}");
}

/// `f` and a local constant `message`, whose address it returns.
fn with_local(f: &str) -> ir::Module {
    let mut module = ir::Module::default();
    let symbol = module.declare("message", Linkage::Local, SymbolKind::Data);
    module.data.push(Data::constant(symbol, f.as_bytes().to_vec(), 1));
    let signature = ir::Signature::new(&[], Some(ir::Type::Ptr));
    let mut b = ir::Builder::function(&mut module, f, Linkage::Export, signature);
    let address = b.address(symbol);
    b.ret(Some(address));
    let function = b.finish();
    module.functions.push(function);
    module
}

#[test]
fn two_libraries_share_nothing_local() {
    let context = context();
    let module = Module::new(melior::ir::Location::unknown(&context));
    for library in ["f", "g", "h"] {
        emit(&context, &module, &with_local(library)).unwrap();
    }
    verify(&context, &module).unwrap();
    let text = module.as_operation().to_string();
    for (library, message) in [("f", "message"), ("g", "message.1"), ("h", "message.2")] {
        assert!(text.contains(&format!("constant @{message}(\"{library}\")")), "{text}");
        let body = text.split_once(&format!("llvm.func @{library}(")).unwrap().1;
        assert!(body.lines().nth(1).unwrap().contains(&format!("@{message} :")), "{text}");
    }
    let error = emit(&context, &module, &with_local("g")).unwrap_err();
    assert_eq!(error, Error::Defined { symbol: "g".into() });
}

#[test]
fn exported_data_is_reached_by_a_local_name() {
    let text = emitted("llvm.func @version.local()", &every());
    assert!(text.contains("llvm.mlir.alias internal @version.local.1 "), "{text}");
    assert!(text.contains("llvm.mlir.addressof @version.local.1 :"), "{text}");
}

#[test]
fn data_that_has_no_type_is_refused() {
    let mut source = ir::Module::default();
    let symbol = source.declare("huge", Linkage::Export, SymbolKind::Data);
    // The constant is never read, and so it gets no memory.
    let bytes = vec![0; 1 << 32];
    source.data.push(Data { large: true, ..Data::constant(symbol, bytes, 1) });
    let reason = "`huge` is larger than 4294967295 bytes".to_owned();
    assert_eq!(refused("", &source), Error::Native { backend: "mlir", reason });
}

#[test]
fn module_for_an_unknown_machine_is_refused() {
    let text = "module attributes {llvm.target_triple = \"nvptx64-nvidia-cuda\"} {}";
    let message = "unsupported target nvptx64-nvidia-cuda: not a known machine";
    assert_eq!(refused(text, &caller("f", "kernel")).to_string(), message);
}

#[test]
fn module_of_another_context_is_refused() {
    let (ours, theirs) = (context(), context());
    let module = Module::new(melior::ir::Location::unknown(&theirs));
    assert_eq!(emit(&ours, &module, &caller("f", "kernel")), Err(Error::Context));
    assert_eq!(verify(&ours, &module), Err(Error::Context));
}
