//! Finds conditions of a `where` clause that never hold, by constants and by the ranges of types. What several conditions
//! exclude only together is not looked for.

use crate::declaration::{Comparison, Dim, Expr, Literal, Logic, ParamType, Shape};
use crate::resolve::function::Function;
use crate::resolve::ids::{SymbolId, Table, ValueId};
use crate::resolve::operator::{Binary, Unary};
use crate::resolve::range::Range;
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
        self.range(a)?.compare(op, self.range(b)?)
    }

    /// Returns false if a value is one of several texts, and the text is none of them.
    fn same_text(&self, value: ValueId, text: &str) -> Option<bool> {
        let value = &self.function.values[value];
        let ParamType::Literal(literals) = value.ty else { return None };
        let may_be = literals.iter().any(|literal| *literal == Literal::Str(text.to_owned()));
        (!may_be && value.guard.is_none()).then_some(false)
    }

    /// Returns a range of an integer.
    fn range(&self, term: &Term) -> Option<Range> {
        if !matches!(term.kind, Kind::Int | Kind::Unsigned) {
            return None;
        }
        let both = |[a, b]: &[Term; 2]| Some((self.range(a)?, self.range(b)?));
        let range = match &term.node {
            Node::Int(value) if term.kind == Kind::Unsigned => {
                Range::exactly(value.cast_unsigned())
            }
            Node::Int(value) => Range::exactly(*value),
            Node::Symbol(symbol) => self.symbol(*symbol, term.kind),
            Node::Value(value) => return self.value(*value),
            Node::Property(value, property) => return self.property(*value, *property),
            Node::Exact(op, operands, _) => {
                let (a, b) = both(operands)?;
                Range::exact(*op, a, b).and(Range::INT64)
            }
            Node::Divide(op, operands, _) => {
                let (a, b) = both(operands)?;
                Range::divide(*op, a, b).and(Range::INT64)
            }
            Node::Binary(op @ (Binary::Min | Binary::Max), operands) => {
                let (a, b) = both(operands)?;
                if *op == Binary::Min { a.min(b) } else { a.max(b) }
            }
            Node::Unary(Unary::Number, _) => Range::UINT64,
            Node::Float(_) | Node::Text(_) | Node::Null | Node::Local(_) => return None,
            Node::Number { .. } | Node::Unary(..) | Node::Binary(..) | Node::Mixed(..) => {
                return None;
            }
            Node::Logic(..) | Node::Narrow(..) | Node::Round(..) | Node::Offset(..) => return None,
            Node::SameText(..) | Node::Output(_) | Node::OutputData(_) | Node::OutputObject(_) => {
                return None;
            }
            Node::Stream(_) | Node::OutputStream(_) => return None,
            Node::DeviceAttribute { .. } | Node::CurrentDevice | Node::Global(_) => return None,
        };
        Some(range)
    }

    fn symbol(&self, symbol: SymbolId, kind: Kind) -> Range {
        let declared = &self.function.symbols[symbol];
        let scalar = declared.value.and_then(|value| self.function.values[value].ty.scalar());
        let all = if kind == Kind::Unsigned { Range::UINT64 } else { Range::INT64 };
        let range = scalar.map_or(all, |scalar| Range::of(scalar).and(all));
        if self.extents[symbol] { range.and(Range::NATURAL) } else { range }
    }

    /// Returns a range of a number that is, or is nested in, an argument.
    fn value(&self, value: ValueId) -> Option<Range> {
        let value = &self.function.values[value];
        if value.guard.is_some() {
            return None;
        }
        if let ParamType::Scalar(scalar) = value.ty {
            return Some(Range::of(*scalar));
        }
        let ParamType::Literal(literals) = value.ty else { return None };
        let number = |literal: &Literal| match literal {
            Literal::Int(value) => Some(Range::exactly(*value)),
            Literal::Bool(_) | Literal::None | Literal::Float(_) | Literal::Str(_) => None,
        };
        let all: Vec<Range> = literals.iter().map(number).collect::<Option<_>>()?;
        all.into_iter().reduce(Range::or)
    }

    fn property(&self, value: ValueId, property: Property) -> Option<Range> {
        let value = &self.function.values[value];
        if value.guard.is_some() {
            return None;
        }
        let shape = value.ty.shape();
        match property {
            Property::Tensor(OfTensor::Extent { dim, checked: false }) => {
                let dim = shape.map_or(&[][..], Shape::dims).get(dim as usize);
                let Some(Dim::Expr(Expr::Int(extent))) = dim else { return Some(Range::NATURAL) };
                Some(Range::exactly(*extent))
            }
            Property::Tensor(OfTensor::Ndim) | Property::Several(OfSeveral::NumberCount) => {
                let least = shape.map_or(0, Shape::least_rank) as i64;
                let any = Range::NATURAL.where_holds(Comparison::Ge, least);
                Some(shape.and_then(Shape::rank).map_or(any, |rank| Range::exactly(rank as i64)))
            }
            Property::Tensor(OfTensor::Extent { .. })
            | Property::Several(OfSeveral::TextSize | OfSeveral::RestSize { .. })
            | Property::Length => Some(Range::NATURAL),
            Property::Tensor(_) | Property::Several(_) | Property::Object => None,
            Property::TypeOfDevice | Property::IndexOfDevice | Property::IsSome => None,
        }
    }
}
