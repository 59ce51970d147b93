//! Ranges of terms, as far as the checks before them tell.

use crate::declaration::{Dim, Expr, Logic};
use crate::lower::checks::checker::Checker;
use crate::resolve::ids::{LocalId, SymbolId, ValueId};
use crate::resolve::operator::{Division, Exact};
use crate::resolve::range::{Range, TermRanges};
use crate::resolve::term::{Kind, Node, OfTensor, Property, Term};

/// Returns a range that has the value of an integer term.
pub(in crate::lower) fn range(c: &Checker<'_, '_>, term: &Term) -> Range {
    term.range(c)
}

/// Ranges as far as the checks before tell.
impl TermRanges for Checker<'_, '_> {
    fn of_symbol(&self, symbol: SymbolId, _kind: Kind) -> Range {
        let Some(local) = self.e.function.symbols[symbol].local else {
            let sign = if self.e.known.is_natural(symbol) { Range::NATURAL } else { Range::INT64 };
            return self.e.known.bounds(symbol).and(sign);
        };
        let scalar = self.e.function.locals[local].scalar.map_or(Range::INT64, Range::of);
        self.e.known.bounds(symbol).and(scalar.and(Range::INT64))
    }

    fn of_local(&self, local: LocalId) -> Range {
        let scalar = self.e.function.locals[local].scalar.map_or(Range::INT64, Range::of);
        self.e.known.locals().ranges[local].unwrap_or(scalar)
    }

    fn of_value(&self, value: ValueId) -> Range {
        self.e.function.values[value].ty.scalar().map_or(Range::INT64, Range::of)
    }

    fn of_property(&self, value: ValueId, property: Property) -> Range {
        let Property::Tensor(OfTensor::Extent { dim, checked: false }) = property else {
            return of_property(property);
        };
        let tensor = self.e.function.tensor(value);
        let dim = tensor.and_then(|tensor| tensor.shape.dims().get(dim as usize));
        let Some(Dim::Expr(Expr::Int(known))) = dim else { return Range::NATURAL };
        Range::exactly(*known)
    }
}

/// Returns true if an integer that a term computes may be none of its type.
pub(in crate::lower::checks) fn may_overflow(c: &Checker<'_, '_>, term: &Term) -> bool {
    let own = if let Node::Exact(op, operands, _) = &term.node {
        !range_of_result(c, *op, operands).fits()
    } else if let Node::Divide(op, operands, _) = &term.node {
        quotient_may_overflow(c, *op, operands)
    } else {
        // The only extent and the only stride of a vector are what the tensor holds.
        matches!(
            term.node,
            Node::Property(
                value,
                Property::Tensor(OfTensor::Numel | OfTensor::Stride { .. })
            ) if c.e.function.tensor(value).is_none_or(|tensor| tensor.rank() != Some(1))
        )
    };
    own || term.operands().iter().any(|operand| may_overflow(c, operand))
}

/// Returns a range that has the exact result of an operation.
pub(super) fn range_of_result(c: &Checker<'_, '_>, op: Exact, [a, b]: &[Term; 2]) -> Range {
    Range::exact(op, range(c, a), range(c, b))
}

/// Returns true if the quotient may be the one that is no `int64`: that of the least `int64` and -1.
pub(super) fn quotient_may_overflow(c: &Checker<'_, '_>, op: Division, [a, b]: &[Term; 2]) -> bool {
    op != Division::Rem && range(c, a).has(i64::MIN) && range(c, b).has(-1)
}

/// Restricts the ranges of symbols by a condition that holds from here on.
pub(super) fn narrow_ranges(c: &mut Checker<'_, '_>, test: &Term) {
    if let Node::Logic(Logic::And, operands) = &test.node {
        operands.iter().for_each(|one| narrow_ranges(c, one));
    }
    let Node::Binary(op, operands) = &test.node else { return };
    let Some(op) = op.as_comparison() else { return };
    let [a, b] = &operands[..] else { return };
    let (symbol, op, number) = match (&a.node, a.constant(), &b.node, b.constant()) {
        (Node::Symbol(symbol), _, _, Some(number)) => (*symbol, op, number),
        (_, Some(number), Node::Symbol(symbol), _) => (*symbol, op.turned(), number),
        _ => return,
    };
    if a.kind == Kind::Int && b.kind == Kind::Int {
        let range = c.of_symbol(symbol, Kind::Int);
        c.e.known.restrict(symbol, range.where_holds(op, number));
    }
}

fn of_property(property: Property) -> Range {
    match property {
        Property::Tensor(OfTensor::Extent { .. } | OfTensor::Numel) | Property::Length => {
            Range::NATURAL
        }
        Property::Tensor(OfTensor::Ndim | OfTensor::DeviceType | OfTensor::DeviceId)
        | Property::TypeOfDevice
        | Property::IndexOfDevice => Range::INT32,
        Property::Tensor(OfTensor::IsContiguous) | Property::IsSome => Range::TRUTH,
        Property::Tensor(
            OfTensor::Data | OfTensor::Stride { .. } | OfTensor::DType | OfTensor::ByteOffset,
        )
        | Property::Object
        | Property::Several(_) => Range::INT64,
    }
}
