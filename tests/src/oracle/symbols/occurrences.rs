//! The occurrences of symbols in a call: which one binds, which are compared, and when.

use codegen::language::spelled;
use codegen::{BinaryOp, Dim, Expr};

use super::{Known, Occurrence, Symbol, Symbols, is_linear, names};
use crate::oracle::expression::floor_divide;
use crate::oracle::tensor::Stride;
use crate::oracle::{Call, Checked, Fault, Received};

/// How an expression is solved for a symbol.
#[derive(Clone, Copy)]
struct Inverse {
    symbol: usize,
    /// False if the solution does not matter.
    counts: bool,
    /// True if the solution is rounded down.
    rounds: bool,
}

impl<'a> Call<'a> {
    /// Checks an extent of a tensor or a number of a shape.
    pub(in crate::oracle) fn dim(
        &mut self,
        received: &Received<'a>,
        part: String,
        value: Option<i64>,
        rule: &'a Dim,
    ) -> Checked<()> {
        let Dim::Expr(expr) = rule else { return Ok(()) };
        self.occurrence(Occurrence {
            argument: received.argument,
            path: format!("{}{part}", received.path),
            value,
            expr,
            counts: true,
            uncertain: received.uncertain,
            many: received.many,
            compact: None,
            is_stride: false,
        })
    }

    /// Checks a stride.
    pub(in crate::oracle) fn stride(
        &mut self,
        received: &Received<'a>,
        index: &str,
        seen: Option<Stride>,
        rule: &'a Dim,
    ) -> Checked<()> {
        let Dim::Expr(expr) = rule else { return Ok(()) };
        self.occurrence(Occurrence {
            argument: received.argument,
            path: format!("{}.strides[{index}]", received.path),
            value: seen.map(|seen| seen.value),
            expr,
            counts: seen.is_some_and(|seen| seen.counts),
            uncertain: received.uncertain,
            many: received.many,
            compact: seen.map(|seen| seen.compact),
            is_stride: true,
        })
    }

    fn occurrence(&mut self, occurrence: Occurrence<'a>) -> Checked<()> {
        match self.symbols.unknown(occurrence.expr)[..] {
            [] => self.compare(&occurrence),
            [symbol] if is_linear(occurrence.expr, self.symbols.all[symbol].name) => {
                self.bind_or_compare(symbol, &occurrence)?;
                self.bound(symbol, occurrence)
            }
            _ => {
                self.symbols.rules.waiting.push(occurrence);
                Ok(())
            }
        }
    }

    /// Updates the state of a symbol after an occurrence that may bind it.
    fn bound(&mut self, symbol: usize, occurrence: Occurrence<'a>) -> Checked<()> {
        let known = &mut self.symbols.rules.known[symbol];
        if occurrence.uncertain {
            if *known == Known::No {
                *known = Known::Within;
            }
            if occurrence.is_stride && occurrence.value.is_some() && !occurrence.many {
                self.symbols.all[symbol].first.get_or_insert(occurrence);
            }
            return Ok(());
        }
        if !occurrence.is_stride {
            return self.know(symbol);
        }
        *known = Known::Maybe;
        self.symbols.all[symbol].first.get_or_insert(occurrence);
        Ok(())
    }

    /// Binds or compares the symbol that has the name of an integer parameter.
    pub(in crate::oracle) fn parameter(
        &mut self,
        received: &Received<'a>,
        value: i64,
    ) -> Checked<()> {
        let name = &received.path;
        let index = self.symbols.all().position(|symbol| symbol == name);
        let index = index.expect("integer parameters are symbols");
        let symbol = &mut self.symbols.all[index];
        match symbol.value {
            None => {
                symbol.value = Some(value);
                symbol.origin = name.to_owned();
            }
            Some(known) if known != value => {
                let expected = format!("{known} (= {}) but got {value}", symbol.origin);
                return Err(received.mismatch("", expected));
            }
            Some(_) => {}
        }
        self.know(index)
    }

    fn mismatch_at(&self, occurrence: &Occurrence<'_>, value: i64, expected: &str) -> Fault {
        let Occurrence { argument, path, .. } = occurrence;
        let expected = format!("{expected} but got {value}");
        Fault::at("ValueError", "Mismatched", path, *argument, expected)
    }

    /// Compares a number with an expression whose symbols all have values.
    fn compare(&self, occurrence: &Occurrence<'a>) -> Checked<()> {
        let Some(value) = occurrence.value.filter(|_| self.symbols.is_bound(occurrence.expr, ""))
        else {
            return Ok(());
        };
        // The expression is evaluated even if the number does not count, since it may fault.
        let expected = self.int(occurrence.expr)?;
        if !occurrence.counts || expected == value {
            return Ok(());
        }
        let is_plain = |symbol: &&Symbol<'_>| *occurrence.expr == Expr::name(symbol.name);
        let plain = self.symbols.all.iter().find(is_plain);
        let shown = match plain {
            Some(symbol) => format!("{expected} (= {})", symbol.origin),
            None if names(occurrence.expr).is_empty() => expected.to_string(),
            None => format!("{expected} (= {})", occurrence.expr),
        };
        Err(self.mismatch_at(occurrence, value, &shown))
    }

    fn bind_or_compare(&mut self, symbol: usize, occurrence: &Occurrence<'a>) -> Checked<()> {
        if self.symbols.all[symbol].value.is_some() {
            return self.compare(occurrence);
        }
        let name = self.symbols.all[symbol].name;
        let Some(found) = occurrence.value.filter(|_| self.symbols.is_bound(occurrence.expr, name))
        else {
            return Ok(());
        };
        let how = Inverse { symbol, counts: occurrence.counts, rounds: false };
        let value = self.solve(how, occurrence.expr, found)?;
        if !occurrence.counts {
            return Ok(());
        }
        let Some(value) = value else {
            return Err(self.mismatch_at(occurrence, found, &occurrence.expr.to_string()));
        };
        let shown = matches!(occurrence.expr, Expr::Name(_)) && !occurrence.many;
        let symbol = &mut self.symbols.all[symbol];
        symbol.value = Some(value);
        symbol.origin =
            if shown { occurrence.path.clone() } else { spelled(symbol.name).to_string() };
        Ok(())
    }

    /// Solves a linear expression for a symbol; none if no `int64` solves it.
    fn solve(&mut self, how: Inverse, expr: &'a Expr, value: i64) -> Checked<Option<i64>> {
        let name = self.symbols.all[how.symbol].name;
        if names(expr).iter().filter(|one| **one == name).count() == 1 {
            return self.undo(how, expr, value);
        }
        let constant = self.modulo(expr, (name, 0));
        let coefficient = self.modulo(expr, (name, 1)).wrapping_sub(constant);
        let difference = value.wrapping_sub(constant);
        if coefficient == 0 {
            return Ok(how.rounds.then_some(difference));
        }
        let solution = floor_divide(difference, coefficient).0 as i64;
        if how.rounds || !how.counts {
            return Ok(Some(solution));
        }
        self.symbols.all[how.symbol].value = Some(solution);
        let found = self.int(expr);
        self.symbols.all[how.symbol].value = None;
        match found {
            Ok(found) => Ok((found == value).then_some(solution)),
            Err(fault) if fault.is_out_of_range() => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// Undoes the operations of an expression that mentions a symbol once, the outermost first.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "all other linear expressions are the symbol"
    )]
    fn undo(&self, how: Inverse, expr: &'a Expr, value: i64) -> Checked<Option<i64>> {
        let name = self.symbols.all[how.symbol].name;
        let (inner, undone) = match expr {
            Expr::Neg(inner) => (inner, value.checked_neg()),
            Expr::Binary(op, a, b) => {
                let is_first = names(a).contains(&name);
                let (inner, other) = if is_first { (a, b) } else { (b, a) };
                let other = self.int(other)?;
                let undone = match op {
                    BinaryOp::Add => value.checked_sub(other),
                    BinaryOp::Sub if is_first => value.checked_add(other),
                    BinaryOp::Sub => other.checked_sub(value),
                    BinaryOp::Mul if other == 0 => how.rounds.then_some(value),
                    BinaryOp::Mul => {
                        let (quotient, remainder) = floor_divide(value, other);
                        let is_right = how.rounds || remainder == 0;
                        i64::try_from(quotient).ok().filter(|_| is_right)
                    }
                    BinaryOp::Div | BinaryOp::Rem => unreachable!("{expr} is linear"),
                };
                (inner, undone)
            }
            _ => return Ok(Some(value)),
        };
        match undone {
            Some(value) => self.undo(how, inner, value),
            None if how.counts => Ok(None),
            // The number does not count, but other operands may still fault.
            None => self.undo(how, inner, 0),
        }
    }

    /// Marks a symbol as bound and compares the occurrences that waited for it.
    fn know(&mut self, symbol: usize) -> Checked<()> {
        self.symbols.rules.known[symbol] = Known::Yes;
        self.compare_waiting(|symbols, one| symbols.unknown(one.expr).is_empty())
    }

    /// Compares the waiting occurrences of an element, given by its path, that wait for nothing else in it.
    pub(in crate::oracle) fn compare_in(&mut self, path: &str) -> Checked<()> {
        self.compare_waiting(|symbols, one| one.path.starts_with(path) && symbols.is_decided(one))
    }

    fn compare_waiting(
        &mut self,
        wanted: impl Fn(&Symbols<'_>, &Occurrence<'_>) -> bool,
    ) -> Checked<()> {
        for occurrence in std::mem::take(&mut self.symbols.rules.waiting) {
            if wanted(&self.symbols, &occurrence) {
                self.compare(&occurrence)?;
            } else {
                self.symbols.rules.waiting.push(occurrence);
            }
        }
        Ok(())
    }

    /// Returns true if dims mention a symbol once, and no parameter has its name.
    fn is_alone(&self, symbol: usize) -> bool {
        let symbol = &self.symbols.all[symbol];
        let params = &self.function.signature.params;
        symbol.mentions == 1 && params.iter().all(|param| param.name != symbol.name)
    }

    /// Binds symbols that only strides mention, perhaps only those that are mentioned once, to the compact value of the
    /// first of these strides, if none of them counts.
    pub(in crate::oracle) fn bind_stride_symbols(&mut self, alone: bool) -> Checked<()> {
        for index in 0..self.symbols.all.len() {
            if self.symbols.rules.known[index] != Known::Maybe || alone && !self.is_alone(index) {
                continue;
            }
            if self.symbols.all[index].value.is_none() {
                let first = self.symbols.all[index].first.clone().expect("a stride mentions it");
                let Some(compact) = first.compact else { continue };
                self.bind_compact(index, &first, compact)?;
            }
            self.know(index)?;
        }
        if alone {
            return Ok(());
        }
        for index in 0..self.symbols.all.len() {
            if let Symbol { value: None, first: Some(first), .. } = &self.symbols.all[index]
                && self.symbols.rules.known[index] == Known::Within
                && self.is_awaited(index)
                && let Some(compact) = first.compact
            {
                let first = first.clone();
                self.bind_compact(index, &first, compact)?;
            }
        }
        self.compare_waiting(|symbols, one| symbols.is_decided(one))
    }

    /// Returns true if an expression waits for a symbol.
    fn is_awaited(&self, symbol: usize) -> bool {
        let name = &self.symbols.all[symbol].name;
        self.symbols.rules.waiting.iter().any(|one| names(one.expr).contains(name))
    }

    /// Binds a symbol by the compact value of a stride.
    fn bind_compact(
        &mut self,
        symbol: usize,
        stride: &Occurrence<'a>,
        compact: i64,
    ) -> Checked<()> {
        let how = Inverse { symbol, counts: true, rounds: true };
        let Some(value) = self.solve(how, stride.expr, compact)? else {
            return Err(self.mismatch_at(stride, compact, &stride.expr.to_string()));
        };
        let symbol = &mut self.symbols.all[symbol];
        symbol.value = Some(value);
        symbol.origin = spelled(symbol.name).to_string();
        Ok(())
    }
}
