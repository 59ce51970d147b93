//! Functions of the FFI that a program calls by name: searched in the library's imports, then in the registry.

use std::fs;

use codegen::Library;
use driver::link::{Input, Linker};
use driver::{Form, Request};
use tvm_ffi_codegen_tests::route::request;

use super::{ImportTree, Node, Workshop, backends, custom, library};

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
    __attribute__((weak)) void *__TVMTestSymbol, *__tvm_ffi__library_ctx;
    long filled_kernel(void) { return __tvm_ffi__library_ctx ? (long)__TVMTestSymbol : -1; }
";

/// Objects of different backends, of which one has the import tree, are linked in several ways.
#[test]
fn objects_share_the_context_of_a_library() {
    let workshop = Workshop::new();
    let first: Library = r#"
        near(n: int64) -> int64 = { let r: int64 = @"near"(n); return r; };
        filled() -> int64 = filled_kernel();
    "#
    .parse()
    .expect("the declarations are valid");
    let first = first.with_imports(ImportTree { nodes: tree().to_vec() });
    let second = r#"
        also(n: int64) -> int64 = { let r: int64 = @"near"(n); return r; };
        held() -> Function = { return function (n: int64) -> int64 { let r: int64 = @"far"(n); return r; }; };
    "#;
    let second: Library = second.parse().expect("the declarations are valid");
    let kernel = workshop.kernels(FILLED);
    let object = |backend: &str, library: &Library, kernels: Vec<Input>| {
        let request = Request { kernels, ..request(backend, Form::Object) };
        let bytes = request.emit(library).unwrap_or_else(|error| panic!("{backend}: {error}"));
        Input::new(format!("{backend}.o"), bytes).unwrap_or_else(|error| panic!("{error}"))
    };
    for (index, backend) in backends().iter().enumerate() {
        let other = backends()[(index + 1) % backends().len()];
        // Merged with its kernel, and alone.
        let mut kernels =
            vec![object(backend, &first, vec![kernel.clone()]), object(other, &second, Vec::new())];
        let merged = Request { kernels: kernels.clone(), ..request(backend, Form::Object) };
        let merged = merged.link().unwrap_or_else(|error| panic!("{backend}: {error}"));
        let merged = Input::new("merged.o", merged).unwrap_or_else(|error| panic!("{error}"));
        let mut reversed = kernels.clone();
        reversed.reverse();
        for (linker, kernels) in [
            (Linker::Wild, kernels.clone()),
            (Linker::Wild, reversed.clone()),
            (Linker::Wild, vec![merged]),
            (Linker::Cc("cc".into()), std::mem::take(&mut kernels)),
            (Linker::Cc("cc".into()), reversed),
        ] {
            let request =
                Request { kernels, linker: Some(linker), ..request(backend, Form::Shared) };
            let bytes = request.link().unwrap_or_else(|error| panic!("{backend}: {error}"));
            fs::write(workshop.path("lib.so"), bytes).expect("a file can be written");
            workshop.expect(&[
                ("import ctypes", ""),
                ("runtime = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())", ""),
                ("runtime.TVMFFIEnvModRegisterContextSymbol(b'__TVMTestSymbol', 77)", "0"),
                ("m = load('lib.so')", ""),
                ("m.near(1)", "101"),
                ("m.also(2)", "102"),
                ("m.held()(3)", "303"),
                ("m.filled()", "77"),
            ]);
        }
    }
}
