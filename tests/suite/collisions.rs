//! Libraries that export the same names, and entries.

use std::path::Path;
use std::process::Command;

use codegen::Library;
use tvm_ffi_codegen_tests::route::BACKENDS;

/// Loads a first library for all to see, then a second, and says what their functions return. The loader has
/// written the context of the first when the second is loaded.
const SCRIPT: &str = "
import ctypes, sys
import tvm_ffi
first, second = sys.argv[1:]
ctypes.CDLL(first, mode=ctypes.RTLD_GLOBAL)
one, two = tvm_ffi.load_module(first), tvm_ffi.load_module(second)
for module in [one, two]:
    docs = module.get_function_doc('f')
    print(module(), module.f(), docs, module.get_function_metadata('f')['declaration']['result'])
";

/// Links a library whose entry calls a function that it exports.
fn library(path: &Path, backend: &str, docs: &str, result: &str, number: u8) {
    let text = format!("/// {docs}\nf() -> {result} = kernel();");
    let library = Library { entry: Some("f".to_owned()), ..text.parse().unwrap() };
    let folder = path.parent().unwrap();
    let (source, object) = (folder.join("kernel.c"), folder.join("kernel.o"));
    std::fs::write(
        &source,
        format!(
            "__attribute__((visibility(\"hidden\"))) long long kernel(void) {{ return {number}; }}"
        ),
    )
    .unwrap();
    let mut cc = Command::new("cc");
    assert!(cc.args(["-c", "-fPIC", "-o"]).arg(&object).arg(source).status().unwrap().success());
    let host = driver::Options { backend: backend.to_owned(), ..driver::Options::default() };
    let host = driver::emit(&library, driver::Form::Object, &host).unwrap();
    // Neither linker option nor version script helps: the code itself must not be captured.
    let host_path = folder.join("host.o");
    std::fs::write(&host_path, host).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-nostdlib", "-o"]).arg(path).arg(host_path).arg(object);
    assert!(cc.status().unwrap().success(), "{backend}");
}

#[test]
fn libraries_loaded_earlier_capture_nothing() {
    for backend in BACKENDS {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first.so", "second.so"].map(|name| folder.path().join(name));
        library(&first, backend, "One.", "int64", 1);
        library(&second, backend, "Two.", "int32", 2);
        let output = Command::new("python3").arg("-c").arg(SCRIPT).args([first, second]).output();
        let output = output.unwrap_or_else(|error| panic!("python3: {error}; use tests/run"));
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(text, "1 1 One. int64\n2 2 Two. int32\n", "{backend}: {output:?}");
    }
}
