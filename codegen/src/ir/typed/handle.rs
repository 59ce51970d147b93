//! What handles have in common.

use std::fmt;

use super::{Int, Ref};
use crate::ir::{Builder, Type, Value};

/// One value or several with a type.
pub trait Handle: Copy + fmt::Debug {
    /// Appends the types of its values.
    fn types(types: &mut Vec<Type>);

    /// Appends its values.
    fn push(self, b: &mut Builder<'_>, values: &mut Vec<Value>);

    /// The handle of the next values.
    ///
    /// # Panics
    /// If there are too few.
    fn take(values: &mut dyn Iterator<Item = Value>) -> Self;

    /// Itself, so that a field of a struct of handles is had as one of a struct in memory is.
    #[must_use]
    fn fields(self) -> Self
    where
        Self: Sized,
    {
        self
    }
}

/// A handle of one value.
pub trait Single: Copy + fmt::Debug {
    /// Its type in host IR.
    const TYPE: Type;

    /// The handle of a value of this type.
    fn new(value: Value) -> Self;

    /// The value.
    fn value(self, b: &mut Builder<'_>) -> Value;
}

impl<H: Single> Handle for H {
    fn types(types: &mut Vec<Type>) {
        types.push(H::TYPE);
    }

    fn push(self, b: &mut Builder<'_>, values: &mut Vec<Value>) {
        let value = self.value(b);
        values.push(value);
    }

    fn take(values: &mut dyn Iterator<Item = Value>) -> Self {
        H::new(values.next().expect("a value for each handle"))
    }
}

/// The values of a handle.
pub fn words<H: Handle>(b: &mut Builder<'_>, handle: H) -> Vec<Value> {
    let mut values = Vec::new();
    handle.push(b, &mut values);
    values
}

impl Handle for () {
    fn types(_: &mut Vec<Type>) {}

    fn push(self, _: &mut Builder<'_>, _: &mut Vec<Value>) {}

    fn take(_: &mut dyn Iterator<Item = Value>) {}
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: Handle),*> Handle for ($($name,)*) {
            fn types(types: &mut Vec<Type>) {
                $($name::types(types);)*
            }

            #[allow(non_snake_case, reason = "a variable for each type")]
            fn push(self, b: &mut Builder<'_>, values: &mut Vec<Value>) {
                let ($($name,)*) = self;
                $($name.push(b, values);)*
            }

            fn take(values: &mut dyn Iterator<Item = Value>) -> Self {
                ($($name::take(values),)*)
            }
        }
    )*};
}

tuples! {
    (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H)
}

/// Declares structs of handles, which are handles themselves. In a message they are their fields, one after the other.
macro_rules! handles {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name {
            $($(#[$field_doc])* $vis $field: $ty,)*
        }

        impl $crate::ir::typed::Handle for $name {
            fn types(types: &mut Vec<$crate::ir::Type>) {
                $(<$ty as $crate::ir::typed::Handle>::types(types);)*
            }

            fn push(self, b: &mut $crate::ir::Builder<'_>, values: &mut Vec<$crate::ir::Value>) {
                $($crate::ir::typed::Handle::push(self.$field, b, values);)*
            }

            fn take(values: &mut dyn Iterator<Item = $crate::ir::Value>) -> Self {
                $name { $($field: $crate::ir::typed::Handle::take(values),)* }
            }
        }

        impl $crate::ir::typed::Raise for $name {
            fn words(self, b: &mut $crate::ir::Builder<'_>, words: &mut Vec<$crate::ir::Value>) {
                $($crate::ir::typed::Raise::words(self.$field, b, words);)*
            }
        }
    )*};
}
pub(crate) use handles;

handles! {
    /// Bytes: where they are, and how many.
    pub struct Text {
        /// The first byte.
        data: Ref<u8>,
        /// In bytes.
        len: Int<u64>,
    }
}
