//! Decides which occurrence of a symbol binds it, and when expressions over symbols are compared.

use rustc_hash::FxHashSet;

use super::{Alternative, Order, Waiting};
use crate::declaration::{Dim, Expr, Shape};
use crate::error::Part;
use crate::resolve::Located;
use crate::resolve::ids::{Id, SymbolId, ValueId};
use crate::resolve::knowledge::Known;
use crate::resolve::linear::linear;
use crate::resolve::named::Symbol;
use crate::resolve::presence::undetermined;
use crate::resolve::step::{Linear, Place, Rule, Step};
use crate::resolve::term::{Node, Term};
use crate::resolve::value::Source;

impl<'a> Order<'_, 'a> {
    /// Forgets what a type of a union has bound.
    pub(super) fn leave_alternative(&mut self, left: Option<Alternative>) -> Located<()> {
        let Some(Alternative { value, before, .. }) = left else { return Ok(()) };
        for (symbol, known) in before.iter() {
            if *known == self.knowledge[symbol] {
                continue;
            }
            if self.is_awaited(symbol) {
                return Err(self.undetermined(symbol, value));
            }
            self.knowledge[symbol] = Known::Arms;
            self.of_arms.push((symbol, value));
        }
        Ok(())
    }

    /// Returns the error for a symbol that is needed where no type of a union binds it.
    pub(super) fn undetermined(&self, symbol: SymbolId, of: ValueId) -> (Part, String) {
        let name = self.names.symbols[symbol].name;
        let reason = format!("a union cannot determine the symbol `{name}`");
        (Part::Type(of.index()), reason)
    }

    /// Checks that no expression in a loop or a union waits for symbols that are bound after it.
    pub(super) fn check_none_waiting(&self, before: usize) -> Located<()> {
        match self.waiting[before..].iter().flatten().next() {
            Some(Waiting { place, expr, .. }) => {
                Err((place.part(), format!("not all symbols of `{expr}` are known here")))
            }
            None => Ok(()),
        }
    }

    /// Returns true if the value of a place may be absent, or is one of many.
    pub(super) fn is_within(&self, place: Place) -> bool {
        let Some(Alternative { value: outermost, .. }) = &self.within else {
            return self.names.values[place.value()].guard.is_some() || self.is_dynamic(place);
        };
        let values = &self.names.values;
        let around = std::iter::successors(Some(place.value()), |&at| values[at].source.parent());
        let mut inside = around.take_while(|at| at != outermost);
        inside.any(|at| values[at].optional || values[at].source.is_loop())
    }

    /// Returns true if the current type of a union may bind a symbol, or there is no such type.
    pub(super) fn may_bind(&self, symbol: SymbolId) -> bool {
        self.within.as_ref().is_none_or(|Alternative { before, .. }| {
            matches!(before[symbol], Known::Unknown | Known::Arms)
        })
    }

    /// Returns true if a place belongs to a type of a union.
    pub(super) fn is_in_union(&self, place: Place) -> bool {
        let values = &self.names.values;
        let mut around =
            std::iter::successors(Some(place.value()), |&at| values[at].source.parent());
        around.any(|at| matches!(values[at].source, Source::Alternative { .. }))
    }

    /// Returns the rule for an expression at this point, and the symbol that it binds.
    pub(super) fn rule(&self, expr: &Expr, term: &Term) -> (Rule, Option<(SymbolId, Linear)>) {
        let unknown = self.symbols(term, |knowledge| *knowledge != Known::Always);
        match (&term.node, &unknown[..]) {
            (Node::Symbol(symbol), &[]) => (Rule::Symbol(*symbol), None),
            (Node::Symbol(symbol), _) => {
                (Rule::Symbol(*symbol), Some((*symbol, Linear::identity(*symbol))))
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
    pub(super) fn bind(&mut self, place: Place, symbol: SymbolId, linear: Linear) {
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
    pub(super) fn bind_within(&mut self, place: Place, symbol: SymbolId, linear: Linear) {
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
    pub(super) fn finish(&mut self, first: usize) -> Located<()> {
        self.settle(|_| true);
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

    /// Binds the symbols that only strides mention, among those that are wanted.
    pub(super) fn settle(&mut self, wanted: impl Fn(&Symbol<'_>) -> bool) {
        for symbol in self.names.symbols.keys() {
            if wanted(&self.names.symbols[symbol])
                && self.knowledge[symbol] == Known::Maybe
                && self.may_bind(symbol)
                && let Some((place, linear)) = self.first[symbol].take()
            {
                self.steps.push(Step::BindCompact { symbol, place, linear });
                self.know(symbol);
            }
        }
    }

    /// Returns true if an expression waits for a symbol.
    fn is_awaited(&self, symbol: SymbolId) -> bool {
        self.waits[symbol].iter().any(|&index| self.waiting[index].is_some())
    }

    /// Binds the symbols that only strides of an optional value mention, where the value is there. Does so only for
    /// symbols that something uses or waits for: comparisons of the symbol alone need no compact stride.
    pub(super) fn bind_optional_strides(&mut self) {
        for (symbol, place, linear) in std::mem::take(&mut self.optional) {
            let guard = self.names.values[place.value()].guard;
            let is_awaited = self.is_awaited(symbol);
            if let (Known::Within { values, .. }, Some(guard)) =
                (&mut self.knowledge[symbol], guard)
                && !values.contains(&guard)
            {
                values.push(guard);
                if is_awaited || self.names.is_used(symbol) {
                    self.steps.push(Step::BindCompact { symbol, place, linear });
                }
            }
        }
    }

    /// Checks that no expression outside of unions uses a symbol that only types of unions bind.
    pub(super) fn check_outside_of_unions(&self, first: usize) -> Located<()> {
        for value in self.names.values.keys_from(first) {
            let declared = &self.names.values[value];
            let shape = declared.ty.shape().map_or(&[][..], Shape::dims);
            self.check_dims(shape, |dim| Place::Extent { value, dim })?;
            let strides = declared.ty.tensor().map_or(&[][..], |tensor| tensor.strides.dims());
            self.check_dims(strides, |dim| Place::Stride { value, dim })?;
        }
        Ok(())
    }

    pub(super) fn check_dims(&self, dims: &[Dim], place: impl Fn(usize) -> Place) -> Located<()> {
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
    pub(super) fn wait(&mut self, place: Place, expr: &'a Expr, term: Term) {
        let unknown = self.symbols(&term, |knowledge| *knowledge != Known::Always);
        unknown.iter().for_each(|&symbol| self.waits[symbol].push(self.waiting.len()));
        self.waiting.push(Some(Waiting { place, expr, term, unknown: unknown.len() }));
    }

    /// Marks a symbol as known, and compares the expressions of which it was the last unknown symbol.
    pub(super) fn know(&mut self, symbol: SymbolId) {
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
    pub(super) fn compare_within(&mut self, from: usize, wanted: impl Fn(&Self, Place) -> bool) {
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

    pub(super) fn compare(&mut self, index: usize) {
        if let Some(Waiting { place, expr, term, .. }) = self.waiting[index].take() {
            let uncertain = self.symbols(&term, |known| matches!(known, Known::Within { .. }));
            self.steps.push(Step::Occurrence { place, rule: equal(expr, term, uncertain) });
        }
    }

    /// Returns the symbols of a term whose state satisfies a predicate, each once, in order.
    pub(super) fn symbols(&self, term: &Term, wanted: impl Fn(&Known) -> bool) -> Vec<SymbolId> {
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
