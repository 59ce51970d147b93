//! Sets of type indices that types accept, and the spelling of expected types in errors.

use abi_spec::{Scalar, TypeIndex};

use crate::declaration::{Leaf, Literal, Mapping, ObjectClass, ParamType, Sequence};

/// A set of type indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// Bits of the indices 0 to 63.
    pub(crate) low: u64,
    /// Bits of the indices 64 to 126. The last bit stands for all indices that the runtime assigns.
    pub(crate) high: u64,
}

/// Largest number of bytes in a small string or small bytes.
pub(crate) const MAX_SMALL: i64 = 7;

/// Returns true for a text that only an object can hold: it contains a NUL and is too long for a small string.
pub(crate) fn needs_object(text: &str) -> bool {
    text.contains('\0') && text.len() > MAX_SMALL as usize
}

/// Bit of [`Accepted::high`] that stands for all assigned indices; no type has the index of this bit, 127.
pub(crate) const DYNAMIC: u32 = 63;

impl Accepted {
    /// Every index.
    pub(crate) const ALL: Accepted = Accepted { low: !0, high: !0 };

    /// Every index that the runtime assigns.
    pub(crate) const GIVEN_OUT: Accepted = Accepted { low: 0, high: 1 << DYNAMIC };

    /// Returns these indices, which are static.
    pub(crate) fn of(indices: &[TypeIndex]) -> Accepted {
        indices.iter().fold(Accepted::default(), |all, index| all.with(*index))
    }

    /// Returns the static indices for which a predicate holds.
    pub(crate) fn of_those(holds: impl Fn(TypeIndex) -> bool) -> Accepted {
        let all = TypeIndex::ALL.iter().filter(|index| holds(**index));
        all.fold(Accepted::default(), |all, index| all.with(*index))
    }

    /// Adds a static index.
    fn with(self, TypeIndex(index): TypeIndex) -> Accepted {
        match index {
            0..64 => Accepted { low: self.low | 1 << index, ..self },
            _ => Accepted { high: self.high | 1 << (index - 64), ..self },
        }
    }

    /// Returns the static indices in descending order: objects come before other forms of the same value.
    pub(crate) fn indices(self) -> impl Iterator<Item = u32> {
        let bits = u128::from(self.high & !(1 << DYNAMIC)) << 64 | u128::from(self.low);
        (0..u128::BITS).rev().filter(move |index| bits >> index & 1 == 1)
    }

    /// Returns true if the sets share an index.
    pub(crate) fn meets(self, other: Accepted) -> bool {
        self.low & other.low != 0 || self.high & other.high != 0
    }

    pub(crate) fn or(self, other: Accepted) -> Accepted {
        Accepted { low: self.low | other.low, high: self.high | other.high }
    }
}

/// Returns the indices that a type accepts, without `Optional`. Scalars and tensors have checks of their own, so
/// their set is empty.
pub(crate) fn accepted(ty: &ParamType) -> Accepted {
    use TypeIndex as T;
    match ty {
        ParamType::Leaf(leaf) => leaf_accepted(*leaf),
        ParamType::Shape(_) => Accepted::of(&[T::SHAPE, T::ARRAY, T::LIST]),
        ParamType::Object(class) => class_accepted(class),
        ParamType::Sequence(..) => Accepted::of(&[T::ARRAY, T::LIST]),
        ParamType::Mapping(..) => Accepted::of(&[T::MAP, T::DICT]),
        ParamType::Tuple(_) => Accepted::of(&[T::ARRAY]),
        ParamType::Literal(literals) => {
            literals.iter().map(literal_accepted).fold(Accepted::default(), Accepted::or)
        }
        ParamType::Union(_) => Accepted::ALL,
        ParamType::Scalar(_) | ParamType::Tensor(_) | ParamType::Optional(_) => Accepted::default(),
    }
}

/// Returns the type indices that the explanation of an error lets through, so that it can say what is wrong with the
/// value. They include integers beyond `int64`, which literals are compared with.
pub(crate) fn explainable(ty: &ParamType) -> Accepted {
    let number = |literal: &Literal| matches!(literal, Literal::Bool(_) | Literal::Int(_));
    let numbers = matches!(ty, ParamType::Literal(literals) if literals.iter().any(number));
    let big = if numbers { Accepted::of(&[TypeIndex::BIG_INT]) } else { Accepted::default() };
    let mut told = accepted(ty).or(big);
    if matches!(ty, ParamType::Union(_)) && accepts_tensors(ty) == [true, false] {
        told.low &= !(1 << TypeIndex::DL_TENSOR_PTR.0);
    }
    told
}

/// Returns whether a type accepts tensor objects, and whether it accepts a `DLTensor*`.
fn accepts_tensors(ty: &ParamType) -> [bool; 2] {
    match ty {
        ParamType::Tensor(_) => [true, true],
        ParamType::Leaf(leaf) => {
            [TypeIndex::TENSOR, TypeIndex::DL_TENSOR_PTR].map(|index| leaf.accepts(index))
        }
        ParamType::Object(class) => {
            [class.key().is_none_or(|key| TypeIndex::TENSOR.type_key() == Some(key)), false]
        }
        ParamType::Union(types) => {
            let types = types.iter().map(accepts_tensors);
            types.fold([false, false], |all, one| [all[0] || one[0], all[1] || one[1]])
        }
        ParamType::Scalar(_)
        | ParamType::Shape(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Optional(_)
        | ParamType::Literal(_) => [false, false],
    }
}

/// Returns true for scalars whose values beyond `int64` are objects.
pub(crate) const fn may_be_object(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Uint64 | Scalar::Ptr)
}

fn leaf_accepted(leaf: Leaf) -> Accepted {
    let facts = leaf.facts();
    let Some(indices) = facts.accepted else { return Accepted::ALL };
    let mut accepted = Accepted::of(indices);
    if facts.objects {
        accepted.low |= Accepted::of_those(|index| leaf.accepts(index)).low;
        accepted.high |= !Accepted::of_those(|index| !leaf.accepts(index)).high;
    }
    accepted
}

fn class_accepted(class: &ObjectClass) -> Accepted {
    let indices = TypeIndex::ALL.iter().filter(|index| index.is_object());
    match class.key() {
        None => Accepted { low: 0, high: !0 },
        Some(key) => match indices.into_iter().find(|index| index.type_key() == Some(key)) {
            Some(index) => Accepted::of(&[*index]),
            None => Accepted::GIVEN_OUT,
        },
    }
}

fn literal_accepted(literal: &Literal) -> Accepted {
    match literal {
        Literal::None => Accepted::default(),
        Literal::Bool(_) | Literal::Int(_) => Accepted::of(&[TypeIndex::INT, TypeIndex::BOOL]),
        Literal::Float(_) => Accepted::of(&[TypeIndex::INT, TypeIndex::BOOL, TypeIndex::FLOAT]),
        Literal::Str(_) => accepted(&ParamType::Leaf(Leaf::Str)),
    }
}

/// Returns the type key of a class whose index the runtime assigns.
pub(crate) fn dynamic_key(ty: &ParamType) -> Option<&str> {
    let key = ty.class()?.key()?;
    (accepted(ty) == Accepted::GIVEN_OUT).then_some(key)
}

/// Spells the expected type in an error: one word for a type whose parts are checked later.
pub(crate) fn expected(ty: &ParamType, optional: bool) -> String {
    if optional && !matches!(ty, ParamType::Literal(_)) {
        return format!("Optional[{}]", expected(ty, false));
    }
    match ty {
        ParamType::Tensor(_) => "Tensor".to_owned(),
        ParamType::Shape(_) => "Shape".to_owned(),
        ParamType::Sequence(Sequence::Array, _) => "Array".to_owned(),
        ParamType::Sequence(Sequence::List, _) => "List".to_owned(),
        ParamType::Mapping(Mapping::Map, _) => "Map".to_owned(),
        ParamType::Mapping(Mapping::Dict, _) => "Dict".to_owned(),
        ParamType::Tuple(_) => "Tuple".to_owned(),
        ParamType::Scalar(_)
        | ParamType::Leaf(_)
        | ParamType::Object(_)
        | ParamType::Optional(_)
        | ParamType::Union(_)
        | ParamType::Literal(_) => ty.to_string(),
    }
}

/// Returns the type index of a scalar result. Its payload is an `I64`, `F64` or `Ptr`.
pub(crate) const fn result_index(scalar: Scalar) -> TypeIndex {
    scalar.type_index()
}

/// Returns the indices of values that a receiver owns: no borrowed text, tensor or reference.
pub(crate) fn owned() -> Accepted {
    let borrowed = [
        TypeIndex::DL_TENSOR_PTR,
        TypeIndex::RAW_STR,
        TypeIndex::BYTE_ARRAY_PTR,
        TypeIndex::OBJECT_RVALUE_REF,
        TypeIndex::UNCHANGED,
    ];
    Accepted::of_those(|index| !borrowed.contains(&index)).or(Accepted::GIVEN_OUT)
}

/// Returns all indices that a value of a type may have, also for scalars, tensors and `Optional`.
pub(crate) fn possible(ty: &ParamType) -> Accepted {
    use TypeIndex as T;
    let (required, optional) = ty.required();
    let none = if optional { Accepted::of(&[T::NONE]) } else { Accepted::default() };
    none.or(match required {
        ParamType::Scalar(Scalar::Ptr) => Accepted::of(&[T::OPAQUE_PTR, T::NONE, T::INT]),
        ParamType::Scalar(scalar) if scalar.is_float() => {
            Accepted::of(&[T::BOOL, T::INT, T::FLOAT])
        }
        ParamType::Scalar(_) => Accepted::of(&[T::BOOL, T::INT]),
        ParamType::Tensor(_) => Accepted::of(&[T::DL_TENSOR_PTR, T::TENSOR]),
        ParamType::Union(types) => {
            types.iter().map(possible).fold(Accepted::default(), Accepted::or)
        }
        ParamType::Leaf(_)
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Literal(_)
        | ParamType::Optional(_) => accepted(required),
    })
}

impl ParamType {
    /// Returns true if a parameter of this type accepts the type index. Its other checks are about the contents of the
    /// value.
    pub fn accepts(&self, index: TypeIndex) -> bool {
        let bit = u32::try_from(index.0).unwrap_or(u32::MAX).min(64 + DYNAMIC);
        let Accepted { low, high } = possible(self);
        (u128::from(high) << 64 | u128::from(low)) >> bit & 1 == 1
    }
}
