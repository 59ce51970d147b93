//! Frames of a failing call in a traceback of Python.

use std::process::Command;

use codegen::Library;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::route::build;

const DECLARATIONS: &str = "
    plain(n: int64) -> None = try status(n);
    @\"kernel.py\":12
    located(n: int64) -> None
        where n > 0
        = try status(n) errors { 2: KeyError \"two\" };
    /// A file whose name has blanks and a backslash.
    @\"C:\\\\my kernels\\\\é.py\":2147483647
    elsewhere() -> None = try status(1);
    @\"graph.py\":10
    graph(n: int64, f: Function, raise: ptr) -> Any
        = {
            if n == 1 { @\"graph.py\":11 @\"mini.nothere\"(n); }
            if n == 2 { @\"graph.py\":12 @(f)(n); }
            if n == 3 { @\"graph.py\":13 @located(0); }
            if n == 4 { @\"graph.py\":14 try status_and_error(n, raise); }
            if n == 5 { @\"graph.py\":15 let t = alloc Tensor([n, -n], float64); }
            if n == 6 { @\"graph.py\":16 let r: int8 = @(f)([n, \"text\"], Shape(n)); }
            if n == 7 { @(f)(n); }
            @\"graph.py\":17
            return n;
        };
    @\"graph.py\":20
    made(n: int64) -> Function
        = {
            if n == 1 {
                @\"graph.py\":21
                return function(m: int64) -> None where m > 0 { if m == 2 { raise KeyError m; } };
            }
            return function(m: int64) -> None where m > 0 {};
        };
";

/// Calls, and the class and frames of each error, without frames of native functions and of the script.
const ROWS: [(&str, &str); 17] = [
    ("m.plain(1)", "RuntimeError: <tvm-ffi-codegen>:0 in plain"),
    ("m.located(None)", "TypeError: kernel.py:12 in located"),
    ("m.located()", "TypeError: kernel.py:12 in located"),
    ("m.located(0)", "ValueError: kernel.py:12 in located"),
    ("m.located(1)", "RuntimeError: kernel.py:12 in located"),
    ("m.located(2)", "KeyError: kernel.py:12 in located"),
    ("m.elsewhere()", "RuntimeError: C:\\my kernels\\é.py:2147483647 in elsewhere"),
    ("m.graph(1, fails, raise_)", "RuntimeError: graph.py:11 in graph"),
    ("m.graph(2, fails, raise_)", "ValueError: graph.py:12 in graph"),
    ("m.graph(3, fails, raise_)", "ValueError: graph.py:13 in graph, kernel.py:12 in located"),
    ("m.graph(4, fails, raise_)", "KeyError: graph.py:14 in graph"),
    ("m.graph(5, fails, raise_)", "ValueError: graph.py:15 in graph"),
    ("m.graph(6, fails, raise_)", "ValueError: graph.py:16 in graph"),
    ("m.graph(7, fails, raise_)", "ValueError: graph.py:10 in graph"),
    ("m.made(1)(0)", "ValueError: graph.py:21 in function"),
    ("m.made(1)(2)", "KeyError: graph.py:21 in function"),
    ("m.made(2)(0)", "ValueError: graph.py:20 in function"),
];

#[test]
fn frames_name_the_function_or_its_location() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("library.so");
    let library: Library = DECLARATIONS.parse().expect("the declarations are valid");
    let script = host("frames.py");
    for backend in backends() {
        build(&library, backend, &path);
        let mut python = Command::new("python3");
        python.arg(&script).arg(&path).args(ROWS.map(|(call, _)| call));
        let output = python.output().unwrap_or_else(|error| panic!("python3: {error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let expected = ROWS.map(|(_, frames)| frames);
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{backend}: {output:?}");
    }
}
