//! The example of a language whose compiled libraries share the state of a runtime library, as a user of Python has it:
//! a package with the runtime, and compiled files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use driver::link::Input;
use driver::{Form, Request};
use tvm_ffi_codegen_tests::ffi::{config, includes};
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::request;

const EXPECTED: &str = "\
Cannot find function mylang.get_global_state in the imported modules or global registry.
failures: 0, calls: 8000, elements: 128000, asked: 8000
calls: 8001 8001
calls: 8001, replaced: 0
";

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/runtime_state").join(name)
}

/// Writes the program, the package and its runtime library into a folder.
fn package(folder: &Path) {
    let package = folder.join("mylang");
    fs::create_dir(&package).expect("a folder can be made");
    for file in ["main.py", "mylang/__init__.py"] {
        fs::copy(source(file), folder.join(file)).expect("a file is copied");
    }
    cc(Command::new("c++")
        .args(["-std=c++17", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o"])
        .arg(package.join("libmylang_runtime.so"))
        .args(includes())
        .arg(source("runtime.cc"))
        .args([format!("-L{}", config("--libdir")), "-ltvm_ffi".to_owned()]));
}

#[test]
fn libraries_share_the_state_of_their_runtime() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    package(folder.path());
    let object = folder.path().join("kernels.o");
    let options = ["-O2", "-fPIC", "-Wall", "-Werror", "-c", "-o"];
    cc(Command::new("cc").args(options).arg(&object).arg(source("kernels.c")));
    let kernels = Input::read(&object).unwrap_or_else(|error| panic!("{error}"));
    let library = driver::parse_file(&source("kernels.ffi")).unwrap_or_else(|e| panic!("{e}"));
    for backend in backends() {
        let files = ["library.so", "another.so"].map(|name| folder.path().join(name));
        for file in &files {
            let kernels = vec![kernels.clone()];
            let request = Request { kernels, ..request(backend, Form::Shared) };
            request.write(&library, file).unwrap_or_else(|e| panic!("{e}"));
        }
        let mut python = Command::new("python3");
        python.arg(folder.path().join("main.py")).args(&files);
        let output = python.output().expect("use tests/run");
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, EXPECTED, "{backend}: {output:?}");
    }
}
