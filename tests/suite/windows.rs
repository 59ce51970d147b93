//! Libraries for Windows, linked here and called by a host in C under Wine with the runtime's own `tvm_ffi.dll`.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use driver::link::{Input, Linker};
use driver::{Form, Request, Routines};
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::{BACKENDS, request};

const DECLARATIONS: &str = "
    twice(n: int64) -> int64 = twice_kernel(n);
    narrow(n: int8) -> int64 = narrow_kernel(n);
    many(a: int64, b: float64, c: int64, d: float32, e: int32, f: float64) -> float64 = many_kernel(a, b, c, d, e, f);
    sum(x: Tensor([n], float32)) -> float64 = sum_kernel(x.data, n);
    grown(x: Tensor([n], float32)) -> Tensor([2 * n], float32) = {
        let y = alloc Tensor([2 * n], float32) on x;
        fill_kernel(y.data, 2 * n, 0.5);
        return y;
    };
    loops(n: int64) -> int64 = {
        if n < 0 { raise ValueError \"negative \", n; }
        for i in 0..n { tick(i); }
        let sum: int64 = total();
        return sum;
    };
    tried(n: int64) -> None = try tried_kernel(n) errors { 7: ValueError \"seven\" };
";

/// `long` has 32 bits on Windows.
const KERNELS: &str = "
    #include <math.h>
    #include <stdlib.h>
    #include <string.h>
    typedef long long word;
    word twice_kernel(word n) { return 2 * n; }
    word narrow_kernel(signed char n) { return n; }
    double many_kernel(word a, double b, word c, float d, int e, double f) { return a + 10 * (b + 10 * (c + 10 * (d + 10 * (e + 10 * f)))); }
    double sum_kernel(const float *x, word n) {
        /* A frame of many pages, which have to be touched in order, and a function of the C library. */
        volatile double room[20000];
        for (word i = 0; i < n; i++) room[19999 - i] = pow(x[i], 2);
        double sum = 0;
        for (word i = 0; i < n; i++) sum += room[19999 - i];
        return sum;
    }
    void fill_kernel(float *y, word n, double value) { for (word i = 0; i < n; i++) y[i] = (float)(i + value); }
    static word counted;
    void tick(word i) { counted += i; }
    word total(void) { word now = counted; counted = 0; return now; }
    int tried_kernel(word n) { return (int)n; }
";

const OUTCOMES: &str = "\
twice: 1: 42
twice: TypeError: Mismatched type of n on argument #0 when calling: `twice(n: int64)`, expected int64 but got float
twice: TypeError: Mismatched number of arguments when calling: `twice(n: int64)`, expected 1 but got 0
narrow: 1: -3
narrow: ValueError: Out of range n on argument #0 when calling: `narrow(n: int8)`, expected int8 but got 300
many: 42956
sum: 30
sum: ValueError: Mismatched x.strides[0] on argument #0 when calling: `sum(x: Tensor([n], float32))`, expected 1 (contiguous) but got 2
sum: ValueError: Mismatched x.ndim on argument #0 when calling: `sum(x: Tensor([n], float32))`, expected 1 but got 2
sum: TypeError: Mismatched type of x on argument #0 when calling: `sum(x: Tensor([n], float32))`, expected Tensor but got NULL
grown: tensor of 8, the last is 7.5
loops: 1: 45
loops: ValueError: negative -1
tried: 0: 0
tried: ValueError: seven when calling: `tried(n: int64)`, status = 7
wide: 1: 599001
";

/// Parameters of a function that passes them on, in a frame of more than a page.
const WIDE: usize = 600;

/// Returns a list with an item for each parameter.
fn list(item: impl Fn(usize) -> String) -> String {
    (0..WIDE).map(item).collect::<Vec<_>>().join(", ")
}

fn library() -> Library {
    let (params, names) = (list(|i| format!("p{i}: int64")), list(|i| format!("p{i}")));
    let wide = format!("wide({params}) -> int64 = wide_kernel({names});");
    format!("{DECLARATIONS}{wide}").parse().unwrap_or_else(|error| panic!("{error}"))
}

fn kernels() -> String {
    let params = list(|i| format!("word p{i}"));
    format!("{KERNELS}\nword wide_kernel({params}) {{ return 1000 * p{} + p1; }}\n", WIDE - 1)
}

/// Compiles C for Windows.
fn compile(arguments: &[&str], source: &Path, output: &Path) {
    let mut compile = Command::new("x86_64-w64-mingw32-gcc");
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2"]).arg(source);
    cc(compile.args(arguments).arg("-o").arg(output));
}

#[test]
#[ignore = "tests/setup installs what it needs"]
fn every_backend_makes_libraries_for_wine() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let runtime = std::env::var("TVM_FFI_WINDOWS").expect("use tests/run");
    let headers = ["--includedir", "--dlpack-includedir"].map(config).map(|at| format!("-I{at}"));
    let [ffi, dlpack] = &headers;
    let import = format!("{runtime}/tvm_ffi.lib");
    compile(&[ffi, dlpack, &import], &host("windows.c"), &path("host.exe"));
    std::fs::write(path("kernels.c"), kernels()).unwrap();
    compile(&["-c", "-Wno-unused-parameter"], &path("kernels.c"), &path("kernels.o"));
    std::fs::copy(format!("{runtime}/tvm_ffi.dll"), path("tvm_ffi.dll")).unwrap();
    let kernels = Input::new("kernels.o", std::fs::read(path("kernels.o")).unwrap()).unwrap();
    let mingw = Linker::Cc("x86_64-w64-mingw32-gcc".into());
    let lld: Linker = "lld".parse().unwrap();
    let ways = [
        ("x86_64-pc-windows-msvc", &lld, Routines::Linked),
        ("x86_64-pc-windows-msvc", &lld, Routines::Embedded),
        ("x86_64-pc-windows-gnu", &lld, Routines::Linked),
        ("x86_64-pc-windows-gnu", &mingw, Routines::Linked),
        ("x86_64-pc-windows-gnu", &mingw, Routines::Embedded),
    ];
    for backend in BACKENDS {
        for (target, linker, routines) in ways {
            let request = Request {
                target: target.parse().unwrap(),
                kernels: vec![kernels.clone()],
                linker: Some(linker.clone()),
                routines: Some(routines),
                ..request(backend, Form::Shared)
            };
            let name = format!("{backend}, {target}, {linker:?}, {routines:?}");
            let bytes = request.emit(&library()).unwrap_or_else(|error| panic!("{name}: {error}"));
            if *backend == "cranelift" {
                let again = request.emit(&library()).unwrap();
                assert!(bytes == again, "{name}: the bytes differ");
            } else if target.ends_with("gnu") && routines == Routines::Embedded {
                // Cranelift's objects have shown that a compiler of MinGW links both kinds.
                continue;
            }
            std::fs::write(path("library.dll"), bytes).unwrap();
            assert_eq!(run(folder.path()), OUTCOMES, "{name}");
        }
    }
}

/// Runs the host under Wine, with a profile of its own, and returns its output.
fn run(folder: &Path) -> String {
    let output = Command::new("/usr/lib/wine/wine64")
        .args(["host.exe", "library.dll"])
        .current_dir(folder)
        .env("WINEPREFIX", folder.join("profile"))
        .env("TMPDIR", folder)
        .env("WINEDEBUG", "-all")
        .env("WINEDLLOVERRIDES", "winedbg.exe=;mscoree=;mshtml=")
        .output()
        .expect("Wine runs");
    String::from_utf8_lossy(&output.stdout).replace('\r', "")
}
