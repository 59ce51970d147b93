//! Resolves members and elements of values.

use std::fmt::Display;

use super::Explained;
use super::fits::check_int64;
use super::ids::{OutputId, ValueId};
use super::named::Output;
use super::names::Names;
use super::term::{Node, OfGlobal, OfSeveral, OfTensor, Property, Term};
use super::value::Source;
use crate::declaration::{
    BinaryOp, Element, Expr, Kind, Member, ObjectClass, ParamType, Shape, Tensor, is_text,
};

impl Names<'_> {
    pub(super) fn element_term(&self, expr: &Expr, of: &Expr) -> Explained<Term> {
        if let Some(value) = self.value_of(expr) {
            return Ok(self.whole(value));
        }
        match (self.value_of(of).map(|value| (value, self.values[value].ty)), expr) {
            (Some((value, ParamType::Shape(shape))), Expr::Element(_, index)) => {
                self.number_of(expr, (value, shape), index)
            }
            (Some((_, ParamType::Tuple(_))), _) => {
                let known = listed(&self.members(of));
                Err(format!("the tuple `{of}` has no element `{expr}`{known}"))
            }
            (_, Expr::Field(_, name)) => Err(self.no_member(of, name)),
            (Some((_, ParamType::Mapping(..))), _) => Err(format!(
                "`{of}` is a mapping: programs look a key up by {}",
                by_functions("GetItem", format_args!("{of}, key"))
            )),
            (Some(_) | None, _) => Err(format!("`{of}` has no elements that can be named")),
        }
    }

    /// Resolves `s[i]`, a number of a shape.
    fn number_of(
        &self,
        expr: &Expr,
        (of, shape): (ValueId, &Shape),
        index: &Expr,
    ) -> Explained<Term> {
        let Some(known) = self.index(index)? else {
            let index = Box::new(self.int64(index, self.term(index)?));
            let text = expr.to_string();
            return Ok(Term::new(Kind::Int, Node::Number { of, index, text }));
        };
        let checked = match shape.rank() {
            Some(rank) if known >= rank as u64 => {
                let path = &self.values[of].path;
                return Err(format!("`{path}` has {rank} numbers, which leaves no number {known}"));
            }
            Some(_) => false,
            None => true,
        };
        let index = u32::try_from(known).map_err(|_| format!("a shape has no number {known}"))?;
        Ok(property(Kind::Int, of, Property::Several(OfSeveral::Number { index, checked })))
    }

    /// Checks that an index is an integer. Returns a literal; `None` for an index that is known at run time only.
    pub(super) fn index(&self, index: &Expr) -> Explained<Option<u64>> {
        let term = self.term(index)?;
        check_int64(index, &term)?;
        let term = self.int64(index, term);
        match term.constant() {
            Some(known) => match u64::try_from(known) {
                Ok(known) => Ok(Some(known)),
                Err(_) => Err(format!("an index is never negative, as {known} is")),
            },
            None if term.kind == Kind::Int => Ok(None),
            None => Err(format!("the index `{index}` is not an integer")),
        }
    }

    /// Returns the error for a member that does not exist.
    fn no_member(&self, of: &Expr, name: impl Display) -> String {
        let known = self.members(of);
        let tensor = if let Expr::Field(tensor, device) = of
            && device == "device"
        {
            Some(&**tensor)
        } else {
            (name.to_string() == "device").then_some(of)
        };
        if let Some(tensor) = tensor.filter(|of| self.is_tensor(of)) {
            return format!(
                "a device has `{tensor}.device.multiprocessors`, `{tensor}.device.attribute(id)`, \
                 `{tensor}.device_type` and `{tensor}.device_id`"
            );
        }
        let ty = self.value_of(of).map(|value| self.values[value].ty);
        if let Some(ParamType::Mapping(..)) = ty
            && name.to_string() == "size"
        {
            let by = by_functions("Size", of);
            return format!("`{of}` has no member `size`: programs get the size by {by}");
        }
        if known.is_empty() {
            return match (ty, self.term(of)) {
                (Some(ty), _) => format!("`{of}` is of type `{ty}`, which has no members"),
                (None, Ok(term)) => {
                    format!("`{of}` is {}, which has no members", term.kind.noun())
                }
                (None, Err(reason)) => reason,
            };
        }
        format!("`{of}` has no member `{name}`{}", listed(&known))
    }

    fn is_tensor(&self, of: &Expr) -> bool {
        let is_tensor = |value: ValueId| self.values[value].tensor().is_some();
        self.value_of(of).is_some_and(is_tensor) || self.output_of(of).is_some()
    }

    /// Returns the spellings of all members of a value and all elements of a tuple.
    fn members(&self, of: &Expr) -> Vec<String> {
        let elements = self.value_of(of).map(|value| self.values[value].ty);
        let elements = if let Some(ParamType::Tuple(all)) = elements { &all[..] } else { &[] };
        let element = |(index, element): (usize, &Element)| match &element.name {
            Some(name) => format!("`{name}`"),
            None => format!("`{of}[{index}]`"),
        };
        let plain = Member::PLAIN.map(|(_, member)| (member, format!("`{member}`")));
        let indexed = [(Member::Shape(0), "shape"), (Member::Strides(0), "strides")];
        let indexed = indexed.map(|(member, name)| (member, format!("`{name}[i]`")));
        let named = plain.into_iter().chain(indexed);
        let known = named.filter(|(member, _)| matches!(self.find(of, *member), Ok(Some(_))));
        let elements = elements.iter().enumerate().map(element);
        elements.chain(known.map(|(_, text)| text)).collect()
    }

    pub(super) fn member(&self, of: &Expr, member: Member) -> Explained<Term> {
        self.find(of, member)?.ok_or_else(|| self.no_member(of, member))
    }

    /// Finds a member. Returns `None` if the value has no such member, and an error if the member is not available.
    fn find(&self, of: &Expr, member: Member) -> Explained<Option<Term>> {
        if let Expr::Global(global) = of {
            let is_size = member == Member::Size;
            return is_size.then(|| self.global(global, OfGlobal::Size)).transpose();
        }
        if let Some(output) = self.output_of(of) {
            return self.output_member(output, member);
        }
        let Some(id) = self.value_of(of) else { return Ok(None) };
        let value = &self.values[id];
        if member == Member::IsSome {
            let always = || format!("`{of}` is not optional: it is always there");
            let term = || property(Kind::Bool, id, Property::IsSome);
            return value.optional.then(term).ok_or_else(always).map(Some);
        }
        let rest = if let Source::Rest(first) = value.source { Some(first as u32) } else { None };
        let found = match (value.ty, rest, member) {
            (ParamType::Tensor(_) | ParamType::Object(ObjectClass::Tensor), _, Member::Object) => {
                Some((Kind::Ptr, Property::Object))
            }
            (ParamType::Tensor(tensor), ..) => {
                let found = tensor_member(of, tensor, member)?;
                found.map(|(kind, found)| (kind, Property::Tensor(found)))
            }
            (_, Some(first), Member::Size) => {
                Some((Kind::Int, Property::Several(OfSeveral::RestSize { first })))
            }
            (_, Some(_), Member::Data) => Some((Kind::Ptr, Property::Several(OfSeveral::Address))),
            (_, Some(_), _) => None,
            (ty, None, member) => value_member(ty, member),
        };
        Ok(found.map(|(kind, found)| property(kind, id, found)))
    }

    fn output_member(&self, output: OutputId, member: Member) -> Explained<Option<Term>> {
        let Output { name, tensor, .. } = &self.outputs[output];
        match (member, known_member(tensor, member)) {
            (Member::Data, _) => Ok(Some(Term::new(Kind::Ptr, Node::OutputData(output)))),
            (Member::Object, _) => Ok(Some(Term::new(Kind::Ptr, Node::OutputObject(output)))),
            (_, Some(expr)) => self.term(&expr).map(Some),
            (Member::Shape(dim) | Member::Strides(dim), None) => Err(no_dim(name, tensor, dim)),
            (member, None) => {
                Err(format!("`{name}.{member}` is not known before `{name}` is allocated"))
            }
        }
    }
}

/// Spells the calls of the functions of the runtime for mappings, whose layout is private to it. Parameters accept both
/// classes.
fn by_functions(function: &str, args: impl Display) -> String {
    let of = |class: &str| format!("`@\"ffi.{class}{function}\"({args})`");
    format!("{}, a `dict` of Python too, or {} for an `ffi.Dict`", of("Map"), of("Dict"))
}

/// Spells the members that exist, to end an error.
fn listed(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(": it has {}", known.join(", ")) }
}

fn property(kind: Kind, of: ValueId, property: Property) -> Term {
    Term::new(kind, Node::Property(of, property))
}

/// Returns the error for an index beyond the rank of a tensor.
fn no_dim(of: impl Display, tensor: &Tensor, index: i32) -> String {
    let rank = tensor.shape.dims().len();
    format!("`{of}` has rank {rank}, which leaves no dim {index}")
}

/// Finds a member of a tensor.
fn tensor_member(
    of: &Expr,
    tensor: &Tensor,
    member: Member,
) -> Explained<Option<(Kind, OfTensor)>> {
    let dim = |index: i32| match tensor.shape.declared_dim(index) {
        Some(dim) => Ok((dim as i32, false)),
        None if tensor.rank().is_some() => Err(no_dim(of, tensor, index)),
        None => Ok((index, true)),
    };
    Ok(Some(match member {
        Member::Data => (Kind::Ptr, OfTensor::Data),
        Member::DType => (Kind::DType, OfTensor::DType),
        Member::Shape(index) => {
            let (dim, checked) = dim(index)?;
            (Kind::Int, OfTensor::Extent { dim, checked })
        }
        Member::Strides(index) => {
            let (dim, checked) = dim(index)?;
            (Kind::Int, OfTensor::Stride { dim, checked, shown: index })
        }
        Member::Ndim => (Kind::Int, OfTensor::Ndim),
        Member::DeviceType => (Kind::Int, OfTensor::DeviceType),
        Member::DeviceId => (Kind::Int, OfTensor::DeviceId),
        Member::ByteOffset => (Kind::Int, OfTensor::ByteOffset),
        Member::Numel => (Kind::Int, OfTensor::Numel),
        Member::IsContiguous => (Kind::Bool, OfTensor::IsContiguous),
        Member::Object | Member::Size | Member::IsSome => return Ok(None),
    }))
}

/// Finds a member of a value that is neither a tensor nor variadic.
fn value_member(ty: &ParamType, member: Member) -> Option<(Kind, Property)> {
    let when = |wanted, kind, found| (member == wanted).then_some((kind, found));
    let pair = |count| {
        let address = when(Member::Data, Kind::Ptr, Property::Several(OfSeveral::Address));
        address.or(when(Member::Size, Kind::Int, Property::Several(count)))
    };
    let kind = ty.leaf().map(|leaf| leaf.facts().kind);
    if kind == Some(Kind::Text) || matches!(ty, ParamType::Literal(literals) if is_text(literals)) {
        return pair(OfSeveral::TextSize);
    }
    if kind == Some(Kind::Device) {
        let ty = when(Member::DeviceType, Kind::Int, Property::TypeOfDevice);
        return ty.or(when(Member::DeviceId, Kind::Int, Property::IndexOfDevice));
    }
    if let ParamType::Sequence(..) = ty {
        return when(Member::Size, Kind::Int, Property::Length);
    }
    if let ParamType::Shape(_) = ty { pair(OfSeveral::NumberCount) } else { None }
}

/// Returns a member of an allocated tensor that is known before the allocation.
fn known_member(tensor: &Tensor, member: Member) -> Option<Expr> {
    let extents: Vec<&Expr> = tensor.extents().collect();
    let product = |extents: &[&Expr]| {
        let all = extents.iter().map(|extent| (*extent).clone());
        all.reduce(|product, extent| product.binary(BinaryOp::Mul, extent)).unwrap_or(Expr::Int(1))
    };
    match member {
        Member::Shape(index) => tensor.shape.declared_dim(index).map(|dim| extents[dim].clone()),
        Member::Strides(index) => {
            tensor.shape.declared_dim(index).map(|dim| product(&extents[dim + 1..]))
        }
        Member::Ndim => Some(Expr::Int(extents.len() as i64)),
        Member::Numel => Some(product(&extents)),
        Member::IsContiguous => Some(Expr::Bool(true)),
        Member::Data
        | Member::DeviceType
        | Member::DeviceId
        | Member::ByteOffset
        | Member::DType
        | Member::Object
        | Member::Size
        | Member::IsSome => None,
    }
}
