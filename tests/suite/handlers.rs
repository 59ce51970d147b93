//! Handlers of XLA, called by a program in C that plays XLA.

use std::path::Path;
use std::process::Command;

use codegen::{Handlers, Library};
use driver::Form;
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::request;

fn library() -> Library {
    let text = include_str!("../hosts/xla.ffi");
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    library.with_handlers(Handlers::new(Handlers::PREFIX))
}

/// Links the program with an object of the backend, and runs it.
fn run(folder: &Path, backend: &str) -> String {
    let path = |name: &str| folder.join(name);
    std::fs::write(path("host.o"), request(backend, Form::Object).emit(&library()).unwrap())
        .unwrap();
    let libraries = config("--libdir");
    let mut link = Command::new("cc");
    link.arg(path("program.o"))
        .arg(path("host.o"))
        .arg(Path::new(&libraries).join("libtvm_ffi.so"));
    link.arg(format!("-Wl,-rpath,{libraries}"));
    cc(link.arg("-o").arg(path("program")));
    let output = Command::new(path("program")).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{backend}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn xla_calls_handlers_with_its_frames() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = Command::new("cc");
    program.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-c"]).arg(host("xla.c"));
    for include in ["--includedir", "--dlpack-includedir"] {
        program.arg("-isystem").arg(config(include));
    }
    cc(program.arg("-o").arg(folder.path().join("program.o")));
    let [first, others @ ..] = backends() else { unreachable!("there is a backend") };
    let expected = run(folder.path(), first);
    insta::assert_snapshot!(expected);
    for backend in others {
        assert_eq!(run(folder.path(), backend), expected, "{backend}");
    }
}

/// A parameter or result for which a call of XLA has no value is an error of the declaration that names it.
#[test]
fn errors_name_what_xla_has_no_value_for() {
    let rows = [
        "f(x: Array[int64]) -> None = {};",
        "f(x: Optional[Tensor([n], float32)]) -> None = {};",
        "f(x: Tensor([n], float32), y: Tensor([n], float32, device=cuda)) -> None = {};",
        "f(x: Tensor([n], float32)) -> y: Tensor([n], float32, device=cuda) = k(x.data, y.data);",
        "f(x: Tensor([n], float32)) -> int64 = { return n; };",
        "f(x: Tensor([n], float32), *rest: Any) -> None = {};",
        "f(s: Shape([n])) -> None = {};",
        "f(d: Device) -> None = {};",
        "f() -> None = xla_f();",
        "f() -> None = {}; _xla_f() -> None = {};",
        "`a.b`() -> None = {};",
        "g() -> None = {};",
    ];
    let said = rows.map(|text| {
        let handlers = Handlers::new("xla").of([if text.starts_with('`') { "a.b" } else { "f" }]);
        let library = text.parse::<Library>().unwrap_or_else(|error| panic!("{text}: {error}"));
        let error = library.with_handlers(handlers).validate().unwrap_err();
        format!("{text}\n    {error}\n")
    });
    insta::assert_snapshot!(said.concat());
}

/// A library is what it was but for its handlers.
#[test]
fn functions_of_the_ffi_stay_as_they_are() {
    let (mut without, with) = (library(), library());
    without.handlers = None;
    let text = |library: &Library| {
        let bytes = request("cranelift", Form::Ir).emit(library).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let start = text.find("export func @__tvm_ffi_add_one").unwrap();
        let end = text[start..].find("\n}\n").unwrap();
        text[start..start + end].to_owned()
    };
    assert_eq!(text(&without), text(&with));
}
