//! Results of closures: conversions of types of Rust to values that callers own.

use std::any::Any as Anything;
use std::error;
use std::fmt;

use abi_spec::{DType, Device, TypeIndex};

use crate::abi::{Any, ByteArray};
use crate::error::{CallError, Error};
use crate::runtime::Runtime;
use crate::value::arg::{Arg, Note};
use crate::value::array::{ArrayObject, ShapeObject};
use crate::value::function::FfiFunction;
use crate::value::object::{ObjectRef, raised};
use crate::value::returned::Returned;
use crate::value::tensor::TensorObject;

/// The result of a [closure](super::IntoFunction): `()` for None, numbers, `bool`, text, bytes (`Vec<u8>`), [`DType`],
/// [`Device`], objects, [`Returned`], `Option` of each, and `Result` of each with any error that can be shown.
///
/// An `Err` is raised. A [`CallError`] keeps its kind and, if it comes from a call, its object; so does one in an
/// [`Error`] or in a `Box<dyn Error>`, with `Send` and `Sync` or without. Any other error is a `RuntimeError` with its
/// text.
///
/// Objects belong to the runtime of the function. An address, or an array that holds one, is refused, since nobody says
/// how long its memory lives.
pub trait ClosureResult {
    /// Makes a value that the caller owns.
    #[doc(hidden)]
    fn into_any(self, runtime: &'static Runtime) -> Result<Any, CallError>;
}

macro_rules! values {
    ($($ty:ty)*) => {
        $(
            impl ClosureResult for $ty {
                fn into_any(self, _: &'static Runtime) -> Result<Any, CallError> {
                    let value = Arg::from(self);
                    match value.note() {
                        Note::TooLarge => {
                            let message = format!("result {self:?} is an integer beyond int64");
                            Err(CallError::new("OverflowError", message))
                        }
                        Note::Plain | Note::Shared | Note::Address => Ok(*value.as_raw()),
                    }
                }
            }
        )*
    };
}

values! { () bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64 DType Device }

impl ClosureResult for &'static str {
    fn into_any(self, runtime: &'static Runtime) -> Result<Any, CallError> {
        made(self.as_bytes(), runtime.functions.string_from, runtime)
    }
}

impl ClosureResult for String {
    fn into_any(self, runtime: &'static Runtime) -> Result<Any, CallError> {
        made(self.as_bytes(), runtime.functions.string_from, runtime)
    }
}

impl ClosureResult for Vec<u8> {
    fn into_any(self, runtime: &'static Runtime) -> Result<Any, CallError> {
        let make = runtime.make_bytes().map_err(|error| error_of(&error))?;
        made(&self, make, runtime)
    }
}

/// Makes a value of a copy of bytes.
fn made(
    bytes: &[u8],
    make: unsafe extern "C" fn(*const ByteArray, *mut Any) -> i32,
    runtime: &'static Runtime,
) -> Result<Any, CallError> {
    let (array, mut owned) = (ByteArray::new(bytes), Any::NONE);
    // SAFETY: both pointers are valid; the runtime copies the bytes.
    match unsafe { make(&array, &mut owned) } {
        0 => Ok(owned),
        status => Err(raised(status, runtime)),
    }
}

/// Checks that a value may be handed to callers of a runtime.
fn check(any: &Any, owner: &Runtime, runtime: &Runtime) -> Result<(), CallError> {
    if any.ty().is_object() && !owner.is_same(runtime) {
        let message = format!(
            "the result is an object of another runtime ({}) than the function ({})",
            owner.origin(),
            runtime.origin()
        );
        return Err(CallError::new("TypeError", message));
    }
    if Note::of(any) == Note::Address {
        let message =
            "the result is or holds an address, and nobody says how long its memory lives";
        return Err(CallError::new("TypeError", message));
    }
    Ok(())
}

impl ClosureResult for ObjectRef {
    fn into_any(self, runtime: &'static Runtime) -> Result<Any, CallError> {
        check(self.any(), self.runtime(), runtime)?;
        let ty = self.ty();
        Ok(Any::ptr(ty, self.into_raw().cast()))
    }
}

macro_rules! classes {
    ($($ty:ty)*) => {
        $(
            impl ClosureResult for $ty {
                fn into_any(self, runtime: &'static Runtime) -> Result<Any, CallError> {
                    ObjectRef::from(self).into_any(runtime)
                }
            }
        )*
    };
}

classes! { TensorObject ArrayObject ShapeObject FfiFunction }

impl ClosureResult for Returned {
    fn into_any(self, runtime: &'static Runtime) -> Result<Any, CallError> {
        match self.into_object() {
            Ok(object) => object.into_any(runtime),
            Err(value) => {
                check(value.as_raw(), value.runtime(), runtime)?;
                Ok(*value.as_raw())
            }
        }
    }
}

impl<R: ClosureResult> ClosureResult for Option<R> {
    fn into_any(self, runtime: &'static Runtime) -> Result<Any, CallError> {
        self.map_or(Ok(Any::int(TypeIndex::NONE, 0)), |value| value.into_any(runtime))
    }
}

impl<R: ClosureResult, E: fmt::Display + 'static> ClosureResult for Result<R, E> {
    fn into_any(self, runtime: &'static Runtime) -> Result<Any, CallError> {
        self.map_err(|error| error_of(&error))?.into_any(runtime)
    }
}

/// Returns the error to raise for an error of any type.
fn error_of<E: fmt::Display + 'static>(error: &E) -> CallError {
    let any: &dyn Anything = error;
    let boxed = any.downcast_ref::<Box<dyn error::Error>>().map(|error| &**error);
    let sent = any
        .downcast_ref::<Box<dyn error::Error + Send>>()
        .map(|error| -> &dyn error::Error { &**error });
    let shared = any
        .downcast_ref::<Box<dyn error::Error + Send + Sync>>()
        .map(|error| -> &dyn error::Error { &**error });
    let inner = boxed.or(sent).or(shared);
    let of_call = any.downcast_ref().or_else(|| inner?.downcast_ref());
    let of_crate = any.downcast_ref().or_else(|| inner?.downcast_ref());
    match (of_call, of_crate) {
        (Some(raised), _) | (None, Some(Error::Call(raised))) => CallError::clone(raised),
        (None, _) => CallError::new("RuntimeError", error.to_string()),
    }
}
