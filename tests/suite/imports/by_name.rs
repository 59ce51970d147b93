//! Functions of the FFI that a program calls by name: searched in the library's imports, then in the registry.

use std::fs;
use std::process::Command;

use codegen::Library;
use driver::link::{Input, Linker};
use driver::{Form, Request};
use tvm_ffi_codegen_tests::route::{BACKENDS, request};

use super::{ImportTree, Node, Workshop, backends, cc, custom, library};

const DECLARATIONS: &str = r#"
    near(n: int64) -> int64 = { let r: int64 = @"near"(n); return r; };
    far(n: int64) -> int64 = { let r: int64 = @"far"(n); return r; };
    twice_there(n: int64) -> int64 = { let r: int64 = @"tests.twice_there"(n); return r; };
    later(n: int64) -> int64 = { let r: int64 = @"tests.later"(n); return r; };
    in_loop(n: int64) -> int64
        = { for i in 0..n { let r: int64 = @"near"(i); if r > 110 { return r; } } return -1; };
    wrong() -> str = { let r: str = @"near"(); return r; };
"#;

const MISSING: &str =
    "RuntimeError: Cannot find function tests.later in the imported modules or global registry.";

/// Registers a function under a name.
const REGISTER: &str = "register = lambda name, add: tvm_ffi.register_global_func(name, lambda n: n + add, override=True)";

/// Compiles programs that import a tree, by every way to make shared libraries, and checks the rows.
fn each(nodes: &[Node<'static>], rows: &[(&str, &str)]) {
    let workshop = Workshop::new();
    let library: Library = DECLARATIONS.parse().expect("the declarations are valid");
    let library = match nodes {
        [] => library,
        nodes => library.with_imports(ImportTree { nodes: nodes.to_vec() }),
    };
    for backend in backends() {
        request(backend, driver::Form::Shared)
            .write(&library, &workshop.path("lib.so"))
            .unwrap_or_else(|error| panic!("{backend}: {error}"));
        workshop.expect(rows);
    }
}

fn tree() -> [Node<'static>; 3] {
    let near = custom("table", "near=100\ntests.twice_there=200", &[2]);
    [library(&[1]), near, custom("table", "far=300", &[])]
}

#[test]
fn imports_are_asked_first() {
    let rows = [
        (REGISTER, ""),
        ("f = register('tests.twice_there', 1)", ""),
        ("g = register('near', 2)", ""),
        ("m = load('lib.so')", ""),
        ("m.near(1)", "101"),
        ("m.near(2)", "102"),
        ("m.far(3)", "303"),
        ("m.twice_there(4)", "204"),
        ("tvm_ffi.get_global_func('tests.twice_there')(4)", "5"),
        ("m.in_loop(20)", "111"),
        (
            "m.wrong()",
            "TypeError: Mismatched type of result of @\"near\" when calling: `wrong()`, expected str but got int",
        ),
        ("alive()", "2"),
        ("del m", ""),
        ("alive()", "0"),
    ];
    each(&tree(), &rows);
}

/// A function of the registry is cached once it is found; its absence is not.
const LATER: [(&str, &str); 9] = [
    (REGISTER, ""),
    ("m = load('lib.so')", ""),
    ("m.later(1)", MISSING),
    ("m.later(1)", MISSING),
    ("f = register('tests.later', 7)", ""),
    ("m.later(1)", "8"),
    ("g = register('tests.later', 70)", ""),
    ("m.later(1)", "8"),
    ("m.later(2)", "9"),
];

#[test]
fn what_is_missing_may_come_later() {
    each(&tree(), &LATER);
    each(&[library(&[])], &LATER);
}

/// A library outside of any tree asks the registry, with the same messages.
#[test]
fn without_imports_the_registry_is_asked() {
    each(&[], &LATER);
}

/// A loader fills one context, and what any object defines under the names of Apache TVM.
const FILLED: &str = "
    __attribute__((weak)) void *__TVMFFIFunctionCall, *__tvm_ffi__library_ctx;
    long filled_kernel(void) { return __tvm_ffi__library_ctx ? (long)__TVMFFIFunctionCall : -1; }
";

/// The kernel in LLVM IR, as Apache TVM makes it.
#[cfg(feature = "llvm")]
const FILLED_IR: &str = "
    @__TVMFFIFunctionCall = linkonce global ptr null, align 8
    @__tvm_ffi__library_ctx = linkonce global ptr null, align 8
    define i64 @filled_kernel() {
      %context = load ptr, ptr @__tvm_ffi__library_ctx, align 8
      %filled = load i64, ptr @__TVMFFIFunctionCall, align 8
      %none = icmp eq ptr %context, null
      %result = select i1 %none, i64 -1, i64 %filled
      ret i64 %result
    }
";

/// Statements of Python: what a loader of Apache TVM has registered.
const REGISTERED: [(&str, &str); 3] = [
    ("import ctypes", ""),
    ("runtime = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())", ""),
    ("runtime.TVMFFIEnvModRegisterContextSymbol(b'__TVMFFIFunctionCall', 77)", "0"),
];

/// Kernels that LLVM has made a part of the module are filled too.
#[cfg(feature = "llvm")]
#[test]
fn a_loader_fills_what_kernels_in_ir_define() {
    let workshop = Workshop::new();
    let library: Library = "filled() -> int64 = filled_kernel();".parse().expect("it is valid");
    let kernel = driver::Source { name: "k.ll".to_owned(), bytes: FILLED_IR.into() };
    let request = Request { sources: vec![kernel], ..request("llvm", Form::Shared) };
    request.write(&library, &workshop.path("lib.so")).unwrap_or_else(|error| panic!("{error}"));
    workshop
        .expect(&[&REGISTERED[..], &[("m = load('lib.so')", ""), ("m.filled()", "77")]].concat());
}

/// Two libraries of functions that are called by name, compiled apart, and the kernel of one.
struct Apart {
    first: Library,
    second: Library,
    kernel: Input,
}

impl Apart {
    fn new(workshop: &Workshop) -> Apart {
        let first: Library = r#"
            near(n: int64) -> int64 = { let r: int64 = @"near"(n); return r; };
            filled() -> int64 = filled_kernel();
        "#
        .parse()
        .expect("the declarations are valid");
        let second = r#"
            also(n: int64) -> int64 = { let r: int64 = @"near"(n); return r; };
            held() -> Function = { return function (n: int64) -> int64 { let r: int64 = @"far"(n); return r; }; };
        "#;
        Apart {
            first: first.with_imports(ImportTree { nodes: tree().to_vec() }),
            second: second.parse().expect("the declarations are valid"),
            kernel: workshop.kernels(FILLED),
        }
    }

    /// Compiles both libraries by a backend each; the first is merged with its kernel.
    fn objects(&self, backends: [&str; 2]) -> [Input; 2] {
        let object = |backend: &str, library: &Library, kernels: Vec<Input>| {
            let request = Request { kernels, ..request(backend, Form::Object) };
            let bytes = request.emit(library).unwrap_or_else(|error| panic!("{backend}: {error}"));
            Input::new(format!("{backend}.o"), bytes).unwrap_or_else(|error| panic!("{error}"))
        };
        let [first, second] = backends;
        [
            object(first, &self.first, vec![self.kernel.clone()]),
            object(second, &self.second, Vec::new()),
        ]
    }
}

/// Links objects to a shared library, or to one object.
fn linked(form: Form, linker: Linker, objects: &[Input]) -> Vec<u8> {
    let request = Request { kernels: objects.to_vec(), linker: Some(linker), ..Request::new(form) };
    request.link().unwrap_or_else(|error| panic!("{error}"))
}

/// Loads libraries in one process, and calls the functions of all.
fn call_all(workshop: &Workshop, names: &[String]) {
    let mut rows: Vec<(String, &str)> =
        REGISTERED.iter().map(|(statement, value)| (statement.to_string(), *value)).collect();
    for name in names {
        rows.push((format!("m = load('{name}')"), ""));
        let calls =
            [("near(1)", "101"), ("also(2)", "102"), ("held()(3)", "303"), ("filled()", "77")];
        rows.extend(calls.map(|(call, value)| (format!("m.{call}"), value)));
    }
    let rows: Vec<(&str, &str)> = rows.iter().map(|(text, value)| (&**text, *value)).collect();
    workshop.expect(&rows);
}

/// Objects of each pair of backends become one library, in which the loader fills one context.
#[test]
fn objects_share_the_context_of_a_library() {
    let workshop = Workshop::new();
    let apart = Apart::new(&workshop);
    let mut names = Vec::new();
    for first in BACKENDS {
        for second in BACKENDS {
            let objects = apart.objects([first, second]);
            let name = format!("{first}_{second}.so");
            let bytes = linked(Form::Shared, Linker::Wild, &objects);
            fs::write(workshop.path(&name), bytes).expect("a file can be written");
            names.push(name);
        }
    }
    call_all(&workshop, &names);
}

/// So do they by other linkers, in the other order, merged before, and out of an archive.
#[test]
fn every_linker_keeps_one_context() {
    let workshop = Workshop::new();
    let apart = Apart::new(&workshop);
    let mut names = Vec::new();
    for (index, backend) in BACKENDS.iter().enumerate() {
        let other = BACKENDS[(index + 1) % BACKENDS.len()];
        let objects = apart.objects([backend, other]);
        let reversed = [objects[1].clone(), objects[0].clone()];
        let (wild, cc) = (Linker::Wild, Linker::Cc("cc".into()));
        let merged = [("wild", &wild), ("cc", &cc)].map(|(name, linker)| {
            let bytes = linked(Form::Object, linker.clone(), &objects);
            Input::new(format!("{name}.o"), bytes).unwrap_or_else(|error| panic!("{error}"))
        });
        let archive = [objects[0].clone(), user(), archive(&workshop, &objects[1])];
        let ways: [(&str, &Linker, &[Input]); 8] = [
            ("reversed", &wild, &reversed),
            ("merged", &wild, &merged[..1]),
            ("merged_by_cc", &wild, &merged[1..]),
            ("archive", &wild, &archive),
            ("cc", &cc, &objects),
            ("cc_reversed", &cc, &reversed),
            ("cc_merged", &cc, &merged[1..]),
            ("cc_archive", &cc, &archive),
        ];
        let mut add = |way: &str, bytes: Vec<u8>| {
            let name = format!("{backend}_{way}.so");
            fs::write(workshop.path(&name), bytes).expect("a file can be written");
            names.push(name);
        };
        for (way, linker, inputs) in ways {
            add(way, linked(Form::Shared, linker.clone(), inputs));
        }
        if let Ok(lld) = std::env::var("LLD") {
            add("lld", linked(Form::Shared, Linker::Lld(lld.into()), &objects));
        }
    }
    call_all(&workshop, &names);
}

/// Makes an archive of an object.
fn archive(workshop: &Workshop, object: &Input) -> Input {
    let [member, archive] = ["member.o", "members.a"].map(|name| workshop.path(name));
    let _ = fs::remove_file(&archive);
    fs::write(&member, object.bytes()).expect("a file can be written");
    cc(Command::new("ar").arg("rcs").arg(&archive).arg(&member));
    Input::read(&archive).unwrap_or_else(|error| panic!("{error}"))
}

/// Makes an object that needs a function of the second library.
fn user() -> Input {
    let workshop = Workshop::new();
    workshop.kernels("int __tvm_ffi_also(void); void* use_also = (void*)__tvm_ffi_also;")
}
