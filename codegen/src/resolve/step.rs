//! Checks and bindings of values.

use abi_spec::Scalar;

use super::ids::{Id, SymbolId, Table, ValueId};
use super::term::{Kind, Node, Quote, Term};
use super::value::{Value, printable};
use crate::declaration::Tensor;
use crate::error::Part;

/// A check or binding. It does not apply if its value is absent, because the value or one that contains it is None.
#[derive(Clone, Debug)]
pub(crate) enum Step<'a> {
    /// Checks type and range of a scalar.
    Scalar { value: ValueId, scalar: Scalar },
    /// Checks type, address, rank, element type and, if `device`, device of a tensor, and the address of its extents.
    /// If only the last dims are declared, also that the leading extents are not negative, and that their product fits
    /// `int64` if it is declared.
    Header { value: ValueId, tensor: &'a Tensor, device: bool },
    /// Checks the type of any other value, and everything about the value alone.
    Value { value: ValueId },
    /// Compares an extent, a stride, a number of a shape, or an integer parameter that is a symbol.
    Occurrence { place: Place, rule: Rule },
    /// Checks that the leading dims of a tensor are one dim in memory.
    Folded { value: ValueId },
    /// Checks that the strides are compact.
    Compact { value: ValueId },
    /// Checks address and alignment of the elements.
    Data { value: ValueId, align: u64 },
    /// Binds a symbol that only strides mention to the compact stride at its first place, if no stride has bound it.
    BindCompact { symbol: SymbolId, place: Place, linear: Linear },
    /// Runs steps for each element of a sequence, or each key and value of a mapping.
    Each { value: ValueId, steps: Vec<Step<'a>> },
    /// Runs the steps of one type of a union after the other, until all steps of a type succeed.
    OneOf { value: ValueId, types: Vec<Vec<Step<'a>>> },
    /// Checks a constraint.
    Require(Condition<'a>),
}

/// The part of a declaration that code is for: of a value, or of the function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topic {
    /// The value; `None` for a part of the function.
    pub(crate) value: Option<ValueId>,
    /// The part in a word; empty for the value itself.
    pub(crate) part: &'static str,
    /// The dim, or the number of the statement or the constraint.
    pub(crate) index: Option<usize>,
}

impl Topic {
    /// The call that is the whole body.
    pub(crate) const BODY: Topic = Topic { value: None, part: "body", index: None };

    /// The end of a body without `return`.
    pub(crate) const RETURN: Topic = Topic { value: None, part: "return", index: None };

    /// Returns a statement, by its number in the body, nested ones counted.
    pub(crate) fn statement(number: usize) -> Topic {
        Topic { value: None, part: "statement", index: Some(number) }
    }

    /// Returns a constraint, by its number in the signature.
    pub(crate) fn constraint(number: usize) -> Topic {
        Topic { value: None, part: "where", index: Some(number) }
    }

    /// Returns a value itself.
    pub(crate) fn value(value: ValueId) -> Topic {
        Topic::of(value, "")
    }

    /// Returns the strides of a tensor as a whole.
    pub(crate) fn strides(value: ValueId) -> Topic {
        Topic::of(value, "strides")
    }

    fn of(value: ValueId, part: &'static str) -> Topic {
        Topic { value: Some(value), part, index: None }
    }

    /// Returns the name of the topic, which is unique in its function: `x.shape0`, `statement2`.
    pub(crate) fn name(self, values: &Table<ValueId, Value<'_>>) -> String {
        let path = self.value.map(|value| printable(&values[value].path));
        let path = path.map(|path| if self.part.is_empty() { path } else { path + "." });
        path.unwrap_or_default() + &self.name_in_function()
    }

    /// Returns the name of a topic that is no part of a value.
    pub(crate) fn name_in_function(self) -> String {
        let index = self.index.map(|index| index.to_string());
        self.part.to_owned() + &index.unwrap_or_default()
    }
}

/// A resolved constraint.
#[derive(Clone, Debug)]
pub(crate) struct Condition<'a> {
    /// Number of the constraint in the signature.
    pub(crate) number: usize,
    /// Message of the error; `None` for the text of the condition.
    pub(crate) message: Option<&'a str>,
    /// Term that yields 1 if the condition holds, else 0.
    pub(crate) test: Term,
    /// Text of the condition, and the terms that it depends on.
    pub(crate) quote: Quote,
}

impl<'a> Step<'a> {
    /// Calls `visit` with every step, nested ones included, outer ones first.
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
            Step::Folded { .. } | Step::Compact { .. } | Step::Data { .. } => {}
            Step::Each { .. } | Step::OneOf { .. } => {}
        }
    }

    /// Returns what the step is about, without nested steps.
    pub(crate) fn topic(&self) -> Topic {
        match self {
            Step::Scalar { value, .. } | Step::Header { value, .. } | Step::Value { value } => {
                Topic::of(*value, "")
            }
            Step::Occurrence { place, .. } | Step::BindCompact { place, .. } => place.topic(),
            Step::Folded { value } => Topic::of(*value, "folded"),
            Step::Compact { value } => Topic::strides(*value),
            Step::Data { value, .. } => Topic::of(*value, "data"),
            Step::Each { value, .. } => Topic::of(*value, "each"),
            Step::OneOf { value, .. } => Topic::of(*value, "types"),
            Step::Require(condition) => Topic::constraint(condition.number),
        }
    }

    /// Returns the value that the step is about, if it is the first step about it.
    pub(crate) fn opens(&self) -> Option<ValueId> {
        if let Step::Scalar { value, .. } | Step::Header { value, .. } | Step::Value { value } =
            self
        {
            return Some(*value);
        }
        None
    }
}

/// A place where a symbol may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An integer parameter.
    Value { value: ValueId },
    /// `value.shape[dim]` of a tensor.
    Extent { value: ValueId, dim: usize },
    /// `value.strides[dim]` of a tensor.
    Stride { value: ValueId, dim: usize },
    /// `value[dim]` of a shape.
    Number { value: ValueId, dim: usize },
}

impl Place {
    /// Returns the value that the place belongs to.
    pub(crate) fn value(self) -> ValueId {
        match self {
            Place::Value { value }
            | Place::Extent { value, .. }
            | Place::Stride { value, .. }
            | Place::Number { value, .. } => value,
        }
    }

    /// Returns the place as a topic.
    pub(crate) fn topic(self) -> Topic {
        let (part, index) = match self {
            Place::Value { .. } => ("", None),
            Place::Extent { dim, .. } => ("shape", Some(dim)),
            Place::Stride { dim, .. } => ("strides", Some(dim)),
            Place::Number { dim, .. } => ("number", Some(dim)),
        };
        Topic { value: Some(self.value()), part, index }
    }

    /// Returns true if every call has a number here, and compares it. A stride may be ignored, an optional value
    /// absent, a sequence empty.
    pub(crate) fn always_counts(self, values: &Table<ValueId, Value<'_>>) -> bool {
        let value = &values[self.value()];
        !matches!(self, Place::Stride { .. }) && value.guard.is_none() && !value.dynamic
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

/// Rule for the number at a place.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    /// Any number that the rules for all extents allow.
    Any,
    /// The number equals a symbol, or binds it if no earlier occurrence has.
    Symbol(SymbolId),
    /// The number equals a term. The symbols in `uncertain` are bound only if an optional value exists; the rule does
    /// not apply if one of them is unbound.
    Equal { term: Term, text: String, uncertain: Vec<SymbolId> },
    /// The number equals an expression that is linear in `symbol`, or binds it if no earlier occurrence has.
    Solve { symbol: SymbolId, text: String, linear: Linear },
}

impl Rule {
    /// Calls `visit` with every symbol of the rule, some more than once.
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

/// A linear function `coefficient * symbol + constant` modulo 2^64; neither term mentions the symbol.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Linear {
    /// Coefficient, not the literal 0.
    pub(crate) coefficient: Term,
    pub(crate) constant: Term,
    /// The expression itself, each step of which must be an `int64`.
    pub(crate) term: Term,
    /// The text of the expression; empty for the symbol itself.
    pub(crate) text: String,
}

impl Linear {
    fn visit_symbols(&self, visit: &mut impl FnMut(SymbolId)) {
        self.coefficient.visit_symbols(visit);
        self.constant.visit_symbols(visit);
    }

    /// Returns the symbol itself.
    pub(crate) fn identity(symbol: SymbolId) -> Linear {
        let term = Term::new(Kind::Int, Node::Symbol(symbol));
        Linear { coefficient: Term::int(1), constant: Term::int(0), term, text: String::new() }
    }

    /// Returns true for the symbol itself.
    pub(crate) fn is_identity(&self) -> bool {
        matches!(self.term.node, Node::Symbol(_))
    }

    /// Returns true if the expression mentions the symbol once.
    pub(crate) fn is_once(&self, symbol: SymbolId) -> bool {
        let mut count = 0;
        self.term.visit_symbols(&mut |one| count += u32::from(one == symbol));
        count == 1
    }
}
