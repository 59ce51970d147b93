//! Functions of closures: function objects that call a closure of Rust, with its types checked and converted.

mod outcome;
mod parameter;

use std::any::Any as Payload;
use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::slice;

pub use outcome::ClosureResult;
pub use parameter::ClosureParam;
use parameter::Refused;

use crate::abi::Any;
use crate::error::{CallError, Error};
use crate::runtime::Runtime;
use crate::unwinding::quietly;
use crate::value::function::FfiFunction;
use crate::value::object::{raise_again, raised};

/// A closure that becomes a [function](FfiFunction::wrap): `Fn(A, B, …) -> R` with up to 16 [parameters](ClosureParam)
/// and a [result](ClosureResult), which any thread may call. `M` is found by the compiler.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no closure that becomes a function of TVM FFI",
    note = "it takes types that implement `ClosureParam`, whose types are written out: `|s: &str, n: i64| …`",
    note = "it returns a type that implements `ClosureResult`, and is `Send`, `Sync` and `'static`: it moves what it captures"
)]
pub trait IntoFunction<M>: Send + Sync + 'static {
    /// Calls the closure with values of these types.
    ///
    /// # Safety
    /// The values are valid, and objects belong to the runtime.
    #[doc(hidden)]
    unsafe fn invoke(&self, args: &[Any], runtime: &'static Runtime) -> Result<Any, Fault>;

    /// The types of the parameters, for messages.
    #[doc(hidden)]
    fn params() -> Vec<String>;
}

/// The reason why a call of a closure has failed.
#[doc(hidden)]
#[derive(Debug)]
pub enum Fault {
    /// The number of arguments is that of no call.
    Count,
    /// An argument of this index does not convert.
    Argument(usize, Refused),
    /// The closure, or the conversion of its result, returned an error.
    Returned(CallError),
}

macro_rules! closures {
    ($($param:ident)*) => {
        impl<Closure, Outcome, $($param),*> IntoFunction<fn($($param),*) -> Outcome> for Closure
        where
            Closure: Fn($($param),*) -> Outcome + for<'a> Fn($($param::Of<'a>),*) -> Outcome,
            Closure: Send + Sync + 'static,
            Outcome: ClosureResult,
            $($param: ClosureParam,)*
        {
            #[allow(
                non_snake_case,
                unused_assignments,
                unused_mut,
                unused_variables,
                reason = "the names of types are those of values, and there may be none"
            )]
            unsafe fn invoke(&self, args: &[Any], runtime: &'static Runtime) -> Result<Any, Fault> {
                /// Calls a closure of known types: it takes those of one call and those that it was written with.
                #[allow(clippy::too_many_arguments, reason = "there are as many as the closure takes")]
                fn call<Outcome, $($param),*>(
                    closure: impl Fn($($param),*) -> Outcome,
                    $($param: $param),*
                ) -> Outcome {
                    closure($($param),*)
                }
                let [$($param),*] = args else { return Err(Fault::Count) };
                let mut index = 0;
                $(
                    // SAFETY: as required of the caller.
                    let $param = unsafe { <$param as ClosureParam>::convert($param, runtime) };
                    let $param = $param.map_err(|refused| Fault::Argument(index, refused))?;
                    index += 1;
                )*
                call(self, $($param),*).into_any(runtime).map_err(Fault::Returned)
            }

            fn params() -> Vec<String> {
                vec![$($param::expected()),*]
            }
        }
    };
}

arities! { closures }

/// The handle of a function object of a closure.
struct Holder<F> {
    closure: F,
    name: Box<str>,
    runtime: &'static Runtime,
}

impl<F> Holder<F> {
    /// The error for a call that has failed.
    fn error<M>(&self, fault: Fault, count: usize) -> CallError
    where
        F: IntoFunction<M>,
    {
        let params = F::params();
        let when = format!("when calling: `{}({})`", self.name, params.join(", "));
        match fault {
            Fault::Count => {
                let expected = params.len();
                let message = format!(
                    "Mismatched number of arguments {when}, expected {expected} but got {count}"
                );
                CallError::new("TypeError", message)
            }
            Fault::Argument(index, refused) => {
                let Refused { kind, what, got } = refused;
                let expected = &params[index];
                let message =
                    format!("{what} argument #{index} {when}, expected {expected} but got {got}");
                CallError::new(kind, message)
            }
            Fault::Returned(error) => error,
        }
    }

    /// The error for a panic, which is dropped.
    fn panicked(&self, panic: Box<dyn Payload + Send>) -> CallError {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let error = CallError::new(
            "RuntimeError",
            format!("`{}` panicked: {}", self.name, text.unwrap_or("no text")),
        );
        quietly(|| drop(panic));
        error
    }
}

/// The safe call of function objects of closures.
unsafe extern "C" fn enter<M, F: IntoFunction<M>>(
    handle: *mut c_void,
    args: *const Any,
    num_args: i32,
    result: *mut Any,
) -> i32 {
    // SAFETY: the handle is the holder that the function object was created with, and the caller keeps the object
    // alive.
    let holder = unsafe { &*handle.cast::<Holder<F>>() };
    let count = usize::try_from(num_args).unwrap_or(0);
    // SAFETY: whoever calls a function object passes as many valid values; there may be no address of none.
    let args = if count == 0 { &[] } else { unsafe { slice::from_raw_parts(args, count) } };
    let call = AssertUnwindSafe(|| {
        // SAFETY: as above; who calls a function passes objects of its runtime.
        let outcome = unsafe { holder.closure.invoke(args, holder.runtime) };
        outcome.map_err(|fault| holder.error::<M>(fault, count))
    });
    let outcome = panic::catch_unwind(call);
    match outcome.unwrap_or_else(|panic| Err(holder.panicked(panic))) {
        Ok(value) => {
            // SAFETY: whoever calls a function object gives it a place for the result, which owns the reference now.
            unsafe { result.write(value) };
            0
        }
        Err(error) => raise_again(&error, holder.runtime),
    }
}

/// The deleter of function objects of closures.
unsafe extern "C" fn release<F>(handle: *mut c_void) {
    // SAFETY: called once, with the pointer that `FfiFunction::wrap` handed over.
    let holder = unsafe { Box::from_raw(handle.cast::<Holder<F>>()) };
    quietly(|| drop(holder));
}

impl FfiFunction {
    /// Makes a function object of a closure, for any language with TVM FFI. `name` is for messages.
    ///
    /// Arguments are checked and converted to the types of the [parameters](ClosureParam), and the
    /// [result](ClosureResult) becomes a value of the runtime. An `Err` is raised: a [`CallError`] with its kind, and
    /// unchanged if `?` has passed it on from another call, any other error as a `RuntimeError` with its text. A panic
    /// is a `RuntimeError` as well. The closure is dropped with the last reference to the object, on any thread.
    ///
    /// ```
    /// use tvm_ffi_codegen_jit::{CallError, FfiFunction, runtime};
    ///
    /// let divide = |a: i64, b: Option<i64>| match b.unwrap_or(1) {
    ///     0 => Err(CallError::new("ZeroDivisionError", format!("{a} / 0"))),
    ///     b => Ok(a / b),
    /// };
    /// let divide = FfiFunction::wrap("divide", divide, runtime())?;
    /// assert_eq!(i64::try_from(divide.call((42, 6))?)?, 7);
    /// assert_eq!(divide.call((42, 0)).unwrap_err().to_string(), "ZeroDivisionError: 42 / 0");
    /// assert_eq!(
    ///     divide.call(("42", 6)).unwrap_err().to_string(),
    ///     "TypeError: Mismatched type of argument #0 when calling: `divide(int64, Optional[int64])`, \
    ///      expected int64 but got str"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Call`] if the runtime refuses.
    pub fn wrap<M, F: IntoFunction<M>>(
        name: &str,
        closure: F,
        runtime: &'static Runtime,
    ) -> Result<FfiFunction, Error> {
        let holder = Box::into_raw(Box::new(Holder { closure, name: name.into(), runtime }));
        let mut object = ptr::null_mut();
        // SAFETY: `enter` takes the holder as its handle; `release` frees it.
        let status = unsafe {
            let (create, enter) = (runtime.functions.function_create, enter::<M, F>);
            create(holder.cast(), enter, Some(release::<F>), &mut object)
        };
        // SAFETY: on success the object comes with a reference. Arguments are checked, closures are called on any
        // thread only if they may be, and results hold no address.
        match (status, unsafe { FfiFunction::from_raw(object, runtime) }) {
            (0, Some(function)) => Ok(function),
            _ => {
                // SAFETY: no function object owns the holder.
                unsafe { release::<F>(holder.cast()) };
                Err(raised(status, runtime).into())
            }
        }
    }
}
