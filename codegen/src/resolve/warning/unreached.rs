//! Finds types of unions that no value reaches, since an earlier type of the union accepts all of theirs.

use abi_spec::Scalar;

use crate::declaration::{Element, Function, Leaf, Literal, ParamType, Signature, StatementKind};
use crate::error::Part;
use crate::resolve::accepted::{Accepted, may_be_object, possible};
use crate::resolve::range::Range;

/// A type that no value reaches, and the earlier one that takes its values.
pub(super) struct Unreached<'f> {
    pub(super) ty: &'f ParamType,
    pub(super) earlier: &'f ParamType,
}

/// Returns the types that no value reaches, with their parts: of the parameters, then of its statements.
pub(super) fn types(function: &Function) -> Vec<(Part, Unreached<'_>)> {
    let mut found = Vec::new();
    for (index, ty) in types_of(&function.signature).enumerate() {
        find(ty, Part::Param(index), &mut found);
    }
    for (index, statement) in function.body.statements().enumerate() {
        let part = Part::Statement(index);
        for made in statement.kind.functions() {
            types_of(&made.signature).for_each(|ty| find(ty, part, &mut found));
        }
        if let StatementKind::Call { result: Some(result), .. } = &statement.kind {
            result.ty.iter().for_each(|ty| find(ty, part, &mut found));
        }
    }
    found
}

fn types_of(signature: &Signature) -> impl Iterator<Item = &ParamType> {
    signature.params.iter().map(|param| &param.ty)
}

/// Adds the unreached types of a type and of its parts, the first of each union.
fn find<'f>(ty: &'f ParamType, part: Part, found: &mut Vec<(Part, Unreached<'f>)>) {
    if let ParamType::Union(types) = ty {
        let unreached = types.iter().enumerate().find_map(|(number, ty)| {
            let earlier = types[..number].iter().find(|earlier| covers(earlier, ty))?;
            Some(Unreached { ty, earlier })
        });
        found.extend(unreached.map(|unreached| (part, unreached)));
    }
    ty.nested().into_iter().for_each(|ty| find(ty, part, found));
}

/// Returns true if a type is known to accept every value that another one accepts. False says nothing.
fn covers(ty: &ParamType, other: &ParamType) -> bool {
    match (ty, other) {
        _ if ty == other || ty.is_any() => true,
        (_, ParamType::Union(others)) => others.iter().all(|other| covers(ty, other)),
        (ParamType::Union(types), _) => types.iter().any(|ty| covers(ty, other)),
        (ParamType::Scalar(scalar), ParamType::Scalar(other)) => {
            let (all, others) = (Range::of(*scalar), Range::of(*other));
            if scalar.is_float() {
                !may_be_object(*other)
            } else if other.is_float() || may_be_object(*other) || may_be_object(*scalar) {
                false
            } else {
                // Every number has a truth.
                *scalar == Scalar::Bool || all.and(others) == others
            }
        }
        (ParamType::Leaf(Leaf::Str), ParamType::Literal(literals)) => {
            literals.iter().all(|literal| matches!(literal, Literal::Str(_)))
        }
        (ParamType::Sequence(_, of), ParamType::Sequence(_, others)) => covers(of, others),
        (ParamType::Mapping(_, types), ParamType::Mapping(_, others)) => {
            types.iter().zip(&**others).all(|(ty, other)| covers(ty, other))
        }
        (ParamType::Sequence(_, of), ParamType::Tuple(elements)) => {
            elements.iter().all(|Element { ty, .. }| covers(of, ty))
        }
        // Whatever the contents are, they are accepted.
        (ParamType::Object(class), _) if class.key().is_none() => {
            is_within(possible(other), possible(ty))
        }
        _ => false,
    }
}

/// Returns true if every index of the first set is in the second.
fn is_within(one: Accepted, other: Accepted) -> bool {
    one.or(other) == other
}
