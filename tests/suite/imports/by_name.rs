//! Functions of the FFI that a program calls by name: searched in the library's imports, then in the registry.

use codegen::Library;
use tvm_ffi_codegen_tests::route::request;

use super::{BACKENDS, ImportTree, Node, Workshop, custom, library};

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
    for backend in BACKENDS {
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
