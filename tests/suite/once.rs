//! Definitions that several objects share are linked once, whichever backends made the objects and whichever linker
//! links them.

use driver::link::{Input, Linker};
use driver::{Form, Request};
use object::{Object, ObjectSymbol};
use tvm_ffi_codegen_tests::route::{BACKENDS, request};

#[path = "../../backends/tests/counter.rs"]
mod counter;

use counter::{SHARED, user};

fn object(backend: &str, name: &str) -> Input {
    // Optimisation would inline the small function.
    let optimization = driver::Optimize::O0;
    let request = Request { optimization, ..request(backend, Form::Object) };
    let bytes = request.emit_module(&user(name)).unwrap();
    Input::new(format!("{name} by {backend}"), bytes).unwrap()
}

#[test]
fn every_linker_keeps_one_copy() {
    let names = ["__tvm_ffi_one", "__tvm_ffi_two"];
    for (first, second) in BACKENDS.iter().flat_map(|a| BACKENDS.iter().map(move |b| (a, b))) {
        for linker in [Linker::Wild, Linker::Cc("cc".into())] {
            let kernels = vec![object(first, names[0]), object(second, names[1])];
            let linker = Some(linker);
            let shared = Request::new(Form::Shared);
            let request = Request { kernels, linker, runtime_dependency: false, ..shared };
            let (bytes, linker) = (request.link().unwrap(), &request.linker);
            let file = object::File::parse(&*bytes).unwrap();
            for shared in SHARED {
                let copies = file.symbols().filter(|s| s.name() == Ok(shared)).count();
                assert_eq!(copies, 1, "{shared}: {first}, {second}, {linker:?}");
            }
            assert_eq!(calls(&bytes, names), [10, 17], "{first}, {second}, {linker:?}");
        }
    }
}

/// Returns the results of two functions of a library, called with 5 and 7.
fn calls(library: &[u8], names: [&str; 2]) -> [i64; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("library.so");
    std::fs::write(&path, library).unwrap();
    // SAFETY: the library has no constructors, and its functions have this type.
    unsafe {
        let library = libloading::Library::new(path).unwrap();
        [(names[0], 5), (names[1], 7)].map(|(name, x)| {
            let function: libloading::Symbol<'_, extern "C" fn(i64, *mut [usize; 3]) -> i64> =
                library.get(name).unwrap();
            function(x, &mut [0; 3])
        })
    }
}
