//! Resolves tensor maps: their numbers, their element type, and the inputs that determine them.

use std::ops::RangeInclusive;

use super::platform;
use super::statement::LaunchTensors;
use super::{MapElement, TensorMap};
use crate::declaration::{
    self, BinaryOp, Dim, Expr, Fill, Im2col, Interleave, MapMode, MapType, OwnDim, Shape, Strides,
    Swizzle, Tensor,
};
use crate::resolve::Explained;
use crate::resolve::body::Action;
use crate::resolve::names::Meaning;
use crate::resolve::statement::Block;
use crate::resolve::term::{Node, Term};

/// Documented limits of the driver's calls that encode maps: of extents, of strides in bytes (exclusive), of the
/// extents of a box, of the channels and pixels of a column, and of the distances between elements.
pub(crate) const MOST_EXTENT: i64 = 1 << 32;
pub(crate) const MOST_STRIDE: i64 = 1 << 40;
pub(crate) const MOST_BOX: i64 = 256;
pub(crate) const MOST_CHANNELS: i64 = 256;
pub(crate) const MOST_PIXELS: i64 = 1024;
pub(crate) const MOST_STEP: i64 = 8;

/// Least offsets of a corner, by the number of spatial dims less one. The largest are as many below 0.
pub(crate) const LEAST_CORNERS: [i64; 3] = [-32_768, -128, -16];

/// Channels of a pixel, and elements in a row of a box, whose elements have gaps in shared memory.
const PADDED_CHANNELS: i64 = 128;

/// Elements of which a row of packed elements without gaps is a multiple.
const PACKED_ROW: i64 = 2;

/// Least number of dims of a map that interleaves elements.
const INTERLEAVED_RANK: usize = 3;

/// Bytes of which addresses and strides are multiples, in general and for maps that interleave elements or pad them.
const UNIT: u32 = 16;
const WIDE_UNIT: u32 = 32;

impl<'a> Block<'_, 'a> {
    /// Resolves `let m = tensormap(…);`.
    pub(in crate::resolve) fn named_map(
        &mut self,
        name: &'a str,
        map: &'a declaration::TensorMap,
    ) -> Explained<Action<'a>> {
        platform::check_maps(self.names.platform)?;
        let made = self.tensor_map(map)?;
        let tensor = self.home(&map.tensor)?;
        let mut tensors = LaunchTensors::default();
        self.collect_tensor(tensor, &mut tensors)?;
        let map = self.names.add_map(tensor, &map.tensor);
        self.names.define(name, Meaning::Map(map))?;
        Ok(Action::TensorMap { map, made, unsure: tensors.unsure })
    }

    pub(super) fn tensor_map(
        &self,
        map: &'a declaration::TensorMap,
    ) -> Explained<Box<TensorMap<'a>>> {
        let tensor = self.home(&map.tensor)?;
        let declared = self.names.tensor_of(tensor);
        let declared = declared.ok_or_else(|| format!("`{}` is no tensor", map.tensor))?;
        let dims = dims(declared, map)?;
        let element = element(declared, map)?;
        let unit = unit(map);
        let strides = strides(declared, map, &dims)?;
        check_options(map, element.ty, dims.len())?;
        let mut numbers = Vec::with_capacity(5 * dims.len());
        numbers.extend(self.within(map, "dims", 0, &dims, &(1..=MOST_EXTENT))?);
        check_row(map, numbers.last().and_then(Term::constant), element.ty)?;
        for (dim, stride) in strides.iter().enumerate() {
            let term = self.integer(stride)?;
            check_stride(map, dim, &term, element, unit)?;
            numbers.push(term);
        }
        match &map.mode {
            MapMode::Tiled(extents) => {
                let extents = self.within(map, "box", 0, extents, &(1..=MOST_BOX))?;
                check_box_row(map, extents.last().and_then(Term::constant), element.ty)?;
                numbers.extend(extents);
            }
            MapMode::Im2col(columns) => self.columns(map, columns, element, &mut numbers)?,
        }
        let steps =
            if map.steps.is_empty() { vec![Expr::Int(1); dims.len()] } else { map.steps.clone() };
        numbers.extend(self.within(map, "steps", 0, &steps, &(1..=MOST_STEP))?);
        let address = self.term(&map.tensor.data())?;
        let offset = map.offset.as_ref().map(|offset| self.integer(offset)).transpose()?;
        let mut inputs = Vec::new();
        let terms = [&address].into_iter().chain(&offset).chain(&numbers);
        terms.for_each(|term| collect_inputs(term, &mut inputs));
        let name = map.tensor.to_string();
        let declared = map;
        let map = TensorMap { declared, name, element, unit, address, offset, numbers, inputs };
        Ok(Box::new(map))
    }

    /// Resolves a column of pixels, and appends its numbers to those of the map, which begin with the dims.
    fn columns(
        &self,
        map: &declaration::TensorMap,
        columns: &Im2col,
        element: MapElement,
        numbers: &mut Vec<Term>,
    ) -> Explained<()> {
        let of = &map.tensor;
        let Im2col { lower, upper, channels, pixels } = columns;
        let least = LEAST_CORNERS[lower.len() - 1];
        let [lower, upper] = [("lower", lower), ("upper", upper)]
            .map(|(what, offsets)| self.within(map, what, 1, offsets, &(least..=-1 - least)));
        let (lower, upper) = (lower?, upper?);
        for (at, (first, last)) in lower.iter().zip(&upper).enumerate() {
            let known = [&numbers[at + 1], first, last].map(Term::constant);
            if let [Some(extent), Some(first), Some(last)] = known
                && extent + last - first < 1
            {
                return Err(format!("the bounding box of `{of}` has no pixels in dim {}", at + 1));
            }
        }
        numbers.extend(lower.into_iter().chain(upper));
        let channels =
            self.limited(channels, &(1..=MOST_CHANNELS), || format!("channels of `{of}`"))?;
        if let Some(channels) = channels.constant() {
            check_channels(map, channels, element)?;
        }
        numbers.push(channels);
        numbers.push(self.limited(pixels, &(1..=MOST_PIXELS), || format!("pixels of `{of}`"))?);
        Ok(())
    }

    /// Resolves integers of a range, one for each dim from `first` on.
    fn within(
        &self,
        map: &declaration::TensorMap,
        what: &str,
        first: usize,
        list: &[Expr],
        range: &RangeInclusive<i64>,
    ) -> Explained<Vec<Term>> {
        let resolve = |(dim, number): (usize, &Expr)| {
            self.limited(number, range, || format!("{what} of `{}` in dim {dim}", map.tensor))
        };
        (first..).zip(list).map(resolve).collect()
    }

    /// Resolves an integer of a range. A constant is checked here, another term when the map is made.
    fn limited(
        &self,
        number: &Expr,
        range: &RangeInclusive<i64>,
        what: impl FnOnce() -> String,
    ) -> Explained<Term> {
        let term = self.integer(number)?;
        match term.constant().filter(|value| !range.contains(value)) {
            Some(value) => {
                let (what, least, most) = (what(), range.start(), range.end());
                Err(format!("{what} is {value}, which is not {least} to {most}"))
            }
            None => Ok(term),
        }
    }
}

/// Checks what the driver demands of options together, whatever the numbers are.
fn check_options(map: &declaration::TensorMap, ty: MapType, rank: usize) -> Explained<()> {
    const PADDED_SWIZZLES: [Swizzle; 4] =
        [Swizzle::None, Swizzle::B128, Swizzle::B128Atom32, Swizzle::B128Atom64];
    let declaration::TensorMap { tensor: of, interleave, swizzle, fill, .. } = map;
    let refused = |option: &str, value: &str, needs: &str| {
        Err(format!("`{option}=\"{value}\"` of the map of `{of}` needs {needs}"))
    };
    if *interleave == Interleave::B32 && *swizzle != Swizzle::B32 {
        return refused("interleave", interleave.name(), "`swizzle=\"32b\"`");
    }
    if *fill == Fill::Nan && !ty.is_float() {
        return refused("fill", fill.name(), "elements of a floating-point type");
    }
    if ty == MapType::U6x16Align16 && *interleave != Interleave::None {
        return refused("interleave", interleave.name(), "elements of another type");
    }
    if *interleave != Interleave::None && rank < INTERLEAVED_RANK {
        return refused("interleave", interleave.name(), "three dims or more");
    }
    // Maps of 4-bit elements with gaps only load, and the last swizzle is for stores.
    let count = if ty == MapType::U4x16Align16 { 3 } else { PADDED_SWIZZLES.len() };
    if ty.is_padded() && !PADDED_SWIZZLES[..count].contains(swizzle) {
        return refused("swizzle", swizzle.name(), "elements of another type");
    }
    Ok(())
}

/// Checks the last extent of a map, if it is a constant: packed elements come by pairs or by 128.
fn check_row(map: &declaration::TensorMap, extent: Option<i64>, ty: MapType) -> Explained<()> {
    if !ty.is_packed() {
        return Ok(());
    }
    let least = if ty.is_padded() { PADDED_CHANNELS } else { PACKED_ROW };
    match extent.filter(|extent| extent % least != 0) {
        Some(extent) => Err(format!(
            "the last of the dims of `{}` is {extent}, and elements of `{}` come by {least}",
            map.tensor,
            ty.name()
        )),
        None => Ok(()),
    }
}

/// Checks the last extent of a box, if it is a constant: elements with gaps come by 128, and without interleaving a row
/// of others is a multiple of 16 bytes.
fn check_box_row(map: &declaration::TensorMap, extent: Option<i64>, ty: MapType) -> Explained<()> {
    let (of, Some(extent)) = (&map.tensor, extent) else { return Ok(()) };
    if ty.is_padded() {
        return check_padded(map, "the last extent of the box", extent, ty);
    }
    let bits = ty.bits();
    if map.interleave == Interleave::None && extent * i64::from(bits) % i64::from(8 * UNIT) != 0 {
        return Err(format!(
            "a row of the box of `{of}` has {extent} elements of {bits} bits, which is no multiple of {UNIT} bytes"
        ));
    }
    Ok(())
}

/// Checks a constant number of elements with gaps, which come by 128.
fn check_padded(
    map: &declaration::TensorMap,
    what: &str,
    number: i64,
    ty: MapType,
) -> Explained<()> {
    if number == PADDED_CHANNELS {
        return Ok(());
    }
    let (of, name) = (&map.tensor, ty.name());
    Err(format!("{what} of `{of}` is {number}, and elements of `{name}` come by {PADDED_CHANNELS}"))
}

/// Checks the channels of a pixel: elements with gaps come by 128, and without interleaving no pixel is wider than the
/// swizzle.
fn check_channels(
    map: &declaration::TensorMap,
    channels: i64,
    element: MapElement,
) -> Explained<()> {
    let of = &map.tensor;
    if element.ty.is_padded() {
        check_padded(map, "channels", channels, element.ty)?;
    }
    let (bytes, span) = (channels * i64::from(element.bits) / 8, map.swizzle.span().into());
    let is_bound = map.interleave == Interleave::None && map.swizzle != Swizzle::None;
    if is_bound && !element.ty.is_packed() && bytes > span {
        return Err(format!("a pixel of `{of}` has {bytes} bytes, and its swizzle {span}"));
    }
    Ok(())
}

/// Returns the extents of a map, the tensor's if none are given.
fn dims(tensor: &Tensor, map: &declaration::TensorMap) -> Explained<Vec<Expr>> {
    if !map.dims.is_empty() {
        return Ok(map.dims.clone());
    }
    if tensor.shape == Shape::AnyRank {
        return Err(format!("the rank of `{}` is not known: give `dims`", map.tensor));
    }
    let dims = tensor.shape.dims();
    let (of, rank, given) = (&map.tensor, dims.len(), map.mode.rank());
    if rank != given {
        return Err(match map.mode {
            MapMode::Tiled(_) => format!("`{of}` has {rank} dims and its box {given}"),
            MapMode::Im2col(_) => {
                format!("`{of}` has {rank} dims, and its `im2col` is for {given}")
            }
        });
    }
    let extent = |(dim, declared): (usize, &Dim)| match (declared, tensor.shape.own_dim(dim)) {
        (Dim::Expr(Expr::Int(extent)), _) => Expr::Int(*extent),
        (Dim::Expr(outer), OwnDim::Leading(_)) => outer.clone(),
        (_, own) => map.tensor.shape(own.index()),
    };
    Ok(dims.iter().enumerate().map(extent).collect())
}

/// Returns the strides of a map. Without given ones they are compact if the tensor is, else the tensor's.
fn strides(tensor: &Tensor, map: &declaration::TensorMap, dims: &[Expr]) -> Explained<Vec<Expr>> {
    if !map.strides.is_empty() {
        return Ok(map.strides.clone());
    }
    let of = &map.tensor;
    if tensor.strides == Strides::Contiguous {
        return Ok((1..=dims.len()).map(|next| product(&dims[next..])).collect());
    }
    let missing = format!(
        "the map of `{of}` has no strides, and `{of}` is not declared contiguous: give `strides`"
    );
    if !map.dims.is_empty() {
        return Err(missing);
    }
    let stride = |dim: usize| match tensor.shape.own_dim(dim) {
        OwnDim::Leading(_) => tensor.strides.dims().get(dim).and_then(Dim::expr).cloned(),
        own @ (OwnDim::FromStart(_) | OwnDim::FromEnd(_)) => Some(of.strides(own.index())),
    };
    (0..dims.len()).map(stride).collect::<Option<_>>().ok_or(missing)
}

fn product(extents: &[Expr]) -> Expr {
    let all = extents.iter().cloned();
    all.reduce(|product, extent| product.binary(BinaryOp::Mul, extent)).unwrap_or(Expr::Int(1))
}

/// Checks a stride: the last given one is 1, and others that are given as constants suit the driver.
fn check_stride(
    map: &declaration::TensorMap,
    dim: usize,
    stride: &Term,
    element: MapElement,
    unit: u32,
) -> Explained<()> {
    let (of, stride) = (&map.tensor, stride.constant());
    if dim + 1 == map.strides.len() && stride != Some(1) {
        return Err(format!(
            "the last stride of the map of `{of}` is `{}`, not 1",
            map.strides[dim]
        ));
    }
    let Some(stride) = stride.filter(|_| dim + 1 < map.strides.len()) else { return Ok(()) };
    let size = i128::from(stride) * i128::from(element.bits);
    let fits = (0..8 * i128::from(MOST_STRIDE)).contains(&size) && size % i128::from(8 * unit) == 0;
    if fits {
        return Ok(());
    }
    let bits = element.bits;
    Err(format!(
        "strides of `{of}` in dim {dim} is {stride} elements of {bits} bits, which is no multiple of {unit} bytes below {MOST_STRIDE}"
    ))
}

/// Returns the bytes of which the address and the strides of a map are multiples.
fn unit(map: &declaration::TensorMap) -> u32 {
    let padded = map.dtype.is_some_and(MapType::is_padded);
    if padded || map.interleave == Interleave::B32 { WIDE_UNIT } else { UNIT }
}

/// Returns the element type of a map.
fn element(tensor: &Tensor, map: &declaration::TensorMap) -> Explained<MapElement> {
    if let Some(ty) = map.dtype.filter(|_| !map.dims.is_empty()) {
        return Ok(MapElement { ty, bits: ty.bits() });
    }
    let [dtype] = tensor.dtypes[..] else {
        return Err(format!("`{}` may have elements of several types", map.tensor));
    };
    let bits = u32::from(dtype.bits) * u32::from(dtype.lanes);
    let Some(ty) = map.dtype.or(MapType::of(dtype)) else {
        return Err(format!("the driver has no tensor maps of `{dtype}`: give `dtype`"));
    };
    if !ty.is_packed() && ty.bits() != bits {
        let (of, its) = (&map.tensor, ty.bits());
        return Err(format!("elements of `{of}` have {bits} bits, not {its}: give `dims`"));
    }
    Ok(MapElement { ty, bits: bits.next_multiple_of(8) })
}

/// Appends the operands that a term depends on, each once. An operand of `and` and `or` is evaluated under a condition:
/// if it may fail, the whole operation is appended.
fn collect_inputs(term: &Term, inputs: &mut Vec<Term>) {
    let is_constant = matches!(term.node, Node::Int(_) | Node::Float(_) | Node::Null);
    let may_fail = term.can_fail() || term.may_overflow();
    let is_guarded = matches!(term.node, Node::Logic(..)) && may_fail;
    if !is_guarded && !term.operands().is_empty() {
        return term.operands().iter().for_each(|operand| collect_inputs(operand, inputs));
    }
    if !is_constant && !inputs.iter().any(|known| known.node == term.node) {
        inputs.push(term.clone());
    }
}
