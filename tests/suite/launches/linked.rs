//! Dependencies of libraries with launches: no library of CUDA, and the platform's loader only if there is a launch.

use std::path::{Path, PathBuf};
use std::process::Command;

use codegen::Library;
use tvm_ffi_codegen_tests::fake_cuda;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;

use super::session::{library, write};

/// Returns the output of a tool of binutils for a library.
fn printed(tool: &str, options: &[&str], path: &Path) -> String {
    let output = Command::new(tool).args(options).arg(path).output();
    let output = output.unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("it prints text")
}

/// Returns the needed libraries and the imports from the platform's loader.
fn needs(library: &Library, backend: &str) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("library.so");
    write(library, backend, &path);
    let needed = printed("readelf", &["-d", "-W"], &path);
    let needed = needed.lines().filter(|line| line.contains("(NEEDED)"));
    let needed = needed.filter_map(|line| line.split(['[', ']']).nth(1).map(str::to_owned));
    let imports = printed("nm", &["-D", "--undefined-only", "--without-symbol-versions"], &path);
    let imports = imports.lines().filter_map(|line| line.split_whitespace().last());
    let mut imports: Vec<String> =
        imports.filter(|name| !name.starts_with("TVMFFI")).map(str::to_owned).collect();
    imports.sort();
    (needed.collect(), imports)
}

#[test]
fn libraries_need_nothing_of_cuda() {
    let launch = library(
        "f(x: Tensor([n], float32, device=cuda)) -> None \
         = { launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1); };",
    );
    // An image without launches is left out.
    let plain = library("f(n: int64) -> int64 = { return n; };");
    for backend in backends() {
        let (needed, imports) = needs(&launch, backend);
        assert_eq!(imports, ["dlerror", "dlopen", "dlsym"], "{backend}");
        // The part of the stated glibc that has these functions.
        assert_eq!(needed, ["libtvm_ffi.so", "libdl.so.2"], "{backend}");
        let (needed, imports) = needs(&plain, backend);
        assert_eq!(imports, [""; 0], "{backend}");
        assert_eq!(needed, ["libtvm_ffi.so"], "{backend}");
    }
}

/// Prepares a library in a Python process that finds the driver in `folder`; returns the output.
fn prepared(folder: &Path, library: &Library, backend: &str) -> String {
    let path = folder.join("library.so");
    write(library, backend, &path);
    let script = host("results.py");
    let mut python = Command::new("python3");
    python.arg(script).arg("--plain").arg(path).arg("error(lambda: m.ready(0))");
    let output = python.env("LD_LIBRARY_PATH", folder).output().expect("python3 starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Builds a file of the driver's name in a folder, which hides the machine's driver.
fn driver(folder: &Path, options: &[&str], sources: &[PathBuf]) {
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-fPIC", "-shared", "-fvisibility=hidden", "-x", "c"]);
    compile.args(options).args(sources).args(["-lpthread", "-o"]);
    cc(compile.arg(folder.join("libcuda.so.1")));
}

/// Processes without a driver, with a library that is no driver, or with a driver that lacks newer functions.
#[test]
fn drivers_may_be_missing() {
    const PLACE: &str = "when calling: `ready(device_id: int64)`";
    let library = library(
        "f(x: Tensor([n], float32, device=cuda)) -> None \
         = { launch cubin.\"cluster_kernel\"(x.data) grid(1) block(1); };",
    )
    .with_prepare("ready");
    let entry = |name: &str| {
        format!(
            "RuntimeError: Missing {name} in libcuda.so.1 {PLACE}, which CUDA drivers have from 12.0 on"
        )
    };
    let stand_in = fake_cuda::in_c(&fake_cuda::sources());
    let without = |name: &str| format!("-D{name}=other_{name}");
    let newer = [without("cuKernelGetParamInfo"), without("cuFuncLoad")];
    // The maker of the file, and the output of Python: None if there is no error.
    let drivers: [(&[&str], &[PathBuf], String); 3] = [
        (&["/dev/null"], &[], entry("cuInit")),
        (&[&without("cuLibraryLoadData")], &stand_in, entry("cuLibraryLoadData")),
        (&[&newer[0], &newer[1]], &stand_in, "None".to_owned()),
    ];
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("libcuda.so.1");
    std::fs::write(file, "no library").expect("the file can be written");
    let expect = |expected: &str| {
        for backend in backends() {
            assert_eq!(prepared(folder.path(), &library, backend), expected, "{backend}");
        }
    };
    let why = format!("{}: file too short", folder.path().join("libcuda.so.1").display());
    expect(&format!("RuntimeError: Missing CUDA driver libcuda.so.1 {PLACE}, {why}"));
    for (options, sources, expected) in drivers {
        driver(folder.path(), options, sources);
        expect(&expected);
    }
}
