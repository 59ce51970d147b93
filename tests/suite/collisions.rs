//! Libraries that export the same names and entries, and imports whose loading loads libraries.

use std::path::Path;
use std::process::Command;

use abi_spec::library_bin::{ImportTree, Module, Node};
use codegen::Library;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::route::{build, request};

/// Loads the first library globally, then the second, and prints the results of their functions. The loader has written
/// the context of the first when it loads the second.
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
    let library = text.parse::<Library>().unwrap().with_entry("f");
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
    let host = request(backend, driver::Form::Object).emit(&library).unwrap();
    // Linked without version script or linker options: only the code itself can prevent capture.
    let host_path = folder.join("host.o");
    std::fs::write(&host_path, host).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-nostdlib", "-o"]).arg(path).arg(host_path).arg(object);
    assert!(cc.status().unwrap().success(), "{backend}");
}

#[test]
fn libraries_loaded_earlier_capture_nothing() {
    for backend in backends() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first.so", "second.so"].map(|name| folder.path().join(name));
        library(&first, backend, "One.", "int64", 1);
        library(&second, backend, "Two.", "int32", 2);
        assert_eq!(
            python(SCRIPT, &[&first, &second]),
            "1 1 One. int64\n2 2 Two. int32\n",
            "{backend}"
        );
    }
}

/// Runs a script and returns its output.
fn python(script: &str, arguments: &[&Path]) -> String {
    let output = Command::new("python3").arg("-c").arg(script).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("python3: {error}; use tests/run"));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("the output is text")
}

/// Loads a library with an import whose loader loads and calls another library, and fails at first.
const LOADER: &str = "
import sys
import tvm_ffi
calls = 0
@tvm_ffi.register_global_func('ffi.Module.load_from_bytes.again')
def load(content):
    global calls
    calls += 1
    if calls == 1:
        raise ValueError('not yet')
    module = tvm_ffi.load_module(bytes(content).decode())
    print('loading', module.inner(20))
    return module
try:
    tvm_ffi.load_module(sys.argv[1])
except ValueError as error:
    print(error)
module = tvm_ffi.load_module(sys.argv[1])
print(module.outer(1), module.get_function('inner', query_imports=True)(2), len(module.imports))
";

#[test]
fn loaders_may_fail_and_may_load_libraries() {
    for backend in backends() {
        let folder = tempfile::tempdir().unwrap();
        let [outer, inner] = ["outer.so", "inner.so"].map(|name| folder.path().join(name));
        build(&"inner(a: int8) -> int8 = echo_int8(a);".parse().unwrap(), backend, &inner);
        let bytes = inner.to_str().unwrap().as_bytes().to_vec().into();
        let nodes = vec![
            Node { module: Module::Library, children: vec![1] },
            Node { module: Module::Custom { kind: "again".into(), bytes }, children: vec![] },
        ];
        let library = "outer(a: int8) -> int8 = echo_int8(a);".parse::<Library>().unwrap();
        let library = library.with_imports(ImportTree { nodes });
        build(&library, backend, &outer);
        assert_eq!(python(LOADER, &[&outer]), "not yet\nloading 20\n1 2 1\n", "{backend}");
    }
}
