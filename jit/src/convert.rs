//! Conversions to and from the types of the `tvm-ffi` crate.
//!
//! That crate links `libtvm_ffi`, which makes it the runtime of the process: [`runtime`] finds it. Code
//! that was compiled against another one converts too, since objects bring their deleter along.

use abi_spec::TypeIndex;
use tvm_ffi::AnyView;
use tvm_ffi::tvm_ffi_sys::TVMFFIAny;

use crate::abi::Any;
use crate::ffi_function::FfiFunction;
use crate::object::ObjectRef;
use crate::runtime::runtime;
use crate::value::Value;

impl<'a> From<AnyView<'a>> for Value<'a> {
    fn from(view: AnyView<'a>) -> Self {
        // SAFETY: a view is a `TVMFFIAny` and a zero-sized marker, in C's order, and valid for `'a`.
        unsafe { Value::from_raw(std::mem::transmute::<AnyView<'a>, Any>(view)) }
    }
}

impl<'a> From<&'a tvm_ffi::Any> for Value<'a> {
    fn from(any: &'a tvm_ffi::Any) -> Self {
        AnyView::from(any).into()
    }
}

impl<'a> From<&'a tvm_ffi::Tensor> for Value<'a> {
    fn from(tensor: &'a tvm_ffi::Tensor) -> Self {
        AnyView::from(tensor).into()
    }
}

impl<'a> From<&'a tvm_ffi::Function> for Value<'a> {
    fn from(function: &'a tvm_ffi::Function) -> Self {
        AnyView::from(function).into()
    }
}

impl From<ObjectRef> for tvm_ffi::Any {
    fn from(object: ObjectRef) -> Self {
        let any = Any::ptr(object.ty(), object.into_raw().cast());
        // SAFETY: both are a `TVMFFIAny`; the reference goes along.
        unsafe { tvm_ffi::Any::from_raw_ffi_any(std::mem::transmute::<Any, TVMFFIAny>(any)) }
    }
}

impl From<FfiFunction> for tvm_ffi::Function {
    fn from(function: FfiFunction) -> Self {
        let any = tvm_ffi::Any::from(ObjectRef::from(function));
        tvm_ffi::Function::try_from(any).unwrap_or_else(|_| unreachable!("a function is one"))
    }
}

impl From<tvm_ffi::Function> for FfiFunction {
    fn from(function: tvm_ffi::Function) -> Self {
        // SAFETY: the reference is not lost, but becomes that of the new handle.
        let raw = unsafe { tvm_ffi::Any::into_raw_ffi_any(tvm_ffi::Any::from(function)) };
        debug_assert_eq!(raw.type_index, TypeIndex::FUNCTION.0);
        // SAFETY: any function can be called with any valid arguments.
        let function = unsafe { FfiFunction::from_raw(raw.data_union.v_obj.cast(), runtime()) };
        function.unwrap_or_else(|| unreachable!("a function is one"))
    }
}
