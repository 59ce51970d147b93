//! Exports of shared libraries: functions of the FFI, what a loader fills, and what it is asked for.

use std::fs;
use std::process::Command;

use codegen::Library;
use object::{Object, ObjectSymbol};
use tvm_ffi_codegen_driver::link::{self, ExportFault, Input};
use tvm_ffi_codegen_driver::{Error, Form, Request, Source, inspect};

use crate::support::{alone, compile, folder, link, object, routes};

/// A kernel's own functions and data, one of them for others.
const KERNEL: &str = "
    int answer(int n) { return n + 1; }
    int count = 7;
    int inner(int n) { return answer(n) + count; }
    __attribute__((visibility(\"hidden\"))) int secret(int n) { return n; }
    int __tvm_ffi_f(void) { return inner(secret(1)); }
";

fn exported(bytes: &[u8]) -> Vec<String> {
    let file = object::File::parse(bytes).unwrap();
    let defined = file.dynamic_symbols().filter(|symbol| !symbol.is_undefined());
    let mut names: Vec<String> = defined.map(|symbol| symbol.name().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn a_library_exports_what_it_is_asked_for() {
    let kernel = object("kernel", KERNEL);
    let rows: [(&[&str], &[&str]); 3] = [
        (&[], &["__tvm_ffi_f"]),
        (&["answer", "count"], &["__tvm_ffi_f", "answer", "count"]),
        (&["answer", "answer", "__tvm_ffi_f"], &["__tvm_ffi_f", "answer"]),
    ];
    for linker in routes() {
        for (exports, expected) in rows {
            let exports = names(exports);
            let request = Request { exports, ..alone(std::slice::from_ref(&kernel), &linker) };
            let bytes = request.link().unwrap();
            assert_eq!(exported(&bytes), names(expected), "{linker:?}");
            let folder = folder();
            let path = folder.path().join("exports.so");
            fs::write(&path, bytes).unwrap();
            // SAFETY: the library has no initializers.
            let library = unsafe { libloading::Library::new(&path) }.unwrap();
            // SAFETY: the function is of this type.
            let answer = unsafe { library.get::<extern "C" fn(i32) -> i32>("answer") };
            let answer = answer.ok().map(|answer| answer(41));
            assert_eq!(answer, expected.contains(&"answer").then_some(42), "{linker:?}");
            // SAFETY: the symbol is not used.
            assert!(unsafe { library.get::<usize>("inner") }.is_err());
        }
    }
}

#[test]
fn what_cannot_be_exported_is_an_error() {
    let folder = folder();
    let member = compile(folder.path(), "member", "int unused(void) { return 0; }", &[]);
    let archive = folder.path().join("members.a");
    assert!(Command::new("ar").arg("rcs").arg(&archive).arg(member).status().unwrap().success());
    let shared = alone(&[object("other", "int elsewhere(void) { return 0; }")], &routes()[0]);
    let shared = Request { exports: names(&["elsewhere"]), ..shared };
    let library = Input::new("libelsewhere.so", shared.link().unwrap()).unwrap();
    let kernels = [object("kernel", KERNEL), Input::read(&archive).unwrap(), library];
    let hidden = || ExportFault::Hidden { file: "kernel.o".to_owned() };
    let rows = [
        ("missing", ExportFault::Undefined),
        ("unused", ExportFault::Undefined),
        ("elsewhere", ExportFault::Undefined),
        ("secret", hidden()),
        ("", ExportFault::Name),
        ("an*", ExportFault::Name),
        ("answer; }; {", ExportFault::Name),
    ];
    for linker in routes() {
        for (name, expected) in &rows {
            let request = Request { exports: names(&[name]), ..alone(&kernels, &linker) };
            let error = request.link().unwrap_err();
            let Error::Link { source: link::Error::Export { name: found, fault } } = &error else {
                panic!("{error}")
            };
            assert_eq!((&**found, fault), (*name, expected));
        }
    }
    let request = Request { exports: names(&["k"]), ..Request::new(Form::Object) };
    assert_eq!(request.check().unwrap_err().to_string(), "option exports is for form shared");
    let request = Request { exports: names(&["secret"]), ..alone(&kernels, &routes()[0]) };
    let text = "`secret` cannot be exported: kernel.o defines it with hidden visibility";
    assert_eq!(request.link().unwrap_err().to_string(), text);
}

/// A kernel in LLVM IR as Apache TVM makes them, and the same in MLIR.
const KERNELS: [(&str, &str); 2] = [
    (
        "llvm",
        "$__TVMFFIFunctionCall = comdat any
        @__TVMFFIFunctionCall = linkonce dllexport global ptr null, comdat, align 8
        @__TVMother = global ptr null, align 8
        @own = global i64 1, align 8
        define i64 @answer(i64 %n) { ret i64 %n }
        define i64 @twice_kernel(i64 %n) {
          %call = load ptr, ptr @__TVMFFIFunctionCall, align 8
          %other = load ptr, ptr @__TVMother, align 8
          %a = ptrtoint ptr %call to i64
          %b = ptrtoint ptr %other to i64
          %own = load i64, ptr @own
          %sum = add i64 %a, %b
          %all = add i64 %sum, %own
          ret i64 %all
        }",
    ),
    (
        "mlir",
        "llvm.mlir.global weak @__TVMFFIFunctionCall() : !llvm.ptr {
          %0 = llvm.mlir.zero : !llvm.ptr
          llvm.return %0 : !llvm.ptr
        }
        llvm.mlir.global external @__TVMother() : !llvm.ptr {
          %0 = llvm.mlir.zero : !llvm.ptr
          llvm.return %0 : !llvm.ptr
        }
        llvm.func @answer(%n: i64) -> i64 { llvm.return %n : i64 }
        llvm.func @twice_kernel(%n: i64) -> i64 {
          %0 = llvm.mlir.addressof @__TVMFFIFunctionCall : !llvm.ptr
          %1 = llvm.load %0 : !llvm.ptr -> i64
          %2 = llvm.mlir.addressof @__TVMother : !llvm.ptr
          %3 = llvm.load %2 : !llvm.ptr -> i64
          %4 = llvm.add %1, %3 : i64
          llvm.return %4 : i64
        }",
    ),
];

/// Kernels that become part of the module keep what a loader fills, and what is asked for.
#[test]
fn kernels_in_ir_keep_what_a_loader_fills() {
    let library = "twice(n: int64) -> int64 = twice_kernel(n);".parse().unwrap();
    let backends = KERNELS.into_iter().filter(|(backend, _)| crate::support::has(backend));
    for (backend, kernel) in backends {
        let filled = ["__TVMFFIFunctionCall", "__TVMother", "__tvm_ffi_twice"];
        for exports in [&[][..], &["answer"]] {
            let request = Request {
                backend: backend.parse().unwrap(),
                sources: vec![Source { name: "k".to_owned(), bytes: kernel.into() }],
                exports: names(exports),
                metadata: false,
                ..Request::new(Form::Shared)
            };
            let found = exported(&request.emit(&library).unwrap());
            let expected = [&filled[..], exports].concat();
            assert_eq!(found, names(&expected), "{backend}");
        }
    }
}

/// Names that linkers could read as versions, patterns or lists, and one as long as names may be.
#[test]
fn functions_of_any_name_are_exported() {
    let long = "n".repeat(4096);
    let names = [
        "_f",
        "my.f",
        "a b",
        "*",
        "[a-z]?",
        "a\"b",
        "a\\",
        "{};",
        "#",
        "é",
        "$",
        "local: *;",
        ".text",
        &long,
    ];
    let declared = |name: &&str| format!("`{name}`() -> int64 = {{ return 1; }};");
    let library: Library = names.iter().map(declared).collect::<String>().parse().unwrap();
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    for linker in routes() {
        let found = inspect(&alone(&[], &linker).emit(&library).unwrap()).unwrap();
        let functions: Vec<&str> = found.functions.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(functions, sorted, "{linker:?}");
        assert_eq!(found.reserved, [""; 0], "{linker:?}");
        let versioned: Library = "`a@b`() -> int64 = { return 1; };".parse().unwrap();
        let error = alone(&[], &linker).emit(&versioned).unwrap_err().to_string();
        let expected = "its name has a `@`, which linkers have a meaning for";
        assert!(error.contains("a@b`") && error.contains(expected), "{error}");
    }
}

#[test]
fn what_a_loader_fills_is_exported() {
    const USER: &str = "
        __attribute__((weak)) void* __tvm_ffi__library_ctx;
        __attribute__((weak)) int (*__TVMFFIFunctionCall)(void*);
        void* __TVMother;
        int __tvm_ffi_user(void* h, const void* a, int n, void* r) {
            return __TVMFFIFunctionCall(__tvm_ffi__library_ctx);
        }
    ";
    let names = ["__TVMFFIFunctionCall", "__TVMother", "__tvm_ffi__library_ctx", "__tvm_ffi_user"];
    for linker in routes() {
        let folder = folder();
        let inputs = [object("user", USER), object("again", &USER.replace("user", "again"))];
        let error = link(&inputs, &linker).unwrap_err();
        assert!(
            matches!(&error, Error::Link { source: link::Error::DuplicateSymbol { name, .. } } if name == "__TVMother")
        );
        let found = exported(&link(&inputs[..1], &linker).unwrap());
        assert_eq!(found, names, "{linker:?}");
        // Members of archives export theirs, too.
        let member = compile(folder.path(), "user", &format!("{USER} int part;"), &[]);
        let archive = folder.path().join("users.a");
        let ar = Command::new("ar").arg("rcs").arg(&archive).arg(member).status();
        assert!(ar.unwrap().success());
        let inputs = [
            object("first", "extern int part; int __tvm_ffi_first(void) { return part; }"),
            Input::read(&archive).unwrap(),
        ];
        let found = exported(&link(&inputs, &linker).unwrap());
        assert!(names.iter().all(|name| found.iter().any(|found| found == name)), "{found:?}");
    }
}
