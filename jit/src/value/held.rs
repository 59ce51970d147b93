//! Arguments that need storage while a call runs: bytes, text, and tensors over memory.

use std::ffi::CStr;
use std::marker::PhantomData;

use abi_spec::{Device, TypeIndex};

use super::arg::{Arg, Held, IntoArg, tensor};
use super::element::{Elements, TensorElement};
use super::view::{TensorView, describe};
use crate::abi::{Any, ByteArray, DLTensor, Object};
use crate::builtin;

/// Bytes as an argument, without a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes<'a>(pub &'a [u8]);

/// The storage of a bytes argument: its address and size.
#[derive(Debug)]
pub struct HeldBytes<'a>(ByteArray, PhantomData<&'a [u8]>);

impl<'a> IntoArg for Bytes<'a> {
    type Held = HeldBytes<'a>;

    #[inline]
    fn hold(self) -> HeldBytes<'a> {
        HeldBytes(ByteArray::new(self.0), PhantomData)
    }
}

impl Held for HeldBytes<'_> {
    #[inline]
    fn arg(&mut self) -> Arg<'_> {
        Arg::plain(Any::ptr(TypeIndex::BYTE_ARRAY_PTR, (&raw mut self.0).cast()))
    }
}

/// The storage of a text argument: a copy, in an object if the text is long. Every runtime can hold the object, and the
/// callee may keep it.
#[derive(Debug)]
pub struct HeldText(Any);

impl IntoArg for &str {
    type Held = HeldText;

    fn hold(self) -> HeldText {
        HeldText(builtin::text(self.as_bytes()))
    }
}

impl IntoArg for &String {
    type Held = HeldText;

    fn hold(self) -> HeldText {
        self.as_str().hold()
    }
}

impl Held for HeldText {
    fn arg(&mut self) -> Arg<'_> {
        Arg::plain(self.0)
    }
}

impl Drop for HeldText {
    fn drop(&mut self) {
        if self.0.ty().is_object() {
            // SAFETY: the reference is released once, here.
            unsafe { builtin::dec_ref(self.0.pointer().cast::<Object>()) };
        }
    }
}

/// The storage of a tensor argument of one dim: its `DLTensor`.
#[derive(Debug)]
pub struct HeldTensor<'a> {
    view: DLTensor,
    len: i64,
    shared: bool,
    data: PhantomData<&'a mut [u8]>,
}

#[inline]
fn one_dim<'a, E: Elements<'a>>(elements: E) -> HeldTensor<'a> {
    let (data, len, shared) = elements.parts();
    let view = describe(data.cast(), E::Element::DTYPE, Device::CPU);
    HeldTensor { view: DLTensor { ndim: 1, ..view }, len: len as i64, shared, data: PhantomData }
}

impl Held for HeldTensor<'_> {
    #[inline]
    fn arg(&mut self) -> Arg<'_> {
        self.view.shape = &raw mut self.len;
        tensor(&self.view, self.shared)
    }
}

macro_rules! tensors {
    ($([$($generics:tt)*] $ty:ty;)*) => {
        $(
            impl<'a, T: TensorElement, $($generics)*> IntoArg for $ty {
                type Held = HeldTensor<'a>;

                #[inline]
                fn hold(self) -> HeldTensor<'a> {
                    one_dim(self)
                }
            }
        )*
    };
}

tensors! {
    [] &'a [T];
    [] &'a mut [T];
    [] &'a Vec<T>;
    [] &'a mut Vec<T>;
    [const N: usize] &'a [T; N];
    [const N: usize] &'a mut [T; N];
}

/// The function may write to the tensor if the view borrows its memory mutably.
impl<'a> IntoArg for TensorView<'a> {
    type Held = TensorView<'a>;

    #[inline]
    fn hold(self) -> TensorView<'a> {
        self
    }
}

impl Held for TensorView<'_> {
    #[inline]
    fn arg(&mut self) -> Arg<'_> {
        self.into()
    }
}

/// The bytes before the NUL.
impl IntoArg for &std::ffi::CString {
    type Held = HeldText;

    fn hold(self) -> HeldText {
        HeldText(builtin::text(CStr::to_bytes(self)))
    }
}
