//! What the examples print.

use std::process::Command;

fn output(program: &str) -> String {
    let output = Command::new(program).output().expect("the example starts");
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
    assert_eq!(output(env!("CARGO_BIN_EXE_quickstart")), expected);
}

#[test]
fn aot() {
    let expected = "scale.o: aarch64 ELF\nscale.so: exports scale\n";
    assert_eq!(output(env!("CARGO_BIN_EXE_aot")), expected);
}
