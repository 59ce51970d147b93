//! Ranges of integers: closed intervals, by which tests that cannot fail are left out.

mod terms;

use std::fmt;

use abi_spec::Scalar;

use super::operator::{Division, Exact};
use crate::declaration::Comparison;
pub(crate) use terms::TermRanges;

/// The numbers from `least` to `most`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    least: i128,
    most: i128,
}

impl Range {
    /// Every `int64`.
    pub(crate) const INT64: Range = Range::new(i64::MIN as i128, i64::MAX as i128);
    /// Every `int64` that is not negative.
    pub(crate) const NATURAL: Range = Range::new(0, i64::MAX as i128);
    /// Every `uint64`.
    pub(crate) const UINT64: Range = Range::new(0, u64::MAX as i128);
    /// Every `int32`.
    pub(crate) const INT32: Range = Range::new(i32::MIN as i128, i32::MAX as i128);
    /// More than every integer of 64 bits, of which nothing follows.
    pub(crate) const ANY: Range = Range::new(-(1 << 65), 1 << 65);
    /// Truths as numbers.
    pub(crate) const TRUTH: Range = Range::new(0, 1);

    const fn new(least: i128, most: i128) -> Range {
        Range { least, most }
    }

    /// Returns the range of one number.
    pub(crate) fn exactly(number: impl Into<i128>) -> Range {
        let number = number.into();
        Range::new(number, number)
    }

    /// Returns the values of a scalar type; every `int64` for types that are no integers.
    pub(crate) fn of(scalar: Scalar) -> Range {
        let values = 1_i128 << scalar.bits();
        if scalar == Scalar::Bool {
            Range::TRUTH
        } else if !scalar.is_int() {
            Range::INT64
        } else if scalar.is_signed() {
            Range::new(-values / 2, values / 2 - 1)
        } else {
            Range::new(0, values - 1)
        }
    }

    /// Returns true if every number is an `int64`.
    pub(crate) fn fits(self) -> bool {
        self.and(Range::INT64) == self
    }

    /// Returns true if every number is a `uint64`.
    pub(crate) fn is_within_uint64(self) -> bool {
        self.and(Range::UINT64) == self
    }

    /// Returns true if a number is in the range.
    pub(crate) fn has(self, number: impl Into<i128>) -> bool {
        (self.least..=self.most).contains(&number.into())
    }

    /// Returns the numbers that are in both ranges. Of ranges without a common number one is returned, since code that
    /// no number reaches may assume anything.
    pub(crate) fn and(self, other: Range) -> Range {
        let common = Range::new(self.least.max(other.least), self.most.min(other.most));
        if common.least <= common.most { common } else { other }
    }

    /// Returns a range with the numbers of both.
    pub(crate) fn or(self, other: Range) -> Range {
        Range::new(self.least.min(other.least), self.most.max(other.most))
    }

    /// Returns the result that a comparison has for all numbers of two ranges.
    pub(crate) fn compare(self, op: Comparison, other: Range) -> Option<bool> {
        let (always, never) = match op {
            Comparison::Lt => (self.most < other.least, self.least >= other.most),
            Comparison::Le => (self.most <= other.least, self.least > other.most),
            Comparison::Eq => {
                let ends = [self.least, self.most, other.least, other.most];
                (ends == [self.least; 4], self.most < other.least || self.least > other.most)
            }
            Comparison::Ne => return self.compare(Comparison::Eq, other).map(|equal| !equal),
            Comparison::Gt | Comparison::Ge => return other.compare(op.turned(), self),
        };
        if always { Some(true) } else { never.then_some(false) }
    }

    /// Returns the results of an operation, exact ones that are no `int64` included.
    pub(crate) fn exact(op: Exact, a: Range, b: Range) -> Range {
        match op {
            Exact::Add => Range::new(a.least + b.least, a.most + b.most),
            Exact::Sub => Range::new(a.least - b.most, a.most - b.least),
            Exact::Mul => {
                let [one, two] = [a.least, a.most]
                    .map(|a| [a.saturating_mul(b.least), a.saturating_mul(b.most)]);
                let all = [one[0], one[1], two[0], two[1]];
                let least = all.into_iter().fold(all[0], i128::min);
                Range::new(least, all.into_iter().fold(all[0], i128::max))
            }
        }
    }

    /// Returns the results of a division whose divisor is not 0, exact ones that are no `int64` included.
    pub(crate) fn divide(op: Division, a: Range, b: Range) -> Range {
        if op == Division::Rem {
            let most = b.most.max(-b.least) - 1;
            let least = if b.least > 0 { 0 } else { -most };
            return Range::new(least, if b.most < 0 { 0 } else { most });
        }
        if b.least > 0 {
            let [least, most] = [a.least, a.most].map(|a| [a, a.div_euclid(b.least)]);
            let up = i128::from(op == Division::CeilDiv);
            return Range::new(
                least[0].min(least[1]).min(0),
                most[0].max(0).min(most[1].max(0) + up),
            );
        }
        let far = a.most.max(-a.least);
        Range::new(-far, far)
    }

    /// Returns the lesser numbers of two, each from one range.
    pub(crate) fn min(self, other: Range) -> Range {
        Range::new(self.least.min(other.least), self.most.min(other.most))
    }

    /// Returns the greater numbers of two, each from one range.
    pub(crate) fn max(self, other: Range) -> Range {
        Range::new(self.least.max(other.least), self.most.max(other.most))
    }

    /// Returns the numbers from those of one range up to those of another, exclusive.
    pub(crate) fn up_to(self, end: Range) -> Range {
        Range::new(self.least, end.most - 1).and(Range::INT64)
    }

    /// Returns the numbers for which a comparison with a number holds.
    pub(crate) fn where_holds(self, op: Comparison, number: i64) -> Range {
        let number = i128::from(number);
        let (least, most) = match op {
            Comparison::Eq => (number, number),
            Comparison::Ne => return self,
            Comparison::Lt => (self.least, number - 1),
            Comparison::Le => (self.least, number),
            Comparison::Gt => (number + 1, self.most),
            Comparison::Ge => (number, self.most),
        };
        let found = Range::new(self.least.max(least), self.most.min(most));
        if found.least <= found.most { found } else { self }
    }
}

/// Prints both ends.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all ranges of small numbers.
    fn small() -> Vec<Range> {
        let ends = -3..=3_i128;
        ends.clone()
            .flat_map(|least| (least..=3).map(move |most| Range::new(least, most)))
            .collect()
    }

    fn members(range: Range) -> impl Iterator<Item = i64> {
        (range.least as i64)..=(range.most as i64)
    }

    #[test]
    fn every_result_is_in_the_range() {
        for a in small() {
            for b in small() {
                for (x, y) in members(a).flat_map(|x| members(b).map(move |y| (x, y))) {
                    for op in [Exact::Add, Exact::Sub, Exact::Mul] {
                        let found = op.fold(x, y) as i64;
                        assert!(
                            Range::exact(op, a, b).has(found),
                            "{op:?} of {a:?} and {b:?}: {found}"
                        );
                    }
                    assert!(a.min(b).has(x.min(y)) && a.max(b).has(x.max(y)));
                    if y == 0 {
                        continue;
                    }
                    for op in [Division::Div, Division::Rem, Division::CeilDiv] {
                        let found = op.fold(x, y) as i64;
                        assert!(
                            Range::divide(op, a, b).has(found),
                            "{op:?} of {a:?} and {b:?}: {found}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn ranges_at_the_edge() {
        let n = Range::NATURAL;
        assert!(Range::exact(Exact::Sub, n, Range::exactly(1)).fits());
        assert!(!Range::exact(Exact::Add, n, Range::exactly(1)).fits());
        assert!(!Range::exact(Exact::Mul, n, n).fits());
        assert!(!Range::exact(Exact::Mul, Range::UINT64, Range::UINT64).fits());
        assert!(Range::divide(Division::CeilDiv, n, Range::exactly(2)).fits());
        assert!(!Range::divide(Division::Div, Range::INT64, Range::INT64).fits());
        let int32 = Range::of(Scalar::Int32);
        assert!(Range::exact(Exact::Mul, int32, int32).fits());
        let below = Range::INT64.where_holds(Comparison::Le, 4096).where_holds(Comparison::Gt, 0);
        assert!(Range::exact(Exact::Mul, below, below).fits());
    }
}
