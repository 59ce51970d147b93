//! Operators of PyTorch, called by a program in C++ that plays PyTorch.

use std::path::Path;
use std::process::Command;

use codegen::{Library, TorchOperators};
use driver::Form;
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::request;

fn library() -> Library {
    let text = include_str!("../hosts/torch.ffi");
    let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    library.with_torch(TorchOperators::new("ours"))
}

/// Returns the command that compiles files of C++ of the folder of hosts.
fn compiler(out: &Path) -> Command {
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-o"]).arg(out);
    for include in ["--includedir", "--dlpack-includedir"] {
        command.arg("-isystem").arg(config(include));
    }
    command
}

/// Links an object of the backend into a library, and runs the program with it.
fn run(folder: &Path, backend: &str, program: &str) -> String {
    let path = |name: &str| folder.join(name);
    let object = request(backend, Form::Object).emit(&library()).unwrap();
    std::fs::write(path("host.o"), object).unwrap();
    let mut link = Command::new("cc");
    link.arg("-shared").arg(path("host.o")).arg("-o").arg(path("host.so"));
    link.arg(Path::new(&config("--libdir")).join("libtvm_ffi.so"));
    cc(&mut link);
    let output = Command::new(path(program)).arg(path("host.so")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && output.stderr.is_empty(), "{backend}: {said}\n{output:?}");
    said.into_owned()
}

/// Builds the program with a stand-in for PyTorch: as of 2.10, or a newer one.
fn build(folder: &Path, name: &str, newer: bool) {
    let place = folder.join(name);
    std::fs::create_dir(&place).unwrap();
    let shim = place.join("libtorch_cpu.so");
    let mut made = compiler(&shim);
    made.args(newer.then_some("-DNEWER"));
    cc(made.args(["-shared", "-Wl,-soname,libtorch_cpu.so"]).arg(host("torch_shim.cc")));
    let libraries = config("--libdir");
    let mut program = compiler(&place.join("program"));
    program.arg(host("torch.cc")).arg(&shim).arg(Path::new(&libraries).join("libtvm_ffi.so"));
    program.arg("-rdynamic").arg(format!("-Wl,-rpath,{libraries}"));
    cc(program.arg(format!("-Wl,-rpath,{}", place.display())));
}

#[test]
fn pytorch_calls_operators_with_its_stacks() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), "oldest", false);
    build(folder.path(), "newer", true);
    let [first, others @ ..] = backends() else { unreachable!("there is a backend") };
    let expected = run(folder.path(), first, "oldest/program");
    insta::assert_snapshot!(expected);
    let newer = run(folder.path(), first, "newer/program");
    assert_eq!(newer.replace("tags 1: 77, ", ""), expected);
    assert!(newer.contains("tags 1: 77, def add_one("), "{newer}");
    for backend in others {
        assert_eq!(run(folder.path(), backend, "oldest/program"), expected, "{backend}");
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
    let text = |library: &Library| {
        let bytes = request("cranelift", Form::Ir).emit(library).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let start = text.find("export func @__tvm_ffi_add_one").unwrap();
        let end = text[start..].find("\n}\n").unwrap();
        text[start..start + end].to_owned()
    };
    assert_eq!(text(&without), text(&with));
}
