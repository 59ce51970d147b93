//! Resolves functions that a body makes: what each holds of the outside, and the function itself.
//!
//! A closure holds by value what its signature and body name of the outside: numbers, truths and addresses as locals,
//! all else as values and allocated tensors of its own. It holds the names in their types too, so that every symbol of
//! these types is a number that it knows.

use std::borrow::Cow;

use rustc_hash::FxHashSet;

use super::body::Plain;
use super::captured::{Captive, Capture, CaptureSource};
use super::function::Closure;
use super::ids::SymbolId;
use super::knowledge::Known;
use super::named::{Local, Output};
use super::names::Meaning;
use super::statement::Block;
use super::term::{Node, Term};
use super::typing::kind_of_scalar;
use super::value::Source;
use super::{Explained, Faults, Located, definition};
use crate::declaration::{self, Expr, ParamType, Tensor};
use crate::error::Part;

impl<'a> Block<'_, 'a> {
    /// Resolves the functions that statement number `index` makes, for [`made`](Self::made).
    pub(super) fn make_functions(
        &mut self,
        index: usize,
        statement: &'a declaration::StatementKind,
    ) -> Located<()> {
        for function in statement.functions() {
            let closure = self.closure(index, function)?;
            self.closures.push((function, closure));
        }
        Ok(())
    }

    /// Returns the number of a function that the current statement makes, one of the last.
    pub(super) fn made(&self, function: &declaration::Function) -> usize {
        let made = self.closures.iter().rposition(|(made, _)| std::ptr::eq(*made, function));
        made.unwrap_or_else(|| unreachable!("a statement makes the functions in its expressions"))
    }

    fn closure(
        &mut self,
        index: usize,
        declared: &'a declaration::Function,
    ) -> Located<Closure<'a>> {
        let captures =
            self.captures(declared).map_err(|reason| (Part::Statement(index), reason))?;
        let given = captures.iter().map(|capture| capture.given.clone()).collect();
        let within = |(part, reason): (Part, String)| {
            if let Part::Statement(_) | Part::Arm(..) = part {
                return (part, reason);
            }
            (Part::Statement(index), located(declared, part, reason))
        };
        let resolved = definition::resolve_in(
            declared,
            self.location,
            self.items,
            self.names.platform,
            captures,
            self.count,
        );
        let (function, count) = resolved.map_err(|faults| {
            let mut faults: Faults = faults.into_iter().map(within).collect();
            let last = faults.pop().unwrap_or_else(|| unreachable!("a failure has a fault"));
            self.faults.append(&mut faults);
            last
        })?;
        self.count = count;
        Ok(Closure { function, given })
    }

    /// Returns what a function names of the outside, each once, in the order of the first mention.
    fn captures(&self, function: &'a declaration::Function) -> Explained<Vec<Capture<'a>>> {
        if let Some(name) = self.shadowing(function) {
            return Err(format!("`{name}` is the name of something outside the function"));
        }
        let mut left: Vec<&'a str> = Vec::new();
        let exprs = function.signature.exprs().chain(function.body.exprs());
        exprs.for_each(|expr| expr.names(&mut |name| left.push(name)));
        let within = function.body.statements().flat_map(|statement| statement.kind.tensors());
        left.extend(function.signature.tensors().chain(within).filter_map(Tensor::used_symbol));
        let (mut captures, mut seen) = (Vec::new(), FxHashSet::default());
        left.reverse();
        while let Some(name) = left.pop() {
            if !seen.insert(name) {
                continue;
            }
            if let Some(meaning) = self.names.meaning(name) {
                if let Meaning::Dtype(tensor) = meaning {
                    left.extend(self.names.root(self.names.values[tensor].param));
                    continue;
                }
                if let Meaning::Symbol(symbol) = meaning
                    && self.term(&Expr::name(name)).is_err()
                {
                    // Only values that may be absent determine it. They do so inside too.
                    left.extend(self.determining(symbol));
                    continue;
                }
                let capture = self.capture(name, meaning)?;
                left.extend(capture.of.used_dtype());
                let exprs = capture.of.exprs().into_iter();
                exprs.for_each(|expr| expr.names(&mut |name| left.push(name)));
                captures.push(capture);
            }
        }
        // A tensor that determines an element type comes before the tensors that have it, and maps after their tensors.
        captures.sort_by_key(|capture| capture.of.order());
        Ok(captures)
    }

    /// Returns the first name in the signature of a function that stands for something outside.
    fn shadowing<'f>(&self, function: &'f declaration::Function) -> Option<&'f str> {
        let params = function.signature.params.iter().map(|param| param.name.as_str());
        let outputs = function.signature.outputs().iter().map(|output| output.name.as_str());
        params.chain(outputs).find(|name| self.names.meaning(name).is_some())
    }

    /// Returns the names of the values that determine a symbol where they are there.
    fn determining(&self, symbol: SymbolId) -> Vec<&'a str> {
        let mut params = Vec::new();
        if let Part::Param(first) = self.names.symbols[symbol].part {
            params.push(first);
        }
        if let Known::Within { param, values } = &self.knowledge[symbol] {
            params.push(*param);
            params.extend(values.iter().map(|&value| self.names.values[value].param));
        }
        params.into_iter().filter_map(|param| self.names.root(param)).collect()
    }

    fn capture(&self, name: &'a str, meaning: Meaning) -> Explained<Capture<'a>> {
        let number = |term: Term, scalar| {
            let is_stream = self.is_stream(&term);
            // An address that is only read is lent.
            let (kind, is_lent, is_read) = (term.kind, false, false);
            let local = Local { name, kind, is_stream, scalar, is_lent, is_read, of: None };
            // The bits of a `uint64` are those of an `int64`.
            let given = CaptureSource::Plain(Plain::Term(term.into_int()));
            Ok(Capture { name, of: Captive::Number(local), given })
        };
        match meaning {
            Meaning::Symbol(symbol) => {
                let scalar = self.names.symbols[symbol].value;
                let scalar = scalar.and_then(|value| self.names.values[value].ty.scalar());
                number(self.term(&Expr::name(name))?, scalar)
            }
            Meaning::Local(local) => {
                let Local { kind, scalar, is_lent, .. } = self.names.locals[local];
                if is_lent {
                    let reason = "an address in a value, which a function does not hold with it";
                    return Err(format!("`{name}` is {reason}: name the value inside"));
                }
                number(Term::new(kind, Node::Local(local)), scalar)
            }
            Meaning::Output(output) => {
                let output_of = Output {
                    home: None,
                    extents: Vec::new(),
                    ..self.names.outputs[output].clone()
                };
                let given = CaptureSource::Plain(Plain::Output(output));
                Ok(Capture { name, of: Captive::Output(output_of), given })
            }
            Meaning::Map(map) => {
                let of = Captive::Map(self.names.map_tensor(map));
                Ok(Capture { name, of, given: CaptureSource::Map(map) })
            }
            Meaning::Dtype(_) => Err(format!("`{name}` is the element type of a tensor")),
            Meaning::Value(value) => {
                let declared = &self.names.values[value];
                let (ty, optional) = (declared.ty, declared.optional);
                match (declared.source, ty) {
                    (Source::Rest(_), _) => Err(format!(
                        "`{name}` is any number of values, which a function cannot hold"
                    )),
                    (_, ParamType::Scalar(scalar)) if !optional => number(
                        Term::new(kind_of_scalar(*scalar), Node::Value(value)),
                        Some(*scalar),
                    ),
                    _ => {
                        let of = Captive::Value { ty, optional };
                        Ok(Capture { name, of, given: CaptureSource::Plain(Plain::Value(value)) })
                    }
                }
            }
        }
    }
}

impl<'a> Captive<'a> {
    /// Returns the expressions in the type.
    fn exprs(&self) -> Vec<&'a Expr> {
        match self {
            Captive::Value { ty, .. } => ty.exprs(),
            Captive::Output(Output { tensor: Cow::Borrowed(tensor), .. }) => {
                tensor.extents().collect()
            }
            Captive::Map(tensor) => vec![tensor],
            Captive::Number(_) | Captive::Output(_) => Vec::new(),
        }
    }

    /// Returns the type of a tensor.
    fn tensor(&self) -> Option<&'a Tensor> {
        match self {
            Captive::Value { ty, .. } => ty.tensor(),
            Captive::Output(Output { tensor: Cow::Borrowed(tensor), .. }) => Some(tensor),
            Captive::Number(_) | Captive::Output(_) | Captive::Map(_) => None,
        }
    }

    /// Returns the symbol of the element type that another tensor determines.
    fn used_dtype(&self) -> Option<&'a str> {
        self.tensor().and_then(Tensor::used_symbol)
    }

    /// Returns the place among what a closure holds: 0 for a tensor that determines an element type, 2 for a map.
    fn order(&self) -> u32 {
        let binds = self.tensor().is_some_and(|tensor| tensor.bound_symbol().is_some());
        if matches!(self, Captive::Map(_)) { 2 } else { u32::from(!binds) }
    }
}

/// Puts the spelling of a part of a closure in front of a reason.
pub(super) fn located(function: &declaration::Function, part: Part, reason: String) -> String {
    let path = part.path(function);
    if path.is_empty() { reason } else { format!("{path}: {reason}") }
}
