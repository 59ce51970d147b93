//! C that includes the headers of the runtime: the table of calls, in one file with its kernels or behind its header.

use std::process::Command;

use codegen::Library;
use driver::{Form, Headers, Request};
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::gate::Part;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::{Before, Shared, request};

use crate::table::check;

/// Compiles the table and makes its calls.
fn run(compiler: &[&str], before: Before) {
    let table = cases::table();
    check(&Shared::including(&cases::library(&table), compiler, before), &table, &[]);
}

#[test]
fn the_table_runs_in_one_file_with_its_kernels() {
    let aliasing = "-fstrict-aliasing";
    run(&["cc", "-xc", "-std=c11", "-O1", aliasing], Before::Kernels);
}

/// Macros of whoever writes the C before the text are in capitals.
#[test]
fn macros_before_the_text_do_no_harm() {
    let text =
        "scaled(x: Tensor([n], float32), N: int64, I: float64, EOF: int64, x0: int64) -> None
        where N > 0 and EOF < N
        = { if x0 > N { raise ValueError \"more than \", N; } scale(x.data, n, N, I, EOF, x0); };";
    let library: Library = text.parse().unwrap();
    let request = Request { headers: Headers::Include, ..request("c", Form::Native) };
    let text = request.emit(&library).unwrap();
    let before = "#include <complex.h>\n#include <math.h>\n#include <stdio.h>\n#include <tvm/ffi/c_api.h>\n\
        #define N 1024\n#define X0 1\n\
        static void scale(void *x, int64_t n, int64_t by, double i, int64_t end, int64_t first)\n\
        { (void)x; (void)n; (void)by; (void)i; (void)end; (void)first; }\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scaled.c");
    std::fs::write(&path, [before.as_bytes(), &text].concat()).unwrap();
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-Wall", "-Werror", "-fsyntax-only"]).arg(&path);
    for include in ["--includedir", "--dlpack-includedir"] {
        command.arg("-isystem").arg(config(include));
    }
    cc(&mut command);
}

#[test]
fn other_compilers_take_the_table_too() {
    if Part::Headers.runs() {
        let cxx = ["c++", "-xc++", "-std=c++17", "-O2"];
        // GCC 12 has no name for the type, which is passed as the other one.
        run(&[&cxx[..], &["-D__bf16=_Float16"]].concat(), Before::Header);
        #[cfg(feature = "mlir")]
        run(&["clang-22", "-xc", "-std=c11", "-O2"], Before::Header);
    }
}
