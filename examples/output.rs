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
