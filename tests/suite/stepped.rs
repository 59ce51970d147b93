//! Unwind tables, asked at every instruction of calls: a debugger, a profiler or a stack that ends may stop anywhere.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use driver::link::Linker;
use driver::{Form, Request};
use tvm_ffi_codegen_tests::ffi::{config, includes};
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::{BACKENDS, request};

/// Number of parameters of a function that makes an array of them, in a frame of several pages.
const WIDE: usize = 600;

/// Fewest instructions that are looked at: success, failures and the composition of their errors.
const MANY: usize = 5000;

fn declarations() -> Library {
    let list = |item: fn(usize) -> String| (0..WIDE).map(item).collect::<Vec<_>>().join(", ");
    let (params, names) = (list(|i| format!("p{i}: int64")), list(|i| format!("p{i}")));
    let text = format!(
        "wide({params}) -> Any = {{ return [{names}]; }};
        deep(n: int64) -> int64 = {{
            if n == 0 {{ return 0; }}
            let r: int64 = @deep(n - 1);
            return r + 1;
        }};"
    );
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn callers_are_found_at_every_instruction() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (stepper, library) = (folder.path().join("stepper"), folder.path().join("library.so"));
    let libraries = config("--libdir");
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]).arg(host("stepped.c"));
    compile.arg(Path::new(&libraries).join("libtvm_ffi.so")).args(includes());
    cc(compile.arg(format!("-Wl,-rpath,{libraries}")).args(["-ldl", "-o"]).arg(&stepper));
    let declarations = declarations();
    for backend in BACKENDS {
        // Wild writes no tables for the jumps by which code calls other libraries.
        let linker = Some(Linker::Cc("cc".into()));
        let made = Request { linker, ..request(backend, Form::Shared) }.emit(&declarations);
        let bytes = made.unwrap_or_else(|error| panic!("{backend}: {error}"));
        std::fs::write(&library, &bytes).expect("the folder is there");
        assert_eq!(leaves(&bytes), decoded_leaves(&library), "{backend}");
        let output = Command::new(&stepper).arg(&library).output().expect("the stepper runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{backend}: {}\n{text}", output.status);
        let instructions = text.split(' ').nth(2).and_then(|number| number.parse().ok());
        assert!(instructions >= Some(MANY), "{backend}: {text}");
    }
}

/// Returns how often the bytes occur by which tables of Cranelift find the instructions that leave a function.
fn leaves(bytes: &[u8]) -> usize {
    bytes.windows(5).filter(|found| *found == [0x48, 0x89, 0xec, 0x5d, 0xc3]).count()
}

/// Returns how often these instructions are in a library, as a disassembler reads it.
fn decoded_leaves(library: &Path) -> usize {
    let output = Command::new("objdump").args(["-d", "--no-show-raw-insn"]).arg(library).output();
    let output = output.expect("objdump, which comes with the C compiler, runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let lines = text.lines().filter_map(|line| line.split_once(":\t"));
    let names: Vec<String> = lines.map(|(_, name)| name.split_whitespace().collect()).collect();
    let left = ["mov%rbp,%rsp", "pop%rbp", "ret"];
    let count = names.windows(3).filter(|found| *found == left).count();
    assert!(count > 20, "{count}");
    count
}
