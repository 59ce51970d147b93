//! Orders the checks of values.

mod binding;

use super::Located;
use super::body::Received;
use super::captured::Captured;
use super::fits::check_extent;
use super::ids::{Id, SymbolId, Table, ValueId};
use super::knowledge::{Knowledge, Known};
use super::named::Symbol;
use super::names::Names;
use super::presence::{Facts, undetermined};
use super::step::{Linear, Place, Rule, Step};
use super::term::Term;
use super::value::{Source, Value, alignment};
use crate::declaration::{Dim, Expr, ParamType, Shape, Strides, Tensor};
use crate::error::Part;
use abi_spec::Scalar;

/// An expression with several unknown symbols, compared once they are known.
struct Waiting<'a> {
    place: Place,
    expr: &'a Expr,
    term: Term,
    /// Number of its symbols that are unknown.
    unknown: usize,
}

/// Steps of a function, or of a value of the body, while they are collected.
pub(super) struct Order<'n, 'a> {
    names: &'n Names<'a>,
    pub(super) steps: Vec<Step<'a>>,
    pub(super) knowledge: Knowledge,
    /// Waiting expressions, in the order of their places; `None` for those that have been compared.
    waiting: Vec<Option<Waiting<'a>>>,
    /// Indices of the expressions that wait for a symbol.
    waits: Table<SymbolId, Vec<usize>>,
    /// First stride that mentions a symbol.
    first: Table<SymbolId, Option<(Place, Linear)>>,
    /// First stride of each optional value that mentions a symbol.
    optional: Vec<(SymbolId, Place, Linear)>,
    /// The innermost type of a union around the current value.
    within: Option<Alternative>,
    /// Symbols that types of unions bind, each with the first type that does.
    of_arms: Vec<(SymbolId, ValueId)>,
}

/// A type of a union while its checks are ordered.
struct Alternative {
    value: ValueId,
    /// State of the symbols before it. It may bind those that nothing has bound.
    before: Knowledge,
    /// Number of waiting expressions before it. They do not learn what it binds.
    waiting: usize,
}

/// The number of steps for which there is room for each value at first: those of a compact tensor of two dims, or of a
/// vector with its stride.
const STEPS: usize = 5;

impl<'n, 'a> Order<'n, 'a> {
    /// Orders the checks of the parameters, and before them the steps that unpack what a closure holds.
    pub(super) fn new(names: &'n Names<'a>, captured: &mut [Captured<'a>]) -> Located<Self> {
        let mut order = Order {
            names,
            steps: Vec::with_capacity(STEPS * names.values.len()),
            knowledge: names.symbols.values().map(initially).collect(),
            waiting: Vec::new(),
            waits: Table::like(&names.symbols, Vec::new()),
            first: Table::like(&names.symbols, None),
            optional: Vec::new(),
            within: None,
            of_arms: Vec::new(),
        };
        for one in captured {
            if let Captured::Value(value, steps) = one {
                order.value(*value)?;
                *steps = std::mem::take(&mut order.steps);
            }
        }
        let is_param =
            |value: &Value<'_>| value.is_param() && !matches!(value.source, Source::Captured(_));
        let params: Vec<ValueId> =
            names.values.keys().filter(|&id| is_param(&names.values[id])).collect();
        params.into_iter().try_for_each(|value| order.value(value))?;
        order.finish(0)?;
        Ok(order)
    }

    /// Returns the order of no checks yet, of a value of the body. It binds the symbols that it is the first to
    /// mention.
    fn received(names: &'n Names<'a>, mut knowledge: Knowledge) -> Self {
        while knowledge.len() < names.symbols.len() {
            let symbol = names.symbols.values().nth(knowledge.len());
            knowledge.push(symbol.map_or(Known::Unknown, initially));
        }
        let waits = Table::like(&names.symbols, Vec::new());
        let first = Table::like(&names.symbols, None);
        let (steps, waiting, optional, of_arms) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let within = None;
        Order { names, steps, knowledge, waiting, waits, first, optional, within, of_arms }
    }

    fn value(&mut self, value: ValueId) -> Located<()> {
        let ty: &'a ParamType = self.names.values[value].ty;
        if let ParamType::Scalar(scalar) = ty {
            self.scalar(value, *scalar);
            return Ok(());
        }
        if let ParamType::Tensor(tensor) = ty {
            return self.tensor(value, tensor);
        }
        self.steps.push(Step::Value { value });
        match ty {
            ParamType::Shape(shape) => self.dims(shape, |dim| Place::Number { value, dim }),
            ParamType::Tuple(_) => self.children(value),
            ParamType::Sequence(_, element) if element.is_any() => Ok(()),
            ParamType::Sequence(..) | ParamType::Mapping(..) => self.each(value),
            ParamType::Union(_) => self.union(value),
            ParamType::Scalar(_) | ParamType::Tensor(_) | ParamType::Leaf(_) => Ok(()),
            ParamType::Object(_) | ParamType::Optional(_) | ParamType::Literal(_) => Ok(()),
        }
    }

    fn scalar(&mut self, value: ValueId, scalar: Scalar) {
        self.steps.push(Step::Scalar { value, scalar });
        if let Some(symbol) = self.names.symbol_of_value(value) {
            let place = Place::Value { value };
            self.steps.push(Step::Occurrence { place, rule: Rule::Symbol(symbol) });
            self.know(symbol);
        }
    }

    fn children(&mut self, value: ValueId) -> Located<()> {
        let names = self.names;
        names.values[value].children.iter().try_for_each(|&child| self.value(child))
    }

    /// Orders checks that run in a loop or a branch, for values nested in `of`.
    fn inner(
        &mut self,
        of: ValueId,
        body: impl FnOnce(&mut Self) -> Located<()>,
    ) -> Located<Vec<Step<'a>>> {
        let (outer, before) = (std::mem::take(&mut self.steps), self.waiting.len());
        body(self)?;
        self.compare_within(before, |order, place| order.is_in(place, of));
        let steps = std::mem::replace(&mut self.steps, outer);
        self.check_none_waiting(before)?;
        Ok(steps)
    }

    fn each(&mut self, value: ValueId) -> Located<()> {
        let steps = self.inner(value, |order| order.children(value))?;
        self.steps.push(Step::Each { value, steps });
        Ok(())
    }

    /// Orders the checks of a union. A type that does not match leaves no trace: what it binds is known in its arm of a
    /// `match` only, and another type may bind it anew.
    fn union(&mut self, value: ValueId) -> Located<()> {
        let names = self.names;
        let mut types = Vec::new();
        for &child in &names.values[value].children {
            let (before, waiting) = (self.knowledge.clone(), self.waiting.len());
            let outer = self.within.replace(Alternative { value: child, before, waiting });
            types.push(self.inner(child, |order| {
                order.value(child)?;
                order.settle(|_| true);
                Ok(())
            })?);
            let own = std::mem::replace(&mut self.within, outer);
            self.leave_alternative(own)?;
        }
        self.steps.push(Step::OneOf { value, types });
        Ok(())
    }

    fn tensor(&mut self, value: ValueId, tensor: &'a Tensor) -> Located<()> {
        self.steps.push(Step::Header { value, tensor, device: true });
        self.dims(&tensor.shape, |dim| Place::Extent { value, dim })?;
        if tensor.checks_fold() {
            self.steps.push(Step::Folded { value });
        }
        match &tensor.strides {
            Strides::Contiguous => self.steps.push(Step::Compact { value }),
            Strides::Any => {}
            Strides::List(list) => {
                for (dim, stride) in list.iter().enumerate() {
                    self.dim(Place::Stride { value, dim }, stride)?;
                }
                self.settle(|symbol| symbol.is_alone());
            }
        }
        self.steps.push(Step::Data { value, align: alignment(&self.names.values, value) });
        Ok(())
    }

    fn dims(&mut self, shape: &'a Shape, place: impl Fn(usize) -> Place) -> Located<()> {
        shape.dims().iter().enumerate().try_for_each(|(dim, extent)| self.dim(place(dim), extent))
    }

    /// Returns true if a place belongs to a value or to one nested in it.
    fn is_in(&self, place: Place, value: ValueId) -> bool {
        let parent = |&at: &ValueId| self.names.values[at].source.parent();
        std::iter::successors(Some(place.value()), parent).any(|at| at == value)
    }

    /// Returns true if a place is in a loop or a union.
    fn is_dynamic(&self, place: Place) -> bool {
        self.names.values[place.value()].dynamic
    }

    fn dim(&mut self, place: Place, dim: &'a Dim) -> Located<()> {
        let at = |reason| (place.part(), reason);
        let Some(expr) = dim.expr() else {
            self.steps.push(Step::Occurrence { place, rule: Rule::Any });
            return Ok(());
        };
        let term = self.names.dim(expr).map_err(at)?;
        if let Place::Extent { .. } = place {
            check_extent(&term).map_err(at)?;
        }
        let (rule, bound) = self.rule(expr, &term);
        if let Rule::Any = rule {
            self.wait(place, expr, term);
        }
        self.steps.push(Step::Occurrence { place, rule });
        if let Some((symbol, linear)) = bound {
            self.bind(place, symbol, linear);
        }
        Ok(())
    }
}

/// Adds a value of the body, called `path` in errors, and orders the checks of its type. Only symbols that `facts`
/// bind may be compared.
pub(super) fn receive<'a>(
    names: &mut Names<'a>,
    knowledge: &mut Knowledge,
    facts: &Facts,
    path: String,
    ty: &'a ParamType,
) -> Located<Received<'a>> {
    let value = names.add_value(path, ty)?;
    received(names, knowledge, Some(facts), value)
}

/// Adds a value that another value contains or is, and orders the checks of its type.
pub(super) fn receive_part<'a>(
    names: &mut Names<'a>,
    knowledge: &mut Knowledge,
    (of, path): (ValueId, String),
    ty: &'a ParamType,
    source: Source,
) -> Located<Received<'a>> {
    let value = names.add_part(of, path, ty, source)?;
    received(names, knowledge, None, value)
}

/// Returns the state of a symbol before any occurrence.
fn initially(symbol: &Symbol<'_>) -> Known {
    if symbol.local.is_some() { Known::Always } else { Known::Unknown }
}

/// Orders the checks of a value of the body. With `facts`, only the symbols that they bind may be compared; without,
/// the value binds those that only optional values determine.
fn received<'a>(
    names: &Names<'a>,
    knowledge: &mut Knowledge,
    facts: Option<&Facts>,
    value: ValueId,
) -> Located<Received<'a>> {
    let is_within = |known: &Known| facts.is_some() && matches!(known, Known::Within { .. });
    let within: Vec<(SymbolId, Known)> = knowledge
        .iter()
        .filter(|(_, known)| is_within(known))
        .map(|(symbol, known)| (symbol, known.clone()))
        .collect();
    within.iter().for_each(|(symbol, _)| knowledge[*symbol] = Known::Always);
    let mut before = Table::like(&names.symbols, false);
    knowledge.iter().for_each(|(symbol, known)| before[symbol] = *known == Known::Always);
    let mut order = Order::received(names, std::mem::take(knowledge));
    let ordered = order.value(value).and_then(|()| order.finish(value.index()));
    let Order { steps, knowledge: after, .. } = order;
    // Symbols that were known stay so for the statements after one with a fault.
    *knowledge = after;
    within.iter().for_each(|(symbol, state)| knowledge[*symbol] = state.clone());
    ordered?;
    let mut known = Vec::new();
    let mut mention = |symbol: SymbolId| {
        let local = names.symbols[symbol].local.is_some();
        if (before[symbol] || local) && !known.contains(&symbol) {
            known.push(symbol);
        }
    };
    Step::visit_all(&steps, &mut |step| step.visit_symbols(&mut mention));
    for (symbol, state) in within {
        let is_bound = facts.is_none_or(|facts| facts.bind(names, &state));
        if known.contains(&symbol) && !is_bound {
            return Err((Part::Type(value.index()), undetermined(names, symbol, &state)));
        }
    }
    Ok(Received { value, steps, known })
}
