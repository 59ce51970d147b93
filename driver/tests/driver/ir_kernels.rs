//! Kernels as LLVM IR and MLIR: linked, inlined, and checked.

use std::path::Path;
use std::{fs, process::Command};

use libloading::Library;
use libloading::os::unix::{self, RTLD_GLOBAL, RTLD_NOW};
use tvm_ffi_codegen_driver::inspect;

use crate::support::folder;

const TWICE: &str = "twice(n: int64) -> int64 = twice_kernel(n);";

const LLVM: &str = "define i64 @twice_kernel(i64 %n) {
  %twice = add i64 %n, %n
  ret i64 %twice
}
";

const MLIR: &str = "llvm.func @twice_kernel(%n: i64) -> i64 {
  %twice = llvm.add %n, %n : i64
  llvm.return %twice : i64
}
";

/// Runs `emit`; the message if it fails.
fn emit(folder: &Path, arguments: &str) -> Result<(), String> {
    let output = Command::new(env!("CARGO_BIN_EXE_tvm-ffi-codegen"))
        .args(["emit", "twice.ffi"])
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    if output.status.success() { Ok(()) } else { Err(message) }
}

fn twice() -> tempfile::TempDir {
    let folder = folder();
    for (name, text) in [("twice.ffi", TWICE), ("kernel.ll", LLVM), ("kernel.mlir", MLIR)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The only export is the wrapper, the kernel is gone, and it computes.
fn assert_twice(folder: &Path, library: &str) {
    let path = folder.join(library);
    let found = inspect(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(found.functions.len(), 1);
    assert!(found.undefined.iter().all(|symbol| symbol.name != "twice_kernel"));
    type SafeCall = unsafe extern "C" fn(usize, *const i64, i32, *mut i64) -> i32;
    let (argument, mut result) = ([1_i64, 21], [0_i64; 2]);
    let config = Command::new("tvm-ffi-config").arg("--libdir").output().expect("run tests/run");
    let runtime = format!("{}/libtvm_ffi.so", String::from_utf8(config.stdout).unwrap().trim());
    // SAFETY: the runtime comes first, as in every host, and the arguments are one integer.
    let status = unsafe {
        let _runtime = unix::Library::open(Some(runtime), RTLD_NOW | RTLD_GLOBAL).unwrap();
        let library = Library::new(&path).unwrap();
        let function = library.get::<SafeCall>(b"__tvm_ffi_twice").unwrap();
        function(0, argument.as_ptr(), 1, result.as_mut_ptr())
    };
    assert_eq!((status, result), (0, [1, 42]));
}

#[test]
fn kernels_in_llvm_ir_become_part_of_the_library() {
    let folder = twice();
    for level in 0..=3 {
        let arguments =
            format!("--backend llvm -O{level} --emit shared --link kernel.ll -o llvm.so");
        assert_eq!(emit(folder.path(), &arguments), Ok(()));
        assert_twice(folder.path(), "llvm.so");
    }
    // What was emitted as bitcode is a kernel like any other.
    let bitcode = "--backend llvm --emit bitcode --link kernel.ll -o whole.bc";
    assert_eq!(emit(folder.path(), bitcode), Ok(()));
    assert!(fs::read(folder.path().join("whole.bc")).unwrap().starts_with(b"BC"));
}

#[test]
fn kernels_in_mlir_become_part_of_the_library() {
    let folder = twice();
    let arguments = "--backend mlir --emit shared --link kernel.mlir -o mlir.so";
    assert_eq!(emit(folder.path(), arguments), Ok(()));
    assert_twice(folder.path(), "mlir.so");
    assert_eq!(emit(folder.path(), "--backend mlir --emit native -o twice.mlir"), Ok(()));
    assert!(fs::read_to_string(folder.path().join("twice.mlir")).unwrap().contains("llvm.func"));
    assert_eq!(emit(folder.path(), "--backend mlir --emit bitcode -o mlir.bc"), Ok(()));
}

#[test]
fn bad_kernels_leave_nothing_behind() {
    let folder = twice();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("garbage.ll", "this is no IR");
    write("garbage.bc", "BC\u{7f}garbage");
    write("garbage.mlir", "llvm.func @");
    write("narrow.ll", "define i64 @twice_kernel(i32 %n) { ret i64 0 }");
    write(
        "narrow.mlir",
        "llvm.func @twice_kernel(%n: i32) -> i64 { %z = llvm.mlir.zero : i64\n llvm.return %z : i64 }",
    );
    let rows = [
        ("llvm", "garbage.ll"),
        ("llvm", "garbage.bc"),
        ("mlir", "garbage.mlir"),
        ("llvm", "narrow.ll"),
        ("mlir", "narrow.mlir"),
    ];
    for (backend, kernel) in rows {
        let arguments = format!("--backend {backend} --emit shared --link {kernel} -o bad.so");
        let message = emit(folder.path(), &arguments).unwrap_err();
        assert!(message.starts_with(&format!("error: backend {backend}: ")), "{message}");
        if kernel.starts_with("narrow") {
            assert!(message.contains("twice_kernel") && message.contains("i32"), "{message}");
        }
        assert!(!folder.path().join("bad.so").exists());
    }
    let message = emit(folder.path(), "--backend llvm --emit shared -o bad.so").unwrap_err();
    assert_eq!(
        message,
        "error: `twice_kernel` is called by a declaration and defined by no linked file\n"
    );
}
