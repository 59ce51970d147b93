//! Tests of the text: what it says, and that compilers have nothing to say to it.

use std::fs;
use std::process::Command;

use codegen::ir::Module;
use codegen::{Library, Options, lower};
use tvm_ffi_codegen_c::C;

use crate::jit::succeed;
use crate::{objects, operators, sample};

/// Compiles the text by all compilers that are here, as C and as C++; each warning is an error.
pub(crate) fn check(module: &Module) {
    let text = C::default().text(module).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.c");
    fs::write(&path, &text).unwrap();
    let dialects = [("cc", ["-xc", "-std=c11"]), ("c++", ["-xc++", "-std=c++17"])];
    let clang = objects::clang().map(|clang| clang.display().to_string());
    let clang = clang.iter().map(|clang| (clang.as_str(), ["-xc", "-std=c11"]));
    for (compiler, dialect) in dialects.into_iter().chain(clang) {
        let mut command = Command::new(compiler);
        command.args(dialect).args(["-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]);
        succeed(command.arg("-o").arg(folder.path().join("host.o")).arg(&path));
    }
}

fn lowered(text: &str) -> Module {
    let library: Library = text.parse().unwrap();
    lower(&library.resolve().unwrap(), &Options::default())
}

#[test]
fn compilers_are_silent() {
    check(&sample::module());
    operators::modules().iter().for_each(check);
    check(&lowered(
        "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one(x.data, y.data, n);",
    ));
    check(&lowered(
        "f(a: uint64, x: float64) -> float64 where a >= 0, x < 0.1 = { return x * 2.5 + 1.0; };",
    ));
}

/// Clang knows Microsoft's dialect, where it finds no headers but its own.
#[test]
fn microsofts_dialect_is_spoken() {
    let Some(clang) = objects::clang() else { return };
    let atomics = "f(n: int64) -> None = { @\"a.name\"(n); };";
    for module in [sample::module(), lowered(atomics)] {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("host.c"), C::default().text(&module).unwrap()).unwrap();
        let mut command = Command::new(&clang);
        command.args(["--driver-mode=cl", "--target=x86_64-pc-windows-msvc", "-Xclang"]);
        command.args(["-ffreestanding", "-W4", "-WX", "-c"]).current_dir(folder.path());
        succeed(command.args(["-Fohost.obj", "host.c"]));
    }
}

#[test]
fn the_text_is_the_same_every_time() {
    let module = sample::module();
    assert_eq!(C::default().text(&module), C::default().text(&module));
}

/// Checks are guards, which leave the rest where it is.
#[test]
fn branches_nest_where_blocks_do() {
    let text = C::default().text(&lowered(
        "f(n: int64) -> int64 = { if n > 3 { return n; } for i in 0..n { k(i); } return 0; };",
    ));
    let text = text.unwrap();
    assert!(text.contains("    while (i < n) {\n"), "{text}");
    assert!(text.contains("    if (n > 3) {\n"), "{text}");
}
