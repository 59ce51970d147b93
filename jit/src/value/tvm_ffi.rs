//! Conversions to and from the types of the `tvm-ffi` crate.
//!
//! That crate links `libtvm_ffi`, so that [`runtime`] finds it in the process. Conversions refuse objects of other
//! runtimes, such as the built-in one.

use std::ffi::c_void;

use abi_spec::TypeIndex;
use tvm_ffi::AnyView;
use tvm_ffi::tvm_ffi_sys::{TVMFFIAny, TVMFFIErrorMoveFromRaised};

use super::arg::{Arg, IntoArg, values};
use super::function::FfiFunction;
use super::object::ObjectRef;
use crate::abi::Any;
use crate::error::Error;
use crate::runtime::{Runtime, runtime};

/// Makes an argument of a value of the crate. Functions may write to tensors. A call refuses addresses.
fn arg<'a>(view: AnyView<'a>) -> Arg<'a> {
    // SAFETY: a view is a `TVMFFIAny` and a zero-sized marker.
    let any = unsafe { std::mem::transmute::<AnyView<'a>, Any>(view) };
    let borrows = !any.ty().is_object() && any.ty() != TypeIndex::OPAQUE_PTR;
    // SAFETY: the memory that a view borrows is valid for `'a`.
    let arg = unsafe { Arg::from_raw(any) }.of(runtime());
    if borrows { arg } else { arg.unless_address() }
}

values! {
    ['a] AnyView<'a>, view => arg(view);
    ['a] &'a tvm_ffi::Any, any => arg(AnyView::from(any));
    ['a] &'a tvm_ffi::Tensor, tensor => arg(AnyView::from(tensor));
    ['a] &'a tvm_ffi::Function, function => arg(AnyView::from(function));
}

/// True if the runtime is the one that the crate links.
fn is_theirs(runtime: &Runtime) -> bool {
    runtime.id() == TVMFFIErrorMoveFromRaised as *const c_void as usize
}

/// [`Error::Foreign`] for an object of a runtime that is not the crate's.
impl TryFrom<ObjectRef> for tvm_ffi::Any {
    type Error = Error;

    fn try_from(object: ObjectRef) -> Result<tvm_ffi::Any, Error> {
        if !is_theirs(object.runtime()) {
            return Err(Error::Foreign);
        }
        let any = Any::ptr(object.ty(), object.into_raw().cast());
        // SAFETY: both types are a `TVMFFIAny`; the reference moves along.
        Ok(unsafe { tvm_ffi::Any::from_raw_ffi_any(std::mem::transmute::<Any, TVMFFIAny>(any)) })
    }
}

/// [`Error::Foreign`] for a function of a runtime that is not the crate's.
impl TryFrom<FfiFunction> for tvm_ffi::Function {
    type Error = Error;

    fn try_from(function: FfiFunction) -> Result<tvm_ffi::Function, Error> {
        let any = tvm_ffi::Any::try_from(ObjectRef::from(function))?;
        Ok(tvm_ffi::Function::try_from(any).unwrap_or_else(|_| unreachable!("a function is one")))
    }
}

/// [`Error::Foreign`] if [`runtime`] was first called before the crate's library was loaded. Calling the result is as safe
/// as calling the function through the crate, whose own look-up of global functions asks for no promise.
impl TryFrom<tvm_ffi::Function> for FfiFunction {
    type Error = Error;

    fn try_from(function: tvm_ffi::Function) -> Result<FfiFunction, Error> {
        if !is_theirs(runtime()) {
            return Err(Error::Foreign);
        }
        // SAFETY: the new handle takes the reference over.
        let raw = unsafe { tvm_ffi::Any::into_raw_ffi_any(tvm_ffi::Any::from(function)) };
        debug_assert_eq!(raw.type_index, TypeIndex::FUNCTION.0);
        // SAFETY: the object is live, and the crate, too, lets safe code call it with any arguments.
        let function = unsafe { FfiFunction::from_raw(raw.data_union.v_obj.cast(), runtime()) };
        Ok(function.unwrap_or_else(|| unreachable!("a function is one")))
    }
}
