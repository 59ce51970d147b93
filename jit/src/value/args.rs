//! Lists of arguments.

use std::mem::MaybeUninit;

use super::arg::{Arg, Held, IntoArg};
use super::call::{Callee, fits, perform, refused};
use super::returned::Returned;
use crate::abi::Any;
use crate::error::CallError;

/// All arguments of a call: a tuple of at most 16 or an array of what can be an [argument](IntoArg), or a slice or
/// vector of [`Arg`].
pub trait Args {
    /// Calls a function with the arguments.
    #[doc(hidden)]
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError>;
}

/// Returns an error from the enclosing function unless the callee may take the argument.
macro_rules! check {
    ($callee:expr, $index:expr, $arg:expr) => {
        if !fits($callee, $index, $arg) {
            return Err(*refused($index, $arg.note(), $arg.owner(), $callee.runtime()));
        }
    };
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: IntoArg),*> Args for ($($name,)*) {
            #[inline]
            #[allow(
                non_snake_case,
                unused_assignments,
                unused_mut,
                unused_variables,
                reason = "the names of types are those of values, and there may be none"
            )]
            fn call(self, callee: &impl Callee) -> Result<Returned, CallError> {
                let ($($name,)*) = self;
                $(let mut $name = $name.hold();)*
                $(let $name = $name.arg();)*
                let mut index = 0;
                $(
                    check!(callee, index, $name);
                    index += 1;
                )*
                let values = [$(*$name.as_raw()),*];
                // SAFETY: all arguments have been checked, and are borrowed until the call has returned.
                unsafe { perform(callee, &values) }
            }
        }
    };
}

arities! { tuples }

impl<T: IntoArg, const N: usize> Args for [T; N] {
    #[inline]
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError> {
        let mut held = self.map(T::hold);
        (&held.each_mut().map(T::Held::arg)).call(callee)
    }
}

impl<const N: usize> Args for &[Arg<'_>; N] {
    #[inline]
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError> {
        for (index, arg) in self.iter().enumerate() {
            check!(callee, index, *arg);
        }
        // SAFETY: all arguments have been checked, and are borrowed until the call has returned.
        unsafe { perform(callee, &self.map(|arg| *arg.as_raw())) }
    }
}

impl Args for &[Arg<'_>] {
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError> {
        /// Largest number of arguments that are copied without an allocation.
        const FEW: usize = 16;
        for (index, arg) in self.iter().enumerate() {
            check!(callee, index, *arg);
        }
        if self.len() > FEW {
            let values: Vec<Any> = self.iter().map(|arg| *arg.as_raw()).collect();
            // SAFETY: all arguments have been checked, and are borrowed until the call has returned.
            return unsafe { perform(callee, &values) };
        }
        let mut place = [MaybeUninit::uninit(); FEW];
        for (value, arg) in place.iter_mut().zip(self) {
            value.write(*arg.as_raw());
        }
        // SAFETY: `self.len()` values have just been written.
        let values = unsafe { std::slice::from_raw_parts(place.as_ptr().cast(), self.len()) };
        // SAFETY: as above.
        unsafe { perform(callee, values) }
    }
}

impl Args for &Vec<Arg<'_>> {
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError> {
        self.as_slice().call(callee)
    }
}

impl Args for Vec<Arg<'_>> {
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError> {
        self.as_slice().call(callee)
    }
}
