//! What the examples print.

#[cfg(feature = "aot")]
use std::path::Path;
use std::process::Command;

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the example starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the output is text")
}

#[test]
fn quickstart() {
    let expected = "\
add_one([1.0, 2.0, 3.0]) = [2.0, 3.0, 4.0]
TypeError: Mismatched y.dtype on argument #1 when calling: \
`add_one(x: Tensor([n], float32), y: Tensor([n], float32))`, expected float32 but got float64
";
    let printed = output(&mut Command::new(env!("CARGO_BIN_EXE_quickstart")));
    let (runtime, rest) = printed.split_once('\n').expect("several lines");
    assert!(runtime.starts_with("runtime: "), "{runtime}");
    assert_eq!(rest, expected);
}

/// On a machine with nothing but Rust.
#[test]
fn quickstart_without_a_runtime() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quickstart"));
    command.env_clear().env("PATH", "");
    let printed = output(&mut command);
    assert!(printed.starts_with("runtime: built in\n"), "{printed}");
    assert_eq!(printed.lines().count(), 3);
}

#[cfg(feature = "aot")]
#[test]
fn aot() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [source, kernel, library] = ["k.c", "k.o", "add_one.so"].map(|name| folder.join(name));
    let text =
        "void add_one_kernel(const float *x, float *y, long n) { (void)x, (void)y, (void)n; }";
    std::fs::write(&source, text).expect("the file can be written");
    output(Command::new("cc").args(["-fPIC", "-c"]).arg(source).arg("-o").arg(&kernel));
    let printed = output(Command::new(env!("CARGO_BIN_EXE_aot")).arg(kernel).arg(&library));
    assert!(printed.starts_with("object: ELF true\n"), "{printed}");
    assert!(printed.contains("add_one"), "{printed}");
    assert!(library.exists());
}

/// What the kernel that each native builder wrote computes, and how a wrong call ends.
#[cfg(any(feature = "cranelift", feature = "llvm"))]
const CALLS: &str = "\
add_one with 3 elements of y: status 0
add_one with 2 elements of y: status -1
add_one([1.0, 2.0, 3.0]) = [2.0, 3.0, 4.0]
";

#[cfg(feature = "cranelift")]
#[test]
fn cranelift() {
    assert_eq!(output(&mut Command::new(env!("CARGO_BIN_EXE_cranelift"))), CALLS);
}

#[cfg(feature = "cranelift")]
#[test]
fn jit() {
    let expected = "\
HostFunction: add_one([1.0, 2.0, 3.0]) = [2.0, 3.0, 4.0]
ffi.Function: once more, [3.0, 4.0, 5.0]
";
    let printed = output(&mut Command::new(env!("CARGO_BIN_EXE_jit")));
    let (kernel, rest) = printed.split_once('\n').expect("several lines");
    assert!(kernel.starts_with("kernel: (i64, i64, i64)"), "{kernel}");
    assert_eq!(rest, expected);
}

#[cfg(feature = "llvm")]
#[test]
fn llvm() {
    let expected = format!("kernel inlined: true\n{CALLS}");
    assert_eq!(output(&mut Command::new(env!("CARGO_BIN_EXE_llvm"))), expected);
}

#[cfg(feature = "mlir")]
#[test]
fn mlir() {
    let expected = format!("kernel inlined: true\n{CALLS}");
    assert_eq!(output(&mut Command::new(env!("CARGO_BIN_EXE_mlir"))), expected);
}

/// No check, no `TVMFFIAny` and no tensor on the stack: only the kernel is called, with constants.
#[cfg(feature = "llvm")]
#[test]
fn lto() {
    let printed = output(&mut Command::new(env!("CARGO_BIN_EXE_lto")));
    let call = "call void @add_one_kernel(ptr nonnull %x, ptr nonnull %y, i64 1024)";
    assert!(printed.contains(call) && printed.contains("ret i32 0"), "{printed}");
    assert!(!printed.contains("alloca") && !printed.contains("br "), "{printed}");
}
