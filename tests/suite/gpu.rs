//! The checks of `tests/gpu` on the stand-in for the CUDA driver, which compares recorded launches instead of numbers.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use codegen::Prepare;
use tvm_ffi_codegen_tests::fake_cuda;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::route::request;

/// Makes the libraries as `tests/gpu` does: an image goes with the declarations of the same name.
fn make_libraries(folder: &Path, backend: &str) {
    let launches = host("launches");
    let kernels = ["cubin", "fatbin", "ptx"]
        .map(|form| fake_cuda::sources().join("kernels").with_extension(form));
    let others = ["globals.ptx", "hopper.ptx", "together.ptx"].map(|name| launches.join(name));
    for image in kernels.iter().chain(&others) {
        let declarations = launches.join(image.with_extension("ffi").file_name().unwrap());
        let mut library = driver::parse_file(&declarations).unwrap_or_else(|e| panic!("{e}"));
        library.images[0].bytes = Some(fs::read(image).expect("the image is there"));
        library.prepare = Some(Prepare::new("prepare"));
        let name = format!("{}.so", image.file_name().unwrap().display());
        request(backend, driver::Form::Shared)
            .write(&library, &folder.join(name))
            .unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Runs the checks with this number of devices.
fn run(folder: &Path, devices: &str) -> Output {
    let mut python = Command::new("python3");
    python.env("LD_LIBRARY_PATH", fake_cuda::folder()).env("FAKE_CUDA_DEVICES", devices);
    python.arg(host("gpu.py")).arg("--stand-in").arg(folder);
    python.output().expect("use tests/run")
}

const EXPECTED: &str = "\
Recording Device 0, compute capability 9.0
vector add, cubin              works
vector add, fatbin             works
vector add, PTX                works
a kernel by Triton             not here: Triton has made none
no elements, no launch         works
shared memory                  works
what errors say                works
clusters                       works
a cooperative launch           works
a tensor map                   works
a tensor map of columns        works
launches that overlap          works
two streams                    works
a thread without a context     works
variables of the device        works
another device                 works
graph capture after prepare    works
PyTorch's stream               not here: the stand-in runs no kernels
a graph of PyTorch             not here: the stand-in runs no kernels
a prepared launch              not here: the stand-in runs no kernels
memory and streams             not here: the stand-in runs no kernels
results by PyTorch             not here: the stand-in runs no kernels
torch.compile                  not here: the stand-in runs no kernels
eight threads of PyTorch       not here: the stand-in runs no kernels
jax.jit                        not here: the stand-in runs no kernels
CuPy's arrays                  not here: the stand-in runs no kernels
Triton's kernel, imported      not here: the stand-in runs no kernels
operators of PyTorch, library  not here: the stand-in runs no kernels
operators of PyTorch, process  not here: the stand-in runs no kernels
handlers of XLA, library       not here: the stand-in runs no kernels
handlers of XLA, process       not here: the stand-in runs no kernels
graphs of XLA                  not here: the stand-in runs no kernels
Triton's kernels, launched     not here: the stand-in runs no kernels
decorated kernels              not here: the stand-in runs no kernels
a library of variants          not here: the stand-in runs no kernels
cost on a stream               works: figures of the stand-in mean nothing
cost on the default stream     works: figures of the stand-in mean nothing
cost from Python, ns           not here: the stand-in runs no kernels
cost of an operator, ns        not here: the stand-in runs no kernels
cost of Triton's kernels, ns   not here: the stand-in runs no kernels
cost beside Inductor, ns       not here: the stand-in runs no kernels
";

#[test]
fn every_check_works_on_the_stand_in() {
    for backend in backends() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        make_libraries(folder.path(), backend);
        let output = run(folder.path(), "2");
        assert_eq!(String::from_utf8_lossy(&output.stdout), EXPECTED, "{backend}: {output:?}");
        assert!(output.status.success(), "{backend}: {output:?}");
    }
}

#[test]
fn what_fails_is_said_and_what_is_not_here_too() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = run(folder.path(), "1");
    let text = String::from_utf8_lossy(&output.stdout);
    let has = |what: &str, how: &str| {
        text.lines().any(|line| line.starts_with(what) && line.contains(how))
    };
    assert!(has("clusters", "  fails: "), "{output:?}");
    assert!(has("another device", "  not here: there is one device"), "{output:?}");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let output = run(folder.path(), "0");
    let expected = "nothing is launched: cuInit: CUDA_ERROR_NO_DEVICE (100)\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{output:?}");
    assert!(output.status.success(), "{output:?}");
}
