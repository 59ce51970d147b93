//! Processors: their names and features in every form, kernels for them, and what is refused.

use std::fs;

use object::{Object, ObjectSymbol};
use tvm_ffi_codegen_driver::{Form, Request, Source};

use crate::support::has;

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// Returns a request for a processor and features, with commas in between.
fn request(backend: &str, cpu: Option<&str>, features: &str, form: Form) -> Request {
    let features = features.split(',').filter(|one| !one.is_empty());
    Request {
        backend: backend.parse().unwrap(),
        target: TARGET.parse().unwrap(),
        cpu: cpu.map(str::to_owned),
        features: features.map(|one| one.parse().unwrap()).collect(),
        ..Request::new(form)
    }
}

/// Kernels that were compiled for a processor.
const KERNELS: [(&str, &str); 2] = [
    (
        "llvm",
        "define i64 @twice_kernel(i64 %n) #0 { %twice = add i64 %n, %n ret i64 %twice }
        attributes #0 = { \"target-cpu\"=\"x86-64-v3\" }",
    ),
    (
        "mlir",
        "llvm.func @twice_kernel(%n: i64) -> i64 attributes {target_cpu = \"x86-64-v3\"} {
          %twice = llvm.add %n, %n : i64
          llvm.return %twice : i64
        }",
    ),
];

#[test]
fn kernels_for_a_processor_are_inlined_into_wrappers_for_it() {
    let library = "twice(n: int64) -> int64 = twice_kernel(n);".parse().unwrap();
    for (backend, kernel) in KERNELS.into_iter().filter(|(backend, _)| has(backend)) {
        let sources = vec![Source { name: "k".to_owned(), bytes: kernel.into() }];
        let rows = [
            (None, "", false),
            (Some("x86-64-v2"), "", false),
            (Some("x86-64-v3"), "", true),
            (Some("x86-64-v4"), "", true),
            (Some("x86-64-v3"), "+avx512f", true),
        ];
        for (cpu, features, is_inlined) in rows {
            let request = Request {
                sources: sources.clone(),
                ..request(backend, cpu, features, Form::Object)
            };
            let bytes = request.emit(&library).unwrap();
            let file = object::File::parse(&*bytes).unwrap();
            let kernel = file.symbols().any(|symbol| symbol.name() == Ok("twice_kernel"));
            assert_eq!(!kernel, is_inlined, "{backend} {cpu:?} {features}");
        }
    }
}

/// Every function that is emitted has the attributes, in LLVM's text in groups, and without an option none. Imports,
/// which do not touch pages, have none.
#[test]
fn texts_name_the_processor() {
    let library = "f(x: Tensor([n], float32)) -> None = k(x.data, n);".parse().unwrap();
    let rows = [
        (
            "llvm",
            "attributes #",
            "probe-stack",
            "\"target-cpu\"=\"x86-64-v3\" \"target-features\"=\"+avx512f,-fma\"",
        ),
        (
            "mlir",
            "llvm.func ",
            "probe-stack",
            "target_cpu = \"x86-64-v3\", target_features = #llvm.target_features<[\"+avx512f\", \"-fma\"]>",
        ),
    ];
    for (backend, start, part, attributes) in rows.into_iter().filter(|(backend, ..)| has(backend))
    {
        let text = |cpu, features| {
            let bytes = request(backend, cpu, features, Form::Native).emit(&library).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        let words = ["target-cpu", "target_cpu", "features"];
        assert!(!words.iter().any(|word| text(None, "").contains(word)), "{backend}");
        let text = text(Some("x86-64-v3"), "+avx512f,-fma");
        let starts = text.lines().filter(|line| line.trim_start().starts_with(start));
        let all: Vec<&str> = starts.filter(|line| line.contains(part)).collect();
        assert!(all.len() > 2 && all.iter().all(|line| line.contains(attributes)), "{text}");
    }
}

/// Cranelift takes the features that it knows, by the names of LLVM.
#[test]
fn cranelift_uses_features() {
    let library = "f(a: float64) -> float64 = { return a * 3.0; };".parse().unwrap();
    let object =
        |features: &str| request("cranelift", None, features, Form::Object).emit(&library).unwrap();
    assert_ne!(object("+avx"), object(""));
    assert_eq!(object("+avx,-avx"), object(""));
    assert!(!object("+sse4.1,+sse4.2,+popcnt,+bmi,+lzcnt,+cx16,+fma,+avx2").is_empty());
}

#[test]
fn unknown_features_are_errors() {
    let library = "f(n: int64) -> int64 = k(n);".parse().unwrap();
    let unknown = |name| format!("unsupported target {TARGET}: no feature `{name}`");
    let compiler = "no feature `avx2`: emit the text, and give your compiler its option";
    let rows = [
        ("llvm", "+avx3", unknown("avx3")),
        ("mlir", "+avx2,-neon", unknown("neon")),
        // They would end the process, or change what callers and callees agree on.
        ("llvm", "-64bit", unknown("64bit")),
        ("llvm", "+soft-float", unknown("soft-float")),
        ("cranelift", "+amx-tile", unknown("amx-tile")),
        ("c", "+avx2", compiler.to_owned()),
    ];
    for (backend, features, expected) in rows.into_iter().filter(|(backend, ..)| has(backend)) {
        let error = request(backend, None, features, Form::Object).emit(&library).unwrap_err();
        assert_eq!(error.to_string(), format!("backend {backend}: {expected}"));
    }
}

/// The command line takes a list, whose first element may be a subtraction.
#[test]
fn the_command_line_takes_a_list() {
    let folder = crate::support::folder();
    fs::write(folder.path().join("f.ffi"), "f(n: int64) -> int64 = k(n);").unwrap();
    let run = |features: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tvm-ffi-codegen"));
        command.args(["emit", "f.ffi", "-o", "f.o", "--target", TARGET, "--features", features]);
        let output = command.current_dir(folder.path()).output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(run("-avx,+sse4.1"), (true, String::new()));
    let (_, message) = run("avx");
    let expected = "expected `+` or `-` and the name of a feature, found \"avx\"";
    assert!(message.contains(expected), "{message}");
}
