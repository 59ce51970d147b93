//! Finds conditions of a `where` clause that never hold, by constants and by the ranges of types. What several
//! conditions exclude only together is not looked for.

use crate::declaration::{Comparison, Dim, Expr, Literal, Logic, ParamType, Shape};
use crate::resolve::function::Function;
use crate::resolve::ids::{LocalId, SymbolId, Table, ValueId};
use crate::resolve::operator::Unary;
use crate::resolve::range::{Range, TermRanges};
use crate::resolve::step::{Place, Rule, Step};
use crate::resolve::term::{Kind, Node, OfSeveral, OfTensor, Property, Term};

/// Returns the index of the first condition that never holds.
pub(super) fn find(function: &Function<'_>) -> Option<usize> {
    let types = Types { function, extents: extents(function) };
    let mut tests = function.steps.iter().filter_map(|step| {
        let Step::Require(condition) = step else { return None };
        Some(&condition.test)
    });
    tests.position(|test| types.truth(test) == Some(false))
}

/// Returns the symbols that are extents of tensors which are not optional.
fn extents(function: &Function<'_>) -> Table<SymbolId, bool> {
    let mut found = Table::like(&function.symbols, false);
    for step in &function.steps {
        if let Step::Occurrence { place: Place::Extent { value, .. }, rule } = step
            && let Rule::Symbol(symbol) = rule
        {
            found[*symbol] |= function.values[*value].guard.is_none();
        }
    }
    found
}

/// What the types of a function say about terms.
struct Types<'f> {
    function: &'f Function<'f>,
    extents: Table<SymbolId, bool>,
}

impl Types<'_> {
    /// Returns the truth that a condition has in every call.
    fn truth(&self, term: &Term) -> Option<bool> {
        match &term.node {
            Node::Int(truth) if term.kind == Kind::Bool => Some(*truth != 0),
            Node::Unary(Unary::Not, denied) => self.truth(denied).map(|truth| !truth),
            Node::Logic(op, operands) => {
                // The truth of one operand that decides the operation.
                let decisive = *op == Logic::Or;
                let truths = operands.each_ref().map(|operand| self.truth(operand));
                if truths.contains(&Some(decisive)) {
                    return Some(decisive);
                }
                (truths == [Some(!decisive); 2]).then_some(!decisive)
            }
            Node::Binary(op, operands) => self.comparison(op.as_comparison()?, operands),
            Node::Mixed(op, operands) => self.comparison(*op, operands),
            Node::SameText(value, text) => self.same_text(*value, text),
            Node::Int(_) | Node::Float(_) | Node::Text(_) | Node::Null | Node::Unary(..) => None,
            Node::Symbol(_) | Node::Local(_) | Node::Value(_) | Node::Property(..) => None,
            Node::Number { .. } | Node::Exact(..) | Node::Divide(..) | Node::Narrow(..) => None,
            Node::Round(..)
            | Node::Offset(..)
            | Node::Output(_)
            | Node::OutputData(_)
            | Node::OutputObject(_) => None,
            Node::Stream(_) | Node::OutputStream(_) => None,
            Node::DeviceAttribute { .. } | Node::CurrentDevice | Node::Global(_) => None,
        }
    }

    fn comparison(&self, op: Comparison, [a, b]: &[Term; 2]) -> Option<bool> {
        if a == b {
            return Some(matches!(op, Comparison::Eq | Comparison::Le | Comparison::Ge));
        }
        let is_integer = |term: &Term| matches!(term.kind, Kind::Int | Kind::Unsigned);
        let are_integers = is_integer(a) && is_integer(b);
        are_integers.then(|| a.range(self).compare(op, b.range(self))).flatten()
    }

    /// Returns false if a value is one of several texts, and the text is none of them.
    fn same_text(&self, value: ValueId, text: &str) -> Option<bool> {
        let value = &self.function.values[value];
        let ParamType::Literal(literals) = value.ty else { return None };
        let may_be = literals.iter().any(|literal| *literal == Literal::Str(text.to_owned()));
        (!may_be && value.guard.is_none()).then_some(false)
    }
}

/// Ranges as the types tell.
impl TermRanges for Types<'_> {
    fn of_symbol(&self, symbol: SymbolId, kind: Kind) -> Range {
        let declared = &self.function.symbols[symbol];
        let scalar = declared.value.and_then(|value| self.function.values[value].ty.scalar());
        let all = if kind == Kind::Unsigned { Range::UINT64 } else { Range::INT64 };
        let range = scalar.map_or(all, |scalar| Range::of(scalar).and(all));
        if self.extents[symbol] { range.and(Range::NATURAL) } else { range }
    }

    /// A condition names no value of the body.
    fn of_local(&self, _local: LocalId) -> Range {
        Range::ANY
    }

    fn of_value(&self, value: ValueId) -> Range {
        let value = &self.function.values[value];
        if value.guard.is_some() {
            return Range::ANY;
        }
        if let ParamType::Scalar(scalar) = value.ty {
            return Range::of(*scalar);
        }
        let ParamType::Literal(literals) = value.ty else { return Range::ANY };
        let number = |literal: &Literal| match literal {
            Literal::Int(value) => Some(Range::exactly(*value)),
            Literal::Bool(_) | Literal::None | Literal::Float(_) | Literal::Str(_) => None,
        };
        let all: Option<Vec<Range>> = literals.iter().map(number).collect();
        all.and_then(|all| all.into_iter().reduce(Range::or)).unwrap_or(Range::ANY)
    }

    fn of_property(&self, value: ValueId, property: Property) -> Range {
        let value = &self.function.values[value];
        if value.guard.is_some() {
            return Range::ANY;
        }
        let shape = value.ty.shape();
        match property {
            Property::Tensor(OfTensor::Extent { dim, checked: false }) => {
                let dim = shape.map_or(&[][..], Shape::dims).get(dim as usize);
                let Some(Dim::Expr(Expr::Int(extent))) = dim else { return Range::NATURAL };
                Range::exactly(*extent)
            }
            Property::Tensor(OfTensor::Ndim) | Property::Several(OfSeveral::NumberCount) => {
                let least = shape.map_or(0, Shape::least_rank) as i64;
                let any = Range::NATURAL.where_holds(Comparison::Ge, least);
                shape.and_then(Shape::rank).map_or(any, |rank| Range::exactly(rank as i64))
            }
            Property::Tensor(OfTensor::Extent { .. })
            | Property::Several(OfSeveral::TextSize | OfSeveral::RestSize { .. })
            | Property::Length => Range::NATURAL,
            Property::Tensor(_) | Property::Several(_) | Property::Object => Range::ANY,
            Property::TypeOfDevice | Property::IndexOfDevice | Property::IsSome => Range::ANY,
        }
    }
}
