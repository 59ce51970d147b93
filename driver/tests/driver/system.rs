//! The C library that libraries are linked for: the stated glibc or a sysroot, never that of this machine.

mod sysroot;

use std::fs;
use std::process::Command;

use codegen::backend::Machine;
use codegen::ir::{Builder, Linkage, Module, Signature, SymbolKind, Type};
use object::Endianness;
use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol};
use tvm_ffi_codegen_driver::link::{Input, Linker};
use tvm_ffi_codegen_driver::{Error, Form, Request, inspect};

use crate::support::{alone, call, compile, folder, object, object_with};

const TARGETS: [&str; Machine::ALL.len()] =
    ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu"];

/// Makes an object for a target whose function calls functions of these names.
fn calling(target: &str, names: &[&str]) -> Input {
    let mut module = Module::default();
    let signature = Signature::new(&[Type::I32], Some(Type::I32));
    let declare = |name: &&str| {
        module.declare(name, Linkage::Import, SymbolKind::Function(signature.clone()))
    };
    let callees: Vec<_> = names.iter().map(declare).collect();
    let mut b = Builder::function(&mut module, "kernel", Linkage::Export, signature);
    let value = b.param(0);
    let value = callees.into_iter().fold(value, |value, callee| b.call_value(callee, &[value]));
    b.ret(Some(value));
    let function = b.finish();
    module.functions.push(function);
    let target = target.parse().unwrap();
    let request = Request { target, ..Request::new(Form::Object) };
    Input::new("calling.o", request.emit_module(&module).unwrap()).unwrap()
}

/// Returns the request for a library of one object.
fn request(target: &str, linker: &Linker, kernel: Input) -> Request {
    let (target, linker) = (target.parse().unwrap(), Some(linker.clone()));
    Request { target, linker, kernels: vec![kernel], ..Request::new(Form::Shared) }
}

/// Returns the undefined symbols of a library, each with the file and the version that it names.
fn versions(library: &[u8]) -> Vec<String> {
    let file = ElfFile64::<Endianness>::parse(library).unwrap();
    let (endian, data) = (file.endian(), file.data());
    let table = file.elf_section_table().versions(endian, data).unwrap();
    let version = |symbol: &dyn Fn() -> object::SymbolIndex| {
        let table = table.as_ref()?;
        let index = table.version_index(endian, symbol()).index();
        let version = table.version(index).unwrap()?;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        Some(format!(" {} {}", text(version.file()?), text(version.name())))
    };
    let undefined = file.dynamic_symbols().filter(|symbol| symbol.is_undefined());
    let named = undefined.map(|symbol| {
        let version = version(&|| symbol.index()).unwrap_or_default();
        format!("{}{version}", symbol.name().unwrap())
    });
    let mut all: Vec<String> = named.collect();
    all.sort();
    all
}

/// Checks the versions of functions that have had several, or that have moved to another library.
fn check_versions(linker: &Linker) {
    let names = [
        "memcpy",
        "pow",
        "pthread_create",
        "pthread_mutex_lock",
        "fcntl64",
        "dlopen",
        "realpath",
        "clock_gettime",
        "timer_create",
        "_Unwind_Resume",
        "__tls_get_addr",
        "of_the_process",
    ];
    let expected = |base: &str, loader: &str, changed: [&str; 5]| {
        let [memcpy, realpath, clock, timer, tls] = changed;
        let mut all = vec![
            "_Unwind_Resume libgcc_s.so.1 GCC_3.0".to_owned(),
            format!("__tls_get_addr {loader} {tls}"),
            format!("clock_gettime libc.so.6 {clock}"),
            format!("dlopen libdl.so.2 {base}"),
            "fcntl64 libc.so.6 GLIBC_2.28".to_owned(),
            format!("memcpy libc.so.6 {memcpy}"),
            "of_the_process".to_owned(),
            format!("pow libm.so.6 {base}"),
            format!("pthread_create libpthread.so.0 {base}"),
            format!("pthread_mutex_lock libc.so.6 {base}"),
            format!("realpath libc.so.6 {realpath}"),
            format!("timer_create librt.so.1 {timer}"),
        ];
        all.sort();
        all
    };
    let changed = ["GLIBC_2.14", "GLIBC_2.3", "GLIBC_2.17", "GLIBC_2.3.3", "GLIBC_2.3"];
    let rows = [
        (TARGETS[0], expected("GLIBC_2.2.5", "ld-linux-x86-64.so.2", changed)),
        (TARGETS[1], expected("GLIBC_2.17", "ld-linux-aarch64.so.1", ["GLIBC_2.17"; 5])),
        (TARGETS[2], expected("GLIBC_2.27", "ld-linux-riscv64-lp64d.so.1", ["GLIBC_2.27"; 5])),
    ];
    for (target, expected) in rows {
        let library = request(target, linker, calling(target, &names)).link().unwrap();
        assert_eq!(versions(&library), expected, "{target} {linker:?}");
        let mut files: Vec<&str> =
            expected.iter().filter_map(|line| line.split(' ').nth(1)).collect();
        files.push("libtvm_ffi.so");
        files.sort_unstable();
        files.dedup();
        let mut needed = inspect(&library).unwrap().needed;
        needed.sort_unstable();
        assert_eq!(needed, files, "{target} {linker:?}");
    }
}

#[test]
fn versions_are_those_of_the_stated_glibc() {
    check_versions(&Linker::Wild);
}

#[test]
#[ignore = "tests/setup installs lld"]
fn lld_takes_the_same_versions() {
    check_versions(&"lld".parse().unwrap());
}

#[test]
fn later_symbols_are_refused_by_name_unless_something_defines_them() {
    for target in TARGETS {
        let wanting = request(target, &Linker::Wild, calling(target, &["__isoc23_strtol"]));
        let error = wanting.link().unwrap_err();
        assert!(
            matches!(error, Error::Link { source: link::Error::CLibrary { sysroot: None, .. } }),
            "{error:?}"
        );
        let expected = "calling.o uses `__isoc23_strtol` (GLIBC_2.38), which is not in glibc 2.28: link a file \
            that defines it, take --sysroot (in Rust the field `sysroot`) with a newer glibc, or --linker cc with a \
            compiler for one";
        assert_eq!(error.to_string(), expected);
        // The loader of this process finds what this machine has.
        let library = Request { in_process: true, ..wanting }.link().unwrap();
        assert_eq!(versions(&library), ["__isoc23_strtol"], "{target}");
    }
    let defined = object("defined", "long __isoc23_strtol(void) { return 1; }");
    let mut wanting = request(TARGETS[0], &Linker::Wild, calling(TARGETS[0], &["__isoc23_strtol"]));
    wanting.kernels.push(defined);
    assert_eq!(versions(&wanting.link().unwrap()), [""; 0]);
    let weak = object(
        "weak",
        "__attribute__((weak)) long __isoc23_strtol(void);
         long kernel(void) { return __isoc23_strtol ? __isoc23_strtol() : 0; }",
    );
    let library = request(TARGETS[0], &Linker::Wild, weak).link().unwrap();
    assert_eq!(versions(&library), ["__isoc23_strtol"]);
}

/// Functions of archives that compilers link by themselves.
#[test]
fn functions_of_no_library_are_refused_by_name() {
    for (target, name, archive) in [
        (TARGETS[2], "atexit", "libc_nonshared.a"),
        (TARGETS[0], "__cpu_indicator_init", "libgcc.a"),
        (TARGETS[1], "__aarch64_ldadd8_relax", "libgcc.a"),
    ] {
        let error = request(target, &Linker::Wild, calling(target, &[name])).link();
        let message = error.unwrap_err().to_string();
        let expected = format!("calling.o uses `{name}` ({archive}), which is not in glibc 2.28: ");
        assert!(message.starts_with(&expected), "{message}");
    }
    // The archive itself may be linked.
    let text = "long kernel(long n) { __builtin_cpu_init(); return n + !!__builtin_cpu_supports(\"sse\"); }";
    let path = Command::new("cc").arg("-print-libgcc-file-name").output().unwrap().stdout;
    let archive = Input::read(std::str::from_utf8(&path).unwrap().trim().as_ref()).unwrap();
    let mut request = request(TARGETS[0], &Linker::Wild, object("asking", text));
    assert!(request.link().unwrap_err().to_string().contains("(libgcc.a)"));
    request.kernels.push(archive);
    request.link().unwrap();
}

/// Functions that compilers link from an archive of glibc are added, and call others of 2.28.
#[test]
fn functions_that_glibc_had_in_an_archive_are_added() {
    let rows = [
        ("stat", "__xstat"),
        ("stat64", "__xstat64"),
        ("fstat", "__fxstat"),
        ("fstat64", "__fxstat64"),
        ("lstat", "__lxstat"),
        ("lstat64", "__lxstat64"),
        ("fstatat", "__fxstatat"),
        ("fstatat64", "__fxstatat64"),
        ("mknod", "__xmknod"),
        ("mknodat", "__xmknodat"),
        ("at_quick_exit", "__cxa_at_quick_exit"),
        ("atexit", "__cxa_atexit"),
        ("pthread_atfork", "__register_atfork"),
    ];
    for (target, (name, callee)) in
        TARGETS[..2].iter().flat_map(|target| rows.map(|row| (target, row)))
    {
        let library = request(target, &Linker::Wild, calling(target, &[name])).link().unwrap();
        let found = versions(&library);
        let mut names: Vec<&str> = found.iter().filter_map(|line| line.split(' ').next()).collect();
        names.retain(|name| *name != "__cxa_finalize");
        assert_eq!(names, [callee], "{target} {name}");
    }
    let text = "
        #include <fcntl.h>
        #include <sys/stat.h>
        int __tvm_ffi_f(void* h, const void* a, int n, void* r) {
            struct stat s[4];
            int place = open(\"/\", O_RDONLY);
            int status = stat(\"/\", s) + lstat(\"/\", s + 1) + fstat(place, s + 2);
            status += fstatat(place, \"proc/..\", s + 3, 0);
            for (int i = 0; i < 4; ++i) n += S_ISDIR(s[i].st_mode) && s[i].st_ino == s[0].st_ino;
            return status * 1000 + n;
        }";
    let folder = folder();
    let path = folder.path().join("f.so");
    fs::write(&path, alone(&[object("files", text)], &Linker::Wild).link().unwrap()).unwrap();
    assert_eq!(call(&path, "__tvm_ffi_f", 0), 4);
    let text = r#"
        #define _GNU_SOURCE
        #include <fcntl.h>
        #include <sys/stat.h>
        int __tvm_ffi_f(void* h, const void* a, int n, void* r) {
            struct stat s;
            int place = open("FOLDER", O_RDONLY | O_DIRECTORY);
            if (mknod("FOLDER/pipe", S_IFIFO | 0600, 0) || stat("FOLDER/pipe", &s) || !S_ISFIFO(s.st_mode)) return -1;
            if (mknodat(place, "file", S_IFREG | 0400, 0) || stat("FOLDER/file", &s)) return -2;
            if (!S_ISREG(s.st_mode) || (s.st_mode & 0777) != 0400) return -3;
            return mknod("FOLDER/pipe", S_IFIFO | 0600, 0) + n;
        }"#;
    let text = text.replace("FOLDER", folder.path().to_str().unwrap());
    fs::write(&path, alone(&[object("nodes", &text)], &Linker::Wild).link().unwrap()).unwrap();
    assert_eq!(call(&path, "__tvm_ffi_f", 8), 7);
}

/// Members of archives that no linker takes need nothing.
#[test]
fn only_taken_members_of_archives_count() {
    let folder = folder();
    let members = [
        ("used", "double cbrt(double); int kernel(int n) { return (int)cbrt(n); }"),
        ("unused", "long __isoc23_strtol(void); long unused(void) { return __isoc23_strtol(); }"),
    ];
    let members = members.map(|(name, text)| compile(folder.path(), name, text, &[]));
    let archive = folder.path().join("kernels.a");
    assert!(Command::new("ar").arg("rcs").arg(&archive).args(members).status().unwrap().success());
    let library = |callee: &str| {
        let text = format!("long {callee}(int n); long other(int n) {{ return {callee}(n) + 1; }}");
        let mut request = request(TARGETS[0], &Linker::Wild, object("caller", &text));
        request.kernels.push(Input::read(&archive).unwrap());
        request.link()
    };
    assert_eq!(versions(&library("kernel").unwrap()), ["cbrt libm.so.6 GLIBC_2.2.5"]);
    let message = library("unused").unwrap_err().to_string();
    assert!(message.contains("kernels.a uses `__isoc23_strtol` (GLIBC_2.38)"), "{message}");
}

/// Objects may ask for a version that is not the default one, as assemblers do for `.symver`.
fn check_versions_of_objects(linker: &Linker) {
    let text = |version: &str| {
        format!(
            "void* memcpy(void*, const void*, unsigned long); void* old(void*, const void*, unsigned long);
             __asm__(\".symver old, memcpy@GLIBC_{version}\");
             int kernel(int n) {{ int m, k; memcpy(&m, &n, n); old(&k, &n, n); return m + k; }}"
        )
    };
    let link = |version: &str| {
        let object = object_with("versioned", &text(version), &["-fno-builtin"]);
        request(TARGETS[0], linker, object).link()
    };
    let found = versions(&link("2.2.5").unwrap());
    assert_eq!(
        found,
        ["memcpy libc.so.6 GLIBC_2.14", "memcpy libc.so.6 GLIBC_2.2.5"],
        "{linker:?}"
    );
    let mut found = versions(&link("2.14").unwrap());
    // lld has a symbol for each spelling.
    found.dedup();
    assert_eq!(found, ["memcpy libc.so.6 GLIBC_2.14"], "{linker:?}");
    let message = link("2.29").unwrap_err().to_string();
    let expected =
        "versioned.o uses `memcpy@GLIBC_2.29` (GLIBC_2.29), which is not in glibc 2.28: ";
    assert!(message.starts_with(expected), "{message}");
    let private = request(TARGETS[0], linker, calling(TARGETS[0], &["memcpy@GLIBC_PRIVATE"]));
    let message = private.link().unwrap_err().to_string();
    assert!(
        message.starts_with("calling.o uses `memcpy@GLIBC_PRIVATE` (GLIBC_PRIVATE)"),
        "{message}"
    );
    // A linker refuses an empty version, or takes the symbol for another one.
    let _ = request(TARGETS[0], linker, calling(TARGETS[0], &["memcpy@", "@", "@@pow"])).link();
}

#[test]
fn objects_may_ask_for_old_versions() {
    check_versions_of_objects(&Linker::Wild);
}

#[test]
#[ignore = "tests/setup installs lld"]
fn objects_may_ask_for_old_versions_with_lld() {
    check_versions_of_objects(&"lld".parse().unwrap());
}

/// Weak symbols alone make no library needed, and get versions where it is.
#[test]
fn weak_symbols_need_no_library() {
    const WEAK: &str = "
        __attribute__((weak)) int pthread_create(void);
        __attribute__((weak)) int getpid(void);
        int kernel(void) { return (pthread_create != 0) + (getpid != 0); }
    ";
    let weak = object("weak", WEAK);
    let mut request = request(TARGETS[0], &Linker::Wild, weak);
    let library = request.link().unwrap();
    assert_eq!(inspect(&library).unwrap().needed, ["libtvm_ffi.so"]);
    assert_eq!(versions(&library), ["getpid", "pthread_create"]);
    request.kernels.push(object("strong", "int abs(int); int other(int n) { return (&abs)(n); }"));
    request.kernels.push(object("exits", "void abort(void); void exits(void) { abort(); }"));
    let library = request.link().unwrap();
    assert_eq!(inspect(&library).unwrap().needed, ["libtvm_ffi.so", "libc.so.6"]);
    let getpid = "getpid libc.so.6 GLIBC_2.2.5".to_owned();
    assert!(versions(&library).contains(&getpid), "{:?}", versions(&library));
}
