//! Operators of PyTorch, called by a program in C++ that plays PyTorch.

use codegen::{Library, TorchOperators};

use crate::cross::tools::Tools;
use crate::handlers::add_one;

fn library() -> Library {
    let text = include_str!("../hosts/torch.ffi");
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    library.with_torch(TorchOperators::new("ours"))
}

/// Builds the program, with a stand-in for PyTorch as of 2.10 or with `newer` for a later one, and a library with the object
/// of each backend; returns what the program prints.
fn outcomes_with(tools: &Tools, newer: bool) -> Vec<(&'static str, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let options = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC"];
    let shared = ["-shared", "-Wl,-soname,libtorch_cpu.so"];
    let shim = [&options[..], &shared, if newer { &["-DNEWER"] } else { &[] }].concat();
    tools.compile(Some("torch_shim.cc"), &shim, &path("libtorch_cpu.so"), &[]);
    let program = [&options[..], &["-rdynamic"]].concat();
    let parts = [path("libtorch_cpu.so"), tools.library()];
    let parts = parts.each_ref().map(|part| &**part);
    tools.compile(Some("torch.cc"), &program, &path("program"), &parts);
    let outcome = |backend| {
        tools.emit(backend, &library(), &path("host.o"));
        let parts = [path("host.o"), tools.library()];
        let parts = parts.each_ref().map(|part| &**part);
        tools.compile(None, &["-shared"], &path("host.so"), &parts);
        (backend, tools.run(&path("program"), &[&path("host.so")]))
    };
    tools.backends().into_iter().map(outcome).collect()
}

/// Returns what the program prints with the object of each backend.
pub(crate) fn outcomes(tools: &Tools) -> Vec<(&'static str, String)> {
    outcomes_with(tools, false)
}

#[test]
fn pytorch_calls_operators_with_its_stacks() {
    let all = outcomes(&Tools::here());
    insta::assert_snapshot!(all[0].1);
    for (backend, said) in &all {
        assert_eq!(*said, all[0].1, "{backend}");
    }
    for (backend, said) in outcomes_with(&Tools::here(), true) {
        assert_eq!(said.replace("tags 1: 77, ", ""), all[0].1, "{backend}");
        assert!(said.contains("tags 1: 77, def add_one("), "{backend}: {said}");
    }
}

/// A parameter or result for which PyTorch has no value is an error of the declaration that names it.
#[test]
fn errors_name_what_pytorch_has_no_value_for() {
    let rows = [
        "f(x: Map[str, int64]) -> None = {};",
        "f(x: Any) -> None = {};",
        "f(x: Function) -> None = {};",
        "f(x: handle) -> None = {};",
        "f(x: Union[int64, float64]) -> None = {};",
        "f(x: Tuple[int64, str]) -> None = {};",
        "f(x: Array[Optional[int64]]) -> None = {};",
        "f(x: Array[dtype]) -> None = {};",
        "f(x: Tensor([n], float32), y: Tensor([n], float32, device=cuda), z: Tensor([n], float32, device=rocm)) -> None = {};",
        "f(x: Array[int64]) -> Any = { return x; };",
        "f(x: dtype) -> dtype = { return x; };",
        "f(x: Tensor([n], float32), *rest: Any) -> None = {};",
        "f(`in`: int64) -> None = {};",
        "f(t: str = \"größer\") -> None = {};",
        "f(t: dtype = \"int8\") -> None = {};",
        "f() -> None = {}; _torch() -> None = {};",
        "`a.b`() -> None = {};",
        "raise() -> None = {};",
        "g() -> None = {};",
    ];
    let said = rows.map(|text| {
        let name = text.split_once('(').unwrap().0.trim_matches('`');
        let operators = TorchOperators::new("ours").of([if name == "g" { "f" } else { name }]);
        let library = text.parse::<Library>().unwrap_or_else(|error| panic!("{text}: {error}"));
        let error = library.with_torch(operators).validate().unwrap_err();
        format!("{text}\n    {error}\n")
    });
    insta::assert_snapshot!(said.concat());
}

/// A library is what it was but for its operators.
#[test]
fn functions_of_the_ffi_stay_as_they_are() {
    let (mut without, with) = (library(), library());
    without.torch = None;
    assert_eq!(add_one(&without), add_one(&with));
}
