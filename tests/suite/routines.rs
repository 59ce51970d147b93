//! Libraries with routines of their own and with prebuilt ones, which differ only in size.

use std::fs;
use std::path::Path;
use std::process::Command;

use codegen::Library;
use driver::{Form, Request, Routines};
use tvm_ffi_codegen_tests::route::{BACKENDS, request};

const DECLARATION: &str =
    "sum(x: Tensor([n], float32), y: Tensor([n], float32)) -> int64 = { return n + n; };";

const SCRIPT: &str = "
import sys, numpy, tvm_ffi
x, m = numpy.zeros(5, 'float32'), tvm_ffi.load_module(sys.argv[1])
print(m.sum(x, x))
try: m.sum(x, x[:4])
except ValueError as error: print(error)
";

const PRINTED: &str = "\
10
Mismatched y.shape[0] on argument #1 when calling: \
`sum(x: Tensor([n], float32), y: Tensor([n], float32))`, expected 5 (= x.shape[0]) but got 4
";

/// Loads and calls a library in a process of its own; returns the size of the library.
fn size(library: &Library, request: &Request, path: &Path) -> u64 {
    request.write(library, path).unwrap_or_else(|error| panic!("{error}"));
    let python = Command::new("python3").args(["-c", SCRIPT]).arg(path).output();
    let output = python.unwrap_or_else(|error| panic!("python3: {error}; use tests/run"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), PRINTED, "{output:?}");
    fs::metadata(path).expect("it was loaded").len()
}

#[test]
fn libraries_with_their_own_are_smaller_and_say_the_same() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("library.so");
    let library: Library = DECLARATION.parse().expect("the declaration is valid");
    for backend in BACKENDS {
        let [embedded, linked] = [Routines::Embedded, Routines::Linked].map(|routines| {
            let routines = Some(routines);
            size(&library, &Request { routines, ..request(backend, Form::Shared) }, &path)
        });
        assert!(embedded < linked, "{backend}: {embedded}, {linked}");
    }
}
