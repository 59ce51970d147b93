//! One wrapper in every language, in `snapshots/<case>/`: host IR and what each backend makes of it.

use std::path::Path;

use codegen::{Function, Library, Options, Routines, ir};
use cranelift_codegen::verify_function;
use insta::{Settings, assert_snapshot};
use target_lexicon::Triple;
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::route::BACKENDS;

/// Functions of the table, one for each thing that lowering does.
const CASES: [&str; 30] = [
    "none_result",
    "give_bool",
    "give_int8",
    "give_uint64",
    "give_float32",
    "give_float16",
    "bfloat16_of_bits",
    "give_ptr",
    "everything",
    "add_one",
    "scale",
    "scalar_tensor",
    "any_extent",
    "any_rank",
    "last_extent",
    "across",
    "length_last",
    "twice",
    "known_factor",
    "product",
    "free",
    "fixed_strides",
    "shared_stride",
    "stride_and_extent",
    "cuda",
    "any_device",
    "stream_of_any",
    "floor",
    "float_constraint",
    "attempt",
];

/// The target of all snapshots, so that they are the same on every machine.
const TARGET: &str = "x86_64-unknown-linux-gnu";

fn target() -> Triple {
    TARGET.parse().expect("a known target")
}

/// Lowered, and checked by our own verifier.
fn lowered(function: &Function, routines: Routines) -> ir::Module {
    let library = Library { functions: vec![function.clone()] };
    let options = Options { routines, closures: false };
    let module = codegen::lower(&library, &options).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module);
    module
}

/// The text form of a backend, which its native verifier has accepted.
fn native(module: &ir::Module, backend: &str) -> String {
    let options = driver::Options {
        backend: backend.to_owned(),
        target: target(),
        ..driver::Options::default()
    };
    let text = driver::emit_module(module, driver::Form::Native, &options);
    let text = text.unwrap_or_else(|error| panic!("{backend}: {error}"));
    let text = String::from_utf8(text).expect("the native form is text");
    match backend {
        "cranelift" => verify_clif(&text),
        _ => unreachable!("every backend has a verifier"),
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

fn snapshot(case: &str, module: &ir::Module, declaration: &Function) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../snapshots").join(case);
    let mut settings = Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_description(declaration.to_string());
    settings.bind(|| {
        assert_snapshot!("ir", module.to_string());
        for backend in BACKENDS {
            assert_snapshot!(*backend, native(module, backend));
        }
    });
}

#[test]
fn wrappers() {
    let table = cases::table();
    for case in CASES {
        let function = table.iter().map(|case| &case.function).find(|f| f.signature.name == case);
        let function = function.unwrap_or_else(|| panic!("the table has no {case}"));
        snapshot(case, &lowered(function, Routines::Shared), function);
    }
}

/// With the routines in the module, as ahead of time.
#[test]
fn wrapper_with_routines() {
    let function: Function = "embedded(a: int8) -> int8 = echo_int8(a);".parse().unwrap();
    snapshot("embedded", &lowered(&function, Routines::Embedded), &function);
}

#[test]
fn the_same_declarations_yield_the_same_bytes() {
    let library = cases::library(&cases::table());
    let module = || codegen::lower(&library, &Options::default()).unwrap();
    assert_eq!(module().to_string(), module().to_string());
    for backend in BACKENDS {
        for form in [driver::Form::Native, driver::Form::Object] {
            let options = || driver::Options {
                backend: (*backend).to_owned(),
                target: target(),
                ..driver::Options::default()
            };
            let bytes = || driver::emit_module(&module(), form, &options()).unwrap();
            assert!(bytes() == bytes(), "{backend}, {form:?}");
        }
    }
}
