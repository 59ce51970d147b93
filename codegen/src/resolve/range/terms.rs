//! Ranges of terms, from those of what they consist of.

use super::Range;
use crate::resolve::ids::{LocalId, SymbolId, ValueId};
use crate::resolve::operator::{Binary, Extreme, OfFloats, OfIntegers, Unary};
use crate::resolve::term::{Kind, Node, Property, Term};

/// Ranges of what terms consist of: what their types say, or what was checked before, too. Of what is no integer any
/// range will do.
pub(crate) trait TermRanges {
    /// Returns a range of a symbol in a term of a kind.
    fn of_symbol(&self, symbol: SymbolId, kind: Kind) -> Range;

    /// Returns a range of a value with a name.
    fn of_local(&self, local: LocalId) -> Range;

    /// Returns a range of a parameter, or of a value within one.
    fn of_value(&self, value: ValueId) -> Range;

    /// Returns a range of a property of a value.
    fn of_property(&self, value: ValueId, property: Property) -> Range;
}

impl Term {
    /// Returns a range that has the value of the term if it is an integer.
    pub(crate) fn range(&self, ranges: &impl TermRanges) -> Range {
        let of_two = |of: &dyn Fn(Range, Range) -> Range, [a, b]: &[Term; 2]| {
            of(a.range(ranges), b.range(ranges))
        };
        match &self.node {
            Node::Int(value) if self.kind == Kind::Unsigned => {
                Range::exactly(value.cast_unsigned())
            }
            Node::Int(value) => Range::exactly(*value),
            Node::Symbol(symbol) => ranges.of_symbol(*symbol, self.kind),
            Node::Local(local) => ranges.of_local(*local),
            Node::Value(value) => ranges.of_value(*value),
            Node::Property(value, property) => ranges.of_property(*value, *property),
            Node::Exact(op, operands, _) => {
                of_two(&|a, b| Range::exact(*op, a, b).and(Range::INT64), operands)
            }
            Node::Divide(op, operands, _) => {
                of_two(&|a, b| Range::divide(*op, a, b).and(Range::INT64), operands)
            }
            Node::Binary(op, operands) => of_two(&|a, b| of_binary(*op, a, b), operands),
            Node::Unary(op, _) => of_unary(*op),
            Node::Narrow(scalar, operand, _) => operand.range(ranges).and(Range::of(*scalar)),
            Node::DeviceAttribute { .. } | Node::CurrentDevice => Range::INT32,
            Node::Global(_) => Range::NATURAL,
            Node::Mixed(..) | Node::Logic(..) | Node::SameText(..) => Range::TRUTH,
            Node::Float(_)
            | Node::Text(_)
            | Node::Null
            | Node::Output(_)
            | Node::OutputData(_)
            | Node::OutputObject(_)
            | Node::Number { .. }
            | Node::Round(..)
            | Node::Offset(..)
            | Node::Stream(_)
            | Node::OutputStream(_) => Range::INT64,
        }
    }
}

fn of_binary(op: Binary, a: Range, b: Range) -> Range {
    match op {
        Binary::Integers(OfIntegers::Pick(Extreme::Min)) => a.min(b),
        Binary::Integers(OfIntegers::Pick(Extreme::Max)) => a.max(b),
        Binary::Integers(OfIntegers::Compare(_) | OfIntegers::CompareUnsigned(_))
        | Binary::Floats(OfFloats::Compare(_)) => Range::TRUTH,
        Binary::Floats(
            OfFloats::Add | OfFloats::Sub | OfFloats::Mul | OfFloats::Div | OfFloats::Pick(_),
        ) => Range::INT64,
    }
}

fn of_unary(op: Unary) -> Range {
    match op {
        Unary::Number => Range::UINT64,
        Unary::Not | Unary::Truth => Range::TRUTH,
        Unary::Fneg | Unary::ToFloat | Unary::UnsignedToFloat => Range::INT64,
    }
}
