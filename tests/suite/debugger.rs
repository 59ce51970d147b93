//! Locations of declarations in a debugger: breakpoints in the file of the language, and backtraces from Python through
//! wrapper and kernel.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use driver::link::Input;
use driver::{Form, Source};
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::request;

/// A function and statements at lines of files that do not exist: a debugger needs files only to show their text.
const DECLARATIONS: &str = "
    @\"demo.mt\":2
    add(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
        = {
            @\"demo.mt\":3:9
            let h: int64 = pick(n);
            @\"demo.mt\":4
            if h > 1 {
                @\"inner.mt\":9
                try stop(x.data, y.data, n);
            }
            @\"demo.mt\":6
            return;
        };
";

/// The name of the wrapper.
const WRAPPER: &str = "__tvm_ffi_add";

/// Returns the frames that gdb shows where Python's call of a library stops at breakpoints, one list for each.
fn frames(library: &Path, breakpoints: &[&str]) -> Vec<Vec<String>> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx"]);
    let mut command = |command: &str| {
        gdb.args(["-ex", command]);
    };
    for option in ["breakpoint pending on", "debuginfod enabled off", "width 0"] {
        command(&format!("set {option}"));
    }
    breakpoints.iter().for_each(|at| command(&format!("break {at}")));
    command("run");
    for at in breakpoints {
        command(&format!("echo stopped {at}\\n"));
        command("backtrace 12");
        command("continue");
    }
    gdb.args(["--args", "python3"]).arg(host("debugged.py")).arg(library);
    let output = gdb.output().expect("tests/setup has installed gdb");
    let text = String::from_utf8_lossy(&output.stdout);
    let stops = text.split("\nstopped ").skip(1);
    let frames = stops.map(|stop| stop.lines().filter(|line| line.starts_with('#')));
    let frames: Vec<Vec<String>> =
        frames.map(|frames| frames.map(str::to_owned).collect()).collect();
    assert!(frames.iter().all(|frames| !frames.is_empty()), "{text}");
    frames
}

/// Checks that frames begin with functions at places, and end in the runtime and Python.
fn check(backend: &str, frames: &[String], expected: &[(&str, &str)]) {
    for (frame, (function, place)) in frames.iter().zip(expected) {
        let (name, at) = (format!("{function} ("), frame.rsplit(" at ").next());
        // Compilers of C note the folder of the text, which is `.`.
        let at = at.map(|at| at.strip_prefix("./").unwrap_or(at));
        assert!(frame.contains(&name) && at == Some(place), "{backend}: {frames:#?}");
    }
    let of_runtime = &frames[expected.len()];
    assert!(of_runtime.contains("libtvm_ffi"), "{backend}: {frames:#?}");
}

#[test]
fn breakpoints_and_backtraces_name_lines_of_the_declaration() {
    let folder = tempfile::tempdir().unwrap();
    let (kernels, shared) = (folder.path().join("kernels.o"), folder.path().join("library.so"));
    cc(Command::new("cc")
        .args(["-g", "-fPIC", "-c"])
        .arg(host("debugged.c"))
        .arg("-o")
        .arg(&kernels));
    let library: Library = DECLARATIONS.parse().unwrap();
    for backend in backends() {
        let kernels = vec![Input::read(&kernels).unwrap()];
        let request = driver::Request { kernels, ..request(backend, Form::Shared) };
        request.write(&library, &shared).unwrap();
        let stops = frames(&shared, &["demo.mt:3", "stop"]);
        check(backend, &stops[0], &[(WRAPPER, "demo.mt:3")]);
        let source = host("debugged.c").display().to_string();
        check(backend, &stops[1], &[("stop", &format!("{source}:8")), (WRAPPER, "inner.mt:9")]);
    }
}

/// A kernel that is inlined keeps its lines.
#[test]
fn inlined_kernels_have_frames_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let (kernels, shared) = (folder.path().join("kernels.ll"), folder.path().join("library.so"));
    let mut clang = Command::new("clang-22");
    clang.args(["-g", "-O1", "-S", "-emit-llvm"]).arg(host("debugged.c")).arg("-o").arg(&kernels);
    cc(&mut clang);
    let text = std::fs::read_to_string(&kernels).unwrap();
    let text = text.replace("dso_local i32 @stop", "internal i32 @stop");
    let library: Library = DECLARATIONS.parse().unwrap();
    let sources = vec![Source { name: "kernels".to_owned(), bytes: text.into_bytes() }];
    let request = driver::Request { sources, ..request("llvm", Form::Shared) };
    request.write(&library, &shared).unwrap();
    let source = host("debugged.c").display().to_string();
    let stops = frames(&shared, &["debugged.c:9"]);
    check("llvm", &stops[0], &[("stop", &format!("{source}:9")), (WRAPPER, "inner.mt:9")]);
}

/// Columns and lines that no debugger counts to, names that a compiler of C would read otherwise, many files.
#[test]
fn hostile_places_compile() {
    let mut text =
        String::from("@\"C:\\\\a ??/ é%s.mt\":2147483647:2147483647 f(n: int64) -> None = {\n");
    for i in 0..200 {
        text.push_str(&format!("@\"{}{i}\":{}:{} k(n);\n", "x".repeat(i), i + 1, 65_530 + i));
    }
    text.push_str("};");
    let library: Library = text.parse().unwrap();
    for backend in backends() {
        let object = request(backend, Form::Object).emit(&library).unwrap();
        let found = driver::inspect(&object).unwrap();
        assert_eq!(found.functions[0].name, "f", "{backend}");
    }
}
