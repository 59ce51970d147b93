//! Shared libraries by both routes: what they export, need, and do.

use driver::link::{self, Input, Linker};
use target_lexicon::Triple;
use libloading::Library;
use object::{Object, ObjectSymbol};
use std::fs;

use crate::support::{compile, folder, object};

const WRAPPER: &str = "
    int kernel(int);
    int __tvm_ffi_twice(void* handle, const void* args, int count, void* result) {
        return kernel(count);
    }
    int helper(int x) { return x; }
";
const KERNEL: &str = "int kernel(int x) { return 2 * x; }";

fn routes() -> [Linker; 2] {
    [Linker::Wild, Linker::Cc("cc".into())]
}

#[test]
fn library_works() {
    for linker in routes() {
        let folder = folder();
        let path = folder.path().join("twice.so");
        let inputs = [object("wrapper", WRAPPER), object("kernel", KERNEL)];
        link::shared(&inputs, &path, &linker, &Triple::host()).unwrap();
        // SAFETY: the library has no initializers.
        let library = unsafe { Library::new(&path) }.unwrap();
        type Twice = unsafe extern "C" fn(usize, usize, i32, usize) -> i32;
        // SAFETY: it is that function.
        let twice = unsafe { library.get::<Twice>(b"__tvm_ffi_twice") }.unwrap();
        // SAFETY: it reads nothing through its arguments.
        assert_eq!(unsafe { twice(0, 0, 21, 0) }, 42, "{linker:?}");
    }
}
