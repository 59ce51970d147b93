//! The text form of host IR, parsed again.

use codegen::ir::{Module, verify};
use codegen::{Library, Loader, Options, lower};
use tvm_ffi_codegen_tests::cases;
use tvm_ffi_codegen_tests::machine::{InMachine, Linked};

use crate::snapshots::{bare, lowered};
use crate::table::check;

/// Parses the text of a module; the result must print the same.
fn read(module: &Module) -> Module {
    let text = format!("{module:#}");
    let read: Module = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&read).unwrap_or_else(|error| panic!("{error}"));
    assert!(format!("{read:#}") == text, "{read:#}\nwas\n{text}");
    read
}

/// Modules of the table without routines, and routines without a function; the test below has both in one module.
#[test]
fn every_module_is_read_as_it_is_printed() {
    for case in cases::table() {
        read(&lowered(&case.function, &bare()));
    }
    read(&codegen::linker::routines(Loader::Dl));
    read(&codegen::linker::routines(Loader::Windows));
    let library: Library = "image i; f(x: Tensor([n], float32, device=cuda)) -> None
        = { launch i.\"a kernel with \\\"blanks\\\" and é\"(x.data) grid(1) block(1); };"
        .parse()
        .expect("it is a library");
    let library = library.with_system_lib("x ").with_entry("f");
    if let Ok(resolved) = library.resolve() {
        read(&lower(&resolved, &Options::default()));
    }
}

/// Parsed modules behave as before.
#[test]
fn what_is_read_runs_the_table() {
    let table = cases::table();
    let mut machine = InMachine::new(&cases::library(&table), Linked::Inside);
    for module in machine.modules_mut() {
        *module = read(module);
    }
    check(&machine, &table, &[]);
}
