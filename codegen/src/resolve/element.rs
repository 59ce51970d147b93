//! Elements of sequences that expressions name, as `xs[i]` does. Each is a value of its own, which is looked up before
//! the statement that names it, and in a condition of `where` when its turn comes.

use super::ids::{LookUpId, SymbolId, ValueId};
use super::knowledge::Known;
use super::look_up::{LookUp, When};
use super::names::Names;
use super::order::receive_part;
use super::presence::Point;
use super::statement::Block;
use super::value::Source;
use super::{Explained, value};
use crate::declaration::{self, Call, Expr, ParamType, StatementKind};

impl<'a> Names<'a> {
    /// Returns true for a sequence that is one value.
    pub(super) fn is_sequence(&self, value: ValueId) -> bool {
        let value = &self.values[value];
        matches!(value.ty, ParamType::Sequence(..)) && !matches!(value.source, Source::Rest(_))
    }

    /// Refuses elements in an expression that is evaluated again where its value is used.
    pub(super) fn no_element(&self, expr: &Expr) -> Explained<()> {
        if let Expr::Element(of, _) = expr
            && self.value_of(of).is_some_and(|of| self.is_sequence(of))
        {
            return Err(format!("`{expr}` is no extent: name it with `let` before"));
        }
        expr.children().try_for_each(|child| self.no_element(child))
    }

    /// Adds the elements of sequences that expressions name, each once, in the order in which they are looked up.
    pub(super) fn look_up<'e>(
        &mut self,
        here: Point<'_>,
        exprs: impl IntoIterator<Item = &'e Expr>,
        when: When,
    ) -> Explained<Vec<LookUpId>> {
        let mut found = Vec::new();
        for expr in exprs {
            self.look_up_in(here, (expr, false), when, &mut found)?;
        }
        Ok(found)
    }

    fn look_up_in(
        &mut self,
        here: Point<'_>,
        (expr, late): (&Expr, bool),
        when: When,
        found: &mut Vec<LookUpId>,
    ) -> Explained<()> {
        for (index, child) in expr.children().enumerate() {
            let late = late || matches!(expr, Expr::Logic(..)) && index == 1;
            self.look_up_in(here, (child, late), when, found)?;
        }
        let Expr::Element(of, index) = expr else { return Ok(()) };
        let Some(of) = self.value_of(of).filter(|&of| self.is_sequence(of)) else { return Ok(()) };
        let ParamType::Sequence(_, ty) = self.values[of].ty else { return Ok(()) };
        let text = expr.to_string();
        if let Some(&known) = self.elements.get(&text) {
            self.look_ups[known].late &= late;
            return Ok(());
        }
        self.index(index)?;
        let index = self.int64(index, self.term(index)?);
        here.check(self, &index)?;
        let knowledge = here.knowledge;
        let (id, path, mut after) = (self.look_ups.next(), (of, text.clone()), knowledge.clone());
        let received = receive_part(self, &mut after, path, ty, Source::LookUp(id));
        let received = received.map_err(|(_, reason)| reason)?;
        let is_new = |symbol: &SymbolId| knowledge[*symbol] != Known::Always;
        let known = |symbol: &SymbolId| after[*symbol] == Known::Always && is_new(symbol);
        let binds = knowledge.keys().filter(known).collect();
        self.elements.insert(text.clone(), id);
        found.push(self.look_ups.push(LookUp { of, index, text, received, binds, when, late }));
        Ok(())
    }
}

impl<'a> Block<'_, 'a> {
    /// Adds the elements that a statement names. `after` are the statements after it in its block.
    pub(super) fn look_up(
        &mut self,
        statement: &'a StatementKind,
        after: &[declaration::Statement],
    ) -> Explained<Vec<LookUpId>> {
        self.names.elements.clear();
        let mut exprs = statement.exprs();
        if let StatementKind::Alloc { on, .. } = statement {
            exprs = on.iter().collect();
        }
        if let StatementKind::If { branches, .. } = statement {
            exprs.truncate(usize::from(!branches.is_empty()));
        }
        if !exprs.iter().any(|expr| has_index(expr)) {
            return Ok(Vec::new());
        }
        let used = match statement {
            StatementKind::Let { .. } => self.outlives_calls(after),
            StatementKind::Call { call: Call::Function(_), .. } => true,
            StatementKind::Match { arms, .. } => arms.iter().any(|arm| calls(&arm.body)),
            StatementKind::Call { call: Call::Kernel(_), .. }
            | StatementKind::Alloc { .. }
            | StatementKind::If { .. }
            | StatementKind::For { .. }
            | StatementKind::Launch(_)
            | StatementKind::TensorMap { .. }
            | StatementKind::Upload(_)
            | StatementKind::Fill(_)
            | StatementKind::Copy(_)
            | StatementKind::Wait(_)
            | StatementKind::Return(_)
            | StatementKind::Raise { .. } => false,
        };
        let when = When { changed: self.called, held: self.called || used };
        let here = Point { knowledge: &self.knowledge, facts: &self.facts };
        self.names.look_up(here, exprs, when)
    }

    /// Adds the elements that a condition after `else` names.
    pub(super) fn look_up_condition(&mut self, condition: &Expr) -> Explained<Vec<LookUpId>> {
        self.names.elements.clear();
        let when = When { changed: self.called, held: self.called };
        let here = Point { knowledge: &self.knowledge, facts: &self.facts };
        self.names.look_up(here, [condition], when)
    }

    /// Notes the calls that a statement makes before its own expressions are evaluated again, as in a loop.
    pub(super) fn note_calls(&mut self, statement: &StatementKind) {
        let turn = if let StatementKind::For { body, .. } = statement { &body[..] } else { &[] };
        self.called |= matches!(statement, StatementKind::Call { .. }) || calls(turn);
    }

    /// Returns true if a name that is used to the end of these statements may be used while or after a function runs
    /// that may change a sequence. A last call of a C function, which knows addresses only, is no such function, but
    /// for one that is [asked](declaration::Library::inquiry) for an error: its language may know the sequence.
    fn outlives_calls(&self, statements: &[declaration::Statement]) -> bool {
        let Some((last, before)) = statements.split_last() else { return false };
        let knows_addresses = matches!(
            &last.kind,
            StatementKind::Call { call: Call::Kernel(call), .. }
                if self.names.inquiry_after(call).is_none()
        );
        calls(before) || is_call(last) && !knows_addresses
    }

    /// Notes that the symbols of a named element are known.
    pub(super) fn know_symbols_of(&mut self, named: ValueId) {
        let Some(found) = value::look_up(&self.names.values, named) else { return };
        for symbol in &self.names.look_ups[found].binds {
            self.knowledge[*symbol] = Known::Always;
        }
    }
}

/// Returns true if an expression has an index in brackets.
fn has_index(expr: &Expr) -> bool {
    matches!(expr, Expr::Element(..)) || expr.children().any(has_index)
}

/// Returns true if statements call functions.
fn calls(statements: &[declaration::Statement]) -> bool {
    statements.iter().any(is_call)
}

/// Returns true if a statement or one nested in it calls a function.
fn is_call(statement: &declaration::Statement) -> bool {
    let nested = || statement.kind.blocks().into_iter().any(calls);
    matches!(statement.kind, StatementKind::Call { .. }) || nested()
}
