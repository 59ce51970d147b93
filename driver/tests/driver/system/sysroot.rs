//! Linking for a system in a folder, and on one of which nothing is taken.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tvm_ffi_codegen_driver::link::Linker;
use tvm_ffi_codegen_driver::{Request, inspect};

use super::{TARGETS, request, versions};
use crate::cli::{fails, quiet, run_with};
use crate::support::{compile, folder, object};

/// Makes a folder with a declaration and a kernel that uses the C library.
fn kernel() -> tempfile::TempDir {
    let folder = folder();
    fs::write(folder.path().join("f.ffi"), "f(n: int32) -> int32 = kernel(n);").unwrap();
    const KERNEL: &str = "
        #include <math.h>
        #include <string.h>
        int kernel(int n) { char a[99]; memcpy(a, &n, n % 4); return (int)pow(n, 1.5) + a[0]; }
    ";
    compile(folder.path(), "kernel", KERNEL, &["-fno-builtin"]);
    folder
}

/// Makes a shared library that defines functions in a version.
fn library(path: &Path, version: &str, names: &[&str]) {
    let folder = folder();
    let define = |name: &&str| format!("int {name}(void) {{ return 0; }}\n");
    let source: String = names.iter().map(define).collect();
    let object = compile(folder.path(), "library", &source, &["-fno-builtin"]);
    let script = folder.path().join("script");
    fs::write(&script, format!("{version} {{ global: *; }};")).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-nostdlib"]).arg(object).arg("-o").arg(path);
    cc.arg(format!("-Wl,-soname,{name},--version-script={}", script.display()));
    assert!(cc.status().unwrap().success());
}

/// Linking opens no file of the machine: the bytes are the same where there is another glibc, where there is musl, and
/// where libraries are in a store.
#[test]
fn libraries_are_the_same_on_every_distribution() {
    let allowed = Command::new("unshare").args(["-rm", "true"]).status();
    if !allowed.is_ok_and(|status| status.success()) {
        assert!(env::var_os("CI").is_none(), "this user may make no namespaces");
        eprintln!("not tested: this user may make no namespaces");
        return;
    }
    let (folder, root) = (kernel(), folder());
    let emit = "--emit shared --link kernel.o -l m -l c -l pthread -l dl -l rt -l gcc_s -o";
    quiet(folder.path(), &format!("emit f.ffi {emit} here.so"));
    let here = fs::read(folder.path().join("here.so")).unwrap();
    let debian = root.path().join("debian");
    let places = [
        "debian/lib/x86_64-linux-gnu",
        "debian/usr/lib/x86_64-linux-gnu",
        "alpine/lib",
        "alpine/usr/lib",
        "nix/nix/store/glibc/lib",
    ];
    for place in places {
        fs::create_dir_all(root.path().join(place)).unwrap();
    }
    for place in ["lib", "usr/lib"] {
        let place = debian.join(place).join("x86_64-linux-gnu");
        library(&place.join("libc.so.6"), "GLIBC_9.9", &["memcpy"]);
        library(&place.join("libm.so.6"), "GLIBC_9.9", &["pow"]);
        fs::write(place.join("libm.so"), "GROUP(/lib/x86_64-linux-gnu/libm.so.6)").unwrap();
    }
    library(&root.path().join("alpine/lib/libc.musl-x86_64.so.1"), "MUSL", &["memcpy", "pow"]);
    symlink("libc.musl-x86_64.so.1", root.path().join("alpine/lib/libc.so")).unwrap();
    library(&root.path().join("nix/nix/store/glibc/lib/libc.so.6"), "GLIBC_9.9", &["memcpy"]);
    for name in ["debian", "alpine", "nix"] {
        let root = root.path().join(name);
        fs::create_dir(root.join("host")).unwrap();
        for file in ["f.ffi", "kernel.o"] {
            fs::copy(folder.path().join(file), root.join(file)).unwrap();
        }
        let outcome = in_root(&root, &format!("emit /f.ffi {emit} /out.so"));
        assert_eq!(outcome, "", "{name}");
        let there = fs::read(root.join("out.so")).unwrap();
        assert!(there == here, "{name}: {:?}", versions(&there));
    }
}

/// Runs the command line where a folder is the root of the file system, and this machine is in `/host`. Returns what it
/// prints.
fn in_root(root: &Path, arguments: &str) -> String {
    let program = env!("CARGO_BIN_EXE_tvm-ffi-codegen");
    let libraries = Command::new("ldd").arg(program).output().unwrap();
    let libraries = String::from_utf8(libraries.stdout).unwrap();
    let paths = libraries.split_whitespace().filter(|word| word.starts_with('/'));
    let (loaders, others): (Vec<&str>, Vec<&str>) = paths.partition(|path| path.contains("/ld-"));
    let mut folders: Vec<String> = Vec::new();
    for path in others {
        // A link of another root would lead elsewhere.
        let folder = fs::canonicalize(path).unwrap();
        folders.push(format!("/host{}", folder.parent().unwrap().display()));
    }
    folders.sort();
    folders.dedup();
    let loader = fs::canonicalize(loaders[0]).unwrap();
    let script = format!(
        "mount --rbind / '{root}/host' && cd '{root}' && exec chroot '{root}' '/host{}' --library-path '{}' '/host{program}' {arguments}",
        loader.display(),
        folders.join(":"),
        root = root.display(),
    );
    let output = Command::new("unshare").args(["-rm", "sh", "-c", &script]).output().unwrap();
    String::from_utf8(output.stderr).unwrap()
}

/// Libraries, linker scripts and the parts of the system are found in a sysroot, whose links are its own.
#[test]
fn a_sysroot_takes_the_place_of_this_machine() {
    let folder = kernel();
    let path = folder.path();
    let place = path.join("root/usr/lib/x86_64-linux-gnu");
    fs::create_dir_all(&place).unwrap();
    library(&place.join("libc.so.6"), "GLIBC_9.9", &["memcpy"]);
    library(&place.join("libm.so.6"), "GLIBC_9.8", &["pow"]);
    library(&place.join("libgiven.so.1"), "GIVEN_1", &["given"]);
    symlink("usr/lib", path.join("root/lib")).unwrap();
    symlink("/lib/x86_64-linux-gnu/libgiven.so.1", place.join("liblink.so")).unwrap();
    fs::write(
        place.join("libscript.so"),
        "INPUT(/lib/x86_64-linux-gnu/../x86_64-linux-gnu/libgiven.so.1)",
    )
    .unwrap();
    let emit = "emit f.ffi --target x86_64-unknown-linux-gnu --emit shared --link kernel.o --sysroot root -o";
    quiet(path, &format!("{emit} f.so"));
    let found = versions(&fs::read(path.join("f.so")).unwrap());
    let found: Vec<&str> =
        found.iter().map(String::as_str).filter(|line| !line.starts_with("TVM")).collect();
    assert_eq!(found, ["memcpy libc.so.6 GLIBC_9.9", "pow libm.so.6 GLIBC_9.8"]);
    symlink("/lib/x86_64-linux-gnu/libgiven.so.1", place.join("libversioned.so.3")).unwrap();
    for name in ["link", "script", "given", ":libgiven.so.1", "versioned"] {
        quiet(path, &format!("{emit} f.so -l {name}"));
        let needed = inspect(&fs::read(path.join("f.so")).unwrap()).unwrap().needed;
        assert!(needed.contains(&"libgiven.so.1".to_owned()), "{name}: {needed:?}");
    }
    // This machine has these; the root has a link that leads nowhere in it.
    symlink(path.join("kernel.o"), place.join("libout.so")).unwrap();
    symlink("/lib/x86_64-linux-gnu/libloop.so", place.join("libloop.so")).unwrap();
    for name in ["out", "loop", "pthread", "gcc_s"] {
        let (code, message) = fails(path, &format!("{emit} g.so -l {name}"));
        let expected = format!("error: no library `{name}` in root/");
        assert!(code == 1 && message.starts_with(&expected), "{message}");
        assert!(!message.contains(" /"), "{message}");
    }
    // Newer versions of glibc have these for old makefiles.
    fs::write(place.join("libpthread.a"), "!<arch>\n").unwrap();
    quiet(path, &format!("{emit} f.so -l pthread"));
    for (root, reason) in [("none", "No such file or directory"), ("f.ffi", "Not a directory")] {
        let (code, message) =
            fails(path, &format!("{emit} g.so").replace(" root ", &format!(" {root} ")));
        let expected = format!("error: cannot read {root}: {reason}");
        assert!(code == 1 && message.starts_with(&expected), "{message}");
    }
    fs::remove_file(place.join("libm.so.6")).unwrap();
    let expected =
        "error: kernel.o uses `pow` (GLIBC_2.2.5), which is in no C library of the sysroot root\n";
    assert_eq!(fails(path, &format!("{emit} g.so")), (1, expected.to_owned()));
    let (code, message) = fails(path, "emit f.ffi --emit ir --sysroot root -o -");
    assert!(code == 2 && message.starts_with("error: --sysroot is for forms object and shared\n"));
}

/// Functions of the archive that compilers add come from a sysroot too, and refer to its libraries.
#[test]
fn a_sysroot_has_functions_that_are_in_no_library() {
    let (folder, root) = (folder(), folder());
    let place = root.path().join("usr/lib/x86_64-linux-gnu");
    fs::create_dir_all(&place).unwrap();
    library(&place.join("libc.so.6"), "GLIBC_9.9", &["__cxa_atexit", "__cxa_finalize"]);
    let text = "
        int __cxa_atexit(void (*)(void*), void*, void*); extern void* __dso_handle;
        __attribute__((visibility(\"hidden\"))) int atexit(void (*f)(void)) {
            return __cxa_atexit((void (*)(void*))f, 0, &__dso_handle);
        }";
    let member = compile(folder.path(), "atexit", text, &["-fno-builtin"]);
    let archive = place.join("libc_nonshared.a");
    let mut ar = Command::new("ar");
    assert!(ar.arg("rcs").arg(&archive).arg(member).status().unwrap().success());
    let user = "int atexit(void (*)(void)); static void end(void) {} int kernel(void) { return atexit(end); }";
    let sysroot = Some(root.path().to_owned());
    let request = Request { sysroot, ..request(TARGETS[0], &Linker::Wild, object("user", user)) };
    let expected = ["__cxa_atexit libc.so.6 GLIBC_9.9", "__cxa_finalize libc.so.6 GLIBC_9.9"];
    assert_eq!(versions(&request.link().unwrap()), expected);
    fs::remove_file(archive).unwrap();
    let message = request.link().unwrap_err().to_string();
    let expected =
        "user.o uses `atexit` (libc_nonshared.a), which is in no C library of the sysroot ";
    assert!(message.starts_with(expected), "{message}");
}

/// A folder of the request may have a part of the C library of its own.
#[test]
fn parts_of_the_c_library_in_given_folders_are_taken() {
    let folder = kernel();
    let path = folder.path();
    library(&path.join("libm.so"), "OWN_1", &["pow"]);
    quiet(path, "emit f.ffi --emit shared --link kernel.o -L . -l m -o f.so");
    let found = versions(&fs::read(path.join("f.so")).unwrap());
    assert!(found.contains(&"pow libm.so OWN_1".to_owned()), "{found:?}");
    assert!(found.contains(&"memcpy libc.so.6 GLIBC_2.14".to_owned()), "{found:?}");
    // A linker script of another library may name parts too.
    fs::remove_file(path.join("libm.so")).unwrap();
    fs::write(path.join("libuser.so"), "INPUT(-lm /none/libc.so.6 libpthread.so.0)").unwrap();
    let emit = "emit f.ffi --emit shared --link kernel.o -L . -l user -l :libm.so.6 -o f.so";
    quiet(path, emit);
    let found = versions(&fs::read(path.join("f.so")).unwrap());
    assert!(found.contains(&"pow libm.so.6 GLIBC_2.2.5".to_owned()), "{found:?}");
}

/// A compiler is told of the sysroot, and takes what this machine has without one.
#[test]
fn a_compiler_as_linker_gets_the_sysroot() {
    let folder = kernel();
    let path = folder.path();
    fs::create_dir(path.join("root")).unwrap();
    fs::write(path.join("show"), "echo \"$*\" >&2; exit 1").unwrap();
    let emit = "emit f.ffi --emit shared --link kernel.o --linker cc -o f.so";
    let shown = |options: &str| {
        run_with(path, &format!("{emit} {options}"), b"", &[("CC", "sh show")]).stderr
    };
    let message = shown("--sysroot root");
    assert!(message.contains("\n--sysroot=root -shared "), "{message}");
    assert!(!shown("").contains("sysroot"));
}
