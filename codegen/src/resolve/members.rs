//! Resolves members and elements of values.

use std::fmt::Display;

use super::Explained;
use super::function::Output;
use super::ids::{OutputId, ValueId};
use super::names::Names;
use super::term::{Node, OfSeveral, OfTensor, Property, Term};
use super::value::Source;
use crate::declaration::{BinaryOp, Element, Expr, Kind, Member, ParamType, Tensor, is_text};

impl Names<'_> {
    pub(super) fn element_term(&self, expr: &Expr, of: &Expr) -> Explained<Term> {
        if let Some(value) = self.value_of(expr) {
            return Ok(self.whole(value));
        }
        match (self.value_of(of).map(|value| (value, self.values[value].ty)), expr) {
            (Some((value, ParamType::Shape(shape))), Expr::Element(_, index)) => {
                let checked = match shape.rank() {
                    Some(rank) if *index as usize >= rank => {
                        let reason = "numbers, which leaves no number";
                        return Err(format!("`{of}` has {rank} {reason} {index}"));
                    }
                    Some(_) => false,
                    None => true,
                };
                Ok(property(
                    Kind::Int,
                    value,
                    Property::Several(OfSeveral::Number { index: *index, checked }),
                ))
            }
            (Some((_, ParamType::Tuple(_))), _) => {
                let known = listed(&self.members(of));
                Err(format!("the tuple `{of}` has no element `{expr}`{known}"))
            }
            (_, Expr::Field(_, name)) => Err(self.no_member(of, name)),
            (Some(_) | None, _) => Err(format!("`{of}` has no elements that can be named")),
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
        if known.is_empty() {
            return format!("`{of}` is not a tensor and has no members");
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
            (_, Some(expr)) => self.term(&expr).map(Some),
            (Member::Shape(dim) | Member::Strides(dim), None) => {
                let rank = tensor.extents().count();
                Err(format!("`{name}` has rank {rank}, which leaves no dim {dim}"))
            }
            (member, None) => {
                Err(format!("`{name}.{member}` is not known before `{name}` is allocated"))
            }
        }
    }
}

/// Spells the members that exist, to end an error.
fn listed(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(": it has {}", known.join(", ")) }
}

fn property(kind: Kind, of: ValueId, property: Property) -> Term {
    Term::new(kind, Node::Property(of, property))
}

/// Finds a member of a tensor.
fn tensor_member(
    of: &Expr,
    tensor: &Tensor,
    member: Member,
) -> Explained<Option<(Kind, OfTensor)>> {
    let checked = |dim: u32| match tensor.rank() {
        Some(rank) if dim as usize >= rank => {
            Err(format!("`{of}` has rank {rank}, which leaves no dim {dim}"))
        }
        Some(_) => Ok(false),
        None => Ok(true),
    };
    Ok(Some(match member {
        Member::Data => (Kind::Ptr, OfTensor::Data),
        Member::DType => (Kind::DType, OfTensor::DType),
        Member::Shape(dim) => (Kind::Int, OfTensor::Extent { dim, checked: checked(dim)? }),
        Member::Strides(dim) => (Kind::Int, OfTensor::Stride { dim, checked: checked(dim)? }),
        Member::Ndim => (Kind::Int, OfTensor::Ndim),
        Member::DeviceType => (Kind::Int, OfTensor::DeviceType),
        Member::DeviceId => (Kind::Int, OfTensor::DeviceId),
        Member::ByteOffset => (Kind::Int, OfTensor::ByteOffset),
        Member::Numel => (Kind::Int, OfTensor::Numel),
        Member::IsContiguous => (Kind::Bool, OfTensor::IsContiguous),
        Member::Size | Member::IsSome => return Ok(None),
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
        Member::Shape(dim) => extents.get(dim as usize).map(|extent| (*extent).clone()),
        Member::Strides(dim) => extents.get(dim as usize + 1..).map(product),
        Member::Ndim => Some(Expr::Int(extents.len() as i64)),
        Member::Numel => Some(product(&extents)),
        Member::IsContiguous => Some(Expr::Bool(true)),
        Member::Data
        | Member::DeviceType
        | Member::DeviceId
        | Member::ByteOffset
        | Member::DType
        | Member::Size
        | Member::IsSome => None,
    }
}
