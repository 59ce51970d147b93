//! Dependencies of shared libraries, and objects of several objects: by both linkers, loaded by a host that shares no
//! symbols with them.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;
use tvm_ffi_codegen_driver::inspect;

use crate::cli::{fails, quiet};
use crate::support::{compile, folder};

const DECLARATION: &str = "f(n: int32) -> int32 = kernel(n);";

/// Program that loads the runtime unless it is `-`, then a library, both locally, and calls `f` with 7 and without
/// arguments.
const HOST: &str = r#"
    #include <dlfcn.h>
    #include <stdint.h>
    #include <stdio.h>
    typedef struct { int32_t type; uint32_t padding; int64_t value; } Any;
    static void* open(const char* path) {
        void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) puts(dlerror());
        return library;
    }
    int main(int count, char** paths) {
        if (paths[1][0] != '-' && !open(paths[1])) return 1;
        void* library = open(paths[2]);
        if (!library) return 1;
        int (*f)(void*, Any*, int32_t, Any*) = dlsym(library, "__tvm_ffi_f");
        Any argument = {1, 0, 7}, result = {0, 0, 0};
        int status = f(0, &argument, 1, &result);
        int failure = f(0, &argument, 0, &result);
        printf("%d %lld %d\n", status, (long long)result.value, failure);
        return 0;
    }
"#;

/// Makes a folder with a declaration, a host, and kernels of this source.
fn kernel(source: &str) -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("f.ffi"), DECLARATION).unwrap();
    compile(folder.path(), "kernel", source, &[]);
    compile(folder.path(), "host", HOST, &[]);
    build(folder.path(), "host.o -o host -ldl");
    folder
}

/// Runs the C compiler.
fn build(folder: &Path, arguments: &str) {
    let mut cc = Command::new("cc");
    let status = cc.args(arguments.split_whitespace()).current_dir(folder).status().unwrap();
    assert!(status.success(), "{arguments}");
}

fn runtime() -> String {
    let config = Command::new("tvm-ffi-config").arg("--libdir").output().expect("run tests/run");
    String::from_utf8(config.stdout).unwrap().trim().to_owned()
}

/// Returns the output of the host for a library.
fn run(folder: &Path, runtime: &str, library: &str) -> String {
    let output = Command::new(folder.join("host"))
        .args([runtime, &format!("./{library}")])
        .env_remove("LD_LIBRARY_PATH")
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn needed(folder: &Path, library: &str) -> Vec<String> {
    inspect(&fs::read(folder.join(library)).unwrap()).unwrap().needed
}

/// Emits `f.so` by each linker, and calls the test with it.
fn by_both(folder: &Path, arguments: &str, test: impl Fn(&str)) {
    for linker in ["wild", "cc"] {
        quiet(folder, &format!("emit f.ffi --emit shared --linker {linker} {arguments} -o f.so"));
        test(linker);
    }
}

/// An old version of `realpath` takes no NULL; compilers link the newest.
#[test]
fn kernels_get_the_c_library_as_a_compiler_links_it() {
    let folder = kernel(
        "#include <math.h>
        #include <stdlib.h>
        int kernel(int n) {
            char* path = realpath(\"/tmp\", NULL);
            int length = path ? path[1] == 't' : -1000;
            free(path);
            return length + (int)(cbrt(n) * 100.0);
        }",
    );
    let libdir = runtime();
    by_both(folder.path(), "--link kernel.o", |linker| {
        let needed = needed(folder.path(), "f.so");
        for library in ["libtvm_ffi.so", "libc.so.6", "libm.so.6"] {
            assert!(needed.iter().any(|name| name == library), "{linker}: {needed:?}");
        }
        let printed = run(folder.path(), &format!("{libdir}/libtvm_ffi.so"), "f.so");
        assert_eq!(printed, "0 192 -1\n", "{linker}");
    });
}

#[test]
fn the_runtime_is_found_by_its_name_in_the_process_or_in_a_folder() {
    let folder = kernel("int kernel(int n) { return 2 * n; }");
    let (libdir, path) = (runtime(), folder.path());
    let loaded = format!("{libdir}/libtvm_ffi.so");
    by_both(path, "--link kernel.o", |linker| {
        assert_eq!(run(path, &loaded, "f.so"), "0 14 -1\n", "{linker}");
        let message = run(path, "-", "f.so");
        assert!(message.starts_with("libtvm_ffi.so: cannot open shared object file"), "{message}");
    });
    // The arguments are split at blanks, which that folder may have.
    std::os::unix::fs::symlink(&libdir, path.join("runtime")).unwrap();
    by_both(path, "--link kernel.o --rpath $ORIGIN --rpath $ORIGIN/runtime", |linker| {
        assert_eq!(run(path, "-", "f.so"), "0 14 -1\n", "{linker}");
    });
    by_both(path, "--link kernel.o --no-runtime-dependency", |linker| {
        assert!(!needed(path, "f.so").contains(&"libtvm_ffi.so".to_owned()), "{linker}");
        let message = run(path, &loaded, "f.so");
        assert!(message.contains("undefined symbol: TVMFFI"), "{linker}: {message}");
    });
}

#[test]
fn shared_libraries_are_needed_by_their_names() {
    let folder = kernel("int helper(int n); int kernel(int n) { return helper(n) + 1; }");
    let path = folder.path();
    compile(path, "helper", "int helper(int n) { return 3 * n; }", &[]);
    build(path, "-shared helper.o -o libhelper.so");
    build(path, "-shared helper.o -Wl,-soname,libnamed.so.1 -o libnamed.so");
    for version in ["9", "10", "2.x"] {
        fs::copy(path.join("libhelper.so"), path.join(format!("libnewest.so.{version}"))).unwrap();
    }
    fs::copy(path.join("libnamed.so"), path.join("libnamed.so.1")).unwrap();
    fs::write(
        path.join("libscript.so"),
        "/* INPUT(none) */ OUTPUT_FORMAT(elf) GROUP ( AS_NEEDED(-lnone) libhelper.so )",
    )
    .unwrap();
    let loaded = format!("{}/libtvm_ffi.so", runtime());
    let rows = [
        ("--link libhelper.so", "libhelper.so"),
        ("-L . -l helper", "libhelper.so"),
        ("-L. -lnamed", "libnamed.so.1"),
        ("-L . -l :libnamed.so", "libnamed.so.1"),
        ("-L . -l script", "libhelper.so"),
        ("-L . -l newest", "libnewest.so.10"),
    ];
    for (arguments, name) in rows {
        let arguments = format!("--link kernel.o {arguments} --rpath $ORIGIN");
        by_both(path, &arguments, |linker| {
            let needed = needed(path, "f.so");
            assert!(needed.iter().any(|found| found == name), "{linker} {arguments}: {needed:?}");
            assert_eq!(run(path, &loaded, "f.so"), "0 22 -1\n", "{linker} {arguments}");
        });
    }
}

#[test]
fn kernels_may_be_in_shared_libraries_and_archives_found_by_name() {
    let folder = kernel("int kernel(int n) { return n; }");
    let path = folder.path();
    build(path, "-shared kernel.o -o libshared.so");
    let ar = Command::new("ar").args(["rcs", "libstatic.a", "kernel.o"]).current_dir(path).status();
    assert!(ar.unwrap().success());
    let loaded = format!("{}/libtvm_ffi.so", runtime());
    for name in ["shared", "static"] {
        by_both(path, &format!("-L . -l {name} --rpath $ORIGIN"), |linker| {
            assert_eq!(run(path, &loaded, "f.so"), "0 7 -1\n", "{linker} {name}");
            let kept = needed(path, "f.so").contains(&"libshared.so".to_owned());
            assert_eq!(kept, name == "shared", "{linker}");
        });
    }
    let (code, message) = fails(path, "emit f.ffi --emit shared -L . -l none -o out.so");
    assert!(code == 1 && message.starts_with("error: no library `none` in ., /"), "{message}");
}

/// A C++ kernel with a constructor of its own, and one that OpenMP runs.
#[test]
fn kernels_may_need_the_runtime_of_a_language() {
    let folder = kernel("int kernel(int n) { return n; }");
    let loaded = format!("{}/libtvm_ffi.so", runtime());
    let vector = "#include <vector>
        static std::vector<int> numbers(3, 5);
        extern \"C\" int kernel(int n) { return n + numbers.at(2); }";
    let parallel = "int kernel(int n) {
            int sum = 0;
            #pragma omp parallel for reduction(+:sum)
            for (int i = 0; i < n; i++) sum += i;
            return sum;
        }";
    let rows = [
        ("cxx", vector, &["-x", "c++"][..], "stdc++", "0 12 -1\n"),
        ("omp", parallel, &["-fopenmp"], "gomp", "0 21 -1\n"),
    ];
    for (name, source, options, library, printed) in rows {
        compile(folder.path(), name, source, options);
        by_both(folder.path(), &format!("--link {name}.o -l {library}"), |linker| {
            assert_eq!(run(folder.path(), &loaded, "f.so"), printed, "{linker} {name}");
        });
    }
}

#[test]
fn objects_become_one() {
    let folder =
        kernel("static int twice(int n) { return 2 * n; } int kernel(int n) { return twice(n); }");
    let path = folder.path();
    let loaded = format!("{}/libtvm_ffi.so", runtime());
    for linker in ["wild", "cc"] {
        quiet(path, &format!("emit f.ffi --link kernel.o --linker {linker} -o f.o"));
        let found = inspect(&fs::read(path.join("f.o")).unwrap()).unwrap();
        assert_eq!((found.kind, found.functions.len()), ("object", 1), "{linker}");
        assert_eq!(found.undefined, [], "{linker}");
        build(path, &format!("-shared f.o -o f.so -Wl,--no-as-needed -L{} -ltvm_ffi", runtime()));
        assert_eq!(run(path, &loaded, "f.so"), "0 14 -1\n", "{linker}");
    }
    build(path, "-shared kernel.o -o libkernel.so");
    let outcome = fails(path, "emit f.ffi --link libkernel.so -o f.o");
    let message = "libkernel.so: expected a relocatable object but got a shared library";
    assert_eq!(outcome, (1, format!("error: {message}\n")));
}

/// The loader sets the variable; it exists only if the import tree holds the library.
#[test]
fn the_context_is_there_or_the_kernel_is_refused() {
    let folder = kernel(
        "extern void* __tvm_ffi__library_ctx; int kernel(int n) { return __tvm_ffi__library_ctx != 0; }",
    );
    let path = folder.path();
    fs::write(path.join("weights.bin"), "weights").unwrap();
    for form in ["object", "shared"] {
        let (code, message) =
            fails(path, &format!("emit f.ffi --emit {form} --link kernel.o -o out"));
        let expected =
            "error: kernel.o uses `__tvm_ffi__library_ctx`, which a library has that imports";
        assert!(code == 1 && message.starts_with(expected), "{message}");
    }
    by_both(path, "--link kernel.o --import weights=weights.bin", |linker| {
        let printed = run(path, &format!("{}/libtvm_ffi.so", runtime()), "f.so");
        assert_eq!(printed, "0 0 -1\n", "{linker}");
    });
}
