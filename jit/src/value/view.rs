//! Tensors over borrowed memory.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

use abi_spec::{DType, Device, DeviceType};

use super::element::{Elements, TensorElement};
use crate::abi::DLTensor;
use crate::error::Error;

/// A `DLTensor` over borrowed memory, without a copy.
///
/// A function writes to a view only if the view borrows its memory mutably and is passed by value or by `&mut`.
/// For tensors that a function only reads ([`Access::Read`](tvm_ffi_codegen::Access::Read)) shared memory and `&` do.
///
/// ```
/// use tvm_ffi_codegen_jit::TensorView;
///
/// let x = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let matrix = TensorView::with_shape(&x, &[2, 3])?;
/// let columns = TensorView::with_strides(&x, &[3, 2], &[1, 3])?;
/// assert_eq!((matrix.view().ndim, columns.view().ndim), (2, 2));
/// # Ok::<(), tvm_ffi_codegen_jit::Error>(())
/// ```
pub struct TensorView<'a> {
    view: DLTensor,
    /// The extents, then the strides unless they are NULL; `view` points at them. A box would not do: its memory may be
    /// reached through nothing else once it has moved.
    dims: Vec<i64>,
    shared: bool,
    data: PhantomData<&'a mut [u8]>,
}

// SAFETY: the memory is borrowed, as shared or as mutable, and elements are `Send` and `Sync`; through a shared view it
// is only read.
unsafe impl Send for TensorView<'_> {}
// SAFETY: as above.
unsafe impl Sync for TensorView<'_> {}

impl<'a> TensorView<'a> {
    /// Makes a tensor of one dim.
    pub fn new(data: impl Elements<'a>) -> TensorView<'a> {
        let (data, len, shared) = data.parts();
        // No memory has more elements than an `i64` counts.
        TensorView::build(data, 1, vec![len as i64], shared)
    }

    /// Makes a compact row-major tensor.
    ///
    /// # Errors
    /// [`Error::Shape`] unless `data` has as many elements as the shape; [`Error::Mismatch`] if an extent, or the product
    /// of those that are not 0, is no `i64`.
    pub fn with_shape(data: impl Elements<'a>, shape: &[usize]) -> Result<Self, Error> {
        let (data, len, shared) = data.parts();
        let dims = compact(shape, len)?;
        Ok(TensorView::build(data, shape.len(), dims, shared))
    }

    /// Makes a tensor with strides, counted in elements. They may be negative: the element of the lowest
    /// address is the first of `data`.
    ///
    /// # Errors
    /// [`Error::Shape`] if `data` is too short, or if there is not one stride for each extent; [`Error::Mismatch`] if an
    /// extent is no `i64`.
    pub fn with_strides(
        data: impl Elements<'a>,
        shape: &[usize],
        strides: &[i64],
    ) -> Result<Self, Error> {
        let (data, len, shared) = data.parts();
        let mut dims = extents(shape)?;
        let (mut low, mut high) = (0_i128, 0_i128);
        for (&extent, &stride) in shape.iter().zip(strides) {
            let last = extent.saturating_sub(1) as i128 * i128::from(stride);
            (low, high) = (low.saturating_add(last.min(0)), high.saturating_add(last.max(0)));
        }
        let needed = high.saturating_sub(low).saturating_add(1);
        let needed = usize::try_from(needed).unwrap_or(usize::MAX);
        let empty = shape.contains(&0);
        if shape.len() != strides.len() || (needed > len && !empty) {
            return Err(Error::Shape { needed, len });
        }
        let first = if empty { 0 } else { (-low) as usize };
        dims.extend_from_slice(strides);
        Ok(TensorView::build(data.wrapping_add(first), shape.len(), dims, shared))
    }

    /// Makes any tensor: of any data type, on any device, or malformed for tests.
    ///
    /// # Safety
    /// As long as the view lives, kernels that get the tensor may access the memory that it describes, also while
    /// others do. Memory of a tensor that the checks of the declaration refuse is not accessed and may be invalid.
    ///
    /// # Panics
    /// If there is not one stride for each extent.
    pub unsafe fn from_raw(
        data: *mut c_void,
        dtype: DType,
        device: Device,
        shape: &[i64],
        strides: Option<&[i64]>,
    ) -> TensorView<'a> {
        assert!(strides.is_none_or(|strides| strides.len() == shape.len()), "one stride per dim");
        let dims = shape.iter().chain(strides.unwrap_or_default()).copied().collect();
        TensorView::describe(describe(data, dtype, device), shape.len(), dims, false)
    }

    /// Makes a view of a tensor of another library.
    ///
    /// # Safety
    /// The requirements of [`TensorView::from_raw`] hold. The tensor has `ndim` extents, and as many strides unless
    /// they are NULL.
    pub unsafe fn from_dlpack(tensor: &'a DLTensor) -> TensorView<'a> {
        let rank = tensor.ndim.max(0) as usize;
        let mut dims = Vec::with_capacity(2 * rank);
        for part in [tensor.shape, tensor.strides] {
            if rank > 0 && !part.is_null() {
                // SAFETY: as required above.
                dims.extend_from_slice(unsafe { std::slice::from_raw_parts(part, rank) });
            }
        }
        TensorView::describe(*tensor, rank, dims, false)
    }

    /// The `DLTensor` that is passed.
    #[inline]
    pub fn view(&self) -> &DLTensor {
        &self.view
    }

    /// The elements of a compact tensor in host memory, for closures that get a view as an argument: nothing says who
    /// else may write to it.
    ///
    /// ```
    /// use tvm_ffi_codegen_jit::{Error, FfiFunction, TensorView, runtime};
    ///
    /// let sum = |x: TensorView<'_>| -> Result<f64, Error> {
    ///     // SAFETY: the caller below writes to no tensor while the function runs.
    ///     Ok(unsafe { x.as_slice::<f64>() }?.iter().sum())
    /// };
    /// let sum = FfiFunction::wrap("sum", sum, runtime())?;
    /// let mut x = [1.0_f64, 2.5];
    /// assert_eq!(f64::try_from(sum.call((&mut x[..],))?)?, 3.5);
    /// let error = sum.call((&mut [1_i8][..],)).unwrap_err().to_string();
    /// assert_eq!(error, "RuntimeError: expected a tensor of float64 but got one of int8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Safety
    /// Nobody writes to the memory as long as the slice is there.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the elements are of another type, the tensor is not compact, aligned and in host memory,
    /// or a `bool` is neither 0 nor 1.
    pub unsafe fn as_slice<T: TensorElement>(&self) -> Result<&[T], Error> {
        let dims = self.dims.split_at_checked(self.view.ndim as usize);
        let (shape, strides) = dims.ok_or_else(|| Error::mismatch("extents", "NULL"))?;
        let strides = (!self.view.strides.is_null()).then_some(strides);
        // SAFETY: whoever has made the view vouches for its memory, which nobody writes to.
        let (data, len) = unsafe { all::<T>(&self.view, shape, strides) }?;
        // SAFETY: as above, and the elements are valid.
        Ok(unsafe { std::slice::from_raw_parts(data, len) })
    }

    /// True if its memory is borrowed as shared, so that nobody may write to it.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// The same view, whose memory is only read.
    pub(crate) fn into_shared(self) -> TensorView<'a> {
        TensorView { shared: true, ..self }
    }

    pub(crate) fn build<T: TensorElement>(
        data: *mut T,
        ndim: usize,
        dims: Vec<i64>,
        shared: bool,
    ) -> Self {
        TensorView::describe(describe(data.cast(), T::DTYPE, Device::CPU), ndim, dims, shared)
    }

    /// Makes a view of a `DLTensor` and its dims: `ndim` extents, then as many strides or none.
    fn describe(view: DLTensor, ndim: usize, mut dims: Vec<i64>, shared: bool) -> Self {
        let shape = dims.as_mut_ptr();
        let strided = dims.len() > ndim;
        let strides = if strided { shape.wrapping_add(ndim) } else { std::ptr::null_mut() };
        let view = DLTensor { ndim: ndim as i32, shape, strides, ..view };
        TensorView { view, dims, shared, data: PhantomData }
    }
}

/// Returns a `DLTensor` without dims.
#[inline]
pub(crate) fn describe(data: *mut c_void, dtype: DType, device: Device) -> DLTensor {
    DLTensor {
        data,
        device_type: device.ty.0,
        device_id: device.id,
        ndim: 0,
        code: dtype.code,
        bits: dtype.bits,
        lanes: dtype.lanes,
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    }
}

/// Returns true if elements follow each other in row-major order.
pub(super) fn is_compact(shape: &[i64], strides: Option<&[i64]>) -> bool {
    let Some(strides) = strides else { return true };
    let mut expected = 1_i64;
    let mut dims = shape.iter().zip(strides).rev();
    let compact = dims.all(|(&extent, &stride)| {
        let fits = extent == 1 || stride == expected;
        expected = expected.wrapping_mul(extent);
        fits
    });
    compact || shape.contains(&0)
}

/// Returns the address of the first element and the number of elements, if they can be accessed as this type.
pub(super) fn first<T: TensorElement>(
    view: &DLTensor,
    shape: &[i64],
) -> Result<(*mut T, usize), Error> {
    let dtype = DType { code: view.code, bits: view.bits, lanes: view.lanes };
    if dtype != T::DTYPE {
        let expected = format!("a tensor of {}", T::DTYPE);
        return Err(Error::mismatch(expected, format!("one of {dtype}")));
    }
    let device = Device { ty: DeviceType(view.device_type), id: view.device_id };
    if ![DeviceType::CPU, DeviceType::CUDA_HOST, DeviceType::ROCM_HOST].contains(&device.ty) {
        return Err(Error::mismatch("a tensor on the CPU", format!("one on {device}")));
    }
    let extent = |&extent: &i64| usize::try_from(extent).unwrap_or(0);
    let shape: Vec<usize> = shape.iter().map(extent).collect();
    let offset = view.byte_offset as usize;
    Ok((view.data.cast::<u8>().wrapping_add(offset).cast(), elements(&shape)))
}

/// Returns the address and the number of elements of a compact tensor. The address is valid for a slice.
///
/// # Safety
/// A compact tensor has the memory that it describes, and nobody writes to it meanwhile.
pub(super) unsafe fn all<T: TensorElement>(
    view: &DLTensor,
    shape: &[i64],
    strides: Option<&[i64]>,
) -> Result<(*mut T, usize), Error> {
    let (data, count) = first::<T>(view, shape)?;
    if !is_compact(shape, strides) {
        return Err(Error::mismatch("a compact tensor", "one with other strides"));
    }
    if count == 0 {
        return Ok((std::ptr::dangling_mut(), 0));
    }
    if data.is_null() || !data.is_aligned() {
        return Err(Error::mismatch("aligned memory", format!("the address {data:p}")));
    }
    // SAFETY: a compact tensor has `count` elements, as required above.
    let bytes = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), count * size_of::<T>()) };
    if !T::are_valid(bytes) {
        return Err(Error::mismatch("0 or 1", "another byte in a tensor of bool"));
    }
    Ok((data, count))
}

/// Returns the extents of a tensor.
///
/// # Errors
/// [`Error::Mismatch`] if one is no `i64`.
fn extents(shape: &[usize]) -> Result<Vec<i64>, Error> {
    let extent = |&extent: &usize| {
        let wrong = |_| Error::mismatch("extents up to 9223372036854775807", extent.to_string());
        i64::try_from(extent).map_err(wrong)
    };
    shape.iter().map(extent).collect()
}

/// Returns the extents of a compact row-major tensor over memory of `len` elements.
///
/// # Errors
/// [`Error::Shape`] for memory of another size; [`Error::Mismatch`] if an extent, or the product of those that are not 0, is
/// no `i64`: each stride is a product of extents.
pub(super) fn compact(shape: &[usize], len: usize) -> Result<Vec<i64>, Error> {
    let needed = elements(shape);
    if needed != len {
        return Err(Error::Shape { needed, len });
    }
    let dims = extents(shape)?;
    let mut counted = dims.iter().filter(|&&extent| extent != 0);
    let product = counted.try_fold(1_i64, |product, &extent| product.checked_mul(extent));
    let wrong =
        || Error::mismatch("a product of extents up to 9223372036854775807", "a larger one");
    product.map(|_| dims).ok_or_else(wrong)
}

/// Returns the number of elements of a shape; `usize::MAX` if it overflows.
fn elements(shape: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |product: usize, &extent| product.saturating_mul(extent))
}

impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorView").field("view", &self.view).field("dims", &self.dims).finish()
    }
}
