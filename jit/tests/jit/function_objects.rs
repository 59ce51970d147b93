//! Function objects: lifetime, closures, global functions.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::alone::alone;
use crate::ir::{HANDLE, arg, identity, import, int, runtimes, succeed, wrapper};
use tvm_ffi_codegen::ir::{Module, Type};
use tvm_ffi_codegen_jit::{Context, Error, FfiFunction, Jit, Origin, Runtime};

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn jit(runtime: &'static Runtime, freed: &Arc<AtomicUsize>) -> Jit {
    Jit::with_runtime(runtime).unwrap().keep(Counted(freed.clone()))
}

#[test]
fn function_objects_keep_the_code() {
    for runtime in runtimes() {
        let freed = Arc::new(AtomicUsize::new(0));
        // SAFETY: sound for any one argument.
        let compiled = unsafe { jit(runtime, &freed).emit(&identity()) }.unwrap().finish().unwrap();
        let function = compiled.function("identity").unwrap();
        drop(compiled);
        let object = function.into_ffi_function(Context::none()).unwrap();
        assert_eq!(int(object.call((41,))), 41);
        let clone = object.clone();
        drop(object);
        assert_eq!(int(clone.call((42,))), 42);
        // SAFETY: the new handle takes the reference over.
        let object = unsafe { FfiFunction::from_raw(clone.into_raw(), runtime) }.unwrap();
        assert_eq!(freed.load(Ordering::SeqCst), 0);
        drop(object);
        assert_eq!(freed.load(Ordering::SeqCst), 1);
    }
}

/// `next(step)` calls `kernel(self, step)`, which adds to the counter in the context.
fn counter() -> Module {
    let mut module = Module::default();
    wrapper(&mut module, "next", |b| {
        let kernel = import(b, "kernel", &[Type::Ptr, Type::I64], Some(Type::I64));
        let (context, step) = (b.param(HANDLE), arg(b, Type::I64, 0));
        let value = b.call_value(kernel, &[context, step]);
        succeed(b, 1, value);
    });
    module
}

struct Counter {
    value: AtomicUsize,
    _counted: Counted,
}

extern "C" fn advance(counter: *const Counter, step: i64) -> i64 {
    // SAFETY: the tests give a `Counter` as context.
    let value = unsafe { &(*counter).value };
    (value.fetch_add(step as usize, Ordering::SeqCst) as i64) + step
}

#[test]
fn closures_get_their_context() {
    for runtime in runtimes() {
        let (freed, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let jit = jit(runtime, &freed).closure("next");
        // SAFETY: contexts are counters.
        let compiled = unsafe {
            let jit = jit.kernel("kernel", advance as extern "C" fn(_, _) -> _);
            jit.emit(&counter()).unwrap().finish().unwrap()
        };
        let next = compiled.function("next").unwrap();
        drop(compiled);
        let error = next.call((1,)).unwrap_err();
        assert_eq!(error.to_string(), "RuntimeError: closure `next` needs a context");
        let error = next.clone().into_ffi_function(Context::none()).unwrap_err();
        assert_eq!(error, Error::Context { function: "next".into() });

        // Two closures of one function, each with a context of its own.
        let make = |start| {
            let counter =
                Counter { value: AtomicUsize::new(start), _counted: Counted(dropped.clone()) };
            // SAFETY: the kernel takes a `*const Counter`, which is `Sync`.
            let context = unsafe { Context::new(counter) };
            next.clone().into_ffi_function(context).unwrap()
        };
        let (first, second) = (make(0), make(100));
        let calls = [(&first, 1, 1), (&second, 5, 105), (&first, 2, 3), (&second, 1, 106)];
        for (object, step, expected) in calls {
            assert_eq!(int(object.call((step,))), expected);
        }
        drop((first, next));
        assert_eq!((dropped.load(Ordering::SeqCst), freed.load(Ordering::SeqCst)), (1, 0));
        drop(second);
        assert_eq!((dropped.load(Ordering::SeqCst), freed.load(Ordering::SeqCst)), (2, 1));
    }
}

#[test]
fn raw_contexts_are_freed_once() {
    static FREED: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn free(pointer: *mut c_void) {
        FREED.fetch_add(pointer.addr(), Ordering::SeqCst);
    }
    let pointer = std::ptr::without_provenance_mut(8);
    // SAFETY: nobody follows the pointer.
    drop(unsafe { Context::from_raw(pointer, Some(free)) });
    assert_eq!(FREED.load(Ordering::SeqCst), 8);
    let mut module = Module::default();
    wrapper(&mut module, "handle", |b| {
        let handle = b.param(HANDLE);
        succeed(b, 4, handle);
    });
    for (i, runtime) in runtimes().into_iter().enumerate() {
        let jit = Jit::with_runtime(runtime).unwrap().closure("handle");
        // SAFETY: the handle is returned and not followed.
        let (function, context) = unsafe {
            let compiled = jit.emit(&module).unwrap().finish().unwrap();
            (compiled.function("handle").unwrap(), Context::from_raw(pointer, Some(free)))
        };
        let object = function.into_ffi_function(context).unwrap();
        let found: *mut c_void = object.call(()).unwrap().try_into().unwrap();
        assert_eq!(found, pointer);
        assert_eq!(FREED.load(Ordering::SeqCst), 8 * (i + 1));
        drop(object);
        assert_eq!(FREED.load(Ordering::SeqCst), 8 * (i + 2));
    }
}

#[test]
fn global_functions_outlive_their_makers() {
    alone(|| runtimes().into_iter().for_each(global_functions));
}

fn global_functions(runtime: &'static Runtime) {
    let freed = Arc::new(AtomicUsize::new(0));
    let make = || {
        // SAFETY: sound for any one argument.
        let compiled = unsafe { jit(runtime, &freed).emit(&identity()) }.unwrap().finish().unwrap();
        let function = compiled.function("identity").unwrap();
        function.into_ffi_function(Context::none()).unwrap()
    };
    let name = "codegen.tests.identity";
    // SAFETY: this process has one test.
    let register = |object: FfiFunction, replace| unsafe { object.register_global(name, replace) };
    // SAFETY: the function is sound for any one argument, and is called with one.
    let find = || unsafe { FfiFunction::global(name, runtime) }.unwrap();
    assert!(find().is_none());
    if *runtime.origin() == Origin::BuiltIn {
        let error = register(make(), false).unwrap_err();
        assert_eq!(error, Error::Unavailable { function: "TVMFFIFunctionSetGlobal" });
        return;
    }
    register(make(), false).unwrap();
    let found = find().unwrap();
    assert_eq!(int(found.call((42,))), 42);
    let error = register(make(), false).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("RuntimeError: Global Function `{name}` is already registered")
    );
    assert_eq!(freed.load(Ordering::SeqCst), 1, "what was refused is gone");
    register(make(), true).unwrap();
    drop(found);
    assert_eq!(freed.load(Ordering::SeqCst), 2, "the first one is gone");
    assert_eq!(int(find().unwrap().call((43,))), 43);
}
