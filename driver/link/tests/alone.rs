//! Linking alone: objects of a C compiler, and no declaration.

use std::fs;
use std::path::Path;
use std::process::Command;

use tvm_ffi_codegen_link::{Error, Input, Linker, ObjectFault, Options, Output, library, link};

/// Compiles C code in a folder.
fn object(folder: &Path, name: &str, code: &str) -> Input {
    let [source, object] = ["c", "o"].map(|ending| folder.join(format!("{name}.{ending}")));
    fs::write(&source, code).expect("the file can be written");
    let mut cc = Command::new("cc");
    cc.args(["-fPIC", "-c"]).arg(source).arg("-o").arg(&object);
    assert!(cc.status().expect("cc starts").success());
    Input::read(&object).expect("an object")
}

const WRAPPER: &str = "int helper(void); int __tvm_ffi_f(void) { return helper(); }";
const HELPER: &str = "#include <math.h>\nint helper(void) { return (int)cos(0.0); }";

#[test]
fn objects_become_a_library_or_an_object() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = [("wrapper", WRAPPER), ("helper", HELPER)];
    let inputs = inputs.map(|(name, code)| object(folder.path(), name, code));
    for linker in [None, Some(Linker::Cc("cc".into()))] {
        let shared = Options { linker: linker.clone(), ..Options::default() };
        let made = Input::new("made.so", link(&inputs, &shared).expect("it links"));
        let made = made.expect("a library");
        assert!(made.is_library() && made.defines("__tvm_ffi_f") && !made.defines("helper"));
        let merged = Options { output: Output::Object, linker, ..Options::default() };
        let made = Input::new("made.o", link(&inputs, &merged).expect("it links"));
        assert!(made.expect("an object").defines("helper"));
    }
}

#[test]
fn libraries_are_found_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let helper = object(folder.path(), "helper", HELPER);
    let made = link(&[helper.showing(vec!["helper".to_owned()])], &Options::default());
    fs::write(folder.path().join("libhelper.so"), made.expect("it links")).expect("written");
    let options = Options { folders: vec![folder.path().to_owned()], ..Options::default() };
    let found = library("helper", &options).expect("it is found");
    assert!(found.len() == 1 && found[0].defines("helper"));
    let none = library("no_such_library", &options).expect_err("there is none");
    assert!(matches!(&none, Error::NoLibrary { folders, .. } if folders[0] == folder.path()));
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let twice = ["one", "two"].map(|name| object(folder.path(), name, WRAPPER));
    let error = link(&twice, &Options::default()).expect_err("it is defined twice");
    assert!(matches!(error, Error::DuplicateSymbol { .. }), "{error}");
    let other =
        Options { target: "aarch64-unknown-linux-gnu".parse().unwrap(), ..Options::default() };
    let error = link(&twice[..1], &other).expect_err("it is for another machine");
    let is_fault = |fault: &ObjectFault| matches!(fault, ObjectFault::Target { .. });
    assert!(matches!(&error, Error::Object { fault, .. } if is_fault(fault)), "{error}");
}
