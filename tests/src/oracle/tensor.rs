//! Checks of tensors.

use std::borrow::Cow;

use abi_spec::{DType, DeviceType};
use codegen::{Device, Shape, Strides};

use super::{Call, Checked, Fault, Found, MISSING, Named, Received, type_name, words};
use crate::argument::{Argument, Tensor};

/// Returns true if some extent is 0.
pub(super) fn is_empty(tensor: &Tensor) -> bool {
    tensor.shape.contains(&0)
}

/// Returns the compact stride of a dim.
pub(super) fn compact_stride(tensor: &Tensor, dim: usize) -> i64 {
    tensor.shape[dim + 1..].iter().fold(1, |product: i64, extent| product.wrapping_mul(*extent))
}

/// Returns the stride of a dim; none if it is compact and no `int64`.
pub(super) fn exact_stride(tensor: &Tensor, dim: usize) -> Option<i64> {
    match &tensor.strides {
        Some(strides) => Some(strides[dim]),
        None => product(&tensor.shape[dim + 1..]),
    }
}

/// Returns the stride of a dim.
pub(super) fn stride(tensor: &Tensor, dim: usize) -> i64 {
    tensor.strides.as_ref().map_or_else(|| compact_stride(tensor, dim), |strides| strides[dim])
}

/// Returns true if the elements are in row-major order without gaps.
pub(super) fn is_contiguous(tensor: &Tensor) -> bool {
    let counts = |dim: &usize| tensor.shape[*dim] != 1;
    is_empty(tensor)
        || (0..tensor.shape.len())
            .filter(counts)
            .all(|dim| stride(tensor, dim) == compact_stride(tensor, dim))
}

/// The stride of a declared dim.
#[derive(Clone, Copy)]
pub(super) struct Stride {
    pub(super) value: i64,
    /// 0 if it is no `int64`.
    pub(super) compact: i64,
    /// True if it is compared.
    pub(super) counts: bool,
}

/// A declared dim: its index in errors, and its extent and strides in a tensor.
struct Seen {
    index: String,
    extent: Option<i64>,
    stride: Option<Stride>,
}

/// Returns the number of leading dims of a tensor that the declared ones do not name one by one.
fn leading(shape: &Shape, tensor: &Tensor) -> usize {
    match shape {
        Shape::AnyRank | Shape::Dims(_) => 0,
        Shape::Trailing { folds, dims } => tensor.shape.len() + usize::from(*folds) - dims.len(),
    }
}

/// Multiplies extents; none if the product exceeds `int64`. A factor of 0 yields 0, whatever the others are.
pub(super) fn product(extents: &[i64]) -> Option<i64> {
    if extents.contains(&0) {
        return Some(0);
    }
    extents.iter().try_fold(1_i64, |all, extent| all.checked_mul(*extent))
}

/// Returns the declared dims as a tensor has them.
fn seen(shape: &Shape, tensor: Option<&Tensor>) -> Vec<Seen> {
    let (dims, folds) = match shape {
        Shape::AnyRank => return Vec::new(),
        Shape::Dims(dims) => (dims, false),
        Shape::Trailing { folds, dims } => (dims, *folds),
    };
    let first = tensor.map(|tensor| leading(shape, tensor));
    let of = |dim: usize| {
        let from_end = dims.len() - dim;
        let index = match shape {
            Shape::Trailing { .. } if folds && dim == 0 && from_end == 1 => ":".to_owned(),
            Shape::Trailing { .. } if folds && dim == 0 => format!(":-{}", from_end - 1),
            Shape::Trailing { .. } => format!("-{from_end}"),
            Shape::AnyRank | Shape::Dims(_) => dim.to_string(),
        };
        let Some((tensor, first)) = tensor.zip(first) else {
            return Seen { index, extent: None, stride: None };
        };
        let (extent, value, compact) = if folds && dim == 0 {
            let compact =
                tensor.shape[first..].iter().fold(1, |all: i64, one| all.wrapping_mul(*one));
            let counts = (0..first).rev().find(|&at| tensor.shape[at] != 1);
            let value = counts.map_or(compact, |at| stride(tensor, at));
            let exact = product(&tensor.shape[first..]).unwrap_or(0);
            (product(&tensor.shape[..first]).unwrap_or(0), value, exact)
        } else {
            let own = first + dim - usize::from(folds);
            (tensor.shape[own], stride(tensor, own), product(&tensor.shape[own + 1..]).unwrap_or(0))
        };
        let counts = extent > 1 && !is_empty(tensor);
        Seen { index, extent: Some(extent), stride: Some(Stride { value, compact, counts }) }
    };
    (0..dims.len()).map(of).collect()
}

impl<'a> Call<'a> {
    pub(super) fn tensor(
        &mut self,
        received: &Received<'a>,
        declared: &'a codegen::Tensor,
    ) -> Checked<()> {
        let tensor = match received.given {
            Some(given) => Some(self.header(received, declared, given)?),
            None => None,
        };
        self.note(received, tensor.map_or(MISSING, |tensor| Found::Tensor(Cow::Borrowed(tensor))));
        self.dims(received, declared, tensor)?;
        let Some(tensor) = tensor else { return Ok(()) };
        if declared.strides == Strides::Contiguous {
            contiguous(received, tensor)?;
        }
        self.data(received, tensor, declared)
    }

    /// Checks shape and strides.
    fn dims(
        &mut self,
        received: &Received<'a>,
        declared: &'a codegen::Tensor,
        tensor: Option<&'a Tensor>,
    ) -> Checked<()> {
        let shape = &declared.shape;
        if let Some(tensor) = tensor {
            let count = match shape {
                Shape::AnyRank => tensor.shape.len(),
                Shape::Dims(_) | Shape::Trailing { .. } => leading(shape, tensor),
            };
            for (dim, extent) in tensor.shape[..count].iter().enumerate() {
                extent_sign(received, &dim.to_string(), Some(*extent))?;
            }
        }
        let seen = seen(shape, tensor);
        let (rules, folds) = match shape {
            Shape::AnyRank => return Ok(()),
            Shape::Dims(dims) => (dims, false),
            Shape::Trailing { folds, dims } => (dims, *folds),
        };
        if let (true, Some(tensor)) = (folds, tensor)
            && product(&tensor.shape[..leading(shape, tensor)]).is_none()
        {
            let part = format!(".shape[{}]", seen[0].index);
            let expected = "int64 but got more".to_owned();
            return Err(received.fault("ValueError", "Out of range", &part, expected));
        }
        for (dim, rule) in seen.iter().zip(rules) {
            extent_sign(received, &dim.index, dim.extent)?;
            self.dim(received, format!(".shape[{}]", dim.index), dim.extent, rule)?;
        }
        if let (true, Some(tensor)) = (folds, tensor)
            && declared.strides != Strides::Contiguous
        {
            folded(received, tensor, leading(shape, tensor))?;
        }
        if let Strides::List(strides) = &declared.strides {
            for (dim, rule) in seen.iter().zip(strides) {
                self.stride(received, &dim.index, dim.stride, rule)?;
            }
            self.bind_stride_symbols(true)?;
        }
        Ok(())
    }

    /// Checks type, NULL, ndim, dtype, device and the pointer to the extents.
    fn header(
        &mut self,
        received: &Received<'a>,
        declared: &codegen::Tensor,
        given: &'a Argument,
    ) -> Checked<&'a Tensor> {
        let Argument::Tensor(tensor) = given else {
            let null = matches!(words(given), (7 | 70, 0));
            let got = if null { "NULL".to_owned() } else { type_name(given) };
            return Err(received.wrong_type(&got));
        };
        let ndim = tensor.ndim();
        match &declared.shape {
            Shape::Dims(dims) if dims.len() as i32 != ndim => {
                return Err(received.mismatch(".ndim", format!("{} but got {ndim}", dims.len())));
            }
            Shape::AnyRank | Shape::Trailing { .. } if ndim < 0 => {
                let expected = format!("a non-negative rank but got {ndim}");
                return Err(received.mismatch(".ndim", expected));
            }
            Shape::Trailing { folds, dims } if ndim + i32::from(*folds) < dims.len() as i32 => {
                let least = dims.len() - usize::from(*folds);
                let expected = format!("at least {least} but got {ndim}");
                return Err(received.mismatch(".ndim", expected));
            }
            Shape::Dims(_) | Shape::AnyRank | Shape::Trailing { .. } => {}
        }
        self.dtype(received, declared, tensor.dtype)?;
        self.device(received, tensor, declared.device)?;
        if tensor.null_shape && ndim != 0 {
            return Err(null(received, ".shape"));
        }
        Ok(tensor)
    }

    /// Checks the element type, and notes the first one of each name.
    fn dtype(
        &mut self,
        received: &Received<'a>,
        declared: &codegen::Tensor,
        found: DType,
    ) -> Checked<()> {
        let symbol = declared.dtype_symbol.as_ref();
        let known = self.dtypes.iter().find(|known| Some(&known.name) == symbol);
        let (fits, expected) = match known {
            Some(Named { dtype, path, .. }) => {
                (found == *dtype, format!("{dtype} (= {path}.dtype)"))
            }
            None => {
                let names: Vec<String> = declared.dtypes.iter().map(DType::to_string).collect();
                let fits = declared.any_dtype || declared.accepted().contains(&found);
                (fits, names.join("|"))
            }
        };
        if !fits {
            let expected = format!("{expected} but got {found}");
            return Err(received.fault("TypeError", "Mismatched", ".dtype", expected));
        }
        if let (None, Some(name)) = (known, symbol) {
            let (name, path) = (name.clone(), received.path.clone());
            let dtypes = declared.dtypes.clone();
            self.dtypes.push(Named { name, dtype: found, path, dtypes });
        }
        Ok(())
    }

    fn device(
        &mut self,
        received: &Received<'a>,
        tensor: &Tensor,
        declared: Device,
    ) -> Checked<()> {
        let found = tensor.device;
        if let Device::Type(ty) = declared
            && found.ty != ty
        {
            return Err(received.mismatch(".device", format!("{ty} but got {found}")));
        }
        if found.ty == DeviceType::CPU {
            return Ok(());
        }
        let first = self.devices.iter().find(|(ty, _, _)| *ty == found.ty);
        let Some((ty, id, path)) = first else {
            let path = (!received.many).then(|| received.path.clone());
            self.devices.push((found.ty, found.id, path));
            return Ok(());
        };
        if *id == found.id {
            return Ok(());
        }
        let origin = path.as_ref().map_or(String::new(), |path| format!(" (= {path}.device)"));
        let first = abi_spec::Device { ty: *ty, id: *id };
        Err(received.mismatch(".device", format!("{first}{origin} but got {found}")))
    }
}

fn null(received: &Received<'_>, part: &str) -> Fault {
    received.mismatch(part, "a non-NULL pointer but got NULL".to_owned())
}

/// Checks that the first `count` dims are one dim in memory.
fn folded(received: &Received<'_>, tensor: &Tensor, count: usize) -> Checked<()> {
    let several: Vec<usize> = (0..count).filter(|&dim| tensor.shape[dim] != 1).collect();
    for pair in several.windows(2) {
        let expected = stride(tensor, pair[1]).wrapping_mul(tensor.shape[pair[1]]);
        let found = stride(tensor, pair[0]);
        if found != expected && !is_empty(tensor) {
            let expected = format!("{expected} (folded) but got {found}");
            return Err(received.mismatch(&format!(".strides[{}]", pair[0]), expected));
        }
    }
    Ok(())
}

fn extent_sign(received: &Received<'_>, dim: &str, extent: Option<i64>) -> Checked<()> {
    match extent {
        Some(extent @ ..=-1) => {
            let expected = format!("a non-negative extent but got {extent}");
            Err(received.mismatch(&format!(".shape[{dim}]"), expected))
        }
        Some(_) | None => Ok(()),
    }
}

fn contiguous(received: &Received<'_>, tensor: &Tensor) -> Checked<()> {
    for (dim, extent) in tensor.shape.iter().enumerate() {
        let (expected, found) = (compact_stride(tensor, dim), stride(tensor, dim));
        if *extent != 1 && !is_empty(tensor) && found != expected {
            let expected = format!("{expected} (contiguous) but got {found}");
            return Err(received.mismatch(&format!(".strides[{dim}]"), expected));
        }
    }
    Ok(())
}

impl<'a> Call<'a> {
    /// Checks the data pointer, needed only if there are elements, and the alignment of its sum with `byte_offset`.
    fn data(
        &self,
        received: &Received<'a>,
        tensor: &Tensor,
        declared: &codegen::Tensor,
    ) -> Checked<()> {
        if tensor.data.is_none() && !is_empty(tensor) {
            return Err(null(received, ".data"));
        }
        // The alignment is the largest power of two that divides the bytes of a lane; of several types the least, of
        // any type 1.
        let symbol = declared.dtype_symbol.as_ref();
        let named = self.dtypes.iter().find(|known| Some(&known.name) == symbol);
        let dtypes = named.map_or(&declared.dtypes, |named| &named.dtypes);
        let lane = |dtype: &DType| 1 << dtype.lane_bytes().trailing_zeros();
        let natural = dtypes.iter().map(lane).min();
        let align: u64 = declared.align.or(natural).unwrap_or(1);
        let address = (tensor.data.unwrap_or(0) as u64).wrapping_add(tensor.byte_offset);
        let remainder = address & (align - 1);
        if remainder == 0 {
            return Ok(());
        }
        let expected = format!("a multiple of {align} bytes but got remainder {remainder}");
        Err(received.fault("ValueError", "Misaligned", ".data", expected))
    }
}
