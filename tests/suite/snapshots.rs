//! One wrapper in every language, in `snapshots/<case>/`: host IR and what each backend makes of it.

use std::path::Path;

use abi_spec::library_bin;
use codegen::{Function, Library, Options, Routines, Unchecked, ir};
use cranelift_codegen::verify_function;
use insta::{Settings, assert_snapshot};
use target_lexicon::Triple;
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::route::BACKENDS;

/// Functions of the table, one for each thing that lowering does.
const CASES: [&str; 53] = [
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
    "meaning",
    "words",
    "give_str",
    "status_and_object",
    "one_output",
    "two_outputs",
    "text",
    "literal_text",
    "element_type",
    "a_device",
    "a_stream",
    "a_thing",
    "optional_int",
    "defaults",
    "default_and_tail",
    "either",
    "named",
    "maybe_tuple",
    "optional_tensor",
    "mapping",
    "tensor_list",
    "fixed_shape",
    "two_types",
];

/// The target of all snapshots, so that they are the same on every machine.
const TARGET: &str = "x86_64-unknown-linux-gnu";

fn target() -> Triple {
    TARGET.parse().expect("a known target")
}

/// Lowered, and checked by our own verifier.
fn lowered(function: &Function, routines: Routines) -> ir::Module {
    let library = Library::from(vec![function.clone()]);
    let options = Options { routines, metadata: false, ..Options::default() };
    let module = codegen::lower(&library, &options).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module).unwrap();
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
        #[cfg(feature = "llvm")]
        "llvm" => verify_llvm(&text),
        #[cfg(feature = "mlir")]
        "mlir" => verify_mlir(&text),
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

/// Parses MLIR back and runs MLIR's verifier. It forgets the names of values, and prints the same from then on.
#[cfg(feature = "mlir")]
fn verify_mlir(text: &str) {
    let context = melior::Context::new();
    melior::dialect::DialectHandle::llvm().load_dialect(&context);
    let module = melior::ir::Module::parse(&context, text).unwrap_or_else(|| panic!("{text}"));
    backend_mlir::verify(&context, &module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let printed = module.as_operation().to_string();
    let again = melior::ir::Module::parse(&context, &printed);
    let again = again.unwrap_or_else(|| panic!("{printed}"));
    assert_eq!(again.as_operation().to_string(), printed);
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

/// All that a library can have besides wrappers: metadata, documentation, an entry, imports, and the
/// registration of a system library.
#[test]
fn library_with_everything() {
    let text = "/// Echoes.\n@\"library.ffi\":2 echo(a: int8) -> int8 = echo_int8(a);";
    let function: Function = text.parse().unwrap();
    let custom = library_bin::Module::Custom { kind: "data".into(), bytes: b"bytes"[..].into() };
    let nodes = [(library_bin::Module::Library, vec![1]), (custom, vec![])];
    let node = |(module, children)| library_bin::Node { module, children };
    let library = Library {
        imports: Some(library_bin::ImportTree { nodes: nodes.map(node).into() }),
        entry: Some("echo".to_owned()),
        ..Library::from(vec![function.clone()])
    };
    let system_lib = Some("my_".to_owned());
    let options = Options { routines: Routines::Shared, system_lib, ..Options::default() };
    let module = codegen::lower(&library, &options).unwrap();
    ir::verify(&module).unwrap();
    snapshot("library", &module, &function);
}

/// Without the checks that callers may have made already.
#[test]
fn wrapper_without_checks() {
    let text = "unchecked(x: Tensor([n, 64], float32, device=cuda, align=16), y: Tensor([n], float32, strides=[s], \
                device=cuda)) -> None = record_2(n, s);";
    let function: Function = text.parse().unwrap();
    let unchecked = Unchecked { shape: true, strides: true, device: true, alignment: true };
    let routines = Routines::Shared;
    let options = Options { routines, metadata: false, unchecked, ..Options::default() };
    let library = Library::from(vec![function.clone()]);
    let module = codegen::lower(&library, &options).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module).unwrap();
    snapshot("unchecked", &module, &function);
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

/// LLVM and MLIR are two ways to the same machine code.
#[cfg(feature = "mlir")]
#[test]
fn llvm_and_mlir_compile_to_the_same_code() {
    for case in cases::table() {
        let module = lowered(&case.function, Routines::Shared);
        let object = |backend: &str| {
            let options = driver::Options {
                backend: backend.to_owned(),
                target: target(),
                optimization: driver::Optimization::O2,
                ..driver::Options::default()
            };
            code(&driver::emit_module(&module, driver::Form::Object, &options).unwrap())
        };
        assert!(object("llvm") == object("mlir"), "{}", case.function);
    }
}

/// What an object holds: its sections, and their relocations by the names of symbols.
#[cfg(feature = "mlir")]
fn code(bytes: &[u8]) -> Vec<String> {
    use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
    let file = object::File::parse(bytes).expect("the backend wrote an object");
    let name = |index| {
        let symbol = file.symbol_by_index(index).expect("relocations refer to symbols");
        symbol.name().expect("symbols have names").to_owned()
    };
    let relocation = |(offset, relocation): (u64, object::Relocation)| {
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            return format!("{offset} {:?}", relocation.target());
        };
        let (kind, addend) = (relocation.kind(), relocation.addend());
        format!("{offset} {} {kind:?} {addend}", name(symbol))
    };
    let described = file.sections().filter(|section| {
        let name = section.name().unwrap_or_default();
        name.starts_with(".text") || name.contains("rodata") || name.starts_with(".data")
    });
    described
        .flat_map(|section| {
            let data = section.data().expect("a section has data");
            let head = format!("{:?} {data:x?}", section.name());
            std::iter::once(head).chain(section.relocations().map(relocation)).collect::<Vec<_>>()
        })
        .collect()
}
