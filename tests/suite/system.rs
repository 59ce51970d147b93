//! Libraries that are linked into a program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use codegen::Library;
use driver::{Form, Request};
use object::{BinaryFormat, Object, ObjectSection, RelocationKind, SectionFlags, elf};
use tempfile::TempDir;
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::route::{BACKENDS, has_target, request};

const KERNELS: &str = "
    long twice(long n) { return 2 * n; }
    long thrice(long n) { return 3 * n; }
";

/// Writes an object with a system library.
fn object(folder: &TempDir, name: &str, backend: &str, prefix: &str, library: &str) -> PathBuf {
    let library: Library = library.parse().unwrap();
    let library = library.with_entry("f").with_system_lib(prefix);
    let module = driver::lower(&library, &codegen::Options::default()).unwrap();
    let path = folder.path().join(name);
    request(backend, Form::Object).write_module(&module, &path).unwrap();
    path
}

/// Links the program.
fn link(folder: &TempDir, objects: &[&Path]) -> Output {
    let (kernels, libraries) = (folder.path().join("kernels.c"), config("--libdir"));
    std::fs::write(&kernels, KERNELS).unwrap();
    let mut cc = Command::new("cc");
    cc.arg("-std=gnu11").arg(host("system.c"));
    cc.arg(kernels).args(objects).arg(Path::new(&libraries).join("libtvm_ffi.so"));
    cc.arg(format!("-I{}", config("--includedir")));
    cc.arg(format!("-I{}", config("--dlpack-includedir")));
    cc.arg(format!("-Wl,-rpath,{libraries}")).arg("-o").arg(folder.path().join("program"));
    cc.env("LC_ALL", "C").output().expect("a C compiler")
}

const TWICE: &str = "f(n: int64) -> int64 = twice(n);";
const THRICE: &str = "f(n: int64) -> int64 = thrice(n); g(n: int64) -> int64 = twice(n);
    _g(n: int64) -> int64 = thrice(n); `h.i j`(n: int64) -> int64 = twice(n);";

#[test]
fn programs_find_the_libraries_that_are_linked_into_them() {
    for backend in BACKENDS {
        let folder = tempfile::tempdir().unwrap();
        let two = object(&folder, "two.o", backend, "two_", TWICE);
        let three = object(&folder, "three.o", backend, "three_", THRICE);
        let plain = object(&folder, "plain.o", backend, "", TWICE);
        let output = link(&folder, &[&two, &three, &plain]);
        assert!(output.status.success(), "{backend}: {output:?}");
        let calls = ["two_:f:5", "three_:f:5", "three_:g:5", "three_:main:5", ":f:7", ":g:7"];
        let calls = calls.into_iter().chain(["three_:_g:5", "three_:h.i j:5"]);
        let output = Command::new(folder.path().join("program")).args(calls).output().unwrap();
        let expected = "10, metadata\n15, metadata\n10, metadata\n15\n14, metadata\n has no g\n\
                        15, metadata\n10, metadata\n";
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{backend}");
        assert!(output.status.success() && output.stderr.is_empty(), "{backend}: {output:?}");
    }
}

#[test]
fn one_prefix_for_two_libraries_is_an_error_of_the_linker() {
    for backend in BACKENDS {
        let folder = tempfile::tempdir().unwrap();
        let first = object(&folder, "first.o", backend, "same_", TWICE);
        let second = object(&folder, "second.o", backend, "same_", TWICE);
        let output = link(&folder, &[&first, &second]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains("__tvm_ffi_same_f"), "{message}");
    }
}

/// Returns the name of the section of constructors.
fn constructors(format: BinaryFormat) -> &'static str {
    if format == BinaryFormat::MachO {
        "__mod_init_func"
    } else if format == BinaryFormat::Coff {
        ".CRT$XCU"
    } else {
        ".init_array"
    }
}

#[test]
fn every_format_has_a_place_for_constructors() {
    let targets = [
        "x86_64-unknown-linux-gnu",
        "aarch64-unknown-linux-gnu",
        "riscv64gc-unknown-linux-gnu",
        "x86_64-apple-darwin",
        "aarch64-apple-darwin",
        "x86_64-pc-windows-msvc",
        "aarch64-pc-windows-msvc",
    ];
    let library: Library = TWICE.parse().unwrap();
    let library = library.with_system_lib("a_");
    let module = driver::lower(&library, &codegen::Options::default()).unwrap();
    let all = BACKENDS.iter().flat_map(|b| targets.map(|target| (*b, target)));
    for (backend, target) in all.filter(|(backend, target)| has_target(backend, target)) {
        let triple = target.parse().unwrap();
        let request = Request { target: triple, ..request(backend, Form::Object) };
        let bytes = request.emit_module(&module).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let section = file.section_by_name(constructors(file.format()));
        let section = section.unwrap_or_else(|| panic!("{target}, {}", request.backend));
        let relocations: Vec<_> = section.relocations().collect();
        assert_eq!((section.size(), relocations.len()), (8, 1), "{target}, {}", request.backend);
        let (offset, relocation) = &relocations[0];
        let place = (*offset, relocation.kind(), relocation.size());
        assert_eq!(place, (0, RelocationKind::Absolute, 64), "{target}, {}", request.backend);
        if let SectionFlags::Elf { sh_type, sh_flags } = section.flags() {
            let expected = (elf::SHT_INIT_ARRAY, elf::SHF_ALLOC | elf::SHF_WRITE);
            assert_eq!((sh_type, sh_flags), expected, "{target}, {}", request.backend);
        }
    }
}
