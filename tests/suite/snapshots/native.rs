//! Text forms of backends, accepted by their native verifiers.

use codegen::ir;
use cranelift_codegen::verify_function;
use driver::{Form, Request};
use tvm_ffi_codegen_tests::route::request;

use super::target;

/// Returns the text form of a backend after its native verifier has accepted it.
pub(super) fn text(module: &ir::Module, backend: &str) -> String {
    let request = Request { target: target(), ..request(backend, Form::Native) };
    let text = request.emit_module(module);
    let text = text.unwrap_or_else(|error| panic!("{backend}: {error}"));
    let text = String::from_utf8(text).expect("the native form is text");
    match backend {
        "cranelift" => verify_clif(&text),
        #[cfg(feature = "llvm")]
        "llvm" => verify_llvm(&text),
        #[cfg(feature = "mlir")]
        "mlir" => verify_mlir(&text),
        // The compiler of its text judges.
        _ => {
            let object = driver::Request { form: Form::Object, ..request }.emit_module(module);
            object.unwrap_or_else(|error| panic!("{backend}: {error}\n{text}"));
        }
    }
    text
}

/// Parses CLIF back and runs Cranelift's verifier.
fn verify_clif(text: &str) {
    let isa = backend_cranelift::isa(&target(), backend_cranelift::Settings::OBJECT);
    let isa = isa.unwrap_or_else(|error| panic!("{error}"));
    let functions = cranelift_reader::parse_functions(text);
    for function in functions.unwrap_or_else(|error| panic!("{error}\n{text}")) {
        verify_function(&function, &*isa).unwrap_or_else(|error| panic!("{error}\n{function}"));
    }
}

/// Parses LLVM IR back, runs LLVM's verifier, and prints the same text again.
#[cfg(feature = "llvm")]
fn verify_llvm(text: &str) {
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "snapshot");
    let module = context.create_module_from_ir(buffer).unwrap_or_else(|e| panic!("{e}\n{text}"));
    backend_llvm::verify(&module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let without_id = |text: &str| -> Vec<String> {
        let is_id =
            |line: &&str| line.starts_with("; ModuleID") || line.starts_with("source_filename");
        text.lines().filter(|line| !is_id(line)).map(str::to_owned).collect()
    };
    assert_eq!(without_id(&module.print_to_string().to_string()), without_id(text));
}

/// Parses MLIR back, runs MLIR's verifier, and prints the same text again.
#[cfg(feature = "mlir")]
fn verify_mlir(text: &str) {
    let context = melior::Context::new();
    melior::dialect::DialectHandle::llvm().load_dialect(&context);
    let module = melior::ir::Module::parse(&context, text).unwrap_or_else(|| panic!("{text}"));
    backend_mlir::verify(&context, &module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(numbered(&module.as_operation().to_string()), numbered(text));
}

/// Replaces the names of values and blocks, which MLIR forgets, by numbers in the order of their first use.
#[cfg(feature = "mlir")]
fn numbered(text: &str) -> String {
    let mut numbers = std::collections::HashMap::new();
    let mut numbered = String::new();
    let mut rest = text.trim_end();
    while let Some(at) = rest.find(['%', '^']) {
        let (before, name) = rest.split_at(at);
        if before.contains("llvm.func") {
            numbers.clear();
        }
        let end = name[1..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
        let (name, after) = name.split_at(end.map_or(name.len(), |end| end + 1));
        let next = numbers.len();
        let number = *numbers.entry(name).or_insert(next);
        numbered.push_str(before);
        numbered.push_str(&number.to_string());
        rest = after;
    }
    numbered + rest
}
