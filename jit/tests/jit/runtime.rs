//! Which runtime is used, and what happens where two meet.

use std::sync::atomic::Ordering;

use crate::ir::{arg, compile, identity, import, int, runtimes, wrapper};
use tvm_ffi_codegen::ir::{Module, Type};
use tvm_ffi_codegen_jit::{Context, Error, ObjectRef, Origin, Runtime};

#[test]
fn runtime_functions_differ_by_runtime() {
    for runtime in runtimes() {
        assert!(runtime.symbol("TVMFFIErrorSetRaised").is_some());
        assert!(runtime.symbol("free").is_none());
        assert!(runtime.symbol("TVMFFINoSuchFunction").is_none());
        let builtin = *runtime.origin() == Origin::BuiltIn;
        assert_eq!(runtime.symbol("TVMFFIFunctionSetGlobal").is_none(), builtin);
    }
    if let Origin::Environment(path) | Origin::Tool(path) =
        runtimes()[runtimes().len() - 1].origin()
    {
        // SAFETY: it is the runtime that was found before.
        let loaded = unsafe { Runtime::load(path) }.unwrap();
        assert_eq!(*loaded.origin(), Origin::Path(path.clone()));
        let returned = compile(loaded, &identity()).unwrap().function("identity").unwrap();
        assert_eq!(int(returned.call((1,))), 1);
    }
    // SAFETY: there is no such library.
    let error = unsafe { Runtime::load("/no/such/library.so".as_ref()) }.unwrap_err();
    assert!(matches!(error, Error::Runtime { .. }));
    assert!(error.to_string().starts_with("/no/such/library.so is not a TVM FFI runtime: "));
}

#[test]
fn objects_are_counted() {
    // Returns the object that it is given, with a new reference.
    let mut module = Module::default();
    wrapper(&mut module, "share", |b| {
        let inc = import(b, "TVMFFIObjectIncRef", &[Type::Ptr], Some(Type::I32));
        let object = arg(b, Type::Ptr, 0);
        b.call(inc, &[object]);
        let index = b.load(Type::I32, object, 8);
        let index = b.convert(tvm_ffi_codegen::ir::Convert::Zext, index, Type::I64);
        let result = b.param(crate::ir::RESULT);
        b.store(index, result, 0);
        b.store(object, result, 8);
        let zero = b.i32(0);
        b.ret(Some(zero));
    });
    for runtime in runtimes() {
        let share = compile(runtime, &module).unwrap().function("share").unwrap();
        let object: ObjectRef = {
            let function = share.clone().into_ffi_function(Context::none());
            // SAFETY: the reference is the function's.
            unsafe { ObjectRef::from_raw(function.unwrap().into_raw(), runtime) }.unwrap()
        };
        // SAFETY: the object is alive.
        let count =
            || unsafe { &(*object.as_raw()).combined_ref_count }.load(Ordering::SeqCst) & 0xffff;
        assert_eq!(count(), 1);
        let returned = share.call((&object,)).unwrap();
        assert_eq!(count(), 2);
        assert_eq!(returned.as_object().unwrap().as_raw(), object.as_raw());
        drop(returned.clone());
        assert_eq!(count(), 2);
        drop(returned);
        assert_eq!(count(), 1);
    }
}
