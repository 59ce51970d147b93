//! Expressions with several unknown symbols, which are compared once all of them are known.

use rustc_hash::FxHashSet;

use super::ids::SymbolId;
use super::knowledge::{Known, Waiting, equal};
use super::order::Order;
use super::step::{Place, Step};
use super::term::Term;
use crate::declaration::Expr;

impl<'a> Order<'_, 'a> {
    /// Puts off an expression until its symbols are known.
    pub(super) fn wait(&mut self, place: Place, expr: &'a Expr, term: Term) {
        let unknown = self.symbols(&term, |knowledge| knowledge != Known::Always);
        unknown.iter().for_each(|&symbol| self.waits[symbol].push(self.waiting.len()));
        self.waiting.push(Some(Waiting { place, expr, term, unknown: unknown.len() }));
    }

    /// Marks a symbol as known and compares the expressions that waited for nothing else.
    pub(super) fn know(&mut self, symbol: SymbolId) {
        if self.knowledge[symbol] == Known::Always {
            return;
        }
        self.knowledge[symbol] = Known::Always;
        for index in std::mem::take(&mut self.waits[symbol]) {
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

    /// Compares what waits at such places, from this number on, as far as it is known within their parameters.
    pub(super) fn compare_within(&mut self, from: usize, wanted: impl Fn(&Self, Place) -> bool) {
        for index in from..self.waiting.len() {
            let Some(Waiting { place, term, .. }) = &self.waiting[index] else { continue };
            let param = self.names.values[place.value()].param;
            let known = |knowledge| knowledge == Known::Always || knowledge == Known::Within(param);
            let unknown = self.symbols(term, |knowledge| !known(knowledge));
            if wanted(self, *place) && self.is_within(*place) && unknown.is_empty() {
                self.compare(index);
            }
        }
    }

    fn compare(&mut self, index: usize) {
        if let Some(Waiting { place, expr, term, .. }) = self.waiting[index].take() {
            let uncertain = self.symbols(&term, |knowledge| matches!(knowledge, Known::Within(_)));
            self.steps.push(Step::Occurrence { place, rule: equal(expr, term, uncertain) });
        }
    }

    /// Such symbols of a term, without repetition, in its order.
    pub(super) fn symbols(&self, term: &Term, wanted: impl Fn(Known) -> bool) -> Vec<SymbolId> {
        /// So many are looked through; of more there is a set.
        const FEW: usize = 16;
        let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
        term.visit_symbols(&mut |symbol| {
            if !wanted(self.knowledge[symbol]) {
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
