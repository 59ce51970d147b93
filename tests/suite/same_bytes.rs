//! The same declarations yield the same bytes in every process.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use codegen::Options;
use driver::link::Input;
use driver::{Form, Optimize, Request};
use target_lexicon::Triple;
use tvm_ffi_codegen_tests::gate::Part;
use tvm_ffi_codegen_tests::route::{BACKENDS, request};
use tvm_ffi_codegen_tests::{cases, kernels};

use crate::snapshots::target;

/// Variable with the folder that the other process writes to.
const FOLDER: &str = "TVM_FFI_CODEGEN_SAME_BYTES";

/// Emits the whole table as one library: host IR, and the outputs of each backend. Those of MLIR and C are not
/// optimised: their optimizers are LLVM's, and GCC's; LLVM's own is left to a longer run.
fn emit() -> Vec<(String, Vec<u8>)> {
    let library = cases::library(&cases::table());
    let module = codegen::lower(&library.resolve().unwrap(), &Options::default());
    let mut files = vec![("ir".to_owned(), module.to_string().into_bytes())];
    for backend in BACKENDS {
        let optimized = match *backend {
            "cranelift" => true,
            "llvm" => Part::Optimizer.runs(),
            _ => false,
        };
        let optimization = if optimized { Optimize::O2 } else { Optimize::O0 };
        for form in [Form::Native, Form::Object] {
            let request = Request { target: target(), optimization, ..request(backend, form) };
            let bytes = request.emit_module(&module).unwrap();
            files.push((format!("{backend} {form:?}"), bytes));
        }
        // The object that has just been made is linked: compiling it again would take minutes.
        let (_, object) = files.last().expect("an object");
        let mut kernels = vec![Input::new("wrappers.o", object.clone()).unwrap()];
        if target() == Triple::host() {
            kernels.push(Input::new("kernels.o", kernels::kernels().object.clone()).unwrap());
        }
        let request = Request { kernels, target: target(), ..request(backend, Form::Shared) };
        files.push((format!("{backend} {:?}", Form::Shared), request.link().unwrap()));
    }
    files
}

#[test]
#[ignore = "the other process of the test below"]
fn other_process() {
    let folder = env::var_os(FOLDER).expect("the test below says where to");
    for (name, bytes) in emit() {
        fs::write(Path::new(&folder).join(name), bytes).unwrap();
    }
}

#[test]
fn in_every_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = Command::new(env::current_exe().unwrap());
    other.args(["--exact", "same_bytes::other_process", "--ignored"]);
    let mut other = other.env(FOLDER, folder.path()).spawn().unwrap();
    let files = emit();
    assert!(other.wait().unwrap().success());
    for (name, bytes) in files {
        let theirs = fs::read(folder.path().join(&name)).unwrap();
        assert!(theirs == bytes, "{name} is not the same");
    }
}
