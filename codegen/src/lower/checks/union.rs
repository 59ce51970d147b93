//! Unions: the alternatives that accept the type index are tried in turn.
//!
//! A union binds no symbols outside of its alternatives and passes the value unchanged. Alternatives that parse text
//! come last. Once the type of a value is one that a single alternative accepts, a check that fails raises the error of
//! this alternative; all other failures are those of the union. If a `match` is about the union, the block after it
//! gets the number of the alternative that fits.

use abi_spec::layout::any;
use abi_spec::{Scalar, TypeIndex};

use crate::declaration::{Leaf, ParamType, Shape};
use crate::ir::{Binary, Block, Cond, Convert, Type, Value};
use crate::lower::checks::checker::{Alone, Checker};
use crate::lower::checks::{devices, steps};
use crate::resolve::accepted::{Accepted, DYNAMIC, accepted, possible};
use crate::resolve::ids::ValueId;
use crate::resolve::step::Step;

/// Largest number of type indices that are compared one by one; larger sets are tested as bit masks.
const COMPARED: usize = 4;

/// Checks that a value matches an alternative of a union.
pub(super) fn one_of<'a>(c: &mut Checker<'a, '_>, value: ValueId, types: &'a [Vec<Step<'a>>]) {
    let address = c.e.any_address(value);
    let done = c.e.b.block("fits");
    if c.e.function.values[value].matched {
        let hint = c.e.hint(value, "alternative", None);
        c.e.known.choose(value, c.e.b.block_param(done, Type::I32, hint));
    }
    if let Some(there) = c.e.known.mask(value) {
        let number = number_of_type(c, value, types.len());
        if number.is_empty() {
            let some = c.e.b.block("some");
            c.e.b.branch(there, some, done);
            c.e.b.switch_to(some);
        } else {
            c.e.b.go_unless(there, done, &number);
        }
    }
    let index = c.e.b.load(Type::I32, address, any::TYPE_INDEX.offset);
    let hint = c.e.hint(value, "type_index", None);
    c.e.b.hint(index, hint);
    let children = c.e.function.values[value].children.clone().into_iter().enumerate();
    let mut alternatives: Vec<_> = children.zip(types).collect();
    alternatives.sort_by_key(|((_, child), _)| may_parse(c, *child));
    let alone = alone(c, value);
    let (count, devices) = (alternatives.len(), devices::noted_devices(c));
    for (nth, ((declared, child), steps)) in alternatives.into_iter().enumerate() {
        let other =
            if nth + 1 == count { c.exits.value(&mut c.e, value) } else { c.e.b.block("other") };
        c.e.known.set_address(child, Some(address));
        let around = c.exits.other();
        c.alone = alone[declared].then_some(Alone { value: child, around });
        alternative(c, child, steps, index, other);
        c.alone = None;
        let number = number_of_type(c, value, declared);
        c.e.b.jump(done, &number);
        if nth + 1 < count {
            c.e.b.switch_to(other);
            devices::forget_devices(c, devices);
        }
    }
    c.e.b.switch_to(done);
}

/// Returns for each type of a union whether it alone accepts the type indices of its values, so that no other type
/// would take a value whose contents it refuses.
fn alone(c: &Checker<'_, '_>, value: ValueId) -> Vec<bool> {
    let types = c.e.function.values[value].children.iter();
    let types: Vec<&ParamType> = types.map(|child| c.e.function.values[*child].ty).collect();
    let is_alone = |(number, ty): (usize, &&ParamType)| {
        let mut others = types.iter().enumerate().filter(|(other, _)| *other != number);
        has_contents(ty) && others.all(|(_, other)| !possible(ty).meets(possible(other)))
    };
    types.iter().enumerate().map(is_alone).collect()
}

/// Returns true for types that may refuse a value after its type is checked.
fn has_contents(ty: &ParamType) -> bool {
    let is_any = |ty: &ParamType| matches!(ty, ParamType::Leaf(Leaf::Any));
    match ty {
        ParamType::Scalar(scalar) => scalar.is_int() && *scalar != Scalar::Int64,
        ParamType::Tensor(_) | ParamType::Tuple(_) => true,
        ParamType::Shape(shape) => matches!(shape, Shape::Dims(_)),
        ParamType::Sequence(_, element) => !is_any(element),
        ParamType::Mapping(_, types) => !types.iter().all(is_any),
        ParamType::Leaf(_)
        | ParamType::Object(_)
        | ParamType::Optional(_)
        | ParamType::Union(_)
        | ParamType::Literal(_) => false,
    }
}

/// Returns the number of a type as the arguments of the block after a union; none unless a `match` is about it.
fn number_of_type(c: &mut Checker<'_, '_>, value: ValueId, number: usize) -> Vec<Value> {
    let kept = c.e.known.chosen(value).map(|_| c.e.b.i32(number as i32));
    kept.into_iter().collect()
}

/// Emits the checks of one alternative, which branch to `other` if the value does not match.
fn alternative<'a>(
    c: &mut Checker<'a, '_>,
    value: ValueId,
    steps: &'a [Step<'a>],
    index: Value,
    other: Block,
) {
    let outside = c.e.mark_where_there(value);
    if let Some(accepted) = accepted_indices(c, value) {
        require_accepted(c, index, accepted, other);
    }
    c.or_other(other, |c| steps::check_steps(c, steps));
    c.e.known.go_back(outside);
}

/// Returns true for alternatives that may parse text.
pub(super) fn may_parse(c: &Checker<'_, '_>, value: ValueId) -> bool {
    c.e.function.values[value].ty.leaf().is_some_and(Leaf::is_parsed)
}

/// Returns the type indices that tell whether an alternative accepts a value; `None` if the steps of the alternative
/// test the type index first, or if it accepts all.
fn accepted_indices(c: &Checker<'_, '_>, value: ValueId) -> Option<Accepted> {
    let ty = c.e.function.values[value].ty;
    let mut accepted = match ty {
        ParamType::Scalar(_)
        | ParamType::Tensor(_)
        | ParamType::Leaf(Leaf::Stream | Leaf::Any)
        | ParamType::Union(_)
        | ParamType::Optional(_) => return None,
        ParamType::Leaf(Leaf::Str | Leaf::Bytes | Leaf::DType | Leaf::Device | Leaf::Handle)
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Sequence(..)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Literal(_) => accepted(ty),
    };
    if accepted.high != 0 {
        accepted = accepted.or(Accepted::of(&[TypeIndex::OBJECT_RVALUE_REF]));
    }
    Some(accepted)
}

/// Branches to `other` unless a type index is in a set.
fn require_accepted(c: &mut Checker<'_, '_>, index: Value, accepted: Accepted, other: Block) {
    if accepted.meets(Accepted::GIVEN_OUT) || accepted.indices().count() > COMPARED {
        let candidate = is_accepted(c, index, accepted);
        return c.e.b.guard(candidate, other);
    }
    let candidate = c.e.b.block("candidate");
    for known in accepted.indices() {
        let next = c.e.b.block("next");
        let is_known = c.e.b.compare_const(Cond::Eq, index, known.into());
        c.e.b.branch(is_known, candidate, next);
        c.e.b.switch_to(next);
    }
    c.e.b.jump(other, &[]);
    c.e.b.switch_to(candidate);
}

/// Returns a `Bool`: true if a type index is in a set.
fn is_accepted(c: &mut Checker<'_, '_>, index: Value, accepted: Accepted) -> Value {
    let dynamic = accepted.high >> DYNAMIC & 1 == 1;
    let high = accepted.high & !(1 << DYNAMIC);
    let mut parts = Vec::new();
    // One mask of 64 bits suffices if the set spans less than 64 indices.
    let first = accepted.low.trailing_zeros();
    if first < 64 && high != 0 && high.ilog2() < first {
        parts.push(is_in(c, index, first, accepted.low >> first | high << (64 - first)));
    } else {
        parts.extend((first < 64).then(|| is_in(c, index, first, accepted.low >> first)));
        let above = high.trailing_zeros();
        parts.extend((above < 64).then(|| is_in(c, index, 64 + above, high >> above)));
    }
    if dynamic {
        let first = TypeIndex::DYN_OBJECT_BEGIN.0.into();
        parts.push(c.e.b.compare_const(Cond::Sge, index, first));
    }
    let any = parts.into_iter().reduce(|any, part| c.e.b.or(any, part));
    any.unwrap_or_else(|| c.e.b.constant(Type::Bool, 0))
}

/// Returns a `Bool`: true if bit `index - first` of `bits` is set. Bit 0 must be set.
fn is_in(c: &mut Checker<'_, '_>, index: Value, first: u32, bits: u64) -> Value {
    if bits == 1 {
        return c.e.b.compare_const(Cond::Eq, index, first.into());
    }
    let above = c.e.b.binary_const(Binary::Sub, index, first.into());
    let last = i64::from(bits.ilog2());
    let within = c.e.b.compare_const(Cond::Ule, above, last);
    if bits.trailing_ones() == bits.count_ones() {
        return within;
    }
    let shift = c.e.b.convert(Convert::Zext, above, Type::I64);
    let shift = c.e.b.binary_const(Binary::And, shift, 63);
    let bits = c.e.b.i64(bits as i64);
    let bit = c.e.b.binary(Binary::Lshr, bits, shift);
    let bit = c.e.b.binary_const(Binary::And, bit, 1);
    let set = c.e.b.compare_const(Cond::Ne, bit, 0);
    c.e.b.and(within, set)
}
