//! The text form of host IR, read again.

use codegen::ir::{Module, verify};
use codegen::{Library, Loader, Options, lower};
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::machine::{InMachine, Linked};

use crate::snapshots::{bare, lowered};
use crate::table::check;

/// A module from its text, which prints as it did.
fn read(module: &Module) -> Module {
    let text = format!("{module:#}");
    let read: Module = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&read).unwrap_or_else(|error| panic!("{error}"));
    assert!(format!("{read:#}") == text, "{read:#}\nwas\n{text}");
    read
}

#[test]
fn every_module_is_read_as_it_is_printed() {
    for case in cases::table() {
        read(&lowered(&case.function, &bare()));
        read(&lowered(&case.function, &Options::default()));
    }
    read(&codegen::routines(Loader::Dl));
    read(&codegen::routines(Loader::Windows));
    let library: Library = "image i; f(x: Tensor([n], float32, device=cuda)) -> None
        = { launch i.\"a kernel with \\\"blanks\\\" and é\"(x.data) grid(1) block(1); };"
        .parse()
        .expect("it is a library");
    let library = library.with_system_lib("x ").with_entry("f");
    if let Ok(resolved) = library.resolve() {
        read(&lower(&resolved, &Options::default()));
    }
}

/// What is read does what it did before.
#[test]
fn what_is_read_runs_the_table() {
    let table = cases::table();
    let mut machine = InMachine::new(&cases::library(&table), Linked::Inside);
    for module in machine.modules_mut() {
        *module = read(module);
    }
    check(&machine, &table, &[]);
}

#[test]
fn what_is_no_host_ir_is_said_with_its_line() {
    let rows = [
        ("import func @f(i64)\nimport func @f(i32)\n", "line 2: `f` is declared as two things"),
        ("func @f()\n", "line 1: expected `import`, `local`, `export`, `once` or `constructor`"),
        ("import func @f(i65)\n", "line 1: expected a type, found `i65`"),
        ("local data @d size 2 align 1 {\n    \"a\"\n}\n", "line 1: 1 bytes, not 2"),
        ("local data @d size 1 align 1 {\n    \"\\xz\"\n}\n", "line 2: `\\xz` is no byte"),
        ("export func @f() {\nentry:\n    return\n", "line 1: expected a closing brace"),
        ("export func @f() {\nnext0:\n    return\n}\n", ""),
        ("export func @f() {\nentry:\n    jump next1\n}\n", "line 3: there is no block `next1`"),
        ("export func @f() {\nentry:\n    return\n    return\n}\n", "line 4: the block has ended"),
        ("export func @f() {\nentry:\n    return %x\n}\n", "line 3: `%x` is not defined"),
        (
            "export func @f() {\nentry:\n    %x: i8 = const 1\n    %x: i16 = const 1\n    return\n}\n",
            "line 4: `%x` has two types",
        ),
        (
            "export func @f() {\nentry:\n    %x: i8 = frob %x\n    return\n}\n",
            "line 3: `frob` is no instruction",
        ),
        (
            "export func @f() {\nentry:\n    %x: i8 = const true\n    return\n}\n",
            "line 3: `true` is no constant of type i8",
        ),
        (
            "export func @f() {\nentry:\n    call @g()\n    return\n}\n",
            "line 3: `@g` is not declared",
        ),
    ];
    for (text, expected) in rows {
        let found =
            text.parse::<Module>().map_or_else(|error| error.to_string(), |_| String::new());
        assert_eq!(found, expected, "{text}");
    }
}
