//! The traits of handles, and structs of handles.

use std::fmt;

use super::{Int, Ref};
use crate::ir::{Builder, Type, Value};

/// One value or several with a Rust type.
pub trait Handle: Copy + fmt::Debug {
    /// Appends the types of the values.
    fn types(types: &mut Vec<Type>);

    /// Appends the values.
    fn push(self, b: &mut Builder<'_>, values: &mut Vec<Value>);

    /// Takes the values of a handle from an iterator.
    ///
    /// # Panics
    /// If there are too few values.
    fn take(values: &mut dyn Iterator<Item = Value>) -> Self;

    /// Returns the handle itself: fields of structs of handles are then accessed like fields of structs in memory.
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
    /// The type in host IR.
    const TYPE: Type;

    /// Returns the handle of a value of this type.
    fn new(value: Value) -> Self;

    /// Returns the value.
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

/// Returns the values of a handle.
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

/// Declares structs of handles, which are handles themselves. A message shows their fields in order.
macro_rules! handles {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident $(<$param:ident: $bound:ident>)? {
        $($(#[$field_doc:meta])* $field:ident: $ty:ty,)*
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name $(<$param: $bound>)? {
            $($(#[$field_doc])* $vis $field: $ty,)*
        }

        impl $(<$param: $bound>)? $crate::ir::typed::Handle for $name $(<$param>)? {
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

        impl $(<$param: $bound>)? $crate::ir::typed::Raise for $name $(<$param>)? {
            fn words(self, b: &mut $crate::ir::Builder<'_>, words: &mut Vec<$crate::ir::Value>) {
                $($crate::ir::typed::Raise::words(self.$field, b, words);)*
            }
        }
    )*};
}
pub(crate) use handles;

handles! {
    /// A string of bytes: its address and its length.
    pub struct Text {
        /// The address of the first byte.
        data: Ref<u8>,
        /// The length in bytes.
        len: Int<u64>,
    }
}
