//! Values that are known never to fit a type, so that a declaration is wrong, not a call.

use abi_spec::Scalar;

use super::Explained;
use super::accepted::{Accepted, possible};
use super::body::Plain;
use super::range::Range;
use super::term::{Kind, Node, Term};
use crate::declaration::{Device, Dim, Expr, Leaf, Literal, ParamType, Shape, Tensor};

/// Returns true if a type accepts a literal as an argument.
pub(super) fn takes(ty: &ParamType, literal: &Literal) -> bool {
    let (ty, optional) = ty.required();
    match ty {
        _ if *literal == Literal::None && optional => true,
        ParamType::Scalar(Scalar::Ptr) => *literal == Literal::None,
        ParamType::Scalar(scalar) => match literal {
            // Every number has a truth.
            Literal::Int(number) => !scalar.is_int() || Range::of(*scalar).has(*number),
            Literal::Bool(_) => true,
            Literal::Float(_) => scalar.is_float(),
            Literal::None | Literal::Str(_) => false,
        },
        ParamType::Leaf(leaf) => leaf.takes(literal),
        ParamType::Union(types) => types.iter().any(|ty| takes(ty, literal)),
        ParamType::Literal(literals) => literals.contains(literal),
        ParamType::Tensor(_)
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Optional(_) => false,
    }
}

/// Returns false if a literal of the body, which has a type index that the type accepts, is no value of the type.
pub(super) fn may_take(ty: &ParamType, literal: &Literal) -> bool {
    match (ty, literal) {
        // An address is one of the numbers that an argument may be.
        (ParamType::Scalar(Scalar::Ptr), _) => true,
        (ParamType::Scalar(_), Literal::Int(_))
        | (ParamType::Leaf(Leaf::DType | Leaf::Device) | ParamType::Literal(_), Literal::Str(_)) => {
            takes(ty, literal)
        }
        // A truth is equal to a number, and an integer to a float.
        (ParamType::Literal(literals), Literal::Int(number)) => {
            let is_other = |one: &Literal| matches!(one, Literal::Int(one) if one != number);
            !literals.iter().all(|one| is_other(one) || matches!(one, Literal::Str(_)))
        }
        _ => true,
    }
}

/// Checks that a number is in the range of a scalar type, if its value is known.
pub(super) fn check_number(term: &Term, scalar: Scalar) -> Explained<()> {
    let Node::Int(number) = term.node else { return Ok(()) };
    let unsigned = || i128::from(number.cast_unsigned());
    let number = if term.kind == Kind::Unsigned { unsigned() } else { number.into() };
    let range = Range::of(scalar);
    if !scalar.is_int() || range.has(number) {
        return Ok(());
    }
    Err(format!("{number} is no `{scalar}`, which is {range}"))
}

/// Checks that an integer is an `int64`, if its value is known.
pub(super) fn check_int64(expr: &Expr, term: &Term) -> Explained<()> {
    if term.kind == Kind::Unsigned && term.constant().is_some() {
        return Err(format!("`{expr}` is above int64"));
    }
    Ok(())
}

/// Checks that an extent is not negative, if its value is known.
pub(super) fn check_extent(extent: &Term) -> Explained<()> {
    match extent.constant() {
        Some(extent @ ..=-1) => Err(format!("an extent is never negative, as {extent} is")),
        _ => Ok(()),
    }
}

/// Returns the literal that a value of the body is.
pub(super) fn literal(plain: &Plain<'_>) -> Option<Literal> {
    match plain {
        Plain::Text(text) => Some(Literal::Str((*text).to_owned())),
        Plain::Term(Term { kind: Kind::Int, node: Node::Int(number) }) => {
            Some(Literal::Int(*number))
        }
        Plain::Term(_) | Plain::None | Plain::Value(_) | Plain::Output(_) => None,
    }
}

/// Returns false if no value of one type is of another, whatever symbols stand for.
pub(super) fn may_meet(given: &ParamType, taken: &ParamType) -> bool {
    let ((given, optional), (taken, takes_none)) = (given.required(), taken.required());
    if optional && takes_none {
        return true;
    }
    let same_index = indices(given).meets(possible(taken));
    match (given, taken) {
        (ParamType::Union(given), _) => given.iter().any(|given| may_meet(given, taken)),
        (_, ParamType::Union(taken)) => taken.iter().any(|taken| may_meet(given, taken)),
        (ParamType::Tensor(given), ParamType::Tensor(taken)) => tensors_meet(given, taken),
        (ParamType::Tuple(given), ParamType::Tuple(taken)) => {
            let mut pairs = given.iter().zip(taken);
            given.len() == taken.len() && pairs.all(|(given, taken)| may_meet(&given.ty, &taken.ty))
        }
        (ParamType::Tuple(given), ParamType::Sequence(_, taken)) => {
            same_index && given.iter().all(|given| may_meet(&given.ty, taken))
        }
        (ParamType::Shape(given), ParamType::Shape(taken)) => shapes_meet(given, taken),
        _ => same_index,
    }
}

/// Returns the type indices of values of a type as functions of the FFI get them.
pub(super) fn indices(ty: &ParamType) -> Accepted {
    let scalar = ty.scalar().map(Scalar::type_index);
    let index = scalar.or_else(|| ty.leaf().and_then(Leaf::word_index));
    index.map_or_else(|| possible(ty), |index| Accepted::of(&[index]))
}

/// Returns false if no tensor is of two types.
pub(super) fn tensors_meet(given: &Tensor, taken: &Tensor) -> bool {
    let (types, others) = (given.accepted(), taken.accepted());
    let any_type = types.is_empty() || others.is_empty();
    let devices = (given.device, taken.device);
    let same_device = !matches!(devices, (Device::Type(one), Device::Type(other)) if one != other);
    (any_type || types.iter().any(|dtype| others.contains(dtype)))
        && same_device
        && shapes_meet(&given.shape, &taken.shape)
}

/// Returns false if no shape is of two types: by its rank, or by extents that both name.
pub(super) fn shapes_meet(given: &Shape, taken: &Shape) -> bool {
    let (Shape::Dims(given), Shape::Dims(taken)) = (given, taken) else { return true };
    let number = |dim: &Dim| match dim {
        Dim::Expr(Expr::Int(number)) => Some(*number),
        Dim::Expr(_) | Dim::Any => None,
    };
    let mut pairs = given.iter().zip(taken).map(|(given, taken)| (number(given), number(taken)));
    given.len() == taken.len()
        && pairs.all(|pair| !matches!(pair, (Some(one), Some(other)) if one != other))
}
