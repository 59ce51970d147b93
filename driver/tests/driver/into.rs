//! Functions that are added to a module of a compiler: files, forms, and what a shared library shows.

use std::fs;
use std::path::Path;
use std::process::Command;

use codegen::Library;
use tvm_ffi_codegen_driver::{BackendName, Cache, Error, File, Form, Request};

use crate::support::folder;

const TWICE: &str = "twice(n: int64) -> int64 = twice_kernel(n);";
const THRICE: &str = "thrice(n: int64) -> int64 = thrice_kernel(n);";

/// A module with the kernels of both, one of them internal, and more.
const LLVM: &str = "@count = global i32 3
@inner = internal global i32 4

define i64 @twice_kernel(i64 %n) {
  %twice = add i64 %n, %n
  ret i64 %twice
}

define internal i64 @thrice_kernel(i64 %n) {
  %twice = call i64 @twice_kernel(i64 %n)
  %thrice = add i64 %twice, %n
  ret i64 %thrice
}
";

const MLIR: &str = "llvm.mlir.global external @count(3 : i32) : i32
llvm.mlir.global internal @inner(4 : i32) : i32
llvm.func @twice_kernel(%n: i64) -> i64 {
  %twice = llvm.add %n, %n : i64
  llvm.return %twice : i64
}
llvm.func internal @thrice_kernel(%n: i64) -> i64 {
  %twice = llvm.call @twice_kernel(%n) : (i64) -> i64
  %thrice = llvm.add %twice, %n : i64
  llvm.return %thrice : i64
}
";

/// The backends that add to a module, with one in their language.
const BACKENDS: [(BackendName, &str); 2] = [(BackendName::Llvm, LLVM), (BackendName::Mlir, MLIR)];

fn into(backend: BackendName, module: &[u8], form: Form) -> Request {
    let into = Some(File::Bytes { name: "mine".into(), bytes: module.to_vec() });
    Request { backend, into, ..Request::new(form) }
}

fn library(text: &str) -> Library {
    text.parse().unwrap()
}

/// Writes a shared library and calls a function of it in a process of its own, since the runtime comes first.
fn call(folder: &Path, bytes: &[u8], function: &str, argument: i64) -> String {
    let path = folder.join("made.so");
    fs::write(&path, bytes).unwrap();
    let program = "import sys, tvm_ffi; print(tvm_ffi.load_module(sys.argv[1])[sys.argv[2]](int(sys.argv[3])))";
    let output = Command::new("python3")
        .args(["-c", program])
        .arg(&path)
        .args([function, &argument.to_string()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Returns the names that a shared library shows, without those of the FFI.
fn shown(bytes: &[u8]) -> Vec<String> {
    use object::{Object, ObjectSymbol};
    let file = object::File::parse(bytes).unwrap();
    let defined = file.dynamic_symbols().filter(|symbol| !symbol.is_undefined());
    let mut names: Vec<String> = defined.map(|symbol| symbol.name().unwrap().to_owned()).collect();
    names.retain(|name| !name.starts_with("__tvm_ffi_"));
    names.sort();
    names
}

#[test]
fn two_libraries_are_added_to_a_module_in_memory() {
    let folder = folder();
    for (backend, module) in BACKENDS {
        let emit = |module: &[u8], form, text| {
            into(backend, module, form).emit(&library(text)).unwrap_or_else(|e| panic!("{e}"))
        };
        let once = emit(module.as_bytes(), Form::Native, TWICE);
        let both = emit(&once, Form::Native, THRICE);
        let text = String::from_utf8(both.clone()).unwrap();
        for name in ["__tvm_ffi_twice", "__tvm_ffi_thrice", "thrice_kernel", "count"] {
            let heads = text.lines().filter(|line| {
                let is_head = ["define ", "llvm.func ", "llvm.mlir.global ", "@count = "];
                is_head.iter().any(|start| line.trim_start().starts_with(start))
                    && [format!("@{name}("), format!("@{name} =")]
                        .iter()
                        .any(|name| line.contains(name))
            });
            assert_eq!(heads.count(), 1, "{name}\n{text}");
        }
        let shared = emit(&both, Form::Shared, "four(n: int64) -> int64 = { return 4; };");
        assert_eq!(shown(&shared), ["count", "twice_kernel"]);
        for (function, expected) in [("twice", "42"), ("thrice", "63"), ("four", "4")] {
            assert_eq!(call(folder.path(), &shared, function, 21), expected, "{backend}");
        }
        // An object of all is linked as any other.
        let object = emit(&once, Form::Object, THRICE);
        let kernels = vec![tvm_ffi_codegen_driver::link::Input::new("made.o", object).unwrap()];
        let linked = Request { kernels, ..Request::new(Form::Shared) }.link().unwrap();
        assert_eq!(call(folder.path(), &linked, "thrice", 2), "6");
        // Kernels that are linked besides become local, as everywhere.
        let more = module.replace("twice_", "other_").replace("thrice_", "last_");
        let more = more.replace("count", "more").replace("inner", "more_inner");
        let link = vec![File::Bytes { name: "more".into(), bytes: more.into_bytes() }];
        let request = Request { link, ..into(backend, module.as_bytes(), Form::Shared) };
        let shared = request.emit(&library("other(n: int64) -> int64 = other_kernel(n);")).unwrap();
        assert_eq!(shown(&shared), ["count", "twice_kernel"]);
        assert_eq!(call(folder.path(), &shared, "other", 3), "6");
    }
}

/// Bitcode of LLVM goes in too, and comes out of both.
#[test]
fn bitcode_goes_in_and_out() {
    let folder = folder();
    for (backend, module) in BACKENDS {
        let request = into(backend, module.as_bytes(), Form::Bitcode);
        let bitcode = request.emit(&library(TWICE)).unwrap();
        let request = into(BackendName::Llvm, &bitcode, Form::Shared);
        let shared = request.emit(&library(THRICE)).unwrap();
        assert_eq!(call(folder.path(), &shared, "twice", 4), "8");
        assert_eq!(call(folder.path(), &shared, "thrice", 4), "12");
    }
}

/// Functions that need the context of their library share it; import trees of two do not fit.
#[test]
fn contexts_are_shared_and_trees_are_not() {
    let by_name = |name: &str| {
        format!("{name}(n: int64) -> int64 = {{ let r: int64 = @\"ffi.sum\"(n); return r; }};")
    };
    for (backend, module) in BACKENDS {
        let one =
            into(backend, module.as_bytes(), Form::Native).emit(&library(&by_name("one"))).unwrap();
        let two = into(backend, &one, Form::Native).emit(&library(&by_name("two"))).unwrap();
        let context = String::from_utf8(two.clone()).unwrap();
        let heads = context.lines().filter(|line| {
            line.starts_with("@__tvm_ffi__library_ctx =")
                || (line.contains("llvm.mlir.global") && line.contains("@__tvm_ffi__library_ctx("))
        });
        assert_eq!(heads.count(), 1, "{context}");
        let imports = vec![("k".to_owned(), File::Bytes { name: "k".into(), bytes: vec![1] })];
        let request = Request { imports, ..into(backend, &two, Form::Native) };
        let three = request.emit(&library(TWICE)).unwrap();
        let request = Request { into: into(backend, &three, Form::Native).into, ..request };
        let error = request.emit(&library(THRICE)).unwrap_err();
        let expected =
            format!("backend {backend}: `__tvm_ffi__library_bin` is defined in the module already");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn forms_and_backends_without_a_module_refuse_one() {
    for form in [Form::Resolved, Form::Ir, Form::Header, Form::Html] {
        let error = into(BackendName::Llvm, b"", form).emit(&library(TWICE)).unwrap_err();
        let expected = "option into is for forms native, bitcode, object and shared";
        assert!(matches!(error, Error::Usage { option: "into", .. }));
        assert_eq!(error.to_string(), expected);
    }
    for backend in [BackendName::Cranelift, BackendName::C] {
        for form in [Form::Native, Form::Bitcode, Form::Object, Form::Shared] {
            let error = into(backend, b"", form).emit(&library(TWICE)).unwrap_err();
            let expected = format!("backend {backend}: it adds to no module; llvm and mlir do");
            assert_eq!(error.to_string(), expected);
        }
    }
}

/// Runs `emit` with a file of declarations; returns the message if it fails.
fn command(folder: &Path, arguments: &str) -> Result<(), String> {
    let output = Command::new(env!("CARGO_BIN_EXE_tvm-ffi-codegen"))
        .args(["emit", "twice.ffi"])
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    if output.status.success() { Ok(()) } else { Err(message) }
}

#[test]
fn the_command_line_reads_a_file() {
    let folder = folder();
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
    write("twice.ffi", TWICE.as_bytes());
    write("mine.ll", LLVM.as_bytes());
    write("mine.mlir", MLIR.as_bytes());
    write("syntax.ll", b"define i64 @f() {\n  ret\n}\n");
    write("syntax.mlir", b"llvm.func @f() {\n  llvm.retur\n}\n");
    write("damaged.bc", include_bytes!("../damaged.bc"));
    let llvm = "--backend llvm --emit native --into";
    assert_eq!(command(folder.path(), &format!("{llvm} mine.ll -o out.ll")), Ok(()));
    let written = fs::read(folder.path().join("out.ll")).unwrap();
    assert_eq!(
        into(BackendName::Llvm, LLVM.as_bytes(), Form::Native).emit(&library(TWICE)).unwrap(),
        written
    );
    let mlir = "--backend mlir --emit native --into";
    assert_eq!(command(folder.path(), &format!("{mlir} mine.mlir -o out.mlir")), Ok(()));
    let rows = [
        (format!("{llvm} syntax.ll"), "error: backend llvm: syntax.ll:3:1: error: expected type\n"),
        (format!("{mlir} syntax.mlir"), "error: backend mlir: syntax.mlir: 2:3: "),
        (
            format!("{llvm} damaged.bc"),
            "error: backend llvm: damaged.bc: reading it ends the process with signal: ",
        ),
        (format!("{llvm} missing.ll"), "error: cannot read missing.ll: "),
        (
            format!("{llvm} out.ll"),
            "error: backend llvm: `__tvm_ffi_twice` is defined in the module already\n",
        ),
        (
            "--backend c --emit native --into mine.ll".into(),
            "error: backend c: it adds to no module; llvm and mlir do\n",
        ),
        (
            "--emit ir --into mine.ll".into(),
            "error: --into is for forms native, bitcode, object and shared\n",
        ),
    ];
    for (arguments, message) in rows {
        let error = command(folder.path(), &format!("{arguments} -o bad")).unwrap_err();
        assert!(error.starts_with(message), "{error}");
        assert!(!folder.path().join("bad").exists());
    }
    let error = command(folder.path(), &format!("{llvm} mine.ll -o mine.ll")).unwrap_err();
    assert_eq!(error, "error: cannot write mine.ll: it is one of the inputs\n");
}

/// The module is a part of what an output is found by.
#[test]
fn outputs_are_kept_by_their_modules() {
    let folder = folder();
    let cache = Cache::new(folder.path());
    let other = LLVM.replace("i32 3", "i32 5");
    for _ in 0..2 {
        for module in [LLVM, &other] {
            let request = into(BackendName::Llvm, module.as_bytes(), Form::Native);
            assert_eq!(
                cache.emit(&request, &library(TWICE)).unwrap(),
                request.emit(&library(TWICE)).unwrap()
            );
        }
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}
