//! Tensors over memory of the caller.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use abi_spec::{DType, Device, TypeIndex};

use crate::abi::{Any, DLTensor};
use crate::error::Error;
use crate::value::Value;

/// A Rust type that elements of a tensor can have.
pub trait Element: sealed::Sealed + Copy {
    /// Its name in the ABI.
    const DTYPE: DType;
}

mod sealed {
    /// Types of which every bit pattern is a value, so that a kernel can write what it likes.
    pub trait Sealed {}
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident),*) => {
        $(
            impl sealed::Sealed for $ty {}
            impl Element for $ty {
                const DTYPE: DType = DType::$dtype;
            }
        )*
    };
}

elements! {
    i8 => INT8, i16 => INT16, i32 => INT32, i64 => INT64,
    u8 => UINT8, u16 => UINT16, u32 => UINT32, u64 => UINT64,
    f32 => FLOAT32, f64 => FLOAT64
}

/// A `DLTensor` over borrowed memory.
///
/// The memory is borrowed mutably because a declaration does not say which tensors a kernel writes to.
/// For inputs that must stay shared there is [`Tensor::shared`].
pub struct Tensor<'a> {
    view: DLTensor,
    /// Extents, then strides if there are any; `view` points at them.
    dims: Box<[i64]>,
    data: PhantomData<&'a mut [u8]>,
}

impl<'a> Tensor<'a> {
    /// A tensor of one dim.
    pub fn new<T: Element>(data: &'a mut [T]) -> Tensor<'a> {
        let dims = Box::new([data.len() as i64]);
        Tensor::build(data.as_mut_ptr().cast(), T::DTYPE, Device::CPU, 1, dims)
    }

    /// A compact row-major tensor.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `data` has as many elements as the shape.
    pub fn with_shape<T: Element>(data: &'a mut [T], shape: &[usize]) -> Result<Self, Error> {
        let (needed, len) = (elements(shape), data.len());
        if needed != len {
            return Err(Error::Shape { needed, len });
        }
        let dims = shape.iter().map(|&extent| extent as i64).collect();
        let data = data.as_mut_ptr().cast();
        Ok(Tensor::build(data, T::DTYPE, Device::CPU, shape.len(), dims))
    }

    /// A tensor with strides, counted in elements. They may be negative: the element of the lowest
    /// address is the first of `data`.
    ///
    /// # Errors
    /// [`Error::Shape`] if `data` does not reach, or if there is not one stride for each extent.
    pub fn with_strides<T: Element>(
        data: &'a mut [T],
        shape: &[usize],
        strides: &[i64],
    ) -> Result<Self, Error> {
        let (mut low, mut high) = (0_i128, 0_i128);
        for (&extent, &stride) in shape.iter().zip(strides) {
            let last = extent.saturating_sub(1) as i128 * i128::from(stride);
            (low, high) = (low + last.min(0), high + last.max(0));
        }
        let (needed, len) = (usize::try_from(high - low + 1).unwrap_or(usize::MAX), data.len());
        let empty = shape.contains(&0);
        if shape.len() != strides.len() || (needed > len && !empty) {
            return Err(Error::Shape { needed, len });
        }
        let first = if empty { 0 } else { (-low) as usize };
        let dims = shape.iter().map(|&extent| extent as i64).chain(strides.iter().copied());
        let data = data.as_mut_ptr().wrapping_add(first).cast();
        Ok(Tensor::build(data, T::DTYPE, Device::CPU, shape.len(), dims.collect()))
    }

    /// A compact row-major tensor that no kernel writes to.
    ///
    /// # Safety
    /// No function that it is passed to writes to it.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `data` has as many elements as the shape.
    pub unsafe fn shared<T: Element>(data: &'a [T], shape: &[usize]) -> Result<Self, Error> {
        let (needed, len) = (elements(shape), data.len());
        if needed != len {
            return Err(Error::Shape { needed, len });
        }
        let dims = shape.iter().map(|&extent| extent as i64).collect();
        let data = data.as_ptr().cast_mut().cast();
        Ok(Tensor::build(data, T::DTYPE, Device::CPU, shape.len(), dims))
    }

    /// Any tensor: of other types, on other devices, or wrong on purpose.
    ///
    /// # Safety
    /// The kernels that it is passed to may access what it describes, for as long as it lives, except
    /// where the checks of a declaration refuse it.
    ///
    /// # Panics
    /// If there is not one stride for each extent.
    pub unsafe fn from_raw(
        data: *mut c_void,
        dtype: DType,
        device: Device,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> Tensor<'a> {
        assert!(strides.is_none_or(|strides| strides.len() == shape.len()), "one stride per dim");
        let dims = shape.iter().chain(strides.unwrap_or_default()).copied().collect();
        Tensor::build(data, dtype, device, shape.len(), dims)
    }

    fn build(
        data: *mut c_void,
        dtype: DType,
        device: Device,
        ndim: usize,
        mut dims: Box<[i64]>,
    ) -> Self {
        let shape = dims.as_mut_ptr();
        let strided = dims.len() > ndim;
        let strides = if strided { shape.wrapping_add(ndim) } else { std::ptr::null_mut() };
        let view = DLTensor {
            data,
            device_type: device.ty.0,
            device_id: device.id,
            ndim: ndim as i32,
            code: dtype.code,
            bits: dtype.bits,
            lanes: dtype.lanes,
            shape,
            strides,
            byte_offset: 0,
        };
        Tensor { view, dims, data: PhantomData }
    }

    /// The tensor as it is passed.
    pub fn view(&self) -> &DLTensor {
        &self.view
    }
}

fn elements(shape: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |product: usize, &extent| product.saturating_mul(extent))
}

impl fmt::Debug for Tensor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor").field("view", &self.view).field("dims", &self.dims).finish()
    }
}

impl<'a> From<&'a Tensor<'_>> for Value<'a> {
    fn from(tensor: &'a Tensor<'_>) -> Self {
        let view = (&raw const tensor.view).cast_mut().cast();
        // SAFETY: the view and its dims live as long as the tensor, which is borrowed for `'a`.
        unsafe { Value::from_raw(Any::ptr(TypeIndex::DL_TENSOR_PTR, view)) }
    }
}
