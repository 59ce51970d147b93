//! Members and elements of values in expressions.

use super::function::Output;
use super::ids::{OutputId, ValueId};
use super::names::Names;
use super::term::{Node, OfSeveral, OfTensor, Property, Term};
use super::value::Source;
use crate::declaration::{BinaryOp, Expr, Kind, Member, ParamType, Tensor, is_text};

impl Names<'_> {
    pub(super) fn element_term(&self, expr: &Expr, of: &Expr) -> Result<Term, String> {
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
                Err(format!("the tuple `{of}` has no element `{expr}`"))
            }
            (Some(_) | None, _) => Err(format!("`{of}` has no elements that can be named")),
        }
    }

    pub(super) fn member(&self, of: &Expr, member: Member) -> Result<Term, String> {
        if let Some(output) = self.output_of(of) {
            return self.output_member(output, member);
        }
        let Some(id) = self.value_of(of) else {
            return Err(format!("`{of}` is not a tensor and has no members"));
        };
        let value = &self.values[id];
        if member == Member::IsSome {
            let always = || format!("`{of}` is not optional: it is always there");
            let term = || property(Kind::Bool, id, Property::IsSome);
            return value.optional.then(term).ok_or_else(always);
        }
        let rest = if let Source::Rest(first) = value.source { Some(first as u32) } else { None };
        let found = match (value.ty, rest, member) {
            (ParamType::Tensor(tensor), ..) => {
                let (kind, found) = tensor_member(of, tensor, member)?;
                Some((kind, Property::Tensor(found)))
            }
            (_, Some(first), Member::Size) => {
                Some((Kind::Int, Property::Several(OfSeveral::RestSize { first })))
            }
            (_, Some(_), Member::Data) => Some((Kind::Ptr, Property::Several(OfSeveral::Address))),
            (_, Some(_), _) => None,
            (ty, None, member) => value_member(of, ty, member)?,
        };
        let found = found.map(|(kind, found)| property(kind, id, found));
        found.ok_or_else(|| format!("`{of}` has no member `{member}`"))
    }

    fn output_member(&self, output: OutputId, member: Member) -> Result<Term, String> {
        let Output { name, tensor, .. } = &self.outputs[output];
        match (member, known_member(tensor, member)) {
            (Member::Data, _) => Ok(Term::new(Kind::Ptr, Node::OutputData(output))),
            (_, Some(expr)) => self.term(&expr),
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

fn property(kind: Kind, of: ValueId, property: Property) -> Term {
    Term::new(kind, Node::Property(of, property))
}

fn tensor_member(of: &Expr, tensor: &Tensor, member: Member) -> Result<(Kind, OfTensor), String> {
    let checked = |dim: u32| match tensor.rank() {
        Some(rank) if dim as usize >= rank => {
            Err(format!("`{of}` has rank {rank}, which leaves no dim {dim}"))
        }
        Some(_) => Ok(false),
        None => Ok(true),
    };
    Ok(match member {
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
        Member::Size | Member::IsSome => {
            return Err(format!("the tensor `{of}` has no member `{member}`"));
        }
    })
}

/// A member of what is neither a tensor nor the further arguments; `None` if there is no such member.
fn value_member(
    of: &Expr,
    ty: &ParamType,
    member: Member,
) -> Result<Option<(Kind, Property)>, String> {
    let when = |wanted, kind, found| (member == wanted).then_some((kind, found));
    let pair = |count| {
        let address = when(Member::Data, Kind::Ptr, Property::Several(OfSeveral::Address));
        address.or(when(Member::Size, Kind::Int, Property::Several(count)))
    };
    Ok(match ty {
        ParamType::Leaf(leaf) if leaf.facts().kind == Kind::Text => pair(OfSeveral::TextSize),
        ParamType::Shape(_) => pair(OfSeveral::NumberCount),
        ParamType::Literal(literals) if is_text(literals) => pair(OfSeveral::TextSize),
        ParamType::Sequence(..) => when(Member::Size, Kind::Int, Property::Length),
        ParamType::Leaf(leaf) if leaf.facts().kind == Kind::Device => {
            let ty = when(Member::DeviceType, Kind::Int, Property::TypeOfDevice);
            ty.or(when(Member::DeviceId, Kind::Int, Property::IndexOfDevice))
        }
        ParamType::Scalar(_)
        | ParamType::Tensor(_)
        | ParamType::Leaf(_)
        | ParamType::Object(_)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Optional(_)
        | ParamType::Union(_)
        | ParamType::Literal(_) => {
            return Err(format!("`{of}` is not a tensor and has no members"));
        }
    })
}

/// A number about a tensor that is known before it is allocated.
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
