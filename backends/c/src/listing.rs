//! Functions as lines, each with the parts of the declaration that it is for.

use std::collections::HashMap;

use codegen::backend::{self, Error};
use codegen::ir::{self, Line};

use crate::body::Functions;
use crate::prelude::Prelude;
use crate::symbols::Symbols;
use crate::uses::Uses;
use crate::{Headers, function, symbols};

/// Returns the definitions of functions in lines, as [`emit`](crate::emit) writes them; empty for one that the host IR
/// does not define.
///
/// # Errors
/// Those of [`emit`](crate::emit).
pub fn listings(source: &ir::Module, symbols: &[ir::Symbol]) -> Result<Vec<Vec<Line>>, Error> {
    ir::verify(source)?;
    let plan = backend::plan(source, &symbols::ExistingSymbols, symbols::CAPABILITIES)?;
    let known = symbols::declare(source, &plan, Headers::Own)?;
    let defined: HashMap<ir::Symbol, &ir::Function> =
        source.functions.iter().map(|function| (function.symbol, function)).collect();
    let lines = |symbol| defined.get(symbol).map(|function| lines(source, &known, function));
    Ok(symbols.iter().map(|symbol| lines(symbol).unwrap_or_default()).collect())
}

fn lines(source: &ir::Module, symbols: &Symbols, function: &ir::Function) -> Vec<Line> {
    let mut functions = Functions { source, symbols, prelude: Prelude::default(), listed: true };
    let mut text = String::new();
    let mut topics: HashMap<usize, Vec<ir::TopicId>> = HashMap::new();
    for (place, here) in function::define(&mut functions, function, Uses::new(function), &mut text)
    {
        topics.entry(place).or_default().extend(here);
    }
    let mut at = 0;
    let line = |line: &str| {
        let topics = topics.remove(&at).unwrap_or_default();
        at += line.len() + 1;
        Line { text: line.to_owned(), topics }
    };
    text.lines().map(line).skip_while(|line| line.text.is_empty()).collect()
}
