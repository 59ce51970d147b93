//! Typed functions: their Rust types are checked against the declaration once, before the first call.

pub(crate) mod values;

use std::any::type_name;
use std::ffi::{CStr, c_void};
use std::fmt;
use std::marker::PhantomData;

use abi_spec::{DType, Device, TypeIndex};
use tvm_ffi_codegen::Signature;

use crate::compiled::{Compiled, HostFunction};
use crate::error::Error;
use crate::value::arg::{Arg, IntoArg};
use crate::value::args::Args;
use crate::value::array::{ArrayObject, ShapeObject};
use crate::value::element::TensorElement;
use crate::value::function::FfiFunction;
use crate::value::held::Bytes;
use crate::value::object::ObjectRef;
use crate::value::returned::Returned;
use crate::value::tensor::TensorObject;
use crate::value::view::TensorView;
use values::Values;

/// A compiled function with the Rust types of its arguments and its result; see [`Compiled::typed`].
pub struct TypedFunction<A, R> {
    function: HostFunction,
    types: PhantomData<fn(A) -> R>,
}

impl<A: TypedArgs, R: TypedResult> TypedFunction<A, R> {
    /// Calls the function.
    ///
    /// # Errors
    /// [`Error::Call`] as [`HostFunction::call`]; [`Error::Mismatch`] if the result is no value of the Rust
    /// type.
    #[inline]
    pub fn call(&self, args: A::Of<'_>) -> Result<R, Error> {
        R::convert(self.function.call(args)?)
    }

    /// The function without types.
    pub fn function(&self) -> &HostFunction {
        &self.function
    }
}

impl Compiled {
    /// Returns the function of this name with Rust types for its arguments and its result.
    ///
    /// A type fits if it has a value in common with the declared one: `&[f32]` is a `Tensor([n], float32)`, and `i64`
    /// an `int8`. Each call checks the values, as [`HostFunction::call`] does. Borrowed types stand for any lifetime.
    ///
    /// ```
    /// use tvm_ffi_codegen::Library;
    /// use tvm_ffi_codegen_jit::Jit;
    ///
    /// extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
    ///     for i in 0..n as usize {
    ///         // SAFETY: the declaration says that both have `n` elements.
    ///         unsafe { *y.add(i) = *x.add(i) + 1.0 };
    ///     }
    /// }
    ///
    /// let library: Library = "
    ///     add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32)) -> None
    ///         = add_one_kernel(x.data, y.data, n);
    ///     half(n: int64) -> float64 = { return n / 2.0; };
    /// ".parse()?;
    /// let kernel: extern "C" fn(_, _, _) = add_one_kernel;
    /// // SAFETY: the kernel is sound for vectors of one length, and only reads `x`.
    /// let jit = unsafe { Jit::new()?.kernel("add_one_kernel", kernel) };
    /// let compiled = jit.compile(&library)?;
    ///
    /// let add_one = compiled.typed::<(&[f32], &mut [f32]), ()>("add_one")?;
    /// let (x, mut y) = ([1.0, 2.0], [0.0; 2]);
    /// add_one.call((&x, &mut y))?;
    /// assert_eq!(y, [2.0, 3.0]);
    /// assert_eq!(compiled.typed::<(i64,), f64>("half")?.call((7,))?, 3.5);
    ///
    /// let error = compiled.typed::<(&[f32], &mut [f64]), ()>("add_one").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "argument #1 of `add_one` is declared as Tensor([n], float32) but typed as &mut [f64]"
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unknown`] if no such function is declared; [`Error::Typed`] if a type does not fit, or borrows a tensor
    /// as shared that the function may write to; [`Error::Context`] for a closure.
    pub fn typed<A: TypedArgs, R: TypedResult>(
        &self,
        name: &str,
    ) -> Result<TypedFunction<A, R>, Error> {
        let unknown = || Error::Unknown { what: "function", name: name.to_owned() };
        let function = self.function(name).ok_or_else(unknown)?;
        if function.is_closure() {
            return Err(Error::Context { function: name.to_owned() });
        }
        let signature = function.signature().ok_or_else(unknown)?;
        let error = |part, declared, given| {
            Err(Error::Typed { function: name.to_owned(), part, declared, given })
        };
        let types = A::types();
        if let Some(declared) = wrong_count(signature, types.len()) {
            return error("the number of arguments".to_owned(), declared, types.len().to_string());
        }
        let declared = signature.arguments().iter().filter(|param| !param.variadic);
        for (index, (param, given)) in declared.zip(types).enumerate() {
            let may_write = given.shared && !function.reads.has(index);
            if may_write || !given.is_accepted(&param.ty) {
                let reason = if may_write { ", which is only read: `access=read`" } else { "" };
                let given = format!("{}{reason}", without_modules(given.name));
                return error(format!("argument #{index}"), param.ty.to_string(), given);
            }
        }
        if !R::values().is_returned(&signature.result) {
            let declared = signature.result.to_string();
            return error("the result".to_owned(), declared, without_modules(type_name::<R>()));
        }
        Ok(TypedFunction { function, types: PhantomData })
    }
}

/// Returns the declared number of arguments, unless a call may have `count`.
fn wrong_count(signature: &Signature, count: usize) -> Option<String> {
    let (least, most) = (signature.required(), signature.most());
    if least <= count && most.is_none_or(|most| count <= most) {
        return None;
    }
    Some(match most {
        Some(most) if most == least => format!("{least}"),
        Some(most) => format!("{least} to {most}"),
        None => format!("at least {least}"),
    })
}

/// Returns the name of a type as programs write it: without the modules that types are in.
fn without_modules(name: &str) -> String {
    let parts = name.split_inclusive(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | ':')));
    parts.map(|part| part.rsplit_once("::").map_or(part, |(_, last)| last)).collect()
}

/// A Rust type of an argument of a [typed function](Compiled::typed): a type that [`IntoArg`] converts, or [`Arg`] for
/// any value.
pub trait TypedArg {
    /// The type with another lifetime.
    type Of<'a>: IntoArg;

    /// Describes the values of the type.
    #[doc(hidden)]
    fn values() -> Values;
}

/// The Rust types of all arguments of a [typed function](Compiled::typed): a tuple of at most 16.
pub trait TypedArgs {
    /// The types with another lifetime.
    type Of<'a>: Args;

    /// Describes the values of each type.
    #[doc(hidden)]
    fn types() -> Vec<Values>;
}

/// The Rust type of the result of a [typed function](Compiled::typed): `()`, numbers, `bool`, pointers, text, bytes,
/// objects, `Option` of each, and [`Returned`] for any value.
pub trait TypedResult: Sized {
    /// Converts a result.
    #[doc(hidden)]
    fn convert(returned: Returned) -> Result<Self, Error>;

    /// Describes the values of the type.
    #[doc(hidden)]
    fn values() -> Values;
}

macro_rules! arguments {
    ($($(#[$feature:meta])? $ty:ty => $of:ty: $index:ident;)*) => {
        $(
            $(#[$feature])?
            impl TypedArg for $ty {
                type Of<'a> = $of;

                fn values() -> Values {
                    Values::new::<$ty>(|index| index == TypeIndex::$index)
                }
            }
        )*
    };
}

arguments! {
    () => (): NONE;
    bool => bool: BOOL;
    i8 => i8: INT;
    i16 => i16: INT;
    i32 => i32: INT;
    i64 => i64: INT;
    isize => isize: INT;
    u8 => u8: INT;
    u16 => u16: INT;
    u32 => u32: INT;
    u64 => u64: INT;
    usize => usize: INT;
    f32 => f32: FLOAT;
    f64 => f64: FLOAT;
    #[cfg(feature = "half")] half::f16 => half::f16: FLOAT;
    #[cfg(feature = "half")] half::bf16 => half::bf16: FLOAT;
    DType => DType: DATA_TYPE;
    Device => Device: DEVICE;
    &str => &'a str: STR;
    &CStr => &'a CStr: RAW_STR;
    Bytes<'_> => Bytes<'a>: BYTE_ARRAY_PTR;
    &ArrayObject => &'a ArrayObject: ARRAY;
    &ShapeObject => &'a ShapeObject: SHAPE;
    &FfiFunction => &'a FfiFunction: FUNCTION;
    &mut TensorObject => &'a mut TensorObject: TENSOR;
    TensorView<'_> => TensorView<'a>: DL_TENSOR_PTR;
}

impl TypedArg for &TensorObject {
    type Of<'a> = &'a TensorObject;

    fn values() -> Values {
        Values { shared: true, ..Values::new::<Self>(|index| index == TypeIndex::TENSOR) }
    }
}

impl TypedArg for &ObjectRef {
    type Of<'a> = &'a ObjectRef;

    fn values() -> Values {
        Values::new::<Self>(TypeIndex::is_object)
    }
}

impl TypedArg for Arg<'_> {
    type Of<'a> = Arg<'a>;

    fn values() -> Values {
        Values::new::<Self>(|_| true)
    }
}

impl<T: TypedArg> TypedArg for Option<T> {
    type Of<'a> = Option<T::Of<'a>>;

    fn values() -> Values {
        let has = |index| index == TypeIndex::NONE || (T::values().has)(index);
        Values { name: type_name::<Self>(), has, ..T::values() }
    }
}

macro_rules! vectors {
    ($([$($generics:tt)*] $ty:ty;)*) => {
        $(
            impl<T: TensorElement, $($generics)*> TypedArg for &$ty {
                type Of<'a> = &'a $ty;

                fn values() -> Values {
                    let values = Values::new::<Self>(|index| index == TypeIndex::DL_TENSOR_PTR);
                    Values { vector: Some(T::DTYPE), shared: true, ..values }
                }
            }

            impl<T: TensorElement, $($generics)*> TypedArg for &mut $ty {
                type Of<'a> = &'a mut $ty;

                fn values() -> Values {
                    Values { name: type_name::<Self>(), shared: false, ..<&$ty>::values() }
                }
            }
        )*
    };
}

vectors! {
    [] [T];
    [] Vec<T>;
    [const N: usize] [T; N];
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: TypedArg),*> TypedArgs for ($($name,)*) {
            type Of<'a> = ($($name::Of<'a>,)*);

            fn types() -> Vec<Values> {
                vec![$($name::values()),*]
            }
        }
    };
}

arities! { tuples }

macro_rules! results {
    ($($ty:ty: $($index:ident)|+;)*) => {
        $(
            impl TypedResult for $ty {
                #[inline]
                fn convert(returned: Returned) -> Result<$ty, Error> {
                    returned.try_into()
                }

                fn values() -> Values {
                    Values::new::<$ty>(|index| [$(TypeIndex::$index),+].contains(&index))
                }
            }
        )*
    };
}

results! {
    (): NONE;
    bool: BOOL;
    i8: INT;
    i16: INT;
    i32: INT;
    i64: INT;
    isize: INT;
    u8: INT;
    u16: INT;
    u32: INT;
    u64: INT;
    usize: INT;
    f32: FLOAT;
    f64: FLOAT;
    *mut c_void: OPAQUE_PTR;
    DType: DATA_TYPE;
    Device: DEVICE;
    String: SMALL_STR | STR;
    Vec<u8>: SMALL_BYTES | BYTES;
    TensorObject: TENSOR;
    ArrayObject: ARRAY;
    ShapeObject: SHAPE;
    FfiFunction: FUNCTION;
}

impl TypedResult for ObjectRef {
    fn convert(returned: Returned) -> Result<ObjectRef, Error> {
        returned.try_into()
    }

    fn values() -> Values {
        Values::new::<ObjectRef>(TypeIndex::is_object)
    }
}

impl TypedResult for Returned {
    #[inline]
    fn convert(returned: Returned) -> Result<Returned, Error> {
        Ok(returned)
    }

    fn values() -> Values {
        Values::new::<Returned>(|_| true)
    }
}

impl<R: TypedResult> TypedResult for Option<R> {
    #[inline]
    fn convert(returned: Returned) -> Result<Option<R>, Error> {
        returned.option().map(R::convert).transpose()
    }

    fn values() -> Values {
        let has = |index| index == TypeIndex::NONE || (R::values().has)(index);
        Values::new::<Self>(has)
    }
}

impl<A, R> Clone for TypedFunction<A, R> {
    fn clone(&self) -> Self {
        TypedFunction { function: self.function.clone(), types: PhantomData }
    }
}

impl<A, R> fmt::Debug for TypedFunction<A, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypedFunction({})", self.function.name())
    }
}
