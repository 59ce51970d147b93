//! Resolves tensor maps: their numbers, their element type, and the inputs that determine them.

use std::fmt::Display;

use super::platform;
use super::statement::LaunchTensors;
use super::{MapElement, TensorMap};
use crate::declaration::{
    self, BinaryOp, Dim, Expr, Interleave, MapType, OwnDim, Shape, Strides, Tensor,
};
use crate::resolve::Explained;
use crate::resolve::body::Action;
use crate::resolve::names::Meaning;
use crate::resolve::statement::Block;
use crate::resolve::term::{Node, Term};

/// Documented limits of `cuTensorMapEncodeTiled`: of extents, of strides in bytes (exclusive), of the extents of a box,
/// and of the distances between its elements.
pub(crate) const MOST_EXTENT: i64 = 1 << 32;
pub(crate) const MOST_STRIDE: i64 = 1 << 40;
pub(crate) const MOST_BOX: i64 = 256;
pub(crate) const MOST_STEP: i64 = 8;

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
        let steps =
            if map.steps.is_empty() { vec![Expr::Int(1); dims.len()] } else { map.steps.clone() };
        let mut numbers = Vec::with_capacity(4 * dims.len());
        numbers.extend(self.up_to(map, "dims", &dims, MOST_EXTENT)?);
        for (dim, stride) in strides.iter().enumerate() {
            let term = self.integer(stride)?;
            check_stride(map, dim, &term, element, unit)?;
            numbers.push(term);
        }
        numbers.extend(self.up_to(map, "box", &map.extents, MOST_BOX)?);
        numbers.extend(self.up_to(map, "steps", &steps, MOST_STEP)?);
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

    /// Resolves integers from 1 to `most`. Constants are checked here, other terms when the map is made.
    fn up_to(
        &self,
        map: &declaration::TensorMap,
        what: impl Display,
        list: &[Expr],
        most: i64,
    ) -> Explained<Vec<Term>> {
        let resolve = |(dim, number): (usize, &Expr)| {
            let term = self.integer(number)?;
            match term.constant().filter(|value| !(1..=most).contains(value)) {
                Some(value) => Err(format!(
                    "{what} of `{}` in dim {dim} is {value}, which is not 1 to {most}",
                    map.tensor
                )),
                None => Ok(term),
            }
        };
        list.iter().enumerate().map(resolve).collect()
    }
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
    if dims.len() != map.extents.len() {
        let (rank, given) = (dims.len(), map.extents.len());
        return Err(format!("`{}` has {rank} dims and its box {given}", map.tensor));
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
    let padded = matches!(map.dtype, Some(MapType::U4x16Align16 | MapType::U6x16Align16));
    if padded || map.interleave == Interleave::B32 { WIDE_UNIT } else { UNIT }
}

/// Returns the element type of a map.
fn element(tensor: &Tensor, map: &declaration::TensorMap) -> Explained<MapElement> {
    if let Some(ty) = map.dtype.filter(|_| !map.dims.is_empty()) {
        return Ok(MapElement { number: ty as u32, bits: ty.bits() });
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
    Ok(MapElement { number: ty as u32, bits: bits.next_multiple_of(8) })
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
