//! Compiled libraries as module objects of the runtime.

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::alone::alone;
use crate::ir::{self, int, runtimes};
use abi_spec::TypeIndex;
use abi_spec::library_bin::{ImportTree, LOADER_PREFIX, Module, Node};
use tvm_ffi_codegen::{Library, Options};
use tvm_ffi_codegen_jit::abi::{Any, ByteArray, Object, SafeCall};
use tvm_ffi_codegen_jit::{
    Compiled, Error, FfiFunction, Jit, JitOptions, ObjectRef, Returned, Runtime,
};

/// Returns the installed runtime, and a guard that keeps other tests of this file waiting.
fn installed() -> Option<(&'static Runtime, MutexGuard<'static, ()>)> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    Some((ir::installed()?, guard))
}

extern "C" fn one() -> i64 {
    1
}

extern "C" fn two() -> i64 {
    2
}

/// Compiles declarations that call `one` and `two`.
fn compile(
    text: &str,
    imports: Option<ImportTree<'static>>,
    runtime: &'static Runtime,
) -> Compiled {
    let mut library: Library = text.parse().unwrap();
    library.imports = imports;
    let lowering = Options { metadata: true, ..Jit::OPTIONS };
    let options = JitOptions { runtime, lowering, ..JitOptions::default() };
    let (one, two): (extern "C" fn() -> _, extern "C" fn() -> _) = (one, two);
    // SAFETY: both are sound.
    let jit = unsafe { Jit::with_options(options).unwrap().kernel("one", one).kernel("two", two) };
    jit.compile(&library).unwrap()
}

fn into_module(compiled: Compiled) -> Result<ObjectRef, Error> {
    // SAFETY: every test that looks symbols up holds the guard.
    unsafe { compiled.into_module() }
}

/// Calls a method of a module with the name of a function; `deep` searches imports too.
fn ask(module: &ObjectRef, method: &str, name: &str, deep: bool) -> Returned {
    // SAFETY: methods of modules take what this function passes.
    let method = unsafe { FfiFunction::global(method, module.runtime()) }.unwrap().unwrap();
    let name = CString::new(name).unwrap();
    method.call((module, name.as_c_str(), deep)).unwrap()
}

fn call(module: &ObjectRef, name: &str, deep: bool) -> Option<i64> {
    let function = ask(module, "ffi.ModuleGetFunction", name, deep).option()?;
    Some(int(FfiFunction::try_from(function).unwrap().call(())))
}

fn text(module: &ObjectRef, method: &str, name: &str) -> Option<String> {
    ask(module, method, name, false).option()?.try_into().ok()
}

/// A loader that compiles its bytes, which are a declaration. It returns an integer for `number`, and raises an error
/// for other bytes.
unsafe extern "C" fn load(_: *mut c_void, args: *const Any, _: i32, result: *mut Any) -> i32 {
    // SAFETY: the loader gets one argument, bytes, and a pointer for its result.
    let (argument, result) = unsafe { (&*args, &mut *result) };
    let bytes = match argument.ty() {
        // SAFETY: all bytes of the payload are initialised.
        TypeIndex::SMALL_BYTES => unsafe { &argument.payload.bytes[..argument.small_len as usize] },
        // SAFETY: the cell of bytes is a byte array.
        TypeIndex::BYTES => unsafe {
            (*argument.pointer().cast::<Object>().add(1).cast::<ByteArray>()).bytes()
        },
        other => panic!("{other:?}"),
    };
    let declaration = std::str::from_utf8(bytes).unwrap();
    if declaration == "number" {
        *result = Any::int(TypeIndex::INT, 7);
        return 0;
    }
    if declaration.parse::<Library>().is_err() {
        let raise = runtimes()[1].symbol("TVMFFIErrorSetRaisedFromCStr").unwrap();
        // SAFETY: this is the type of the function, and the texts end with NUL.
        unsafe {
            let raise = std::mem::transmute::<
                *const c_void,
                unsafe extern "C" fn(*const c_char, *const c_char),
            >(raise);
            raise(c"ValueError".as_ptr(), c"no declaration".as_ptr());
        }
        return -1;
    }
    let module = into_module(compile(declaration, None, runtimes()[1])).unwrap();
    *result = Any::ptr(TypeIndex::MODULE, module.into_raw().cast());
    0
}

#[test]
fn loaders_make_imports() {
    alone(|| {
        let Some(runtime) = ir::installed() else { return };
        register_loader("codegen.test", runtime);
        imports_are_loaded_and_attached();
        the_context_leads_to_the_imports();
        code_stays_only_if_there_is_a_module();
        what_cannot_be_a_module_is_an_error();
    });
}

/// Registers [`load`] for a kind.
fn register_loader(kind: &str, runtime: &'static Runtime) {
    type Create =
        unsafe extern "C" fn(*mut c_void, SafeCall, *const c_void, *mut *mut Object) -> i32;
    let create = runtime.symbol("TVMFFIFunctionCreate").unwrap();
    let mut object = std::ptr::null_mut();
    // SAFETY: this is the type of the function; the loader needs no handle.
    let function = unsafe {
        let create = std::mem::transmute::<*const c_void, Create>(create);
        assert_eq!(create(std::ptr::null_mut(), load, std::ptr::null(), &mut object), 0);
        FfiFunction::from_raw(object, runtime).unwrap()
    };
    // SAFETY: the test that calls this runs alone, and the function takes and returns what a loader does.
    unsafe { function.register_global(&format!("{LOADER_PREFIX}{kind}"), true) }.unwrap();
}

/// Modules, each with the indices of its imports.
type Nodes<'a> = &'a [(&'static str, &'a [usize])];

/// Makes an import tree of these modules: `_lib` is the library itself, others are bytes for [`load`].
fn tree(kind: &'static str, nodes: Nodes<'_>) -> Option<ImportTree<'static>> {
    let module = |text: &'static str| match text {
        "_lib" => Module::Library,
        text => Module::Custom { kind: kind.into(), bytes: text.as_bytes().into() },
    };
    let node = |&(text, children): &(&'static str, &[usize])| Node {
        module: module(text),
        children: children.to_vec(),
    };
    Some(ImportTree { nodes: nodes.iter().map(node).collect() })
}

#[test]
fn modules_have_functions_metadata_and_docs() {
    let Some((runtime, _guard)) = installed() else { return };
    let declarations = "/// The first.\nf() -> int64 = one(); g() -> int64 = two();";
    let library: Library = declarations.parse().unwrap();
    let resolved = library.resolve().unwrap();
    let compiled = compile(declarations, None, runtime);
    assert_eq!(compiled.names().collect::<Vec<_>>(), ["f", "g"]);
    let module = into_module(compiled).unwrap();
    assert_eq!(module.ty(), TypeIndex::MODULE);
    assert_eq!((call(&module, "f", false), call(&module, "g", false)), (Some(1), Some(2)));
    assert_eq!(call(&module, "h", false), None);
    let metadata = |name| text(&module, "ffi.ModuleGetFunctionMetadata", name);
    assert_eq!(metadata("f"), Some(resolved.metadata(0)));
    assert_eq!(metadata("g"), Some(resolved.metadata(1)));
    assert_eq!(metadata("h"), None);
    let doc = |name| text(&module, "ffi.ModuleGetFunctionDoc", name);
    assert_eq!((doc("f"), doc("g")), (Some("The first.".to_owned()), None));
}

#[test]
fn libraries_with_the_same_names_are_different_modules() {
    let Some((runtime, _guard)) = installed() else { return };
    let first = into_module(compile("f() -> int64 = one();", None, runtime)).unwrap();
    let second = into_module(compile("f() -> int64 = two();", None, runtime)).unwrap();
    let compiled = compile("f() -> int64 = one();", None, runtime);
    let third = into_module(compiled.clone()).unwrap();
    let fourth = into_module(compiled).unwrap();
    let modules = [&first, &second, &third, &fourth];
    assert_eq!(
        modules.map(|module| call(module, "f", false)),
        [Some(1), Some(2), Some(1), Some(1)]
    );
    let mut objects = modules.map(ObjectRef::as_raw);
    objects.sort();
    assert!(objects.windows(2).all(|pair| pair[0] != pair[1]));
}

/// Loaders make modules while the module of the library is made.
fn imports_are_loaded_and_attached() {
    let Some((runtime, _guard)) = installed() else { return };
    const G: &str = "g() -> int64 = two();";
    const H: &str = "h() -> int64 = one();";
    let rows: [(Nodes<'_>, [Option<i64>; 3]); 5] = [
        (&[("_lib", &[1, 2]), (G, &[]), (H, &[])], [Some(1), Some(2), Some(1)]),
        (&[("_lib", &[1]), (G, &[2]), (H, &[])], [Some(1), Some(2), Some(1)]),
        (&[(G, &[1]), ("_lib", &[2]), (H, &[])], [Some(1), Some(2), Some(1)]),
        (&[("_lib", &[])], [Some(1), None, None]),
        (&[(G, &[1]), (H, &[])], [None, Some(2), Some(1)]),
    ];
    for (nodes, expected) in rows {
        let compiled = compile("f() -> int64 = one();", tree("codegen.test", nodes), runtime);
        let module = into_module(compiled).unwrap();
        let found = ["f", "g", "h"].map(|name| call(&module, name, true));
        assert_eq!(found, expected, "{nodes:?}");
        let own = ["f", "g", "h"].map(|name| call(&module, name, false).is_some());
        assert_eq!(own.iter().filter(|&&own| own).count(), 1, "{nodes:?}");
    }
}

/// Looks a function up as kernels do, with the value of the library context.
fn from_imports(context: i64, name: &str, runtime: &'static Runtime) -> Option<i64> {
    type Lookup = unsafe extern "C" fn(*mut c_void, *const c_char, *mut *mut Object) -> i32;
    let lookup = runtime.symbol("TVMFFIEnvModLookupFromImports").unwrap();
    let (name, mut object) = (CString::new(name).unwrap(), std::ptr::null_mut());
    // SAFETY: this is the type of the function, and the context is a module. The result is borrowed.
    let function = unsafe {
        let lookup = std::mem::transmute::<*const c_void, Lookup>(lookup);
        let context = std::ptr::with_exposed_provenance_mut(context as usize);
        assert_eq!(lookup(context, name.as_ptr(), &mut object), 0);
        FfiFunction::from_raw(object, runtime)
    };
    let function = std::mem::ManuallyDrop::new(function?);
    Some(int(function.call(())))
}

/// The library context leads kernels to the functions of imports. Here a function returns it.
fn the_context_leads_to_the_imports() {
    use tvm_ffi_codegen::ir;
    let Some((runtime, _guard)) = installed() else { return };
    let imports = tree("codegen.test", &[("_lib", &[1]), ("g() -> int64 = two();", &[])]);
    let mut library = Library::default();
    library.imports = imports;
    let mut source = tvm_ffi_codegen::lower(&library.resolve().unwrap(), &Jit::OPTIONS);
    crate::ir::wrapper(&mut source, "context", |b| {
        let context = b.module.find("__tvm_ffi__library_ctx").unwrap();
        let address = b.address(context);
        let value = b.load(ir::Type::I64, address, 0);
        crate::ir::succeed(b, TypeIndex::INT.0, value);
    });
    let jit = Jit::with_runtime(runtime).unwrap();
    // SAFETY: the function is sound with any arguments.
    let compiled = unsafe { jit.emit(&source) }.unwrap().finish().unwrap();
    let function = compiled.function("context").unwrap();
    assert_eq!(int(function.call(())), 0);
    let module = into_module(compiled).unwrap();
    let context = call(&module, "context", false).unwrap();
    assert_eq!(from_imports(context, "g", runtime), Some(2));
    // Functions that were taken before see it too.
    assert_eq!(int(function.call(())), context);
}

/// Values that the code needs are kept for ever if there is a module, and freed otherwise.
fn code_stays_only_if_there_is_a_module() {
    let Some((runtime, _guard)) = installed() else { return };
    let witnesses = [(); 4].map(|()| Arc::new(()));
    let compiled = |witness: &Arc<()>, imports| {
        let jit = Jit::with_runtime(runtime).unwrap().keep(witness.clone());
        // SAFETY: the kernel is sound.
        let jit = unsafe { jit.kernel("one", one as extern "C" fn() -> _) };
        let mut library: Library = "f() -> int64 = one();".parse().unwrap();
        library.imports = imports;
        jit.compile(&library).unwrap()
    };
    let module = into_module(compiled(&witnesses[0], None)).unwrap();
    let taken = ask(&module, "ffi.ModuleGetFunction", "f", false);
    drop(module);
    assert!(taken.as_object().is_some());
    drop(compiled(&witnesses[1], None));
    let failing = tree("codegen.test", &[("_lib", &[1]), ("nonsense", &[])]);
    assert!(into_module(compiled(&witnesses[2], failing)).is_err());
    let unknown = tree("codegen.none", &[("_lib", &[1]), ("bytes", &[])]);
    assert!(into_module(compiled(&witnesses[3], unknown)).is_err());
    assert_eq!(witnesses.map(|witness| Arc::strong_count(&witness)), [2, 1, 1, 1]);
}

fn what_cannot_be_a_module_is_an_error() {
    let Some((runtime, _guard)) = installed() else { return };
    let rows = [
        (
            "codegen.none",
            "bytes",
            "import of kind \"codegen.none\": no loader of modules of that kind is registered",
        ),
        (
            "codegen.test",
            "number",
            "import of kind \"codegen.test\": its loader returned no module",
        ),
        ("codegen.test", "nonsense", "ValueError: no declaration"),
    ];
    for (kind, bytes, message) in rows {
        let imports = tree(kind, &[("_lib", &[1]), (bytes, &[])]);
        let error = into_module(compile("f() -> int64 = one();", imports, runtime)).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let closure = compile("f(self: ptr) -> int64 = one();", None, runtime);
    let error = Error::Context { function: "f".to_owned() };
    assert_eq!(into_module(closure).unwrap_err(), error);
}

#[test]
fn the_built_in_runtime_has_no_modules() {
    let compiled = compile("f() -> int64 = one();", None, Runtime::builtin());
    let function = "TVMFFIEnvModRegisterSystemLibSymbol";
    assert_eq!(into_module(compiled).unwrap_err(), Error::Unavailable { function });
}
