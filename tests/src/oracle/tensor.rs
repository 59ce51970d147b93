//! The checks of a tensor.

use abi_spec::DeviceType;
use codegen::{Device, Shape, Strides};

use super::{Call, Checked, Fault, type_name, words};
use crate::argument::Tensor;

/// True if some extent is 0.
pub(super) fn is_empty(tensor: &Tensor) -> bool {
    tensor.shape.contains(&0)
}

/// The compact stride of a dim.
pub(super) fn compact_stride(tensor: &Tensor, dim: usize) -> i64 {
    tensor.shape[dim + 1..].iter().fold(1, |product: i64, extent| product.wrapping_mul(*extent))
}

/// The stride of a dim.
pub(super) fn stride(tensor: &Tensor, dim: usize) -> i64 {
    tensor.strides.as_ref().map_or_else(|| compact_stride(tensor, dim), |strides| strides[dim])
}

impl<'a> Call<'a> {
    pub(super) fn tensor(&mut self, param: usize, declared: &'a codegen::Tensor) -> Checked<()> {
        let tensor = self.header(param, declared)?;
        if declared.shape == Shape::AnyRank {
            for (dim, extent) in tensor.shape.iter().enumerate() {
                self.extent_sign(param, dim, *extent)?;
            }
        }
        self.dims(param, declared)?;
        if declared.strides == Strides::Contiguous {
            self.contiguous(param, tensor)?;
        }
        self.data(param, tensor, declared)
    }

    fn mismatch(&self, param: usize, part: &str, expected: String) -> Fault {
        self.fault("ValueError", "Mismatched", param, part, expected)
    }

    fn fault(
        &self,
        kind: &'static str,
        text: &str,
        param: usize,
        part: &str,
        expected: String,
    ) -> Fault {
        Fault::at(kind, text, &format!("{}{part}", self.name(param)), param, expected)
    }

    /// Type, NULL, ndim, dtype, device, the pointer to the extents.
    fn header(&self, param: usize, declared: &codegen::Tensor) -> Checked<&'a Tensor> {
        let argument = &self.arguments[param];
        let Some(tensor) = self.tensor_argument(param) else {
            let null = matches!(words(argument), (7 | 70, 0));
            let got = if null { "NULL".to_owned() } else { type_name(argument) };
            let expected = format!("Tensor but got {got}");
            return Err(self.fault("TypeError", "Mismatched type of", param, "", expected));
        };
        let ndim = tensor.ndim();
        match &declared.shape {
            Shape::Dims(dims) if dims.len() as i32 != ndim => {
                let expected = format!("{} but got {ndim}", dims.len());
                return Err(self.mismatch(param, ".ndim", expected));
            }
            Shape::AnyRank if ndim < 0 => {
                let expected = format!("a non-negative rank but got {ndim}");
                return Err(self.mismatch(param, ".ndim", expected));
            }
            Shape::Dims(_) | Shape::AnyRank => {}
        }
        if !declared.accepted().contains(&tensor.dtype) {
            let expected = format!("{} but got {}", declared.dtypes[0], tensor.dtype);
            return Err(self.fault("TypeError", "Mismatched", param, ".dtype", expected));
        }
        self.device(param, tensor, declared.device)?;
        if tensor.null_shape && ndim != 0 {
            return Err(self.null(param, ".shape"));
        }
        Ok(tensor)
    }

    fn null(&self, param: usize, part: &str) -> Fault {
        self.mismatch(param, part, "a non-NULL pointer but got NULL".to_owned())
    }

    fn device(&self, param: usize, tensor: &Tensor, declared: Device) -> Checked<()> {
        let found = tensor.device;
        if let Device::Type(ty) = declared
            && found.ty != ty
        {
            return Err(self.mismatch(param, ".device", format!("{ty} but got {found}")));
        }
        if found.ty == DeviceType::CPU {
            return Ok(());
        }
        for before in 0..param {
            let Some(other) = self.tensor_argument(before) else { continue };
            if other.device.ty == found.ty && other.device.id != found.id {
                let (device, name) = (other.device, self.name(before));
                let expected = format!("{device} (= {name}.device) but got {found}");
                return Err(self.mismatch(param, ".device", expected));
            }
        }
        Ok(())
    }

    pub(super) fn extent_sign(&self, param: usize, dim: usize, extent: i64) -> Checked<()> {
        if extent >= 0 {
            return Ok(());
        }
        let expected = format!("a non-negative extent but got {extent}");
        Err(self.mismatch(param, &format!(".shape[{dim}]"), expected))
    }

    fn contiguous(&self, param: usize, tensor: &Tensor) -> Checked<()> {
        for (dim, extent) in tensor.shape.iter().enumerate() {
            let (expected, found) = (compact_stride(tensor, dim), stride(tensor, dim));
            if *extent != 1 && !is_empty(tensor) && found != expected {
                let expected = format!("{expected} (contiguous) but got {found}");
                return Err(self.mismatch(param, &format!(".strides[{dim}]"), expected));
            }
        }
        Ok(())
    }

    /// Data is needed where there are elements; alignment is of the sum with `byte_offset`.
    fn data(&self, param: usize, tensor: &Tensor, declared: &codegen::Tensor) -> Checked<()> {
        if tensor.data.is_none() && !is_empty(tensor) {
            return Err(self.null(param, ".data"));
        }
        // That of a lane; of three bytes, say, the power of two in it.
        let lane = u64::from(declared.dtypes[0].lane_bytes());
        let align = declared.align.unwrap_or(1 << lane.trailing_zeros());
        let address = (tensor.data.unwrap_or(0) as u64).wrapping_add(tensor.byte_offset);
        let remainder = address & (align - 1);
        if remainder == 0 {
            return Ok(());
        }
        let expected = format!("a multiple of {align} bytes but got remainder {remainder}");
        Err(self.fault("ValueError", "Misaligned", param, ".data", expected))
    }
}
