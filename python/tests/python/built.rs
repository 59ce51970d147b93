//! Declarations that C++ builds by `tvm_ffi_codegen/build.hpp`: the example, values and their texts, and the chapter.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{block, build, printed};

/// Errors of built declarations are at lines of the source that was compiled, `bad.mt`.
#[test]
fn the_example_of_values_in_cxx_prints_what_it_is_to_print() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = build(folder.path(), "g++", &["-std=c++17", "-Wextra"], "../examples/values.cc");
    let expected = "\
@\"net.mt\":1
net(
    /// Read.
    x: Tensor([n], float32),
    /// Read.
    `stream`: Tensor([n], float32)
) -> y: Tensor([n], float32)
    where n > 0
    = {
        @\"net.mt\":1
        let t = alloc Tensor([n], float32);
        @\"net.mt\":1
        mul(x.data, `stream`.data, t.data, n);
        @\"net.mt\":2
        let u = alloc Tensor([n], float32);
        @\"net.mt\":2
        add(t.data, x.data, u.data, n);
        @\"net.mt\":3
        mul(u.data, t.data, y.data, n);
    };
6 24 180
error: 13:9: bad.mt:2: bad: statement 2: `mul` is called as (ptr, f64, ptr, i64), but earlier as (ptr, ptr, ptr, i64)
  |         mul(t.data, 2.0, y.data, n);
  |         ^
ValueError: Mismatched `stream`.shape[0] on argument #1 when calling: `net(x: Tensor([n], float32), \
`stream`: Tensor([n], float32))`, expected 1 (= x.shape[0]) but got 2
";
    assert_eq!(printed(&program, &[]), expected);
}

/// Values of C++ print the texts that Rust prints for them, as GCC and clang compile them. The suite compares the texts
/// of whole libraries: tests/suite/built.rs.
#[test]
fn declarations_are_built_in_cxx() {
    let has_clang = Command::new("clang++-22").arg("--version").output().is_ok();
    let compilers = [("g++", "-std=c++17"), ("clang++-22", "-std=c++20")];
    for (compiler, standard) in &compilers[..1 + usize::from(has_clang)] {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let options = [standard, "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"];
        let program = build(folder.path(), compiler, &options, "tests/build.cc");
        let expected = "\
error: 6:9: demo.mt:7:3: thrice: statement 0: nothing determines the symbol `m`
  |         let r: int64 = triple(m);
  |         ^
6:9: demo.mt:7:3: thrice: statement 0: nothing determines the symbol `m`
  |         let r: int64 = triple(m);
  |         ^
";
        assert_eq!(printed(&program, &[]), expected);
    }
}

/// The chapter's declaration in C++ prints what the chapter says.
#[test]
fn the_chapter_for_python_is_true_in_cxx() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codegen/src/guide/python.md");
    let page = fs::read_to_string(page).expect("a page can be read");
    let code = block(&page, "cpp");
    let (head, body) = code.split_once("\n\n").expect("a line between headers and code");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let source = folder.path().join("page.cc");
    fs::write(&source, format!("{head}\nint main() {{\n{body}}}\n")).expect("it can be written");
    let program = build(folder.path(), "g++", &["-std=c++17"], &source.display().to_string());
    let (_, after) = page.split_once(code).expect("the block");
    assert_eq!(printed(&program, &[]), block(after, "text"));
}
