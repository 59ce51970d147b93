//! Tests that LLVM writes nothing to stderr, also on errors.

use std::process::Command;

/// Runs the other tests in a process whose stderr is read. Output of tests goes to stdout.
#[test]
fn nothing_is_written_to_stderr() {
    let program = std::env::current_exe().unwrap();
    let tests = ["link::", "objects::unsupported", "objects::processors", "symbols::"];
    let output = Command::new(program).args(tests).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !stdout.contains("running 0 tests"), "{stdout}");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// LLVM reads inline assembly only in code generation; its errors are errors of the module.
#[test]
fn late_diagnostics_are_errors() {
    use tvm_ffi_codegen_llvm::{Input, Optimize, compile, link};
    let module = crate::jit::empty();
    let text = "define void @f() { call void asm sideeffect \"nonsense\", \"\"() ret void }";
    link(&module, &[Input { name: "asm.ll", bytes: text.as_bytes(), exports: &[] }]).unwrap();
    let error = compile(&module, &crate::jit::host(Optimize::O0)).unwrap_err();
    assert!(error.to_string().contains("invalid instruction mnemonic 'nonsense'"), "{error}");
}
