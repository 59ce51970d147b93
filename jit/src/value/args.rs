//! Lists of arguments, and the call that they are for.

use std::mem::MaybeUninit;

use super::arg::{Arg, Held, IntoArg};
use super::call::{Callee, invoke};
use super::returned::Returned;
use crate::abi::Any;
use crate::error::CallError;

/// All arguments of a call: a tuple of at most 16, an array or a slice of what can be an [argument](IntoArg).
pub trait Args {
    /// Calls a function with them.
    #[doc(hidden)]
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError>;
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: IntoArg),*> Args for ($($name,)*) {
            #[inline]
            #[allow(non_snake_case, unused_mut, reason = "the names of types are those of values")]
            fn call(self, callee: &impl Callee) -> Result<Returned, CallError> {
                let ($($name,)*) = self;
                $(let mut $name = $name.hold();)*
                let args = [$($name.arg()),*];
                invoke(callee, &args, &args.map(|arg: Arg<'_>| *arg.as_raw()))
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
        let args = held.each_mut().map(T::Held::arg);
        invoke(callee, &args, &args.map(|arg| *arg.as_raw()))
    }
}

impl<const N: usize> Args for &[Arg<'_>; N] {
    #[inline]
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError> {
        invoke(callee, self, &self.map(|arg| *arg.as_raw()))
    }
}

impl Args for &[Arg<'_>] {
    fn call(self, callee: &impl Callee) -> Result<Returned, CallError> {
        /// So many are copied without an allocation.
        const FEW: usize = 16;
        if self.len() > FEW {
            let values: Vec<Any> = self.iter().map(|arg| *arg.as_raw()).collect();
            return invoke(callee, self, &values);
        }
        let mut place = [MaybeUninit::uninit(); FEW];
        for (value, arg) in place.iter_mut().zip(self) {
            value.write(*arg.as_raw());
        }
        // SAFETY: as many have just been written.
        let values = unsafe { std::slice::from_raw_parts(place.as_ptr().cast(), self.len()) };
        invoke(callee, self, values)
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
