//! C functions beside functions of the FFI, called by a program in C.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use driver::link::Linker;
use driver::{Form, Request};
use libloading::os::unix;
use target_lexicon::Triple;
use tempfile::TempDir;
use tvm_ffi_codegen_tests::ffi::config;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::cc;
use tvm_ffi_codegen_tests::route::{build, request};

/// A library that the program loads.
const LOADED: &str = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None = add_one(x.data, y.data, n);";

fn library() -> Library {
    include_str!("../hosts/external.ffi").parse().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a compiler command with all warnings and folders of headers, whose warnings are not ours.
fn compiler(program: &str, standard: &str, folders: &[String]) -> Command {
    let mut command = Command::new(program);
    command.args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror"]);
    for folder in folders {
        command.arg("-isystem").arg(folder);
    }
    command
}

/// Returns the folders of the runtime's headers and of DLPack's.
fn runtime_headers() -> [String; 2] {
    ["--includedir", "--dlpack-includedir"].map(config)
}

/// Writes the header, compiles the stand-in for the runtime, and compiles the program without linking it.
fn prepare(folder: &TempDir) {
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("external.h"), library().resolve().unwrap().header()).unwrap();
    let runtime = Path::new(&config("--libdir")).join("libtvm_ffi.so");
    let mut faults = Command::new("cc");
    faults.args(["-std=gnu11", "-O2", "-shared", "-fPIC"]).arg(host("faults.c"));
    faults.arg(format!("-I{}", config("--includedir")));
    faults.arg(format!("-I{}", config("--dlpack-includedir")));
    cc(faults.arg(runtime).args(["-ldl", "-o"]).arg(path("libfaults.so")));
    let mut program = compiler("cc", "-std=gnu11", &runtime_headers());
    program.arg("-I").arg(folder.path()).arg("-c").arg(host("external.c"));
    cc(program.arg("-o").arg(path("external.o")));
}

/// Links the program with an object of the backend, and runs it.
fn run(folder: &TempDir, backend: &str) -> String {
    let path = |name: &str| folder.path().join(name);
    build(&LOADED.parse().unwrap(), backend, &path("library.so"));
    let bytes = request(backend, Form::Object).emit(&library()).unwrap();
    std::fs::write(path("stubs.o"), bytes).unwrap();
    let libraries = config("--libdir");
    let mut link = Command::new("cc");
    link.arg(path("external.o")).arg(path("stubs.o"));
    link.arg(path("libfaults.so"));
    link.arg(Path::new(&libraries).join("libtvm_ffi.so"));
    link.arg(format!("-Wl,-rpath,{libraries},-rpath,{}", folder.path().display()));
    cc(link.arg("-o").arg(path("external")));
    let output = Command::new(path("external")).arg(path("library.so")).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{backend}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn programs_in_c_call_with_plain_types() {
    let folder = tempfile::tempdir().unwrap();
    prepare(&folder);
    let [first, others @ ..] = backends() else { unreachable!("there is a backend") };
    let expected = run(&folder, first);
    insta::assert_snapshot!(expected);
    for backend in others {
        assert_eq!(run(&folder, backend), expected, "{backend}");
    }
}

#[test]
fn shared_libraries_show_them_to_the_loader() {
    let folder = tempfile::tempdir().unwrap();
    let library: Library = "extern echo(n: int64) -> int64 = { return n; };".parse().unwrap();
    let runtime = Path::new(&config("--libdir")).join("libtvm_ffi.so");
    // SAFETY: the runtime may be loaded, and others see it.
    let runtime = unsafe { unix::Library::open(Some(runtime), unix::RTLD_NOW | unix::RTLD_GLOBAL) };
    let _runtime = runtime.unwrap();
    for (number, (backend, linker)) in backends()
        .iter()
        .flat_map(|backend| linkers().map(move |linker| (backend, linker)))
        .enumerate()
    {
        let linker = Some(linker);
        let request = Request { linker, ..request(backend, Form::Shared) };
        let path = folder.path().join(format!("{number}.so"));
        request.write(&library, &path).unwrap();
        // SAFETY: the library has no initialisers, and the function is of this type.
        let (status, result) = unsafe {
            let loaded = libloading::Library::new(&path).unwrap();
            let echo = loaded.get::<unsafe extern "C" fn(i64, *mut i64) -> i32>(b"echo").unwrap();
            let mut result = 0;
            (echo(-5, &raw mut result), result)
        };
        assert_eq!((status, result), (0, -5), "{request:?}");
    }
}

fn linkers() -> [Linker; 2] {
    [Linker::of(&Triple::host()), Linker::Cc("cc".into())]
}

#[test]
fn headers_need_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, library: &Library| {
        let header = library.resolve().unwrap().header();
        std::fs::write(folder.path().join(name), header).unwrap();
    };
    write("external.h", &library());
    write("small.h", &SMALL.parse().unwrap());
    // Two libraries whose first kernel is the same.
    for (name, kernel) in [("first.h", "first_kernel"), ("second.h", "second_kernel")] {
        let text = format!("f(n: int64) -> None = {{ check_number(n); {kernel}(n); }};");
        write(name, &text.parse().unwrap());
    }
    let macros = "#include <errno.h>\n#include <stddef.h>\n#include <stdio.h>\n";
    let small = &format!("{macros}#include \"small.h\"\n");
    let twice = "#include \"external.h\"\n#include \"external.h\"\n";
    let both = "#include \"first.h\"\n#include \"second.h\"\n";
    let used = "void use(void);\nvoid use(void) { first_kernel(1); second_kernel(2); }\n";
    let twice = &format!("{twice}{both}{used}");
    let (runtime, dlpack) = ("#include <tvm/ffi/c_api.h>\n", "#include <dlpack/dlpack.h>\n");
    // DLPack alone, as in a folder of its own.
    let own = folder.path().join("own");
    let header = Path::new(&config("--dlpack-includedir")).join("dlpack/dlpack.h");
    std::fs::create_dir_all(own.join("dlpack")).unwrap();
    std::fs::copy(header, own.join("dlpack/dlpack.h")).unwrap();
    let (none, own, all) = (&[][..], &[own.display().to_string()][..], &runtime_headers()[..]);
    let rows = [
        (twice.clone(), none),
        (small.clone(), none),
        (twice.clone(), own),
        (format!("{dlpack}{twice}"), own),
        (format!("{twice}{dlpack}"), own),
        (twice.clone(), all),
        (small.clone(), all),
        (format!("{runtime}{twice}"), all),
        (format!("{twice}{runtime}"), all),
        (format!("{dlpack}{twice}{runtime}"), all),
        (format!("{twice}{dlpack}{runtime}"), all),
    ];
    for (program, standard, language) in compilers() {
        for (text, folders) in &rows {
            let path = folder.path().join("use");
            std::fs::write(&path, text).unwrap();
            let mut compiler = compiler(&program, standard, folders);
            compiler.args(["-fsyntax-only", "-I"]).arg(folder.path());
            cc(compiler.args(["-x", language]).arg(path));
        }
    }
}

/// Returns the compilers of this machine, each with a standard and a language: those of the system, and Clang.
fn compilers() -> Vec<(String, &'static str, &'static str)> {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang-22".to_owned());
    let has_clang = Command::new(&clang).arg("--version").output().is_ok();
    let names = [("cc", "c++")].map(|(c, cxx)| (c.to_owned(), cxx.to_owned()));
    let clang = has_clang.then(|| (clang.clone(), clang));
    let both = |(c, cxx)| [(c, "-std=c99", "c"), (cxx, "-std=c++17", "c++")];
    names.into_iter().chain(clang).flat_map(both).collect()
}

const SMALL: &str = r#"
/// Ends a comment here: */ and starts one here: /*
///
/// Two paragraphs.
extern words(int: int64, result: int64, int64_t: int64, class: str, class_size: int64) -> int64
    where int > 0
    = add(int, class, "text", class.data);
extern reserved(`try`: uint64, `_`: str, `float32`: Shape, `and`: Any) -> `or`: Tensor([`try`], int8)
    = fill(`or`, `or`.data);
extern each(x: Optional[Tensor([...], int8)], s: Shape, d: Device, f: Function) -> Any
    = try each_kernel(x, s, d, f);
extern macros(NULL: int64, EOF: int64, stdin: str, TVMFFIAny: bool, DLTensor: int8) -> None
    = count(NULL, EOF, stdin.data);
silent() -> out: Tensor([], float32) = fill(out, out.data);
no_name(n: int64, *rest: Any) -> None = { "no name"(n); nothing(); other(rest, n); other(rest, 1); };
"#;

#[test]
fn headers_have_what_c_can_spell() {
    let library: Library = SMALL.parse().unwrap();
    insta::assert_snapshot!(library.resolve().unwrap().header());
}
