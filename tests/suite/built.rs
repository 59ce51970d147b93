//! Declarations that Python builds print what Rust prints.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use codegen::Library;
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::submits::{self, Pair};
use tvm_ffi_codegen_tests::volume::{Plan, RandomFunction, Through};

const LAUNCHES: [&str; 2] =
    [include_str!("../hosts/launches/kernels.ffi"), include_str!("../hosts/launches/hopper.ffi")];

/// Returns the canonical texts of the whole table, of launches, and of random declarations and launches.
fn texts() -> Vec<String> {
    let plan =
        Plan { seed: 0, calls: 0, until: None, each: 1, threads: 1, through: Through::Machine };
    let table = cases::table().into_iter().map(|case| Library::from(vec![case.function]));
    let launches = LAUNCHES.iter().map(|text| text.parse().expect("it is a library"));
    let random =
        (0..300).map(|index| Library::from(vec![RandomFunction::new(&plan, index).function]));
    let submits = submits::Plan { seed: 0, calls: 0, each: 1 };
    let pairs = (0..100).map(|index| Pair::new(&submits, index).library);
    table.chain(launches).chain(random).chain(pairs).map(|library| library.to_string()).collect()
}

#[test]
fn python_builds_every_declaration_and_prints_it_as_rust_does() {
    let texts = texts();
    let mut python = Command::new("python3");
    python.arg(host("built.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    python.env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).join("../python"));
    python.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap_or_else(|error| panic!("python3: {error}"));
    let mut stdin = child.stdin.take().expect("a pipe");
    let sent = serde_json::Value::from(texts.as_slice()).to_string();
    stdin.write_all(sent.as_bytes()).expect("Python reads all of it first");
    drop(stdin);
    let output = child.wait_with_output().expect("Python ends");
    assert!(output.status.success(), "built.py: {}; use tests/run", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{} texts\n", texts.len()));
}
