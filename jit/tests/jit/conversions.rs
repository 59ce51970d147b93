//! Conversions to and from the types of the `tvm-ffi` crate.
use crate::ir::{float, identity, int, share};
use tvm_ffi_codegen::ir::Module;
use tvm_ffi_codegen_jit::{Context, FfiFunction, HostFunction, Jit, ObjectRef, Origin, runtime};

fn function(module: &Module, name: &str) -> HostFunction {
    // SAFETY: the functions of this file are sound for the arguments that it passes.
    let compiled = unsafe { Jit::new().unwrap().emit(module) }.unwrap().finish().unwrap();
    compiled.function(name).unwrap()
}

#[test]
fn the_crate_brings_the_runtime() {
    // This use makes the linker keep the crate.
    assert!(tvm_ffi::Function::get_global("codegen.tests.none").is_err());
    assert_eq!(*runtime().origin(), Origin::Process);
}

#[test]
fn functions_cross_both_ways() {
    let object = function(&identity(), "identity").into_ffi_function(Context::none()).unwrap();
    let theirs = tvm_ffi::Function::try_from(object).unwrap();
    let seven = theirs.call_packed(&[tvm_ffi::AnyView::from(&7_i64)]).unwrap();
    assert_eq!(seven.try_as::<i64>(), Some(7));
    let ours = FfiFunction::try_from(theirs.clone()).unwrap();
    drop(theirs);
    assert_eq!(int(ours.call((8,))), 8);

    let packed = tvm_ffi::Function::from_packed(|args| Ok(tvm_ffi::Any::from(args.len() as i64)));
    let packed = FfiFunction::try_from(packed).unwrap();
    assert_eq!(int(packed.call(((), true))), 2);
}

#[test]
fn their_values_are_arguments() {
    let share = function(&share(), "share");
    let tensor = tvm_ffi::Tensor::from_slice(&[1_f32, 2.0, 3.0], &[3]).unwrap();
    let returned = share.call((&tensor,)).unwrap();
    let object = ObjectRef::try_from(returned).unwrap();
    let same = tvm_ffi::Tensor::try_from(tvm_ffi::Any::try_from(object).unwrap()).unwrap();
    assert_eq!(same.data_ptr(), tensor.data_ptr());
    let any = tvm_ffi::Any::from(2.5);
    assert_eq!(float(share.call((&any,))), 2.5);
}
