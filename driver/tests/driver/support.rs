//! Objects to link, compiled by the system's C compiler, and a small module of host IR.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use abi_spec::library_bin::{ImportTree, Module, Node};
use codegen::ir::{self, Binary, Builder, Linkage, Signature, SymbolKind, Type};
use libloading::Library;
use tempfile::TempDir;
use tvm_ffi_codegen_driver::link::{Input, Linker};
use tvm_ffi_codegen_driver::{BackendName, Error, Form, Request};

/// Makes a temporary folder.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Backends of this build.
pub(crate) fn backends() -> impl Iterator<Item = BackendName> {
    BackendName::BUILT.iter().map(|name| name.parse().expect("a name of a backend"))
}

/// Returns whether this build has a backend.
pub(crate) fn has(backend: &str) -> bool {
    BackendName::BUILT.contains(&backend)
}

/// Compiles C to an object file in `folder`.
pub(crate) fn compile(folder: &Path, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (text, object) = (folder.join(format!("{name}.c")), folder.join(format!("{name}.o")));
    fs::write(&text, source).expect("writable folder");
    let mut cc = Command::new("cc");
    cc.args(["-c", "-O2", "-fPIC"]).args(options).arg(&text).arg("-o").arg(&object);
    assert!(cc.status().expect("a C compiler").success(), "cc fails on {source}");
    object
}

/// Compiles C to an input named `name.o`.
pub(crate) fn object(name: &str, source: &str) -> Input {
    object_with(name, source, &[])
}

/// Compiles C to an input named `name.o`, with options of the compiler.
pub(crate) fn object_with(name: &str, source: &str, options: &[&str]) -> Input {
    let folder = folder();
    let path = compile(folder.path(), name, source, options);
    Input::new(format!("{name}.o"), fs::read(path).expect("written by cc")).expect("an object")
}

pub(crate) fn routes() -> [Linker; 2] {
    [Linker::Wild, Linker::Cc("cc".into())]
}

/// Returns the request for a shared library that is loaded without the runtime.
pub(crate) fn alone(kernels: &[Input], linker: &Linker) -> Request {
    let (kernels, linker) = (kernels.to_vec(), Some(linker.clone()));
    Request { kernels, linker, runtime_dependency: false, ..Request::new(Form::Shared) }
}

pub(crate) fn link(inputs: &[Input], linker: &Linker) -> Result<Vec<u8>, Error> {
    alone(inputs, linker).link()
}

/// Calls an exported function with a count and NULL pointers.
pub(crate) fn call(library: &Path, function: &str, count: i32) -> i32 {
    type SafeCall = unsafe extern "C" fn(usize, usize, i32, usize) -> i32;
    // SAFETY: the libraries of these tests have no initializers.
    let library = unsafe { Library::new(library) }.expect("a loadable library");
    // SAFETY: every function exported by these tests is of this type.
    let function = unsafe { library.get::<SafeCall>(function) }.expect("exported");
    // SAFETY: none of them reads through its pointers.
    unsafe { function(0, 0, count, 0) }
}

/// C source of a library with every kind of symbol.
const FULL: &str = "
    int TVMFFIObjectDecRef(void*);
    int TVMFFIHandleInitOnce(void**, int (*)(void**));
    int printf(const char*, ...);
    __attribute__((weak)) int optional(void);
    void* __tvm_ffi__library_ctx;
    const char __tvm_ffi__library_bin[] = { TREE };
    const char __tvm_ffi__cubin_k[4] = {1};
    int __tvm_ffi__metadata_f(void* h, const void* a, int n, void* r) { return 1; }
    int __tvm_ffi__doc_f(void* h, const void* a, int n, void* r) { return 2; }
    int __tvm_ffi__doc_g(void* h, const void* a, int n, void* r) { return 3; }
    int __tvm_ffi__doc_gone(void* h, const void* a, int n, void* r) { return 4; }
    int __tvm_ffi_f(void* h, const void* a, int n, void* r) { return printf(\"f\"); }
    int __tvm_ffi_g(void* h, const void* a, int n, void* r) { return TVMFFIObjectDecRef(h); }
    int __tvm_ffi_main(void* h, const void* a, int n, void* r) {
        return TVMFFIHandleInitOnce(r, 0) + (optional ? optional() : 0);
    }
    __attribute__((visibility(\"hidden\"))) int __tvm_ffi_hidden(void) { return 5; }
    static int __tvm_ffi_local(void) { return 6; }
    int (*use)(void) = __tvm_ffi_local;
";

/// Compiles [`FULL`] with an import tree.
pub(crate) fn full(tree: &[u8]) -> Input {
    let bytes: Vec<String> = tree.iter().map(u8::to_string).collect();
    object("full", &FULL.replace("TREE", &bytes.join(",")))
}

/// Makes the tree of a library that imports two modules, of which the first imports the second.
pub(crate) fn tree() -> ImportTree<'static> {
    let custom = |kind: &'static str, bytes: &'static [u8]| Module::Custom {
        kind: kind.into(),
        bytes: bytes.into(),
    };
    let modules = [
        (Module::Library, vec![1, 2]),
        (custom("cuda", b"AAA"), vec![2]),
        (custom("data", b"BB"), vec![]),
    ];
    let node = |(module, children)| Node { module, children };
    ImportTree { nodes: modules.map(node).to_vec() }
}

/// Makes the module of a function that calls `kernel(num_args)` and returns twice its result.
pub(crate) fn twice() -> ir::Module {
    let mut module = ir::Module::default();
    let signature = Signature::new(&[Type::I32], Some(Type::I32));
    let kernel = module.declare("kernel", Linkage::Import, SymbolKind::Function(signature));
    let safe_call = Signature::new(&[Type::Ptr, Type::Ptr, Type::I32, Type::Ptr], Some(Type::I32));
    let mut b = Builder::function(&mut module, "__tvm_ffi_twice", Linkage::Export, safe_call);
    let count = b.param(2);
    let value = b.call_value(kernel, &[count]);
    let twice = b.binary(Binary::Add, value, value);
    b.ret(Some(twice));
    let function = b.finish();
    module.functions.push(function);
    module
}

/// Makes an ELF object with these undefined symbols.
pub(crate) fn undefined(names: &[&str]) -> Vec<u8> {
    use object::write::{Object, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, SymbolFlags, SymbolKind, SymbolScope};
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for name in names {
        object.add_symbol(Symbol {
            name: name.as_bytes().to_vec(),
            value: 0,
            size: 0,
            kind: SymbolKind::Text,
            scope: SymbolScope::Unknown,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        });
    }
    object.write().expect("a valid object")
}
