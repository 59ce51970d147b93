//! Arrays of the `ndarray` crate as arguments, and tensors as its views. Nothing is copied.

use ndarray::{ArrayBase, ArrayView, ArrayViewD, ArrayViewMutD, Data, DataMut, Dimension, IxDyn};
use ndarray::{RawData, ShapeBuilder};

use super::arg::IntoArg;
use super::element::TensorElement;
use super::tensor::TensorObject;
use super::view::TensorView;
use crate::error::Error;

/// Makes a view of the elements of an array, with the strides of the array.
fn view<'a, S, D>(array: &ArrayBase<S, D>, data: *mut S::Elem, shared: bool) -> TensorView<'a>
where
    S: RawData,
    S::Elem: TensorElement,
    D: Dimension,
{
    let extents = array.shape().iter().map(|&extent| extent as i64);
    let dims = extents.chain(array.strides().iter().map(|&stride| stride as i64));
    TensorView::build(data, array.ndim(), dims.collect(), shared)
}

impl<'a, S: Data, D: Dimension> From<&'a ArrayBase<S, D>> for TensorView<'a>
where
    S::Elem: TensorElement,
{
    fn from(array: &'a ArrayBase<S, D>) -> Self {
        view(array, array.as_ptr().cast_mut(), true)
    }
}

impl<'a, S: DataMut, D: Dimension> From<&'a mut ArrayBase<S, D>> for TensorView<'a>
where
    S::Elem: TensorElement,
{
    fn from(array: &'a mut ArrayBase<S, D>) -> Self {
        // This copies elements that other arrays share.
        let data = array.as_mut_ptr();
        view(array, data, false)
    }
}

impl<'a, S: Data, D: Dimension> IntoArg for &'a ArrayBase<S, D>
where
    S::Elem: TensorElement,
{
    type Held = TensorView<'a>;

    fn hold(self) -> TensorView<'a> {
        self.into()
    }
}

impl<'a, S: DataMut, D: Dimension> IntoArg for &'a mut ArrayBase<S, D>
where
    S::Elem: TensorElement,
{
    type Held = TensorView<'a>;

    fn hold(self) -> TensorView<'a> {
        self.into()
    }
}

impl TensorObject {
    /// A view of the elements of a compact tensor in host memory.
    ///
    /// # Errors
    /// The errors of [`TensorObject::as_slice`].
    pub fn as_array<T: TensorElement>(&self) -> Result<ArrayViewD<'_, T>, Error> {
        let data = self.as_slice::<T>()?;
        let shape = self.extents();
        let wrong = |_| Error::Shape { needed: shape.iter().product(), len: data.len() };
        ArrayView::from_shape(IxDyn(&shape).into_shape_with_order(), data).map_err(wrong)
    }

    /// A mutable view of the elements of a compact tensor in host memory.
    ///
    /// # Errors
    /// The errors of [`TensorObject::as_slice`].
    pub fn as_array_mut<T: TensorElement>(&mut self) -> Result<ArrayViewMutD<'_, T>, Error> {
        let shape = self.extents();
        let data = self.as_mut_slice::<T>()?;
        let wrong = |_| Error::Shape { needed: shape.iter().product(), len: 0 };
        ArrayViewMutD::from_shape(IxDyn(&shape).into_shape_with_order(), data).map_err(wrong)
    }

    fn extents(&self) -> Vec<usize> {
        self.shape().iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect()
    }
}
