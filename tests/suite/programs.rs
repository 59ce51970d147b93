//! Programs that call out: functions of the registry, callbacks into Python, threads.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use codegen::Library;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::route::build;

const DECLARATIONS: &str = r#"
    by_name(n: int64) -> int64 = { let r: int64 = @"test.programs.double"(n); return r + 1; };
    by_name_in_loop(n: int64) -> int64
        = { for i in 0..n { let r: int64 = @"test.programs.double"(i); if r > 100 { return r; } } return -1; };
    missing() -> None = { @"test.programs.missing"(); };
    text(n: int64) -> str = { let s: str = @"test.programs.text"(n); return s; };
    wrong_text(n: int64) -> int64 = { let s: int64 = @"test.programs.text"(n); return s; };
    echo(n: int64, f: Function) -> Any
        = { let r: Any = @"test.programs.echo"(n, 0.5, None, True, "x", [n, [f, "a text of the heap"]], Shape(n, 2)); return r; };
    drops(f: Function) -> None = { @"test.programs.echo"([f, [f]]); };
    callback(f: Function, n: int64) -> int64 = { let r: int64 = @(f)(n, "x", None); return r; };
    recursion(n: int64) -> int64 = { if n < 1 { return 0; } let r: int64 = @recursion(n - 1); return r + n; };
    all_kinds(i: int8, u: uint64, b: bool, x: float64, s: str, y: bytes, d: dtype, v: Device, t: Tensor([...], float32), a: Array[Any], o: Optional[int64], p: ptr) -> Any
        = { let r: Any = @"test.programs.echo"(i, u, b, x, s, y, d, v, t.ndim, a, o); return r; };
    give_tensor(t: Tensor([...], float32)) -> Any = { return t; };
    located(n: int64) -> None = { @"kernel.py":7 if n > 0 { @"kernel.py":8 raise ValueError "here"; } };
"#;

/// Statements and their output.
const ROWS: [(&str, &str); 26] = [
    ("m.by_name(4)", "9"),
    ("m.by_name(5)", "11"),
    ("m.by_name(13)", "KeyError: \"'thirteen'\""),
    ("m.by_name_in_loop(10)", "-1"),
    ("m.by_name_in_loop(60)", "KeyError: \"'thirteen'\""),
    (
        "m.missing()",
        "RuntimeError: Cannot find function test.programs.missing in the imported modules or global registry.",
    ),
    (
        "m.missing()",
        "RuntimeError: Cannot find function test.programs.missing in the imported modules or global registry.",
    ),
    ("m.text(3)", "a text of the heap, number 3"),
    (
        "m.wrong_text(3)",
        "TypeError: Mismatched type of result of @\"test.programs.text\" when calling: `wrong_text(n: int64)`, expected int64 but got str",
    ),
    ("r = m.echo(3, lambda: None)", ""),
    (
        "list(r)[:5], list(r[5])[0], r[5][1][1], list(r[6])",
        "([3, 0.5, None, True, 'x'], 3, 'a text of the heap', [3, 2])",
    ),
    ("r = None", ""),
    ("alive(lambda f: m.echo(1, f))", "False"),
    ("alive(lambda f: m.drops(f))", "False"),
    ("m.callback(lambda n, s, z: n + len(s), 4)", "5"),
    (
        "m.callback(lambda n, s, z: s, 4)",
        "TypeError: Mismatched type of result of @(f) when calling: `callback(f: Function, n: int64)`, expected int64 but got str",
    ),
    ("m.callback(lambda n, s, z: 1 / 0, 4)", "RuntimeError: division by zero"),
    ("m.callback(back(m), 4)", "8"),
    ("m.recursion(200)", "20100"),
    ("parallel(8, lambda i: m.by_name(20 + i))", "[41, 43, 45, 47, 49, 51, 53, 55]"),
    (
        "list(m.all_kinds(-3, 7, 1, 2, 's', b'y', 'float32', tvm_ffi.device('cpu'), numpy.zeros((2, 3), 'float32'), [1], None, None))",
        "[-3, 7, True, 2.0, 's', b'y', dtype('float32'), device(type='cpu', index=0), 2, (1,), None]",
    ),
    (
        "list(m.all_kinds(-3, 2**63, 1, 2, 's', b'y', 'float32', tvm_ffi.device('cpu'), numpy.zeros((2, 3), 'float32'), [1], None, None))[:2]",
        "[-3, 9223372036854775808]",
    ),
    ("t = tvm_ffi.from_dlpack(numpy.arange(3, dtype='float32'))", ""),
    ("numpy.from_dlpack(m.give_tensor(t)).tolist()", "[0.0, 1.0, 2.0]"),
    ("m.located(0)", "None"),
    ("m.located(1)", "ValueError: here"),
];

#[test]
fn programs_call_out() {
    call_out(DECLARATIONS);
}

/// A routine makes the calls if a function has many.
#[test]
fn programs_of_many_calls_call_out() {
    let many = r#"@"test.programs.missing"(); "#.repeat(300);
    call_out(&DECLARATIONS.replace("= { ", &format!("= {{ if 1 < 0 {{ {many}}} ")));
}

fn call_out(declarations: &str) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let library: Library = declarations.parse().unwrap_or_else(|error| panic!("{error}"));
    for backend in backends() {
        let path = folder.path().join(format!("{backend}.so"));
        build(&library, backend, &path);
        let lines = run(&path, &ROWS.map(|(statement, _)| statement));
        for ((statement, expected), found) in ROWS.iter().zip(&lines) {
            assert_eq!(found, *expected, "{backend}: {statement}");
        }
        assert_eq!(lines.len(), ROWS.len(), "{backend}");
    }
}

fn run(path: &Path, statements: &[&str]) -> Vec<String> {
    let script = host("programs.py");
    let mut python = Command::new("python3");
    python.arg(script).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = python.spawn().unwrap_or_else(|error| panic!("python3: {error}"));
    let input = serde_json::to_string(statements).expect("texts are JSON");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("Python reads it");
    let output = child.wait_with_output().expect("Python ends");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}
