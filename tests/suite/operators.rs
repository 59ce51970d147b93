//! Operators of PyTorch, called by a program in C++ that plays PyTorch.

use std::ffi::c_void;
use std::path::Path;

use codegen::{Handlers, Library, TorchOperators};
use jit::Jit;
use libloading::os::unix::{Library as Loaded, RTLD_GLOBAL, RTLD_NOW};

use crate::cross::tools::Tools;
use crate::handlers::add_one;

fn library() -> Library {
    let text = include_str!("../hosts/torch.ffi");
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    library.with_torch(TorchOperators::new("ours"))
}

const OPTIONS: [&str; 5] = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC"];

/// Releases of PyTorch that the stand-in plays, as macros of its source: 2.10, 2.11, a later one.
const RELEASES: [&str; 3] = ["-DOLDER", "-UOLDER", "-DNEWER"];

/// Builds the stand-in for a release of PyTorch.
fn build_shim(tools: &Tools, release: &str, shim: &Path) {
    let shared = ["-shared", "-Wl,-soname,libtorch_cpu.so", release];
    let options = [&OPTIONS[..], &shared].concat();
    tools.compile(Some("torch_shim.cc"), &options, shim, &[]);
}

/// Builds the program, with a stand-in for a release of PyTorch, and a library with the object of each backend; returns
/// what the program prints.
fn outcomes_with(tools: &Tools, release: &str) -> Vec<(&'static str, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    build_shim(tools, release, &path("libtorch_cpu.so"));
    let program = [&OPTIONS[..], &["-rdynamic"]].concat();
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
    outcomes_with(tools, RELEASES[1])
}

#[test]
fn pytorch_calls_operators_with_its_stacks() {
    let all = outcomes(&Tools::here());
    insta::assert_snapshot!(all[0].1);
    for (backend, said) in &all {
        assert_eq!(*said, all[0].1, "{backend}");
    }
    // A later one has tags, and tells why it has refused something.
    let printed =
        ["PyTorch has not allocated a tensor, and has printed why", "PyTorch has printed why"];
    let told = |said: &str, text: &str| said.replace(text, "a reason of PyTorch");
    let expected = printed.into_iter().fold(all[0].1.clone(), |said, text| told(&said, text));
    for (backend, said) in outcomes_with(&Tools::here(), RELEASES[2]) {
        assert_eq!(said.replace("tags 1: 77, ", ""), expected, "{backend}");
        assert!(said.contains("tags 1: 77, def add_one("), "{backend}: {said}");
    }
}

/// PyTorch 2.10 takes no tensor that a host has made, which is an error.
#[test]
fn older_pytorch_takes_no_tensor_of_others() {
    for (backend, said) in outcomes_with(&Tools::here(), RELEASES[0]) {
        let refused = "PyTorch before 2.11 takes no tensor of others";
        assert_eq!(said.matches(refused).count(), 6, "{backend}: {said}");
        assert!(!said.contains("still alive"), "{backend}: {said}");
    }
}

/// A parameter or result for which PyTorch has no value is an error of the declaration that names it.
#[test]
fn errors_name_what_pytorch_has_no_value_for() {
    let rows = [
        "f(x: Map[str, int64]) -> None = {};",
        "f(x: Any) -> None = {};",
        "f(x: Function) -> None = {};",
        "f(x: Tensor) -> None = {};",
        "f(x: handle) -> None = {};",
        "f(x: Union[int64, float64]) -> None = {};",
        "f(x: Tuple[int64, str]) -> None = {};",
        "f(x: Array[Optional[int64]]) -> None = {};",
        "f(x: Array[dtype]) -> None = {};",
        "f(x: Tensor([n], float32), y: Tensor([n], float32, device=cuda), z: Tensor([n], float32, device=rocm)) -> None = {};",
        "f(x: Array[int64]) -> Any = { return x; };",
        "f(x: Tensor([n], float32)) -> Tensor([_], float32) = { return x; };",
        "f(xs: Array[Tensor([_], float32)]) -> Tensor([_], float32) = { return xs[0]; };",
        "f(x: Tensor([n], float32)) -> Tensor([_], float32) = { let r: Tensor([_], float32) = @g(x); return r; }; g(y: Tensor([n], float32)) -> Tensor([_], float32) = { let r: Tensor([_], float32) = @h([y]); return r; }; h(a: Array[Tensor([_], float32)]) -> Tensor([_], float32) = { return a[0]; };",
        "f(x: dtype) -> dtype = { return x; };",
        "f(x: dtype) -> Array[dtype] = { return [x]; };",
        "f(x: dtype) -> Tuple[int64, dtype] = { return [1, x]; };",
        "f(x: Array[int64]) -> Array[Array[int64]] = { return [x]; };",
        "f(x: int64) -> Tuple[int64, Tuple[int64]] = { return [x, [x]]; };",
        "f(x: bytes) -> bytes = { return x; };",
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

/// Code of this process has handlers and operators, too: the former by their symbols, the latter once they are asked
/// for.
#[test]
fn code_of_this_process_has_handlers_and_operators() {
    let library: Library = "f(n: int64) -> int64 = { return n; };".parse().unwrap();
    let library = library.with_torch(TorchOperators::new("here"));
    let compiled = Jit::new().unwrap().compile(&library).unwrap();
    let register = compiled.function("_torch").unwrap();
    let registered = || register.call(()).unwrap().text().ok().map(str::to_owned);
    assert!(register.call(()).unwrap().is_none());
    let folder = tempfile::tempdir().unwrap();
    let shim = folder.path().join("libtorch_cpu.so");
    build_shim(&Tools::here(), RELEASES[0], &shim);
    // SAFETY: the stand-in runs nothing when it is loaded, and stays loaded.
    let shim = unsafe { Loaded::open(Some(shim), RTLD_NOW | RTLD_GLOBAL) };
    std::mem::forget(shim.unwrap());
    for _ in 0..2 {
        assert_eq!(registered().as_deref(), Some("here:f"));
    }

    let library: Library = "f(n: int64, x: Tensor([n], int8)) -> None = {};".parse().unwrap();
    let library = library.with_handlers(Handlers::new("xla"));
    let compiled = Jit::new().unwrap().compile(&library).unwrap();
    let handler = compiled.external("xla_f").expect("it is the handler of f");
    let told = compiled.function("_xla_f").unwrap().call(()).unwrap();
    assert_eq!(<*mut c_void>::try_from(told).unwrap().cast_const(), handler);
}
