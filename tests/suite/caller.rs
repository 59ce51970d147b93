//! A host in C.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::{BACKENDS, build};

const DECLARATION: &str = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one(x.data, y.data, n);";

const OUTPUT: &str = "\
2 3 4 5 6
result: type index 0
ValueError: Mismatched y.shape[0] on argument #1 when calling: \
`add_one(x: Tensor([n], float32), y: Tensor([n], float32))`, expected 5 (= x.shape[0]) but got 4
";

#[test]
fn libraries_serve_a_host_in_c() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (caller, library) = (folder.path().join("caller"), folder.path().join("library.so"));
    let (source, libraries) = (host("caller.c"), config("--libdir"));
    let runtime = Path::new(&libraries).join("libtvm_ffi.so");
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]).arg(source).arg(runtime);
    compile.arg(format!("-I{}", config("--includedir")));
    compile.arg(format!("-I{}", config("--dlpack-includedir")));
    cc(compile.arg(format!("-Wl,-rpath,{libraries}")).arg("-o").arg(&caller));
    let declarations: Library = DECLARATION.parse().expect("the declaration is valid");
    for backend in BACKENDS {
        build(&declarations, backend, &library);
        let output = Command::new(&caller).arg(&library).output().expect("the caller runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), OUTPUT, "{backend}");
        assert!(output.status.success() && output.stderr.is_empty(), "{backend}: {output:?}");
    }
}
