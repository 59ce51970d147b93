//! Values of expressions in Python, which `results.py` evaluates.

use std::process::Command;

use codegen::Library;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::route::build;

/// Checks that the expressions have these values on every backend. The options are those of `results.py`.
pub(crate) fn hold(library: &Library, options: &[&str], rows: &[(&str, &str)]) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("library.so");
    let script = host("results.py");
    for backend in backends() {
        build(library, backend, &path);
        let mut python = Command::new("python3");
        python.arg(&script).args(options).arg(&path);
        python.args(rows.iter().map(|(expression, _)| expression));
        let output = python.output().unwrap_or_else(|error| panic!("python3: {error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let expected: Vec<&str> = rows.iter().map(|(_, value)| *value).collect();
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{backend}: {output:?}");
    }
}
