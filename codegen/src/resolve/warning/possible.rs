//! Sets of possible values: an interval or a short list. Truths are 0 and 1; floats are mapped to integers in their
//! order.

use crate::resolve::operator::Binary;

/// A set of possible values, which may be empty: a closed interval, or a list in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Possible {
    Between(i128, i128),
    OneOf(Vec<i128>),
}

/// A set of possible relations between two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Relation(u8);

impl Possible {
    pub(super) const INT: Possible = Possible::Between(i64::MIN as i128, i64::MAX as i128);
    pub(super) const NATURAL: Possible = Possible::Between(0, i64::MAX as i128);
    pub(super) const UNSIGNED: Possible = Possible::Between(0, u64::MAX as i128);
    pub(super) const TRUTH: Possible = Possible::Between(0, 1);

    pub(super) const ANY: Possible = Possible::Between(i128::MIN, i128::MAX);

    /// Returns all floats except NaN.
    pub(super) fn floats() -> Possible {
        let most = Possible::float(f64::INFINITY);
        Possible::Between(-most, most)
    }

    pub(super) fn one(value: i128) -> Possible {
        Possible::OneOf(vec![value])
    }

    pub(super) fn of(mut values: Vec<i128>) -> Possible {
        values.sort_unstable();
        values.dedup();
        Possible::OneOf(values)
    }

    /// Maps a float to an integer in the order of floats; both zeros map to 0.
    pub(super) fn float(value: f64) -> i128 {
        let magnitude = i128::from(value.abs().to_bits());
        if value < 0.0 { -magnitude } else { magnitude }
    }

    /// Returns the smallest and the largest value; `None` if the set is empty.
    pub(super) fn ends(&self) -> Option<(i128, i128)> {
        match self {
            Possible::Between(least, most) => (least <= most).then_some((*least, *most)),
            Possible::OneOf(values) => Some((*values.first()?, *values.last()?)),
        }
    }

    /// Returns the value if there is exactly one.
    pub(super) fn single(&self) -> Option<i128> {
        self.ends().filter(|(least, most)| least == most).map(|(value, _)| value)
    }

    pub(super) fn has(&self, value: i128) -> bool {
        match self {
            Possible::Between(least, most) => (*least..=*most).contains(&value),
            Possible::OneOf(values) => values.contains(&value),
        }
    }

    /// Returns the intersection.
    pub(super) fn and(&self, other: &Possible) -> Possible {
        match (self, other) {
            (Possible::Between(a, b), Possible::Between(c, d)) => {
                Possible::Between(*a.max(c), *b.min(d))
            }
            (Possible::OneOf(values), other) | (other, Possible::OneOf(values)) => {
                Possible::OneOf(values.iter().copied().filter(|value| other.has(*value)).collect())
            }
        }
    }

    /// Returns the set without a value. An interval loses only its ends.
    pub(super) fn without(&self, value: i128) -> Possible {
        match self {
            Possible::Between(least, most) if *least == value => {
                Possible::Between(value + 1, *most)
            }
            Possible::Between(least, most) if *most == value => {
                Possible::Between(*least, value - 1)
            }
            Possible::Between(..) => self.clone(),
            Possible::OneOf(values) => {
                Possible::OneOf(values.iter().copied().filter(|one| *one != value).collect())
            }
        }
    }

    /// Applies an operation to two sets: `each` to every pair of values if there are few pairs, where results that are
    /// no `int64` are impossible, else `ends` to the ends of both sets. The result is every `int64` if `ends` returns `None` or a set with other values.
    pub(super) fn combine(
        &self,
        other: &Possible,
        each: impl Fn(i64, i64) -> i128,
        ends: impl Fn((i128, i128), (i128, i128)) -> Option<(i128, i128)>,
    ) -> Possible {
        const FEW: usize = 64;
        if let (Possible::OneOf(a), Possible::OneOf(b)) = (self, other)
            && a.len() * b.len() <= FEW
        {
            let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (*a as i64, *b as i64)));
            let fits = |value: &i128| i64::try_from(*value).is_ok();
            return Possible::of(pairs.map(|(a, b)| each(a, b)).filter(fits).collect());
        }
        let (Some(a), Some(b)) = (self.ends(), other.ends()) else { return Possible::INT };
        let found = ends(a, b).map(|(least, most)| Possible::Between(least, most));
        let inside = |found: &Possible| found.and(&Possible::INT) == *found;
        found.filter(inside).unwrap_or(Possible::INT)
    }
}

impl Relation {
    const LESS: u8 = 1;
    const EQUAL: u8 = 2;
    const GREATER: u8 = 4;
    /// Unordered: one of the numbers is NaN.
    const NEITHER: u8 = 8;

    /// Relations of a value to itself, which may be NaN.
    pub(super) const SAME: Relation = Relation(Relation::EQUAL | Relation::NEITHER);

    /// Returns the relations for which a comparison holds; `None` for other operators.
    pub(super) fn of(op: Binary) -> Option<Relation> {
        Some(Relation(match op {
            Binary::Lt | Binary::Ult | Binary::Flt => Relation::LESS,
            Binary::Le | Binary::Ule | Binary::Fle => Relation::LESS | Relation::EQUAL,
            Binary::Gt | Binary::Ugt | Binary::Fgt => Relation::GREATER,
            Binary::Ge | Binary::Uge | Binary::Fge => Relation::GREATER | Relation::EQUAL,
            Binary::Eq | Binary::Feq => Relation::EQUAL,
            Binary::Ne => Relation::LESS | Relation::GREATER,
            Binary::Fne => Relation::LESS | Relation::GREATER | Relation::NEITHER,
            Binary::Min | Binary::Max => return None,
            Binary::Fadd | Binary::Fsub | Binary::Fmul | Binary::Fdiv => return None,
            Binary::Fmin | Binary::Fmax => return None,
        }))
    }

    /// Returns the possible relations between numbers of two sets.
    pub(super) fn between(a: &Possible, b: &Possible, floats: bool) -> Relation {
        let (Some((least, most)), Some((from, to))) = (a.ends(), b.ends()) else {
            return Relation(0);
        };
        let equal = a.and(b).ends().is_some();
        let bit = |holds, bit| if holds { bit } else { 0 };
        Relation(
            bit(least < to, Relation::LESS)
                | bit(equal, Relation::EQUAL)
                | bit(most > from, Relation::GREATER)
                | bit(floats, Relation::NEITHER),
        )
    }

    pub(super) fn and(self, other: Relation) -> Relation {
        Relation(self.0 & other.0)
    }

    /// Returns true if a relation is not in the other set.
    pub(super) fn exceeds(self, others: Relation) -> bool {
        self.0 & !others.0 != 0
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// Returns the relations with the numbers swapped.
    pub(super) fn turned(self) -> Relation {
        let [less, greater] = [Relation::LESS, Relation::GREATER].map(|bit| self.0 & bit);
        let kept = self.0 & (Relation::EQUAL | Relation::NEITHER);
        let swapped = if less == 0 { 0 } else { Relation::GREATER };
        Relation(kept | swapped | if greater == 0 { 0 } else { Relation::LESS })
    }

    /// Restricts the values of a number that has one of these relations to another.
    pub(super) fn narrow(self, number: &Possible, other: &Possible) -> Possible {
        let Some((from, to)) = other.ends() else { return number.clone() };
        let has = |bit| self.0 & bit != 0;
        if has(Relation::NEITHER) {
            return number.clone();
        }
        let strict = i128::from(!has(Relation::EQUAL));
        match (has(Relation::LESS), has(Relation::GREATER)) {
            (true, false) => number.and(&Possible::Between(i128::MIN, to - strict)),
            (false, true) => number.and(&Possible::Between(from + strict, i128::MAX)),
            (false, false) => number.and(other),
            (true, true) if strict == 0 => number.clone(),
            (true, true) => {
                other.single().map_or_else(|| number.clone(), |one| number.without(one))
            }
        }
    }
}
