//! Parameters that are tensor descriptors: the tensor that they are made of, its map, and what the kernel gets beside
//! it.

use abi_spec::Scalar;
use codegen::{DType, Dim, Expr, Im2col, MapType, Promotion, Shape, Strides, TensorMap};

use crate::function::{ALIGN, Function, POINTER};
use crate::metadata::Descriptor;
use crate::signature::{Corners, Described, Parameter};

const FEW_DESCRIPTORS: &str = "the metadata has fewer descriptors than the signature";
const OTHER_MODE: &str = "the metadata says that it is a `tensordesc`";
const OTHER_IM2COL: &str = "the metadata says that it is a `tensordesc_im2col`";
const NO_CORNERS: &str = "the host gives its corners: ` = im2col(lower=[-1, -1], upper=[-1, -1])` in the order of the dims";
const GIVEN_CORNERS: &str = "the launcher passes the corners";

/// Bytes of a tensor map.
const MAP: u32 = 128;

impl Function<'_> {
    /// Adds a tensor and passes its map, extents and strides; for devices without tensor maps passes the tensor's
    /// parts instead of the map.
    pub(crate) fn descriptor(
        &mut self,
        parameter: &Parameter,
        described: &Described,
        map: Option<&Descriptor>,
    ) -> Result<(), &'static str> {
        let Parameter { name, shape, hint, small, given, .. } = parameter;
        if hint.is_some() || *small || given.is_some() {
            return Err("a descriptor is made of a tensor, and never specialised");
        }
        let map = self.found(described, map)?;
        if self.bare {
            return self.given_descriptor(name, described, map);
        }
        let rank = described.rank;
        if described.by_columns && described.corners.is_none() {
            return Err(NO_CORNERS);
        }
        let shape = shape.clone().unwrap_or_else(|| Shape::Dims(vec![Dim::Any; rank]));
        if !matches!(&shape, Shape::Dims(dims) if dims.len() == rank) {
            return Err("the shape has another rank than the block");
        }
        let mut strides = vec![Dim::Any; rank];
        if let Some(inner) = strides.last_mut() {
            *inner = Dim::Expr(Expr::Int(1));
        }
        let tensor = self.on_device(shape, described.dtype).with_strides(Strides::List(strides));
        let tensor = tensor.with_align(ALIGN);
        self.add(|signature| signature.param(name, tensor));
        let value = Expr::name(name);
        let dims = 0..rank as i32;
        match map {
            Some(map) => {
                let made =
                    tensor_map(&value, Some(described.dtype), map, described.corners.as_ref());
                self.give(made, MAP);
            }
            None => self.decomposed(&value, dims.clone()),
        }
        for dim in dims.clone() {
            self.give(value.shape(dim).cast(Scalar::Int32), 4);
        }
        dims.for_each(|dim| self.give(value.strides(dim), 8));
        Ok(())
    }

    /// Returns the map of a descriptor, which is what the signature says; `None` for devices without tensor maps.
    fn found<'m>(
        &self,
        described: &Described,
        map: Option<&'m Descriptor>,
    ) -> Result<Option<&'m Descriptor>, &'static str> {
        match map {
            Some(map) if map.by_columns != described.by_columns => {
                Err(if map.by_columns { OTHER_IM2COL } else { OTHER_MODE })
            }
            None if described.by_columns || !self.metadata.descriptors.is_empty() => {
                Err(FEW_DESCRIPTORS)
            }
            found => Ok(found),
        }
    }

    /// Adds what a launcher has taken from a descriptor: a tensor at its address, its extents and its strides, and for
    /// columns of pixels the corners and the steps. Passes them as [`descriptor`](Self::descriptor) does.
    fn given_descriptor(
        &mut self,
        name: &str,
        described: &Described,
        map: Option<&Descriptor>,
    ) -> Result<(), &'static str> {
        if described.corners.is_some() {
            return Err(GIVEN_CORNERS);
        }
        let base = self.of_any();
        self.add(|signature| signature.param(name, base));
        let mut parts = |what: &str, count: usize| -> Vec<Expr> {
            let names = (0..count).map(|dim| format!("{name}.{what}.{dim}"));
            names
                .map(|name| {
                    self.add(|signature| signature.param(&name, Scalar::Int64));
                    Expr::name(name)
                })
                .collect()
        };
        let rank = described.rank;
        let (shape, strides) = (parts("shape", rank), parts("strides", rank));
        let corners = described.by_columns.then(|| Corners {
            lower: parts("lower", rank - 2),
            upper: parts("upper", rank - 2),
            steps: parts("steps", rank),
        });
        let value = Expr::name(name);
        match map {
            Some(map) => {
                // Triton refuses descriptors whose last stride is another.
                let (_, outer) = strides.split_last().ok_or("a block has a dim")?;
                let strides = outer.iter().cloned().chain([Expr::Int(1)]);
                let made = tensor_map(&value, None, map, corners.as_ref());
                self.give(made.dims(shape.clone()).strides(strides), MAP);
            }
            None => {
                self.give(value.data(), POINTER);
                shape.iter().chain(&strides).for_each(|part| self.give(part.clone(), 8));
                (0..2).for_each(|_| self.give(Expr::Int(0).cast(Scalar::Bool), 1));
            }
        }
        shape.into_iter().for_each(|extent| self.give(extent.cast(Scalar::Int32), 4));
        strides.into_iter().for_each(|stride| self.give(stride, 8));
        Ok(())
    }

    /// Passes the parts of a tensor: address, extents, strides, and two times false, for padding with NaN and rounding
    /// to TF32.
    fn decomposed(&mut self, value: &Expr, dims: std::ops::Range<i32>) {
        self.give(value.data(), POINTER);
        dims.clone().for_each(|dim| self.give(value.shape(dim), 8));
        dims.for_each(|dim| self.give(value.strides(dim), 8));
        (0..2).for_each(|_| self.give(Expr::Int(0).cast(Scalar::Bool), 1));
    }
}

/// Builds the map of a tensor whose element type is declared, if it is: of boxes or, with corners, of columns.
fn tensor_map(
    tensor: &Expr,
    dtype: Option<DType>,
    map: &Descriptor,
    corners: Option<&Corners>,
) -> TensorMap {
    let made = match (corners, &map.extents[..]) {
        (Some(Corners { lower, upper, steps }), &[pixels, channels]) => {
            let (lower, upper) = (lower.clone(), upper.clone());
            let (channels, pixels) = (channels.into(), pixels.into());
            let columns = Im2col { lower, upper, channels, pixels };
            TensorMap::im2col(tensor.clone(), columns).steps(steps.clone())
        }
        (_, extents) => TensorMap::new(tensor.clone(), extents.to_vec()),
    };
    // Triton promotes to 128 bytes in every map.
    let made = made.promotion(Promotion::B128).swizzle(map.swizzle);
    if dtype.and_then(MapType::of) == Some(map.dtype) { made } else { made.dtype(map.dtype) }
}
