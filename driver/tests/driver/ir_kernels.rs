//! Kernels as LLVM IR and MLIR: linked, inlined, and checked.

use std::path::Path;
use std::{fs, process::Command};

use libloading::Library;
use libloading::os::unix::{self, RTLD_GLOBAL, RTLD_NOW};
use object::{Object, ObjectSymbol};
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

/// Runs `emit`; returns the message if it fails.
fn emit(folder: &Path, arguments: &str) -> Result<(), String> {
    emit_file(folder, "twice.ffi", arguments)
}

fn emit_file(folder: &Path, file: &str, arguments: &str) -> Result<(), String> {
    let output = Command::new(env!("CARGO_BIN_EXE_tvm-ffi-codegen"))
        .args(["emit", file])
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

/// Checks that the wrapper is the only export, the kernel is no symbol, and a call returns its result.
fn assert_twice(folder: &Path, library: &str) {
    let path = folder.join(library);
    let found = inspect(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(found.functions.len(), 1);
    assert!(found.undefined.iter().all(|symbol| symbol.name != "twice_kernel"));
    assert_eq!(call(&path, &[[1, 21]]), (0, [1, 42]));
}

/// Calls `twice` with pairs of type index and value; returns its status and result.
fn call(path: &Path, arguments: &[[i64; 2]]) -> (i32, [i64; 2]) {
    type SafeCall = unsafe extern "C" fn(usize, *const [i64; 2], i32, *mut i64) -> i32;
    let mut result = [0_i64; 2];
    let config = Command::new("tvm-ffi-config").arg("--libdir").output().expect("run tests/run");
    let runtime = format!("{}/libtvm_ffi.so", String::from_utf8(config.stdout).unwrap().trim());
    // SAFETY: the runtime comes first, as in every host, and the arguments are integers.
    let status = unsafe {
        let _runtime = unix::Library::open(Some(runtime), RTLD_NOW | RTLD_GLOBAL).unwrap();
        let library = Library::new(path).unwrap();
        let function = library.get::<SafeCall>(b"__tvm_ffi_twice").unwrap();
        function(0, arguments.as_ptr(), arguments.len() as i32, result.as_mut_ptr())
    };
    (status, result)
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
    // Emitted bitcode begins like a kernel in bitcode.
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

/// Kernels may have internal linkage, as the documentation of the backends recommends, and any file name.
#[test]
fn kernels_of_internal_linkage_and_any_name_are_found() {
    let folder = twice();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let helper = "define internal i64 @helper(i64 %n) { ret i64 %n }\n";
    let local = LLVM.replace("define i64", "define internal i64");
    write("local.txt", &format!("{helper}{local}"));
    write("other.ll", &format!("{helper}@keep = global ptr @helper"));
    write("local", &MLIR.replace("llvm.func ", "llvm.func internal "));
    for (backend, kernels) in
        [("llvm", "--link local.txt --link other.ll"), ("mlir", "--link local")]
    {
        for form in ["--emit shared -o twice.so", "--emit shared -O0 -o twice.so"] {
            let arguments = format!("--backend {backend} {kernels} {form}");
            assert_eq!(emit(folder.path(), &arguments), Ok(()), "{arguments}");
            assert_twice(folder.path(), "twice.so");
        }
    }
    let arguments = "--backend llvm --emit bitcode --link local.txt -o bits";
    assert_eq!(emit(folder.path(), arguments), Ok(()));
}

/// `bool` as C compilers emit it: an `i1`, with the attribute if the platform's ABI extends it.
const TRUTHS: &str = "define EXTEND i1 @k(i1 noundef EXTEND %a, i8 noundef EXTEND %b) {
  %c = icmp ugt i8 %b, 128
  %d = xor i1 %a, %c
  ret i1 %d
}
";

#[test]
fn truths_may_be_as_c_compilers_make_them() {
    let folder = twice();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("truths.ffi", "twice(a: bool, b: uint8) -> bool = k(a, b);");
    write("extended.ll", &TRUTHS.replace("EXTEND", "zeroext"));
    write("plain.ll", &TRUTHS.replace("EXTEND", ""));
    write(
        "truths.mlir",
        "llvm.func @k(%a: i1 {llvm.zeroext}, %b: i8) -> (i1 {llvm.zeroext}) {
          %c = llvm.mlir.constant(128 : i8) : i8
          %d = llvm.icmp \"ugt\" %b, %c : i8
          %e = llvm.xor %a, %d : i1
          llvm.return %e : i1
        }",
    );
    let rows = [
        ("llvm", "extended.ll", "x86_64 riscv64gc"),
        ("llvm", "plain.ll", "x86_64 aarch64"),
        ("mlir", "truths.mlir", "x86_64 aarch64 riscv64gc"),
    ];
    for (backend, kernel, machines) in rows {
        for level in 0..=2 {
            let arguments = format!("--backend {backend} --link {kernel} -O{level}");
            let shared = format!("{arguments} --emit shared -o truths.so");
            assert_eq!(emit_file(folder.path(), "truths.ffi", &shared), Ok(()));
            for (a, b) in [(0, 255), (1, 255), (0, 128), (1, 0)] {
                let path = folder.path().join("truths.so");
                let expected = [2, i64::from((a == 1) != (b > 128))];
                assert_eq!(call(&path, &[[1, a], [1, b]]), (0, expected), "{shared} {a} {b}");
            }
            for machine in machines.split(' ') {
                let target = format!("--target {machine}-unknown-linux-gnu -o truths.o");
                let arguments = format!("{arguments} {target}");
                assert_eq!(emit_file(folder.path(), "truths.ffi", &arguments), Ok(()));
            }
        }
    }
    write("byte.ffi", "twice(a: uint8, b: uint8) -> bool = k(a, b);");
    write("signed.ll", &TRUTHS.replace("EXTEND", "signext"));
    let truth = "`k`: argument 0 is i1 in the module, expected i8";
    let sign = "`k`: argument 0 is i8 signext in the module, expected i8 zeroext";
    let rows = [
        ("byte.ffi", "llvm", "plain.ll", truth),
        ("byte.ffi", "mlir", "truths.mlir", truth),
        ("truths.ffi", "llvm", "signed.ll", sign),
    ];
    for (file, backend, kernel, message) in rows {
        let arguments = format!("--backend {backend} --link {kernel} -o bad.o");
        let expected = format!("error: backend {backend}: {message}\n");
        assert_eq!(emit_file(folder.path(), file, &arguments), Err(expected));
    }
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
            let expected = "`twice_kernel`: argument 0 is i32 in the module, expected i64\n";
            assert_eq!(message, format!("error: backend {backend}: {expected}"));
        }

        assert!(!folder.path().join("bad.so").exists());
    }
    let message = emit(folder.path(), "--backend llvm --emit shared -o bad.so").unwrap_err();
    assert_eq!(
        message,
        "error: `twice_kernel` is called by a declaration and defined by no linked file\n"
    );
}

#[test]
fn empty_kernels_are_no_kernels() {
    let folder = twice();
    fs::write(folder.path().join("empty"), "").unwrap();
    for backend in ["cranelift", "llvm", "mlir"] {
        let arguments = format!("--backend {backend} --emit shared --link empty -o bad.so");
        let expected = Err("error: empty: not an object file\n".to_owned());
        assert_eq!(emit(folder.path(), &arguments), expected, "{backend}");
    }
}

/// LLVM 22 ends the process that reads this file.
#[test]
fn kernels_that_end_whoever_reads_them_are_named() {
    let folder = twice();
    fs::write(folder.path().join("damaged.bc"), include_bytes!("../damaged.bc")).unwrap();
    let arguments = "--backend llvm --emit shared --link kernel.ll --link damaged.bc -o bad.so";
    let message = emit(folder.path(), arguments).unwrap_err();
    let expected = "error: backend llvm: damaged.bc: reading it ends the process with signal: ";
    assert!(message.starts_with(expected) && message.lines().count() == 1, "{message}");
}

/// A product and a sum become one instruction if the processor has it.
#[test]
fn code_is_for_the_processor_that_was_asked_for() {
    let folder = twice();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("twice.ffi", "twice(n: float64, m: float64) -> float64 = twice_kernel(n, m);");
    write(
        "fused.ll",
        "define double @twice_kernel(double %n, double %m) {
          %product = fmul contract double %n, %m
          %sum = fadd contract double %product, %n
          ret double %sum
        }",
    );
    write(
        "fused.mlir",
        "llvm.func @twice_kernel(%n: f64, %m: f64) -> f64 {
          %product = llvm.fmul %n, %m {fastmathFlags = #llvm.fastmath<contract>} : f64
          %sum = llvm.fadd %product, %n {fastmathFlags = #llvm.fastmath<contract>} : f64
          llvm.return %sum : f64
        }",
    );
    for (backend, kernel) in [("llvm", "fused.ll"), ("mlir", "fused.mlir")] {
        let object = |cpu: &str| {
            let target = "--target x86_64-unknown-linux-gnu -o cpu.o";
            emit(folder.path(), &format!("--backend {backend} --link {kernel} {cpu} {target}"))
                .unwrap();
            fs::read(folder.path().join("cpu.o")).unwrap()
        };
        // vfmadd213sd %xmm0, %xmm0, %xmm1 and its like begin with a VEX prefix and opcode map 2.
        let fused = |object: &[u8]| object.windows(2).any(|pair| pair == [0xc4, 0xe2]);
        assert!(!fused(&object("")) && !fused(&object("--cpu generic")), "{backend}");
        assert!(fused(&object("--cpu x86-64-v3")), "{backend}");
        assert_ne!(object("--cpu x86-64-v3"), object(""));
    }
}

/// The error is one line on standard error, and no file is written.
#[test]
fn targets_and_processors_that_nobody_knows_are_errors() {
    let folder = twice();
    let x86 = "--target x86_64-unknown-linux-gnu";
    let rows = [
        (format!("{x86} --cpu pentium99"), "x86_64-unknown-linux-gnu: no processor `pentium99`"),
        (format!("{x86} --cpu cortex-a72"), "x86_64-unknown-linux-gnu: no processor `cortex-a72`"),
        (
            "--target powerpc64le-unknown-linux-gnu".into(),
            "powerpc64le-unknown-linux-gnu: not a known machine",
        ),
        ("--target i686-unknown-linux-gnu".into(), "i686-unknown-linux-gnu: not a known machine"),
        (
            "--target riscv64gc-unknown-windows".into(),
            "riscv64gc-unknown-windows: no such object format for this machine",
        ),
    ];
    for backend in ["llvm", "mlir"] {
        for (arguments, message) in &rows {
            let arguments = format!("--backend {backend} {arguments} -o bad.o");
            let expected = format!("error: backend {backend}: unsupported target {message}\n");
            assert_eq!(emit(folder.path(), &arguments), Err(expected));
            assert!(!folder.path().join("bad.o").exists());
        }
    }
}

/// Kernels that several functions choose among have one copy, unless the level asks for speed alone; those of
/// one function are inlined.
#[test]
fn kernels_of_a_choice_are_not_copied() {
    let choice = |function: &str, [a, b, c]: [&str; 3]| {
        let arm = |kernel: &str| format!("let r: int64 = {kernel}(n); return r;");
        let (a, b, c) = (arm(a), arm(b), arm(c));
        format!(
            "{function}(k: int64, n: int64) -> int64 = {{ if k == 1 {{ {a} }} if k == 2 {{ {b} }} {c} }};\n"
        )
    };
    let shared = ["first", "second"].map(|function| choice(function, ["a", "b", "c"]));
    let own = choice("third", ["own_a", "own_b", "own_c"]);
    let names = ["a", "b", "c", "own_a", "own_b", "own_c"];
    let folder = folder();
    fs::write(folder.path().join("f.ffi"), shared.concat() + &own).unwrap();
    for (backend, kernel) in [("llvm", LLVM), ("mlir", MLIR)] {
        let kernels = names.map(|name| kernel.replace("twice_kernel", name)).concat();
        fs::write(folder.path().join("kernels"), kernels).unwrap();
        for (level, kept) in [("2", &["a", "b", "c"][..]), ("3", &[])] {
            let options = format!("--backend {backend} -O{level} --link kernels -o f.o");
            emit_file(folder.path(), "f.ffi", &options).unwrap();
            let object = fs::read(folder.path().join("f.o")).unwrap();
            let file = object::File::parse(&*object).unwrap();
            let left = file.symbols().filter_map(|symbol| symbol.name().ok());
            let mut left: Vec<&str> = left.filter(|name| names.contains(name)).collect();
            left.sort_unstable();
            assert_eq!(left, kept, "{backend} -O{level}");
        }
    }
}
