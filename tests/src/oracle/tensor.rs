//! Checks of tensors.

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
        self.note(received, tensor.map_or(MISSING, Found::Tensor));
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
        match (&declared.shape, tensor) {
            (Shape::Dims(dims), _) => {
                for (dim, rule) in dims.iter().enumerate() {
                    let value = tensor.map(|tensor| tensor.shape[dim]);
                    extent_sign(received, dim, value)?;
                    self.dim(received, format!(".shape[{dim}]"), value, rule)?;
                }
            }
            (Shape::AnyRank, Some(tensor)) => {
                for (dim, extent) in tensor.shape.iter().enumerate() {
                    extent_sign(received, dim, Some(*extent))?;
                }
            }
            (Shape::AnyRank, None) => {}
        }
        if let Strides::List(strides) = &declared.strides {
            for (dim, rule) in strides.iter().enumerate() {
                let counts = |tensor: &Tensor| tensor.shape[dim] > 1 && !is_empty(tensor);
                let found = tensor.map(|tensor| (tensor, stride(tensor, dim), counts(tensor)));
                self.stride(received, dim, found, rule)?;
            }
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
            Shape::AnyRank if ndim < 0 => {
                let expected = format!("a non-negative rank but got {ndim}");
                return Err(received.mismatch(".ndim", expected));
            }
            Shape::Dims(_) | Shape::AnyRank => {}
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
                (declared.accepted().contains(&found), names.join("|"))
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

fn extent_sign(received: &Received<'_>, dim: usize, extent: Option<i64>) -> Checked<()> {
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
        // The alignment is the largest power of two that divides the bytes of a lane; of several types the least.
        let symbol = declared.dtype_symbol.as_ref();
        let named = self.dtypes.iter().find(|known| Some(&known.name) == symbol);
        let dtypes = named.map_or(&declared.dtypes, |named| &named.dtypes);
        let lane = |dtype: &DType| 1 << dtype.lane_bytes().trailing_zeros();
        let natural = dtypes.iter().map(lane).min();
        let align: u64 = declared.align.or(natural).expect("a tensor has a type of elements");
        let address = (tensor.data.unwrap_or(0) as u64).wrapping_add(tensor.byte_offset);
        let remainder = address & (align - 1);
        if remainder == 0 {
            return Ok(());
        }
        let expected = format!("a multiple of {align} bytes but got remainder {remainder}");
        Err(received.fault("ValueError", "Misaligned", ".data", expected))
    }
}
