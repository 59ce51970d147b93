//! Code for Windows under Wine, beyond what `cross.rs` calls there: libraries that the runtime loads and those that are
//! part of a program, imports, a missing driver, frames that are walked, and frames of many pages.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use driver::link::{Input, Linker};
use driver::{File, Form, Request};
use tvm_ffi_codegen_tests::ffi::includes;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::request;

use crate::cross::machine::runtime;
use crate::cross::system::{MINGW, System, WINE, of_compiler};

/// The kernel of `walked` notes the function that frames lead to, `call_kept` of the host.
const DECLARATIONS: &str = "
    image i;
    walked(to: ptr) -> int64 = walked_kernel(to);
    sum(x: Tensor([n], float32)) -> float64 = sum_kernel(x.data, n);
    through(n: int64) -> int64 = { let r: int64 = @\"imported\"(n); return r; };
    launched(x: Tensor([n], float32, device=cuda)) -> None = { launch i.\"k\"(x.data) grid(1) block(1); };
";

/// Another object of the same library, which calls by name too.
const ALSO: &str = "also(n: int64) -> int64 = { let r: int64 = @\"imported\"(n); return r; };";

/// Kernels that walk frames by the tables of their functions, to one whose registers have known contents, or have a
/// frame of many pages, which have to be touched in order. `long` has 32 bits on Windows.
const KERNELS: &str = "
    #include <math.h>
    #include <windows.h>
    typedef long long word;
    static DWORD64 wanted;
    static word has_kept(const CONTEXT *c) {
        return c->Rbx == 1 && c->Rbp == 2 && c->Rsi == 3 && c->Rdi == 4 && c->R12 == 5 && c->R13 == 6 && c->R14 == 7
            && c->R15 == 8;
    }
    static __attribute__((noinline)) word walk(void) {
        CONTEXT context;
        RtlCaptureContext(&context);
        for (int depth = 0; depth < 40; depth++) {
            DWORD64 base, frame;
            void *data;
            PRUNTIME_FUNCTION entry = RtlLookupFunctionEntry(context.Rip, &base, NULL);
            if (!entry) return -depth;
            if (base + entry->BeginAddress == wanted) return has_kept(&context);
            RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, context.Rip, entry, &context, &data, &frame, NULL);
        }
        return -40;
    }
    word walked_kernel(void *to) { wanted = (DWORD64)to; return walk(); }
    double sum_kernel(const float *x, word n) {
        volatile double room[20000];
        for (word i = 0; i < n; i++) room[19999 - i] = pow(x[i], 2);
        double sum = 0;
        for (word i = 0; i < n; i++) sum += room[19999 - i];
        return sum;
    }
";

/// Output of the host for a library.
const OUTCOMES: &str = "\
walked: 1
wide: 599001
passed: 599001
sum: 30
through: 71
also: 81
launched: RuntimeError: Missing CUDA driver nvcuda.dll when calling: `launched(x: Tensor([n], float32, device=cuda))`
";

/// Parameters of functions that pass them on, in a frame of more than a page, or of more than two as arguments of FFI.
const WIDE: usize = 600;

/// Returns a list with an item for each parameter.
fn list(item: impl Fn(usize) -> String) -> String {
    (0..WIDE).map(item).collect::<Vec<_>>().join(", ")
}

fn library() -> Library {
    let (params, names) = (list(|i| format!("p{i}: int64")), list(|i| format!("p{i}")));
    let wide = format!("wide({params}) -> int64 = wide_kernel({names});");
    let passed =
        format!("passed({params}) -> int64 = {{ let r: int64 = @wide({names}); return r; }};");
    let text = format!("{DECLARATIONS}{wide}{passed}");
    let mut library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
    library.images[0].bytes = Some(b".version 8.0\n".to_vec());
    library
}

fn kernels() -> String {
    let (params, last) = (list(|i| format!("word p{i}")), WIDE - 1);
    format!("{KERNELS}\nword wide_kernel({params}) {{ return walk() * (1000 * p{last} + p1); }}\n")
}

/// Compiles C for Windows.
fn compile(arguments: &[&str], source: &Path, output: &Path) {
    let mut compile = Command::new(MINGW);
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2"]).arg(source);
    compile.args(System::Windows.options());
    cc(compile.args(arguments).arg("-o").arg(output));
}

/// Returns a request for a library that imports a module, which the host makes.
fn request_for(target: &str, backend: &str, form: Form) -> Request {
    let bytes = File::Bytes { name: "bytes".to_owned(), bytes: b"bytes".to_vec() };
    let (target, imports) = (target.parse().unwrap(), vec![("of_host".to_owned(), bytes)]);
    Request { target, imports, ..request(backend, form) }
}

#[test]
#[ignore = "tests/setup installs what it needs"]
fn libraries_and_programs_for_wine() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let runtime = runtime("TVM_FFI_WINDOWS");
    let [ffi, dlpack] = &includes();
    let import = runtime.join("tvm_ffi.lib").display().to_string();
    std::fs::write(path("kernels.c"), kernels()).unwrap();
    compile(&["-c", "-Wno-unused-parameter"], &path("kernels.c"), &path("kernels.o"));
    let kernels = Input::read(&path("kernels.o")).unwrap();
    let kernels = [kernels, of_compiler(MINGW, "libkernel32.a")];
    let ways: [(&str, Linker); 2] = [
        ("x86_64-pc-windows-msvc", "lld".parse().unwrap()),
        ("x86_64-pc-windows-gnu", Linker::Cc(MINGW.into())),
    ];
    let mut command = Command::new(WINE[0]);
    command.arg("host.exe");
    let mut parts = vec![path("kernels.o").display().to_string()];
    for backend in backends() {
        for (target, linker) in &ways {
            let also =
                Request { target: target.parse().unwrap(), ..request(backend, Form::Object) };
            let also = also.emit(&ALSO.parse().unwrap()).unwrap_or_else(|error| panic!("{error}"));
            let also = Input::new("also.o", also).unwrap();
            let request = Request {
                kernels: kernels.iter().cloned().chain([also]).collect(),
                linker: Some(linker.clone()),
                ..request_for(target, backend, Form::Shared)
            };
            let emit = || request.emit(&library()).unwrap_or_else(|error| panic!("{error}"));
            let bytes = emit();
            // Each linker writes the same bytes again.
            assert!(*backend != "cranelift" || bytes == emit(), "{target}: the bytes differ");
            let name = format!("{backend}_{target}.dll");
            std::fs::write(path(&name), bytes).unwrap();
            command.arg(name);
        }
        // A part of the program that registers itself when the program starts.
        let (prefix, object) = (format!("{backend}_"), path(&format!("{backend}.o")));
        command.arg(format!("@{prefix}"));
        let request = request_for("x86_64-pc-windows-gnu", backend, Form::Object);
        let request = Request { system_lib: Some(prefix), ..request };
        request.write(&library(), &object).unwrap_or_else(|error| panic!("{error}"));
        parts.push(object.display().to_string());
    }
    // The import library comes after what uses it.
    let options = [ffi, dlpack].into_iter().chain(&parts).chain([&import]).map(String::as_str);
    compile(&options.collect::<Vec<_>>(), &host("windows.c"), &path("host.exe"));
    System::Windows.prepare(&mut command, &runtime, folder.path());
    let output = command.output().expect("Wine runs");
    let found = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let alone = OUTCOMES.replace("also: 81", "also: not exported");
    let of_backend = OUTCOMES.repeat(ways.len()) + &alone;
    assert_eq!(found, of_backend.repeat(backends().len()));
}
