//! The checks and bindings that a signature means.

use abi_spec::Scalar;

use super::ids::{Id, SymbolId, ValueId};
use super::term::{Quote, Term};
use crate::declaration::Tensor;
use crate::error::Part;

/// One check or binding. A step about a value that is absent, because it or what contains it is None, does
/// not apply.
#[derive(Clone, Debug)]
pub(crate) enum Step<'a> {
    /// Type and range of a scalar.
    Scalar { value: ValueId, scalar: Scalar },
    /// Type, NULL, ndim, dtype and, if `device`, device of a tensor, the pointer to its extents, and,
    /// where the rank is free, their signs.
    Header { value: ValueId, tensor: &'a Tensor, device: bool },
    /// The type of any other value, and all else that concerns it alone.
    Value { value: ValueId },
    /// One extent, stride, number of a shape, or integer parameter that is an occurrence of a symbol.
    Occurrence { place: Place, rule: Rule },
    /// The strides are compact.
    Compact { value: ValueId },
    /// Data pointer and alignment.
    Data { value: ValueId, align: u64 },
    /// A symbol that only strides mention, none of which counted, takes its compact value.
    BindCompact { symbol: SymbolId, place: Place, linear: Linear },
    /// Steps for each element of a sequence, or each key and value of a mapping.
    Each { value: ValueId, steps: Vec<Step<'a>> },
    /// Steps for each type of a union, all of which must hold for one of them.
    OneOf { value: ValueId, types: Vec<Vec<Step<'a>>> },
    /// A constraint holds.
    Require(Condition<'a>),
}

/// What a `where` clause requires.
#[derive(Clone, Debug)]
pub(crate) struct Condition<'a> {
    /// What the error says; `None` for the comparison itself.
    pub(crate) message: Option<&'a str>,
    /// Yields 1 if it holds, else 0.
    pub(crate) test: Term,
    /// The comparison as it is written, and what it depends on.
    pub(crate) quote: Quote,
}

impl<'a> Step<'a> {
    /// Shows steps to `visit`, those within others too.
    pub(crate) fn visit_all(steps: &[Step<'a>], visit: &mut impl FnMut(&Step<'a>)) {
        for step in steps {
            visit(step);
            if let Step::Each { steps, .. } = step {
                Step::visit_all(steps, visit);
            } else if let Step::OneOf { types, .. } = step {
                types.iter().for_each(|steps| Step::visit_all(steps, visit));
            }
        }
    }

    /// Calls `visit` with every symbol that this step mentions, without those of nested steps.
    pub(super) fn visit_symbols(&self, visit: &mut impl FnMut(SymbolId)) {
        match self {
            Step::Occurrence { rule, .. } => rule.visit_symbols(visit),
            Step::BindCompact { symbol, linear, .. } => {
                visit(*symbol);
                linear.visit_symbols(visit);
            }
            Step::Require(condition) => condition.test.visit_symbols(visit),
            Step::Scalar { .. } | Step::Header { .. } | Step::Value { .. } => {}
            Step::Compact { .. } | Step::Data { .. } => {}
            Step::Each { .. } | Step::OneOf { .. } => {}
        }
    }

    /// The value that it is about, if it is the first step about it.
    pub(crate) fn opens(&self) -> Option<ValueId> {
        if let Step::Scalar { value, .. } | Step::Header { value, .. } | Step::Value { value } =
            self
        {
            return Some(*value);
        }
        None
    }
}

/// Where a symbol may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An integer parameter.
    Value { value: ValueId },
    /// `value.shape[dim]` of a tensor.
    Extent { value: ValueId, dim: usize },
    /// `value.strides[dim]`
    Stride { value: ValueId, dim: usize },
    /// `value[dim]` of a shape.
    Number { value: ValueId, dim: usize },
}

impl Place {
    /// The value that the place belongs to.
    pub(crate) fn value(self) -> ValueId {
        match self {
            Place::Value { value }
            | Place::Extent { value, .. }
            | Place::Stride { value, .. }
            | Place::Number { value, .. } => value,
        }
    }

    pub(super) fn part(self) -> Part {
        match self {
            Place::Value { value } => Part::Type(value.index()),
            Place::Extent { value, dim } | Place::Number { value, dim } => {
                Part::Dim(value.index(), dim)
            }
            Place::Stride { value, dim } => Part::Stride(value.index(), dim),
        }
    }
}

/// What is required of the number at a place.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    /// Nothing, beyond what every extent must satisfy.
    Any,
    /// Equal to a symbol, which it determines unless an earlier occurrence has done so.
    Symbol(SymbolId),
    /// Equal to a term whose symbols are all known, but for these, which are known if something
    /// optional is there: where one is not, nothing is required.
    Equal { term: Term, text: String, uncertain: Vec<SymbolId> },
    /// Equal to an expression, linear in a symbol that it determines unless an earlier occurrence has.
    Solve { symbol: SymbolId, text: String, linear: Linear },
}

impl Rule {
    /// Shows every symbol that it mentions to `visit`, some more than once.
    pub(crate) fn visit_symbols(&self, visit: &mut impl FnMut(SymbolId)) {
        match self {
            Rule::Any => {}
            Rule::Symbol(symbol) => visit(*symbol),
            Rule::Equal { term, uncertain, .. } => {
                term.visit_symbols(visit);
                uncertain.iter().for_each(|&symbol| visit(symbol));
            }
            Rule::Solve { symbol, linear, .. } => {
                visit(*symbol);
                linear.visit_symbols(visit);
            }
        }
    }
}

/// `coefficient * symbol + constant`; neither part mentions the symbol.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Linear {
    /// Not the literal 0.
    pub(crate) coefficient: Term,
    /// What is added.
    pub(crate) constant: Term,
}

impl Linear {
    fn visit_symbols(&self, visit: &mut impl FnMut(SymbolId)) {
        self.coefficient.visit_symbols(visit);
        self.constant.visit_symbols(visit);
    }

    /// The symbol itself.
    pub(crate) fn identity() -> Linear {
        Linear { coefficient: Term::int(1), constant: Term::int(0) }
    }

    /// True if the expression is the symbol itself.
    pub(crate) fn is_identity(&self) -> bool {
        *self == Linear::identity()
    }
}
