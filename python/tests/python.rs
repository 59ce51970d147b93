//! The shared object as Python has it: the package, its tests and its example, in an unoptimised build.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The shared object, which cargo has built beside this program.
fn library() -> PathBuf {
    let program = env::current_exe().expect("a program has a path");
    let folder = program.parent().expect("a program is in a folder");
    let file =
        format!("{}tvm_ffi_codegen_python{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    folder.join(file)
}

/// What Python prints, for these arguments, with the package.
fn python(arguments: &[&str]) -> String {
    let mut command = Command::new("python3");
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    command.env("PYTHONPATH", env!("CARGO_MANIFEST_DIR")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("TVM_FFI_CODEGEN_LIBRARY", library());
    let output = command.output().unwrap_or_else(|error| panic!("python3: {error}; use tests/run"));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {}\n{printed}\n{errors}", output.status);
    printed
}

#[test]
fn the_package_does_what_its_tests_say() {
    let printed = python(&["tests/run.py"]);
    assert!(printed.ends_with("\n0 failed\n"), "{printed}");
    assert!(printed.lines().count() > 20, "{printed}");
}

#[test]
fn the_example_prints_what_it_is_to_print() {
    let expected = "\
[1. 2. 3. 4. 5.]
Mismatched y.shape[0] on argument #1 when calling: `add_one(x: Tensor([n], float32), \
y: Tensor([n], float32))`, expected 5 (= x.shape[0]) but got 4
";
    assert_eq!(python(&["examples/add_one.py"]), expected);
}

/// What `tvm-ffi-config` says of the runtime.
fn config(what: &str) -> String {
    let output = Command::new("tvm-ffi-config").arg(what).output();
    let output = output.unwrap_or_else(|error| panic!("tvm-ffi-config: {error}; use tests/run"));
    String::from_utf8(output.stdout).expect("a path").trim().to_owned()
}

/// The compiler in C++ of the examples needs a compiler of LLVM's text, which comes with LLVM 22.
#[test]
fn a_compiler_in_cxx_uses_the_library() {
    if Command::new("clang-22").arg("--version").output().is_err() {
        assert!(env::var_os("CI").is_none(), "there is no clang-22");
        return eprintln!("left out: there is no clang-22");
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = folder.path().join("compiler");
    let libraries = config("--libdir");
    let mut build = Command::new("g++");
    build.args([
        "-std=c++17",
        "-Wall",
        "-Wno-unused-parameter",
        "-Werror",
        "../examples/compiler.cc",
    ]);
    build.current_dir(env!("CARGO_MANIFEST_DIR")).arg("-o").arg(&program);
    build.arg(format!("-isystem{}", config("--includedir")));
    build.arg(format!("-isystem{}", config("--dlpack-includedir")));
    build.arg(format!("-L{libraries}")).arg("-ltvm_ffi").arg(format!("-Wl,-rpath,{libraries}"));
    let built = build.output().expect("g++ runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let output = Command::new(&program).arg(library()).arg("clang-22").output().expect("it runs");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = "\
blend(x: Tensor([n], float32), y: Tensor([n], float32)) -> out: Tensor([n], float32) \
= blend_kernel(x.data, y.data, out.data, n);
3.75 3.5 3.25 3
ValueError: Mismatched y.shape[0] on argument #1 when calling: `blend(x: Tensor([n], float32), \
y: Tensor([n], float32))`, expected 1 (= x.shape[0]) but got 2
";
    assert_eq!(printed, expected, "{}", String::from_utf8_lossy(&output.stderr));
}

/// Neither the shared object nor a compiler is needed yet.
#[test]
fn importing_the_package_loads_nothing() {
    let script = "import tvm_ffi_codegen; print(open('/proc/self/maps').read().count('codegen'))";
    assert_eq!(python(&["-c", script]), "0\n");
}
