//! Exceptions of C++ and the end of a thread, which pass through host functions, and unwinders, which find their
//! callers.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use driver::link::{Input, Linker};
use driver::{Form, Request};
use tvm_ffi_codegen_tests::ffi::{config, includes};
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::{BACKENDS, request};

/// Functions that call a kernel: at once, by another function, and by a closure.
const DECLARATIONS: &str = "
    run(f: ptr) -> None = call_kernel(f);
    through(f: ptr) -> int64 = { @run(f); return 1; };
    make(f: ptr) -> Function = { return function() -> None { call_kernel(f); }; };
";

const KERNEL: &str = "extern \"C\" void call_kernel(void (*f)()) { f(); }";

/// Output of the host: the stack is walked, something is thrown, the thread ends; each by three functions.
const OUTPUT: &str = "\
found status 0 left 
found status 0 left 
found status 0 left 
caught 42 left 
caught 42 left 
caught 42 left 
left 
left 
left 
";

#[test]
fn unwinders_pass_through_functions_of_every_backend() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = |name: &str| folder.path().join(name);
    let (caller, library) = (path("caller"), path("library.so"));
    let libraries = config("--libdir");
    let compile = || {
        let mut compile = Command::new("c++");
        compile.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC"]);
        compile
    };
    let mut host_of = compile();
    host_of.arg(host("thrown.cc")).arg(Path::new(&libraries).join("libtvm_ffi.so"));
    host_of.args(includes()).arg(format!("-Wl,-rpath,{libraries}"));
    cc(host_of.args(["-pthread", "-ldl", "-o"]).arg(&caller));
    std::fs::write(path("kernel.cc"), KERNEL).expect("the folder is there");
    cc(compile().args(["-c", "-o"]).arg(path("kernel.o")).arg(path("kernel.cc")));
    let kernel = Input::read(&path("kernel.o")).expect("the compiler has written it");
    let declarations: Library = DECLARATIONS.parse().unwrap_or_else(|error| panic!("{error}"));
    for backend in BACKENDS {
        for linker in [Linker::Wild, Linker::Cc("cc".into())] {
            let what = format!("{backend}, {linker:?}");
            let (kernels, linker) = (vec![kernel.clone()], Some(linker));
            let made = Request { kernels, linker, ..request(backend, Form::Shared) };
            let bytes = made.emit(&declarations).unwrap_or_else(|error| panic!("{what}: {error}"));
            std::fs::write(&library, bytes).expect("the folder is there");
            let output = Command::new(&caller).arg(&library).output().expect("the caller runs");
            assert_eq!(String::from_utf8_lossy(&output.stdout), OUTPUT, "{what}: {output:?}");
            assert!(output.status.success(), "{what}: {output:?}");
        }
    }
}
