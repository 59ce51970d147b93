//! Arguments: any value that can be passed.

use std::ffi::c_void;
use std::marker::PhantomData;

use abi_spec::{DType, Device, TypeIndex};

use super::object::{ObjectRef, elements};
use super::returned::Returned;
use super::view::TensorView;
use crate::abi::{Any, DLTensor, Payload};
use crate::runtime::Runtime;

/// A property of an argument that decides whether a call may take it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// Every call may take it.
    Plain,
    /// A tensor that nobody may write to.
    Shared,
    /// An integer outside the range of `int64`.
    TooLarge,
    /// An address that a call has returned, or an array or list that holds an address.
    Address,
}

/// Deepest nesting of arrays that is searched for addresses. Deeper arrays count as holding one.
const LEVELS: usize = 100;
/// Largest number of arrays that are searched. Further arrays count as holding an address.
const SEARCHED: usize = 1 << 22;

impl Note {
    /// The note of a value that a call has returned, or that an array holds.
    #[inline]
    pub(crate) fn of(any: &Any) -> Note {
        if any.ty() == TypeIndex::TENSOR {
            Note::Shared
        } else if holds_address(any, LEVELS, &mut { SEARCHED }) {
            Note::Address
        } else {
            Note::Plain
        }
    }
}

/// True for an address other than NULL, and for an array or a list that holds one.
fn holds_address(any: &Any, levels: usize, left: &mut usize) -> bool {
    let ty = any.ty();
    if !matches!(ty, TypeIndex::ARRAY | TypeIndex::LIST) || any.pointer().is_null() {
        return ADDRESSES.contains(&ty) && !any.pointer().is_null();
    }
    if levels == 0 || *left == 0 {
        return true;
    }
    *left -= 1;
    // SAFETY: the object is live, and an array or a list.
    let elements = unsafe { elements(any.pointer().cast()) };
    elements.iter().any(|element| holds_address(element, levels - 1, left))
}

/// Types of values that point at memory that they do not own, and of integers that a `ptr` takes for an address.
const ADDRESSES: [TypeIndex; 6] = [
    TypeIndex::BIG_INT,
    TypeIndex::OPAQUE_PTR,
    TypeIndex::DL_TENSOR_PTR,
    TypeIndex::RAW_STR,
    TypeIndex::BYTE_ARRAY_PTR,
    TypeIndex::OBJECT_RVALUE_REF,
];

/// An argument: any value that can be passed, borrowed for `'a`.
///
/// Most arguments convert by themselves, see [`IntoArg`]. This type is for lists whose length is known at run time
/// only.
///
/// ```
/// use tvm_ffi_codegen_jit::{Arg, TensorView};
///
/// let (data, mut out) = ([1.0_f32; 4], [0.0_f32; 4]);
/// let (x, mut y) = (TensorView::new(&data), TensorView::new(&mut out));
/// let args: Vec<Arg> = vec![(&x).into(), (&mut y).into(), 2.0.into(), Arg::NONE];
/// # drop(args);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a> {
    any: Any,
    /// The runtime of an object.
    owner: Option<&'static Runtime>,
    note: Note,
    borrowed: PhantomData<&'a ()>,
}

impl Arg<'_> {
    /// The value None.
    pub const NONE: Arg<'static> = Arg::plain(Any::NONE);

    /// The null pointer. A function takes None for it, too, so that both are as safe: a kernel checks a `ptr` for NULL,
    /// see the [contract of kernels](crate::Jit#contract-of-kernels), unless the declaration does (`where p != null`).
    pub const NULL: Arg<'static> =
        Arg::plain(Any::ptr(TypeIndex::OPAQUE_PTR, std::ptr::null_mut()));

    /// An opaque pointer.
    ///
    /// # Safety
    /// The pointer is valid for every access that the called kernels make, also later if the callee keeps it, as one
    /// does that makes a map or a function of it.
    pub const unsafe fn pointer(pointer: *mut c_void) -> Arg<'static> {
        Arg::plain(Any::ptr(TypeIndex::OPAQUE_PTR, pointer))
    }

    /// Any value.
    ///
    /// # Safety
    /// A pointer in the value is valid as its type index says, for as long as the argument is used, and tensors may be
    /// written to. An object belongs to the runtime of the functions that it is passed to.
    pub const unsafe fn from_raw<'a>(any: Any) -> Arg<'a> {
        Arg::plain(any)
    }

    /// The same argument with all addresses allowed. A call refuses an address that another call has returned unless it
    /// is vouched for: the declaration does not say how long the memory lives.
    ///
    /// ```no_run
    /// use tvm_ffi_codegen_jit::Arg;
    ///
    /// # fn f(make: tvm_ffi_codegen_jit::HostFunction, free: tvm_ffi_codegen_jit::HostFunction) -> Result<(), Box<dyn std::error::Error>> {
    /// let handle = make.call(())?;
    /// // SAFETY: `make` has made it, and nothing has freed it.
    /// free.call((unsafe { Arg::from(&handle).vouched() },))?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Safety
    /// Every address in the value keeps the condition of [`Arg::pointer`].
    pub unsafe fn vouched(self) -> Self {
        let note = if self.note == Note::Address { Note::Plain } else { self.note };
        Arg { note, ..self }
    }

    /// The value as C gets it.
    #[inline]
    pub const fn as_raw(&self) -> &Any {
        &self.any
    }

    #[inline]
    pub(crate) const fn plain<'a>(any: Any) -> Arg<'a> {
        Arg { any, owner: None, note: Note::Plain, borrowed: PhantomData }
    }

    /// The same value, as an object of this runtime if it is one.
    #[cfg(feature = "tvm-ffi")]
    pub(crate) fn of(self, runtime: &'static Runtime) -> Self {
        let owner = self.any.ty().is_object().then_some(runtime);
        Arg { owner, ..self }
    }

    /// The same value, which every call may take unless it is or holds an address.
    #[cfg(feature = "tvm-ffi")]
    pub(crate) fn unless_address(self) -> Self {
        let note = Note::of(&self.any);
        Arg { note: if note == Note::Address { note } else { Note::Plain }, ..self }
    }

    /// The same tensor, also for functions that write to it.
    pub(crate) fn writable(self) -> Self {
        Arg { note: Note::Plain, ..self }
    }

    #[inline]
    pub(crate) fn owner(&self) -> Option<&'static Runtime> {
        self.owner
    }

    #[inline]
    pub(crate) fn note(&self) -> Note {
        self.note
    }
}

/// Makes an argument of a `DLTensor`; `shared` forbids writing to it.
#[inline]
pub(crate) fn tensor<'a>(view: &'a DLTensor, shared: bool) -> Arg<'a> {
    let any = Any::ptr(TypeIndex::DL_TENSOR_PTR, (&raw const *view).cast_mut().cast());
    let note = if shared { Note::Shared } else { Note::Plain };
    Arg { any, owner: None, note, borrowed: PhantomData }
}

/// Makes an argument of an object. A tensor may only be read.
pub(crate) fn object(object: &ObjectRef) -> Arg<'_> {
    let any = *object.any();
    Arg { any, owner: Some(object.runtime()), note: Note::of(&any), borrowed: PhantomData }
}

/// Values that can be arguments: numbers, `bool`, `()` for None, text, bytes, data types, devices, objects and tensors,
/// and `Option` of each.
///
/// * `&[T]`, `&[T; N]` and `&Vec<T>` are tensors of one dim that are only read; with `&mut` they may be
///   written to. [`TensorView`]s have other shapes and strides, and so do arrays of the `ndarray` crate (feature
///   `ndarray`).
/// * Bytes are [`Bytes`](crate::Bytes), since `&[u8]` is a tensor.
/// * `&TensorObject` is only read; by `&mut` it may be written to if nobody else holds it.
/// * A call refuses integers beyond `int64`, objects of another runtime, and addresses that a call has returned, also
///   inside arrays: see [`Arg::vouched`]. [`Arg::pointer`] makes an address an argument.
pub trait IntoArg {
    /// The storage of the argument while the call runs.
    type Held: Held;

    /// Makes the storage.
    fn hold(self) -> Self::Held;
}

/// The storage of an argument while a call runs.
pub trait Held {
    /// The argument, which borrows the storage.
    fn arg(&mut self) -> Arg<'_>;
}

impl Held for Arg<'_> {
    #[inline]
    fn arg(&mut self) -> Arg<'_> {
        *self
    }
}

/// Implements conversions for values that are arguments without storage of their own.
macro_rules! values {
    ($($(#[$doc:meta])* [$($life:lifetime)?] $ty:ty, $value:ident => $arg:expr;)*) => {
        $(
            $(#[$doc])*
            impl<'a> From<$ty> for Arg<'a> {
                #[inline]
                fn from($value: $ty) -> Self {
                    $arg
                }
            }

            $(#[$doc])*
            impl<$($life)?> IntoArg for $ty {
                type Held = values!(@held $($life)?);

                #[inline]
                fn hold(self) -> Self::Held {
                    self.into()
                }
            }
        )*
    };
    (@held) => { Arg<'static> };
    (@held $life:lifetime) => { Arg<$life> };
}
pub(crate) use values;

/// Makes an argument of an integer. A call refuses one that is no `int64`.
#[inline]
fn integer<'a>(value: impl TryInto<i64>) -> Arg<'a> {
    match value.try_into() {
        Ok(value) => Arg::plain(Any::int(TypeIndex::INT, value)),
        Err(_) => Arg { note: Note::TooLarge, ..Arg::NONE },
    }
}

values! {
    [] (), _value => Arg::NONE;
    [] bool, value => Arg::plain(Any::int(TypeIndex::BOOL, i64::from(value)));
    [] i8, value => integer(value);
    [] i16, value => integer(value);
    [] i32, value => integer(value);
    [] i64, value => integer(value);
    [] isize, value => integer(value);
    [] u8, value => integer(value);
    [] u16, value => integer(value);
    [] u32, value => integer(value);
    [] u64, value => integer(value);
    [] usize, value => integer(value);
    [] f32, value => f64::from(value).into();
    [] f64, float => {
        let payload = Payload { float };
        Arg::plain(Any { type_index: TypeIndex::FLOAT.0, small_len: 0, payload })
    };
    [] DType, value => Arg::plain(Any::int(TypeIndex::DATA_TYPE, i64::from(value.to_word())));
    [] Device, value => Arg::plain(Any::int(TypeIndex::DEVICE, value.to_word() as i64));
    ['a] &'a std::ffi::CStr, text => {
        Arg::plain(Any::ptr(TypeIndex::RAW_STR, text.as_ptr().cast_mut().cast()))
    };
    ['a] &'a TensorView<'_>, view => tensor(view.view(), true);
    ['a] &'a mut TensorView<'_>, view => tensor(view.view(), view.is_shared());
    ['a] &'a ObjectRef, value => object(value);
}

#[cfg(feature = "half")]
values! {
    [] half::f16, value => value.to_f64().into();
    [] half::bf16, value => value.to_f64().into();
}

/// A tensor may only be read; an address needs [`Arg::vouched`].
impl<'a> From<&'a Returned> for Arg<'a> {
    fn from(value: &'a Returned) -> Self {
        let any = *value.as_raw();
        let owner = any.ty().is_object().then(|| value.runtime());
        Arg { any, owner, note: Note::of(&any), borrowed: PhantomData }
    }
}

impl<'a> IntoArg for &'a Returned {
    type Held = Arg<'a>;

    fn hold(self) -> Arg<'a> {
        self.into()
    }
}

impl<'a> IntoArg for Arg<'a> {
    type Held = Arg<'a>;

    #[inline]
    fn hold(self) -> Arg<'a> {
        self
    }
}

impl<'a> IntoArg for &Arg<'a> {
    type Held = Arg<'a>;

    #[inline]
    fn hold(self) -> Arg<'a> {
        *self
    }
}

/// `None` is None.
impl<T: IntoArg> IntoArg for Option<T> {
    type Held = Option<T::Held>;

    #[inline]
    fn hold(self) -> Self::Held {
        self.map(T::hold)
    }
}

impl<T: Held> Held for Option<T> {
    #[inline]
    fn arg(&mut self) -> Arg<'_> {
        self.as_mut().map_or(Arg::NONE, T::arg)
    }
}
