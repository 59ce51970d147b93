//! What a traceback in Python shows of a failing call.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use tvm_ffi_codegen_tests::route::{BACKENDS, build};

const DECLARATIONS: &str = "
    plain(n: int64) -> None = try status(n);
    @\"kernel.py\":12
    located(n: int64) -> None
        where n > 0
        = try status(n) errors { 2: KeyError \"two\" };
    /// A file whose name has blanks and a backslash.
    @\"C:\\\\my kernels\\\\é.py\":2147483647
    elsewhere() -> None = try status(1);
";

/// Calls, and the class and frames of each error.
const ROWS: [(&str, &str); 7] = [
    ("m.plain(1)", "RuntimeError: <tvm-ffi-codegen>:0 in plain"),
    ("m.located(None)", "TypeError: kernel.py:12 in located"),
    ("m.located()", "TypeError: kernel.py:12 in located"),
    ("m.located(0)", "ValueError: kernel.py:12 in located"),
    ("m.located(1)", "RuntimeError: kernel.py:12 in located"),
    ("m.located(2)", "KeyError: kernel.py:12 in located"),
    ("m.elsewhere()", "RuntimeError: C:\\my kernels\\é.py:2147483647 in elsewhere"),
];

#[test]
fn frames_name_the_function_or_its_location() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("library.so");
    let library: Library = DECLARATIONS.parse().expect("the declarations are valid");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("frames.py");
    for backend in BACKENDS {
        build(&library, backend, &path);
        let mut python = Command::new("python3");
        python.arg(&script).arg(&path).args(ROWS.map(|(call, _)| call));
        let output = python.output().unwrap_or_else(|error| panic!("python3: {error}"));
        let text = String::from_utf8_lossy(&output.stdout);
        let expected = ROWS.map(|(_, frames)| frames);
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{backend}: {output:?}");
    }
}
