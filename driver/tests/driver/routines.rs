//! Linked routines.

use std::fs;
use std::process::Command;

use object::{Object, ObjectSymbol};
use target_lexicon::Triple;
use tvm_ffi_codegen_driver::link::{Input, Linker, routines_archive};
use tvm_ffi_codegen_driver::{Error, Form, ObjectFault, Request, Routines};

use crate::cli::{fails, quiet};
use crate::support::{backends, folder, undefined};

/// Declarations. The last needs no routine for tensors.
const DECLARATIONS: [&str; 3] = [
    "f(x: Tensor([n], float32)) -> int64 = { return n; };",
    "g(x: Tensor([n], float32), y: Tensor([n], float32)) -> int64 = { return n; };",
    "h(x: str) -> str = { return x; };",
];

/// Emits an object with linked routines.
fn linked(text: &str, target: &str) -> Result<Vec<u8>, Error> {
    let (routines, target) = (Some(Routines::Linked), target.parse().unwrap());
    Request { routines, target, ..Request::default() }.emit(&text.parse().unwrap())
}

fn inputs(target: &str) -> Vec<Input> {
    let object = |(i, text): (usize, &&str)| {
        Input::new(format!("{i}.o"), linked(text, target).unwrap()).unwrap()
    };
    DECLARATIONS.iter().enumerate().map(object).collect()
}

/// Links a shared library.
fn link(kernels: Vec<Input>, linker: Linker, target: Triple) -> Result<Vec<u8>, Error> {
    let linker = Some(linker);
    Request { kernels, linker, target, ..Request::new(Form::Shared) }.link()
}

/// Returns the number of definitions of a routine in a library.
fn copies(library: &[u8], routine: &str) -> usize {
    let file = object::File::parse(library).unwrap();
    let start = format!("tvm_ffi_codegen.{routine}.");
    // The names of its constants have the same prefix.
    let is_copy = |name: &str| name.starts_with(&start) && !name.contains(".text");
    let symbols = file.symbols().filter(|symbol| symbol.name().is_ok_and(is_copy));
    symbols.filter(|symbol| !symbol.is_undefined()).count()
}

/// Objects that bring their routines along share them with each other, and with those of the linker.
#[test]
fn objects_share_the_routines_that_they_bring() {
    for backend in backends() {
        let once = |(i, text): (usize, &&str)| {
            let request = Request { backend, routines: Some(Routines::Once), ..Request::default() };
            let object = request.emit(&text.parse().unwrap()).unwrap();
            let input = Input::new(format!("{i}.o"), object).unwrap();
            let uses = input.uses("TVMFFIErrorSetRaised");
            assert!(uses && copies(input.bytes(), "raise") == 1, "{backend} {text}");
            input
        };
        let mut objects: Vec<Input> = DECLARATIONS[..2].iter().enumerate().map(once).collect();
        objects.push(inputs(&Triple::host().to_string()).remove(2));
        for linker in [Linker::Wild, Linker::Cc("cc".into())] {
            let library = link(objects.clone(), linker.clone(), Triple::host()).unwrap();
            let copies = ["fail_header", "fail_value", "say"].map(|name| copies(&library, name));
            assert_eq!(copies, [1, 1, 1], "{backend} {linker:?}");
        }
    }
}

#[test]
fn many_objects_have_one_copy() {
    let host = Triple::host().to_string();
    for linker in [Linker::Wild, Linker::Cc("cc".into())] {
        let library = link(inputs(&host), linker.clone(), Triple::host()).unwrap();
        let copies = ["fail_header", "fail_value", "say", "allocate"]
            .map(|routine| copies(&library, routine));
        assert_eq!(copies, [1, 1, 1, 0], "{linker:?}");
        let file = object::File::parse(&*library).unwrap();
        let names = file.dynamic_symbols().filter_map(|symbol| symbol.name().ok());
        let shown: Vec<_> = names.filter(|name| name.starts_with("tvm_ffi_codegen.")).collect();
        assert_eq!(shown, [""; 0], "{linker:?}");
    }
}

/// Embedded routines make libraries smaller, and the default depends on the form.
#[test]
fn every_form_has_a_choice() {
    let folder = folder();
    fs::write(folder.path().join("f.ffi"), DECLARATIONS[0]).unwrap();
    let emit = |form: &str, options: &str| {
        quiet(folder.path(), &format!("emit f.ffi --emit {form} {options} -o -"))
    };
    for (backend, form) in backends().flat_map(|one| [(one, "object"), (one, "shared")]) {
        let of = |routines: &str| emit(form, &format!("--backend {backend} -O2 {routines}"));
        let [embedded, linked, once] =
            ["embedded", "linked", "once"].map(|one| of(&format!("--routines {one}")));
        let default = if form == "object" { &embedded } else { &linked };
        assert!(*default == of(""), "{backend} {form}");
        let is_smaller = embedded.len() < linked.len();
        assert_eq!(is_smaller, form == "shared", "{backend} {form}");
        let copies = [&embedded, &linked, &once].map(|one| copies(one, "fail_header"));
        assert_eq!(copies, [0, usize::from(form == "shared"), 1], "{backend} {form}");
    }
    for form in ["ir", "native"] {
        // The constants of a routine are named after it.
        let leaves = ["", "--routines embedded", "--routines linked", "--routines once"]
            .map(|options| String::from_utf8(emit(form, options)).unwrap())
            .map(|text| text.replace("fail_header.text", "").contains("codegen.fail_header."));
        assert_eq!(leaves, [false, false, true, true], "{form}");
    }
    let (code, message) = fails(folder.path(), "emit f.ffi --routines shared -o f.o");
    assert_eq!(code, 2);
    assert!(message.contains("[possible values: embedded, linked, once]"), "{message}");
}

#[test]
fn they_are_compiled_for_other_machines() {
    for target in ["aarch64-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu"] {
        let library = link(inputs(target), Linker::Wild, target.parse().unwrap());
        assert_eq!(copies(&library.unwrap(), "fail_value"), 1, "{target}");
    }
    let refused = linked(DECLARATIONS[0], "aarch64-apple-ios");
    assert!(
        matches!(refused, Err(Error::Link { source: link::Error::UnsupportedLink { .. } })),
        "{refused:?}"
    );
}

#[test]
fn another_linker_takes_them_from_an_archive() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let host = Triple::host();
    fs::write(path("f.o"), linked(DECLARATIONS[0], &host.to_string()).unwrap()).unwrap();
    fs::write(path("libroutines.a"), routines_archive(&host).unwrap()).unwrap();
    let mut cc = Command::new("cc");
    cc.arg("-shared").args([path("f.o"), path("libroutines.a")]).arg("-o").arg(path("f.so"));
    assert!(cc.status().unwrap().success());
    let library = fs::read(path("f.so")).unwrap();
    let copies = ["fail_header", "fail_value", "allocate"].map(|routine| copies(&library, routine));
    assert_eq!(copies, [1, 0, 0]);
}

#[test]
fn those_of_another_version_are_refused() {
    let name = "tvm_ffi_codegen.fail_count.0123456789abcdef";
    let input = Input::new("old.o", undefined(&[name])).unwrap();
    let target = "x86_64-unknown-linux-gnu".parse().unwrap();
    let error = link(vec![input], Linker::Wild, target);
    let Err(Error::Link { source: link::Error::Object { file, fault } }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((file.as_str(), fault), ("old.o", ObjectFault::Routines));
}
