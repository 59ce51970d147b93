//! Orders the checks of values, and decides which occurrence of a symbol binds it.

use abi_spec::Scalar;
use rustc_hash::FxHashSet;

use super::Located;
use super::closure::Captured;
use super::function::{Received, Symbol};
use super::ids::{Id, SymbolId, Table, ValueId};
use super::linear::linear;
use super::names::Names;
use super::presence::{Facts, undetermined};
use super::step::{Linear, Place, Rule, Step};
use super::term::{Node, Term};
use super::value::{Source, Value, alignment};
use crate::declaration::{Dim, Expr, ParamType, Shape, Strides, Tensor};
use crate::error::Part;

/// State of every symbol.
pub(super) type Knowledge = Table<SymbolId, Known>;

/// State of a symbol after the occurrences so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Unknown,
    /// Only a stride binds it, and strides are compared only where the tensor has them and the extent is above 1. If
    /// none is compared, [`Step::BindCompact`] binds it.
    Maybe,
    /// Occurrences in values that may be absent bind it, first in parameter `param`. Each of `values` is optional and
    /// determines it where it is there.
    Within {
        param: usize,
        values: Vec<ValueId>,
    },
    /// Every call binds it.
    Always,
    /// Only types of unions bind it, each for itself: arms of a `match` know it.
    Arms,
}

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

impl<'n, 'a> Order<'n, 'a> {
    /// Orders the checks of the parameters, and before them the steps that unpack what a closure holds.
    pub(super) fn new(names: &'n Names<'a>, captured: &mut [Captured<'a>]) -> Located<Self> {
        let mut order = Order {
            names,
            steps: Vec::with_capacity(4 * names.values.len() + 4),
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

    /// Orders the checks of a value of the body. It binds the symbols that it is the first to mention.
    fn received(names: &'n Names<'a>, mut knowledge: Knowledge, value: ValueId) -> Located<Self> {
        while knowledge.len() < names.symbols.len() {
            let symbol = names.symbols.values().nth(knowledge.len());
            knowledge.push(symbol.map_or(Known::Unknown, initially));
        }
        let waits = Table::like(&names.symbols, Vec::new());
        let first = Table::like(&names.symbols, None);
        let (steps, waiting, optional, of_arms) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let within = None;
        let mut order =
            Order { names, steps, knowledge, waiting, waits, first, optional, within, of_arms };
        order.value(value)?;
        order.finish(value.index())?;
        Ok(order)
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
                order.settle();
                Ok(())
            })?);
            let own = std::mem::replace(&mut self.within, outer);
            self.leave_alternative(own)?;
        }
        self.steps.push(Step::OneOf { value, types });
        Ok(())
    }

    /// Forgets what a type of a union has bound.
    fn leave_alternative(&mut self, left: Option<Alternative>) -> Located<()> {
        let Some(Alternative { value, before, .. }) = left else { return Ok(()) };
        for (symbol, known) in before.iter() {
            if *known == self.knowledge[symbol] {
                continue;
            }
            if self.waits[symbol].iter().any(|&index| self.waiting[index].is_some()) {
                return Err(self.undetermined(symbol, value));
            }
            self.knowledge[symbol] = Known::Arms;
            self.of_arms.push((symbol, value));
        }
        Ok(())
    }

    /// Returns the error for a symbol that is needed where no type of a union binds it.
    fn undetermined(&self, symbol: SymbolId, of: ValueId) -> (Part, String) {
        let name = self.names.symbols[symbol].name;
        let reason = format!("a union cannot determine the symbol `{name}`");
        (Part::Type(of.index()), reason)
    }

    /// Checks that no expression in a loop or a union waits for symbols that are bound after it.
    fn check_none_waiting(&self, before: usize) -> Located<()> {
        match self.waiting[before..].iter().flatten().next() {
            Some(Waiting { place, expr, .. }) => {
                Err((place.part(), format!("not all symbols of `{expr}` are known here")))
            }
            None => Ok(()),
        }
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
            }
        }
        self.steps.push(Step::Data { value, align: alignment(&self.names.values, value) });
        Ok(())
    }

    fn dims(&mut self, shape: &'a Shape, place: impl Fn(usize) -> Place) -> Located<()> {
        shape.dims().iter().enumerate().try_for_each(|(dim, extent)| self.dim(place(dim), extent))
    }

    /// Returns true if the value of a place may be absent, or is one of many.
    fn is_within(&self, place: Place) -> bool {
        let Some(Alternative { value: outermost, .. }) = &self.within else {
            return self.names.values[place.value()].guard.is_some() || self.is_dynamic(place);
        };
        let values = &self.names.values;
        let around = std::iter::successors(Some(place.value()), |&at| values[at].source.parent());
        let mut inside = around.take_while(|at| at != outermost);
        inside.any(|at| values[at].optional || values[at].source.is_loop())
    }

    /// Returns true if the current type of a union may bind a symbol, or there is no such type.
    fn may_bind(&self, symbol: SymbolId) -> bool {
        self.within.as_ref().is_none_or(|Alternative { before, .. }| {
            matches!(before[symbol], Known::Unknown | Known::Arms)
        })
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

    /// Returns true if a place belongs to a type of a union.
    fn is_in_union(&self, place: Place) -> bool {
        let values = &self.names.values;
        let mut around =
            std::iter::successors(Some(place.value()), |&at| values[at].source.parent());
        around.any(|at| matches!(values[at].source, Source::Alternative { .. }))
    }

    fn dim(&mut self, place: Place, dim: &'a Dim) -> Located<()> {
        let at = |reason| (place.part(), reason);
        let Some(expr) = dim.expr() else {
            self.steps.push(Step::Occurrence { place, rule: Rule::Any });
            return Ok(());
        };
        let term = self.names.dim(expr).map_err(at)?;
        if let Place::Extent { .. } = place
            && let Some(extent @ ..=-1) = term.constant()
        {
            return Err(at(format!("an extent is never negative, as {extent} is")));
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

    /// Returns the rule for an expression at this point, and the symbol that it binds.
    fn rule(&self, expr: &Expr, term: &Term) -> (Rule, Option<(SymbolId, Linear)>) {
        let unknown = self.symbols(term, |knowledge| *knowledge != Known::Always);
        match (&term.node, &unknown[..]) {
            (Node::Symbol(symbol), &[]) => (Rule::Symbol(*symbol), None),
            (Node::Symbol(symbol), _) => {
                (Rule::Symbol(*symbol), Some((*symbol, Linear::identity())))
            }
            (_, []) => (equal(expr, term.clone(), Vec::new()), None),
            (_, &[symbol]) => match linear(term, symbol) {
                Some(linear) => {
                    let text = expr.to_string();
                    let rule = Rule::Solve { symbol, text, linear: linear.clone() };
                    (rule, Some((symbol, linear)))
                }
                None => (Rule::Any, None),
            },
            _ => (Rule::Any, None),
        }
    }

    /// Records that a place binds a symbol.
    fn bind(&mut self, place: Place, symbol: SymbolId, linear: Linear) {
        if !self.may_bind(symbol) {
            return;
        }
        if self.is_within(place) {
            return self.bind_within(place, symbol, linear);
        }
        match place {
            Place::Stride { .. } => {
                self.knowledge[symbol] = Known::Maybe;
                self.first[symbol].get_or_insert((place, linear));
            }
            Place::Extent { .. } | Place::Value { .. } | Place::Number { .. } => self.know(symbol),
        }
    }

    /// Records that a place binds a symbol where its value is there.
    fn bind_within(&mut self, place: Place, symbol: SymbolId, linear: Linear) {
        let value = &self.names.values[place.value()];
        if matches!(self.knowledge[symbol], Known::Unknown | Known::Arms) {
            self.knowledge[symbol] = Known::Within { param: value.param, values: Vec::new() };
        }
        let Some(guard) = value.guard.filter(|_| !value.dynamic) else { return };
        if let Place::Stride { .. } = place {
            self.optional.push((symbol, place, linear));
        } else if let Known::Within { values, .. } = &mut self.knowledge[symbol]
            && !values.contains(&guard)
        {
            values.push(guard);
        }
    }

    /// Binds the symbols that only strides mention, and checks that every symbol is bound. `first` is the index of
    /// the first of the values.
    fn finish(&mut self, first: usize) -> Located<()> {
        self.settle();
        self.bind_optional_strides();
        self.compare_within(0, |_, _| true);
        let is_bound = |&&(symbol, _): &&(SymbolId, _)| self.knowledge[symbol] != Known::Arms;
        if let Some(&(symbol, of)) = self.of_arms.iter().find(is_bound) {
            return Err(self.undetermined(symbol, of));
        }
        let unknown = self.knowledge.find(|known| *known == Known::Unknown);
        if let Some(symbol) = unknown {
            let symbol = &self.names.symbols[symbol];
            return Err((symbol.part, format!("nothing determines the symbol `{}`", symbol.name)));
        }
        self.check_outside_of_unions(first)
    }

    /// Binds the symbols that only strides mention.
    fn settle(&mut self) {
        for symbol in self.names.symbols.keys() {
            if self.knowledge[symbol] == Known::Maybe
                && self.may_bind(symbol)
                && let Some((place, linear)) = self.first[symbol].take()
            {
                self.steps.push(Step::BindCompact { symbol, place, linear });
                self.know(symbol);
            }
        }
    }

    /// Binds the symbols that only strides of an optional value mention, where the value is there. Does so only for
    /// symbols that something uses: comparisons need no compact stride.
    fn bind_optional_strides(&mut self) {
        for (symbol, place, linear) in std::mem::take(&mut self.optional) {
            let guard = self.names.values[place.value()].guard;
            if let (Known::Within { values, .. }, Some(guard)) =
                (&mut self.knowledge[symbol], guard)
                && !values.contains(&guard)
            {
                values.push(guard);
                if self.names.is_used(symbol) {
                    self.steps.push(Step::BindCompact { symbol, place, linear });
                }
            }
        }
    }

    /// Checks that no expression outside of unions uses a symbol that only types of unions bind.
    fn check_outside_of_unions(&self, first: usize) -> Located<()> {
        for (value, declared) in self.names.values.iter().skip(first) {
            let shape = declared.ty.shape().map_or(&[][..], Shape::dims);
            self.check_dims(shape, |dim| Place::Extent { value, dim })?;
            let strides = declared.ty.tensor().map_or(&[][..], |tensor| tensor.strides.dims());
            self.check_dims(strides, |dim| Place::Stride { value, dim })?;
        }
        Ok(())
    }

    fn check_dims(&self, dims: &[Dim], place: impl Fn(usize) -> Place) -> Located<()> {
        for (index, dim) in dims.iter().enumerate() {
            let place = place(index);
            let Some(expr) = dim.expr().filter(|_| !self.is_in_union(place)) else { continue };
            let at = |reason| (place.part(), reason);
            let term = self.names.dim(expr).map_err(at)?;
            if let Some(&symbol) = self.symbols(&term, |known| *known == Known::Arms).first() {
                return Err(at(undetermined(self.names, symbol, &Known::Arms)));
            }
        }
        Ok(())
    }

    /// Queues an expression until its symbols are known.
    fn wait(&mut self, place: Place, expr: &'a Expr, term: Term) {
        let unknown = self.symbols(&term, |knowledge| *knowledge != Known::Always);
        unknown.iter().for_each(|&symbol| self.waits[symbol].push(self.waiting.len()));
        self.waiting.push(Some(Waiting { place, expr, term, unknown: unknown.len() }));
    }

    /// Marks a symbol as known, and compares the expressions of which it was the last unknown symbol.
    fn know(&mut self, symbol: SymbolId) {
        if self.knowledge[symbol] == Known::Always {
            return;
        }
        self.knowledge[symbol] = Known::Always;
        let first = self.within.as_ref().map_or(0, |alternative| alternative.waiting);
        let ready = self.waits[symbol].extract_if(.., |index| *index >= first).collect::<Vec<_>>();
        for index in ready {
            let waiting = self.waiting[index].as_mut();
            let ready = waiting.is_some_and(|waiting| {
                waiting.unknown -= 1;
                waiting.unknown == 0
            });
            if ready {
                self.compare(index);
            }
        }
    }

    /// Compares waiting expressions, from index `from` on, of whose symbols each has an occurrence that binds it, be it
    /// in every call or only where a value is there. `wanted` selects among the places that may be absent.
    fn compare_within(&mut self, from: usize, wanted: impl Fn(&Self, Place) -> bool) {
        for index in from..self.waiting.len() {
            let Some(Waiting { place, term, .. }) = &self.waiting[index] else { continue };
            let unbound =
                |known: &Known| matches!(known, Known::Unknown | Known::Maybe | Known::Arms);
            let unknown = self.symbols(term, unbound);
            if wanted(self, *place) && unknown.is_empty() {
                self.compare(index);
            }
        }
    }

    fn compare(&mut self, index: usize) {
        if let Some(Waiting { place, expr, term, .. }) = self.waiting[index].take() {
            let uncertain = self.symbols(&term, |known| matches!(known, Known::Within { .. }));
            self.steps.push(Step::Occurrence { place, rule: equal(expr, term, uncertain) });
        }
    }

    /// Returns the symbols of a term whose state satisfies a predicate, each once, in order.
    fn symbols(&self, term: &Term, wanted: impl Fn(&Known) -> bool) -> Vec<SymbolId> {
        /// Number of symbols up to which a linear search is used instead of a set.
        const FEW: usize = 16;
        let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
        term.visit_symbols(&mut |symbol| {
            if !wanted(&self.knowledge[symbol]) {
                return;
            }
            if found.len() == FEW {
                seen.extend(found.iter().copied());
            }
            let few = found.len() < FEW;
            let is_new = if few { !found.contains(&symbol) } else { seen.insert(symbol) };
            found.extend(is_new.then_some(symbol));
        });
        found
    }
}

/// Builds the rule for equality with a term. A constant needs no text.
fn equal(expr: &Expr, term: Term, uncertain: Vec<SymbolId>) -> Rule {
    let text = if term.constant().is_some() { String::new() } else { expr.to_string() };
    Rule::Equal { term, text, uncertain }
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

/// Orders the checks of a value of the body. With `facts`, only the symbols that they bind may be compared; without, the
/// value binds those that only optional values determine.
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
    let order = Order::received(names, std::mem::take(knowledge), value)?;
    let Order { steps, knowledge: after, .. } = order;
    *knowledge = after;
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
        knowledge[symbol] = state;
    }
    Ok(Received { value, steps, known })
}
