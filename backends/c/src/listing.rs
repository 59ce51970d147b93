//! One function as lines, each with the parts of the declaration that it is for.

use codegen::backend::{self, Error};
use codegen::ir::{self, Line};

use crate::body::Functions;
use crate::prelude::Prelude;
use crate::uses::Uses;
use crate::{Headers, function, symbols};

/// Returns the definition of a function in lines, as [`emit`](crate::emit) writes it; empty if the host IR does not define
/// it.
///
/// # Errors
/// Those of [`emit`](crate::emit).
pub fn lines(source: &ir::Module, symbol: ir::Symbol) -> Result<Vec<Line>, Error> {
    ir::verify(source)?;
    let plan = backend::plan(source, &symbols::ExistingSymbols, symbols::CAPABILITIES)?;
    let symbols = symbols::declare(source, &plan, Headers::Own)?;
    let prelude = Prelude::default();
    let mut functions = Functions { source, symbols: &symbols, prelude, listed: true };
    let Some(function) = source.functions.iter().find(|function| function.symbol == symbol) else {
        return Ok(Vec::new());
    };
    let mut text = String::new();
    let topics = function::define(&mut functions, function, Uses::new(function), &mut text);
    let mut at = 0;
    let line = |line: &str| {
        let here = topics.iter().filter(|(place, _)| *place == at);
        let topics = here.flat_map(|(_, topics)| topics).copied().collect();
        at += line.len() + 1;
        Line { text: line.to_owned(), topics }
    };
    Ok(text.lines().map(line).skip_while(|line| line.text.is_empty()).collect())
}
