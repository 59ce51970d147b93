//! Handlers of XLA, called by a program in C that plays XLA.

use codegen::{Handlers, Library};
use driver::Form;
use tvm_ffi_codegen_tests::route::request;

use crate::cross::tools::Tools;

fn library() -> Library {
    let text = include_str!("../hosts/xla.ffi");
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    library.with_handlers(Handlers::new(Handlers::PREFIX))
}

/// Returns what the program prints with the object of each backend.
pub(crate) fn outcomes(tools: &Tools) -> Vec<(&'static str, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-c"];
    tools.compile(Some("xla.c"), &options, &path("program.o"), &[]);
    let outcome = |backend| {
        tools.emit(backend, &library(), &path("host.o"));
        let parts = [path("program.o"), path("host.o"), tools.library()];
        tools.compile(None, &[], &path("program"), &parts.each_ref().map(|part| &**part));
        (backend, tools.run(&path("program"), &[]))
    };
    tools.backends().into_iter().map(outcome).collect()
}

#[test]
fn xla_calls_handlers_with_its_frames() {
    let all = outcomes(&Tools::here());
    insta::assert_snapshot!(all[0].1);
    for (backend, said) in &all {
        assert_eq!(*said, all[0].1, "{backend}");
    }
}

/// A tensor of XLA's memory that a kernel keeps, and the closure of a program, may outlive their library: they are
/// released when no code of it is loaded.
#[test]
fn a_library_may_go_before_what_its_handlers_have_made() {
    let tools = Tools::here();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = ["-std=gnu11", "-DUNLOADED", "-rdynamic"];
    tools.compile(Some("xla.c"), &options, &path("program"), &[&tools.library()]);
    let outcome = |backend| {
        tools.emit(backend, &library(), &path("host.o"));
        tools.compile(None, &["-shared"], &path("host.so"), &[&path("host.o")]);
        tools.run(&path("program"), &[&path("host.so")])
    };
    let all: Vec<String> = tools.backends().into_iter().map(outcome).collect();
    insta::assert_snapshot!(all[0]);
    assert!(all.iter().all(|said| *said == all[0]), "{all:?}");
}

/// A parameter or result for which a call of XLA has no value is an error of the declaration that names it.
#[test]
fn errors_name_what_xla_has_no_value_for() {
    let rows = [
        "f(x: Array[str]) -> None = {};",
        "f(x: Optional[Tensor([n], float32)]) -> None = {};",
        "f(x: Tensor([n], float32), y: Tensor([n], float32, device=cuda)) -> None = {};",
        "f(x: Tensor([n], float32)) -> y: Tensor([n], float32, device=cuda) = k(x.data, y.data);",
        "f(x: Tensor([n], float32)) -> int64 = { return n; };",
        "f(x: Tensor([n], float32), *rest: Any) -> None = {};",
        "f(m: Map[str, int64]) -> None = {};",
        "f(d: Device) -> None = {};",
        "f() -> None = xla_f();",
        "f() -> None = {}; _xla_f() -> None = {};",
        "`a.b`() -> None = {};",
        "g() -> None = {};",
        "f(k: int64) -> Function = { if k == 1 { return function () -> None {}; } return function () -> None {}; };",
        "f(k: int64) -> Any = { for i in 0..k { return i; } return function () -> None {}; };",
        "f() -> Function = { let g = function () -> None {}; return g; };",
        "f(x: Tensor([n], float32)) -> Function = { return function () -> None {}; };",
        "f(s: Stream) -> Function = { return function () -> None {}; };",
        "f(k: int64) -> Function = { return function (x: Array[str]) -> None {}; };",
        "f(k: int64) -> Function = { return function () -> int64 { return k; }; };",
        "f() -> Function = { return function () -> None {}; }; g() -> None = xla_f_instantiate();",
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
    assert_eq!(add_one(&without), add_one(&with));
}

/// Returns the host IR of the wrapper of `add_one`, the first function of a library.
pub(crate) fn add_one(library: &Library) -> String {
    let bytes = request("cranelift", Form::Ir).emit(library).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let start = text.find("export func @__tvm_ffi_add_one").unwrap();
    let end = text[start..].find("\n}\n").unwrap();
    text[start..start + end].to_owned()
}
