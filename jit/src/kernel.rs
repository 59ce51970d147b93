//! Kernels as pointers to C functions: their types as host IR writes them.

use tvm_ffi_codegen::ir::{AbiType, Extend, Signature, Type};

/// A type that C functions take and return by value: `bool`, integers, floats, and pointers. A 16-bit float is passed
/// as its bits, in a `u16`. C's `_Float16` and `__bf16`, which `float16(x)` and `bfloat16(x)` pass, have no type in
/// stable Rust: kernels that take them are linked, or defined by their addresses.
pub trait KernelType: sealed::Sealed {
    /// How C passes it.
    #[doc(hidden)]
    const ABI: AbiType;
}

/// The result of a C function: a [`KernelType`], or `()`.
pub trait KernelResult: sealed::Sealed {
    /// How C returns it; `None` for `void`.
    #[doc(hidden)]
    const ABI: Option<AbiType>;
}

/// A pointer to a C function of up to 16 parameters: `extern "C" fn(…)` or `unsafe extern "C" fn(…)`.
///
/// The name of a function has a type of its own, which is no pointer. `let k: extern "C" fn(_, _) -> _ = k;` makes a
/// pointer of it, and so does `k as extern "C" fn(_, _) -> _`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no pointer to a C function",
    label = "not a pointer of type `extern \"C\" fn(…) -> …`",
    note = "the name of a function `k` with two parameters becomes a pointer by `let k: extern \"C\" fn(_, _) = k;`, and by \
            `let k: extern \"C\" fn(_, _) -> _ = k;` if it returns a value",
    note = "it must be declared `extern \"C\"`, and pass pointers, integers, floats and `bool`"
)]
pub trait KernelFn: sealed::Sealed + Copy {
    /// The address of its code.
    #[doc(hidden)]
    fn address(self) -> *const u8;

    /// Its parameters and its result.
    #[doc(hidden)]
    fn signature() -> Signature;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! types {
    ($($ty:ty => $abi:ident $extend:ident;)*) => {
        $(
            impl sealed::Sealed for $ty {}

            impl KernelType for $ty {
                const ABI: AbiType = AbiType { ty: Type::$abi, extend: Extend::$extend };
            }

            impl KernelResult for $ty {
                const ABI: Option<AbiType> = Some(<$ty as KernelType>::ABI);
            }
        )*
    };
}

types! {
    bool => I8 Truth;
    i8 => I8 Sign;
    i16 => I16 Sign;
    i32 => I32 No;
    i64 => I64 No;
    isize => I64 No;
    u8 => I8 Zero;
    u16 => I16 Zero;
    u32 => I32 No;
    u64 => I64 No;
    usize => I64 No;
    f32 => F32 No;
    f64 => F64 No;
}

/// How C passes a pointer.
const POINTER: AbiType = AbiType { ty: Type::Ptr, extend: Extend::No };

macro_rules! pointers {
    ($([$($generic:ident)*] $ty:ty;)*) => {
        $(
            impl<$($generic),*> sealed::Sealed for $ty {}

            impl<$($generic),*> KernelType for $ty {
                const ABI: AbiType = POINTER;
            }

            impl<$($generic),*> KernelResult for $ty {
                const ABI: Option<AbiType> = Some(POINTER);
            }
        )*
    };
}

macro_rules! functions {
    ($($param:ident)*) => {
        pointers! {
            [R $($param)*] extern "C" fn($($param),*) -> R;
            [R $($param)*] unsafe extern "C" fn($($param),*) -> R;
        }
        functions! { @kernel $($param)*; extern "C" fn($($param),*) -> R }
        functions! { @kernel $($param)*; unsafe extern "C" fn($($param),*) -> R }
    };
    (@kernel $($param:ident)*; $ty:ty) => {
        // Rustc would list all types that are kernels.
        #[diagnostic::do_not_recommend]
        impl<R: KernelResult, $($param: KernelType),*> KernelFn for $ty {
            fn address(self) -> *const u8 {
                self as *const u8
            }

            fn signature() -> Signature {
                Signature { params: vec![$($param::ABI),*], result: R::ABI, reads: Box::default() }
            }
        }
    };
}

pointers! {
    [T] *const T;
    [T] *mut T;
}

arities! { functions }

impl sealed::Sealed for () {}

impl KernelResult for () {
    const ABI: Option<AbiType> = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_of_c() {
        fn of<K: KernelFn>(_: K) -> String {
            K::signature().to_string()
        }
        extern "C" fn nothing() {}
        unsafe extern "C" fn mixed(_: *const f32, _: bool, _: u16, _: i8, _: usize) -> f64 {
            0.0
        }
        extern "C" fn calls(callee: extern "C" fn(i64), _: *mut ()) -> i32 {
            callee(0);
            0
        }
        assert_eq!(of(nothing as extern "C" fn()), "()");
        assert_eq!(
            of(mixed as unsafe extern "C" fn(_, _, _, _, _) -> _),
            "(ptr, i8 bool, i16 zext, i8 sext, i64) -> f64"
        );
        assert_eq!(of(calls as extern "C" fn(_, _) -> _), "(ptr, ptr) -> i32");
    }
}
