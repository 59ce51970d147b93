//! Rust types of the elements of tensors, and memory that holds them.

use abi_spec::DType;
#[cfg(feature = "complex")]
use abi_spec::TypeCode;

/// A Rust type of the elements of a tensor: numbers and `bool`; with the features `half` and `complex` also
/// `half::f16`, `half::bf16` and `num_complex::Complex`.
pub trait TensorElement: sealed::Sealed + Copy + Send + Sync + 'static {
    /// The data type of DLPack.
    const DTYPE: DType;
}

pub(crate) mod sealed {
    /// Memory that is as long as it says, and borrowed as it says.
    pub trait Memory {}

    /// Types without padding. Every bit pattern is a value, so that kernels may write any, except in `bool`.
    pub trait Sealed {
        /// True if the bytes are valid elements of the type.
        fn are_valid(_bytes: &[u8]) -> bool {
            true
        }
    }
}

impl sealed::Sealed for bool {
    fn are_valid(bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| byte <= 1)
    }
}

impl TensorElement for bool {
    const DTYPE: DType = DType::BOOL;
}

macro_rules! elements {
    ($($(#[$feature:meta])? $ty:ty => $dtype:expr;)*) => {
        $(
            $(#[$feature])?
            impl sealed::Sealed for $ty {}
            $(#[$feature])?
            impl TensorElement for $ty {
                const DTYPE: DType = $dtype;
            }
        )*
    };
}

elements! {
    i8 => DType::INT8;
    i16 => DType::INT16;
    i32 => DType::INT32;
    i64 => DType::INT64;
    u8 => DType::UINT8;
    u16 => DType::UINT16;
    u32 => DType::UINT32;
    u64 => DType::UINT64;
    f32 => DType::FLOAT32;
    f64 => DType::FLOAT64;
    #[cfg(feature = "half")] half::f16 => DType::FLOAT16;
    #[cfg(feature = "half")] half::bf16 => DType::BFLOAT16;
    #[cfg(feature = "complex")] num_complex::Complex<f32> => DType::new(TypeCode::Complex, 64, 1);
    #[cfg(feature = "complex")] num_complex::Complex<f64> => DType::new(TypeCode::Complex, 128, 1);
}

/// Memory that holds the elements of a tensor: slices, arrays and vectors, borrowed as shared or as mutable.
///
/// No other type implements it, since a tensor trusts the address and the length. [`TensorView::from_raw`] makes a
/// tensor of other memory.
///
/// [`TensorView::from_raw`]: crate::TensorView::from_raw
///
/// ```compile_fail,E0277
/// struct Anywhere;
///
/// impl tvm_ffi_codegen_jit::Elements<'static> for Anywhere {
///     type Element = f32;
///
///     fn parts(self) -> (*mut f32, usize, bool) {
///         (std::ptr::dangling_mut(), 1 << 40, false)
///     }
/// }
/// ```
pub trait Elements<'a>: sealed::Memory {
    /// The type of an element.
    type Element: TensorElement;

    /// The address of the first element, the number of elements, and true if the memory is borrowed as shared.
    fn parts(self) -> (*mut Self::Element, usize, bool);
}

macro_rules! memory {
    ($([$($generics:tt)*] $ty:ty;)*) => {
        $(
            impl<T: TensorElement, $($generics)*> sealed::Memory for &$ty {}
            impl<T: TensorElement, $($generics)*> sealed::Memory for &mut $ty {}

            impl<'a, T: TensorElement, $($generics)*> Elements<'a> for &'a $ty {
                type Element = T;

                #[inline]
                fn parts(self) -> (*mut T, usize, bool) {
                    (self.as_ptr().cast_mut(), self.len(), true)
                }
            }

            impl<'a, T: TensorElement, $($generics)*> Elements<'a> for &'a mut $ty {
                type Element = T;

                #[inline]
                fn parts(self) -> (*mut T, usize, bool) {
                    (self.as_mut_ptr(), self.len(), false)
                }
            }
        )*
    };
}

memory! {
    [] [T];
    [] Vec<T>;
    [const N: usize] [T; N];
}
