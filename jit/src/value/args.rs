//! Lists of arguments, and the call that they are for.

use std::mem::MaybeUninit;

use super::arg::{Arg, Held, IntoArg};
use super::call::{Callee, fits, perform, refused};
use super::returned::Returned;
use crate::abi::Any;
use crate::error::CallError;

/// All arguments of a call: a tuple of at most 16, an array or a slice of what can be an [argument](IntoArg).
pub trait Args {
    /// Calls a function with them.
    #[doc(hidden)]
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError>;
}

/// Ends the call with an error unless the argument fits.
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

tuples! {}
tuples! { A }
tuples! { A B }
tuples! { A B C }
tuples! { A B C D }
tuples! { A B C D E }
tuples! { A B C D E F }
tuples! { A B C D E F G }
tuples! { A B C D E F G H }
tuples! { A B C D E F G H I }
tuples! { A B C D E F G H I J }
tuples! { A B C D E F G H I J K }
tuples! { A B C D E F G H I J K L }
tuples! { A B C D E F G H I J K L M }
tuples! { A B C D E F G H I J K L M N }
tuples! { A B C D E F G H I J K L M N O }
tuples! { A B C D E F G H I J K L M N O P }

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
        /// So many are copied without an allocation.
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
        // SAFETY: as many have just been written.
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
