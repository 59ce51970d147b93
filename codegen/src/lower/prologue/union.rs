//! Unions: the alternatives that accept the type index are tried in turn.
//!
//! A union binds no symbols outside of its alternatives and passes the value unchanged. Alternatives that parse text come
//! last. If a `match` is about the union, the block after it gets the number of the alternative that fits.

use abi_spec::TypeIndex;
use abi_spec::layout::any;

use crate::declaration::{Leaf, ParamType};
use crate::ir::{Binary, Block, Cond, Convert, Type, Value};
use crate::lower::wrapper::Wrapper;
use crate::resolve::accepted::{Accepted, DYNAMIC, accepted};
use crate::resolve::ids::ValueId;
use crate::resolve::step::Step;

/// Largest number of type indices that are compared one by one; larger sets are tested as bit masks.
const COMPARED: usize = 4;

impl<'a> Wrapper<'a, '_> {
    /// Checks that a value matches an alternative of a union.
    pub(crate) fn one_of(&mut self, value: ValueId, types: &'a [Vec<Step<'a>>]) {
        let address = self.any_address(value);
        let done = self.b.block("fits");
        if self.function.values[value].matched {
            let hint = self.hint(value, "alternative", None);
            self.chosen[value] = Some(self.b.block_param(done, Type::I32, hint));
        }
        if let Some(there) = self.mask(value) {
            let number = self.number_of_type(value, types.len());
            if number.is_empty() {
                let some = self.b.block("some");
                self.b.branch(there, some, done);
                self.b.switch_to(some);
            } else {
                self.go_unless(there, done, &number);
            }
        }
        let index = self.b.load(Type::I32, address, any::TYPE_INDEX.offset);
        let hint = self.hint(value, "type_index", None);
        self.b.hint(index, hint);
        let children = self.function.values[value].children.clone().into_iter().enumerate();
        let mut alternatives: Vec<_> = children.zip(types).collect();
        alternatives.sort_by_key(|((_, child), _)| self.may_parse(*child));
        let (count, devices) = (alternatives.len(), self.noted_devices());
        for (nth, ((declared, child), steps)) in alternatives.into_iter().enumerate() {
            let other =
                if nth + 1 == count { self.value_exit(value) } else { self.b.block("other") };
            self.addresses[child] = Some(address);
            self.alternative(child, steps, index, other);
            let number = self.number_of_type(value, declared);
            self.b.jump(done, &number);
            if nth + 1 < count {
                self.b.switch_to(other);
                self.forget_devices(devices);
            }
        }
        self.b.switch_to(done);
    }

    /// Returns the number of a type as the arguments of the block after a union; none unless a `match` is about it.
    fn number_of_type(&mut self, value: ValueId, number: usize) -> Vec<Value> {
        let kept = self.chosen[value].map(|_| self.b.i32(number as i32));
        kept.into_iter().collect()
    }

    /// Emits the checks of one alternative, which branch to `other` if the value does not match.
    fn alternative(&mut self, value: ValueId, steps: &'a [Step<'a>], index: Value, other: Block) {
        let outside = self.mark_where_there(value);
        if let Some(accepted) = self.accepted_indices(value) {
            self.require_accepted(index, accepted, other);
        }
        self.or_other(other, |w| w.check_steps(steps));
        self.go_back(outside);
    }

    /// Returns true for alternatives that may parse text.
    pub(super) fn may_parse(&self, value: ValueId) -> bool {
        self.function.values[value].ty.leaf().is_some_and(Leaf::is_parsed)
    }

    /// Returns the type indices that tell whether an alternative accepts a value; `None` if the steps of the alternative test the type index
    /// first, or if it accepts all.
    fn accepted_indices(&self, value: ValueId) -> Option<Accepted> {
        let ty = self.function.values[value].ty;
        let mut accepted = match ty {
            ParamType::Scalar(_)
            | ParamType::Tensor(_)
            | ParamType::Leaf(Leaf::Stream | Leaf::Any)
            | ParamType::Union(_)
            | ParamType::Optional(_) => return None,
            ParamType::Leaf(Leaf::Str | Leaf::Bytes | Leaf::DType | Leaf::Device)
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
    fn require_accepted(&mut self, index: Value, accepted: Accepted, other: Block) {
        if accepted.meets(Accepted::GIVEN_OUT) || accepted.indices().count() > COMPARED {
            let candidate = self.is_accepted(index, accepted);
            return self.b.guard(candidate, other);
        }
        let candidate = self.b.block("candidate");
        for known in accepted.indices() {
            let next = self.b.block("next");
            let is_known = self.b.compare_const(Cond::Eq, index, known.into());
            self.b.branch(is_known, candidate, next);
            self.b.switch_to(next);
        }
        self.b.jump(other, &[]);
        self.b.switch_to(candidate);
    }

    /// Returns a `Bool`: true if a type index is in a set.
    fn is_accepted(&mut self, index: Value, accepted: Accepted) -> Value {
        let dynamic = accepted.high >> DYNAMIC & 1 == 1;
        let high = accepted.high & !(1 << DYNAMIC);
        let mut parts = Vec::new();
        // One mask of 64 bits suffices if the set spans less than 64 indices.
        let first = accepted.low.trailing_zeros();
        if first < 64 && high != 0 && high.ilog2() < first {
            parts.push(self.is_in(index, first, accepted.low >> first | high << (64 - first)));
        } else {
            parts.extend((first < 64).then(|| self.is_in(index, first, accepted.low >> first)));
            let above = high.trailing_zeros();
            parts.extend((above < 64).then(|| self.is_in(index, 64 + above, high >> above)));
        }
        if dynamic {
            let first = TypeIndex::DYN_OBJECT_BEGIN.0.into();
            parts.push(self.b.compare_const(Cond::Sge, index, first));
        }
        let any = parts.into_iter().reduce(|any, part| self.b.or(any, part));
        any.unwrap_or_else(|| self.b.constant(Type::Bool, 0))
    }

    /// Returns a `Bool`: true if bit `index - first` of `bits` is set. Bit 0 must be set.
    fn is_in(&mut self, index: Value, first: u32, bits: u64) -> Value {
        if bits == 1 {
            return self.b.compare_const(Cond::Eq, index, first.into());
        }
        let above = self.b.binary_const(Binary::Sub, index, first.into());
        let last = i64::from(bits.ilog2());
        let within = self.b.compare_const(Cond::Ule, above, last);
        if bits.trailing_ones() == bits.count_ones() {
            return within;
        }
        let shift = self.b.convert(Convert::Zext, above, Type::I64);
        let shift = self.b.binary_const(Binary::And, shift, 63);
        let bits = self.b.i64(bits as i64);
        let bit = self.b.binary(Binary::Lshr, bits, shift);
        let bit = self.b.binary_const(Binary::And, bit, 1);
        let set = self.b.compare_const(Cond::Ne, bit, 0);
        self.b.and(within, set)
    }
}
