//! Texts that users act on: kinds of errors, element types, classes of Python.

use std::process::Command;

use abi_spec::{error_kind, module_attribute};
use codegen::Library;

use crate::results;

const DECLARATIONS: &str = "
    opaque(x: Tensor([n], handle)) -> None = record_1(n);
    truth(b: bool) -> None = record_1(int64(b));
";

/// Expressions and their values. `odd` makes a tensor of an element type that NumPy lacks.
const ROWS: [(&str, &str); 2] = [
    (
        "error(lambda: m.opaque(odd(3, 8)))",
        "TypeError: Mismatched x.dtype on argument #0 when calling: `opaque(x: Tensor([n], handle))`, \
         expected handle but got dtype(3, 8, 1)",
    ),
    (
        "error(lambda: m.truth(object()))",
        "TypeError: Mismatched type of b on argument #0 when calling: `truth(b: bool)`, expected bool but got \
         ffi.OpaquePyObject (a Python object that is no FFI value; pass bool(x), int(x), tvm_ffi.device(str(x)) \
         or the like)",
    ),
];

#[test]
fn messages_say_what_to_do() {
    let library: Library = DECLARATIONS.parse().expect("the declarations are valid");
    results::hold(&library, &[], &ROWS);
}

/// The runtime's package is the source of the list.
#[test]
fn the_kinds_that_python_knows_are_these() {
    let mut python = Command::new("python3");
    python.args(["-c", "import tvm_ffi; print(*tvm_ffi.core.ERROR_NAME_TO_TYPE)"]);
    let output = python.output().unwrap_or_else(|error| panic!("python3: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), error_kind::PYTHON, "{output:?}");
}

#[test]
fn the_attributes_of_modules_are_these() {
    let script =
        "import tvm_ffi; print(*(name for name in dir(tvm_ffi.Module) if name[:2] != '__'))";
    let mut python = Command::new("python3");
    let output = python.args(["-c", script]).output();
    let output = output.unwrap_or_else(|error| panic!("python3: {error}"));
    let text = String::from_utf8_lossy(&output.stdout);
    let found: Vec<_> = text.split_whitespace().collect();
    assert_eq!(found, module_attribute::PYTHON, "{output:?}");
}

/// Warnings about functions whose names are attributes of every module in Python.
#[test]
fn functions_that_modules_hide_are_warned_of() {
    let text = "\
kinds() -> None = k();
/// Its documentation.
kind() -> None = try l() errors { 1: LostError \"a\" };
extern imports() -> None = { };
_move() -> None = { };
";
    let library: Library = text.parse().expect("the declarations are valid");
    let warnings = library.warnings().into_iter().map(|warning| warning.locate(text).to_string());
    let heads: Vec<String> =
        warnings.map(|text| text.lines().next().unwrap_or_default().to_owned()).collect();
    let of = |name: &str| {
        format!(
            "in Python every module has an attribute `{name}`, which is not this function: `module[\"{name}\"]` is [module-attribute]"
        )
    };
    assert_eq!(heads[0], format!("3:1: kind: {}", of("kind")));
    assert!(heads[1].starts_with("3:35: kind: error 0: "), "{}", heads[1]);
    assert_eq!(heads[2], format!("4:8: imports: {}", of("imports")));
    assert_eq!(heads[3], format!("5:1: _move: {}", of("_move")));
    assert_eq!(heads.len(), 4, "{heads:?}");
}

/// Warnings about kinds of errors that Python does not know, with their positions.
#[test]
fn unknown_kinds_are_warned_of() {
    let text = "\
good() -> None = try k() errors { 1: ValueError \"a\", _: MemoryError \"b\" };
bad() -> None = try k() errors { 1: ValueError \"a\", 2: DeviceError \"b\" };
body(n: int64) -> None = {
    if n > 0 { try k() errors { _: LostError \"c\" }; }
    raise StopIteration \"d\";
};
";
    let library: Library = text.parse().expect("the declarations are valid");
    let warnings = library.warnings().into_iter().map(|warning| warning.locate(text).to_string());
    let heads: Vec<String> =
        warnings.map(|text| text.split(", which").next().unwrap_or_default().to_owned()).collect();
    let expected = [
        "2:53: bad: error 1: Python has no exception for `DeviceError`",
        "4:16: body: statement 1: Python has no exception for `LostError`",
        "5:5: body: statement 2: Python has no exception for `StopIteration`",
    ];
    assert_eq!(heads, expected);
}
