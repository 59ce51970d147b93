//! Binding symbols and comparing with them.

use codegen::{BinaryOp, Dim, Expr, Function, ParamType, Shape, Strides};

use super::expression::floor_divide;
use super::tensor::compact_stride;
use super::{Call, Checked, Fault};

/// The symbols of a function, in the order in which they are first mentioned.
pub(super) struct Symbols<'a> {
    all: Vec<Symbol<'a>>,
    /// Occurrences with several unknowns.
    waiting: Vec<Occurrence<'a>>,
}

struct Symbol<'a> {
    name: &'a str,
    known: Known,
    value: Option<i64>,
    /// The place that shows the value.
    origin: String,
    /// The first stride that is linear in it.
    first: Option<Occurrence<'a>>,
}

/// What the declaration says of a symbol, whatever the arguments are.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    No,
    /// If the strides count that it occurs in.
    Maybe,
    Yes,
}

/// A number that an expression must be equal to.
#[derive(Clone)]
pub(super) struct Occurrence<'a> {
    param: usize,
    dim: usize,
    place: String,
    value: i64,
    expr: &'a Expr,
    counts: bool,
}

impl<'a> Symbols<'a> {
    pub(super) fn new(function: &'a Function) -> Symbols<'a> {
        let mut symbols = Symbols { all: Vec::new(), waiting: Vec::new() };
        for param in &function.signature.params {
            match &param.ty {
                ParamType::Scalar(scalar) if scalar.is_int() => symbols.mention(&param.name),
                ParamType::Scalar(_) => {}
                ParamType::Tensor(tensor) => {
                    if let Shape::Dims(dims) = &tensor.shape {
                        dims.iter().for_each(|dim| symbols.mention_dim(dim));
                    }
                    if let Strides::List(dims) = &tensor.strides {
                        dims.iter().for_each(|dim| symbols.mention_dim(dim));
                    }
                }
                ParamType::Str
                | ParamType::Bytes
                | ParamType::DType
                | ParamType::Device
                | ParamType::Shape(_)
                | ParamType::Object(_)
                | ParamType::Sequence(..)
                | ParamType::Mapping(..)
                | ParamType::Tuple(_)
                | ParamType::Optional(_)
                | ParamType::Union(_)
                | ParamType::Literal(_)
                | ParamType::Any
                | ParamType::Stream => {
                    unreachable!("no declaration has a parameter of type {}", param.ty)
                }
            }
        }
        symbols
    }

    fn mention(&mut self, name: &'a str) {
        if self.all.iter().all(|symbol| symbol.name != name) {
            let (known, value, origin, first) = (Known::No, None, String::new(), None);
            self.all.push(Symbol { name, known, value, origin, first });
        }
    }

    fn mention_dim(&mut self, dim: &'a Dim) {
        if let Dim::Expr(expr) = dim {
            names(expr).into_iter().for_each(|name| self.mention(name));
        }
    }

    /// The value of a symbol that is bound.
    pub(super) fn value(&self, name: &str) -> Option<i64> {
        self.all.iter().find(|symbol| symbol.name == name)?.value
    }

    /// The symbols of an expression that are not known for sure, each once.
    fn unknown(&self, expr: &Expr) -> Vec<usize> {
        let mut found = Vec::new();
        for name in names(expr) {
            let index = self.all.iter().position(|symbol| symbol.name == name);
            if let Some(index) = index
                && self.all[index].known != Known::Yes
                && !found.contains(&index)
            {
                found.push(index);
            }
        }
        found
    }
}

/// The names in an expression.
fn names(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::Name(name) => vec![name],
        Expr::Int(_) | Expr::Float(_) | Expr::Text(_) | Expr::Null => Vec::new(),
        Expr::Member(..)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Neg(_)
        | Expr::Binary(..)
        | Expr::Call(..)
        | Expr::Stream(_)
        | Expr::Cast(..) => expr.children().flat_map(names).collect(),
    }
}

/// True if an expression is a sum of multiples of a symbol and of what does not mention it.
fn is_linear(expr: &Expr, symbol: &str) -> bool {
    if !names(expr).contains(&symbol) {
        return true;
    }
    match expr {
        Expr::Name(_) => true,
        Expr::Neg(inner) => is_linear(inner, symbol),
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => {
            is_linear(a, symbol) && is_linear(b, symbol)
        }
        Expr::Binary(BinaryOp::Mul, a, b) => {
            let several = names(a).contains(&symbol) && names(b).contains(&symbol);
            !several && is_linear(a, symbol) && is_linear(b, symbol)
        }
        Expr::Binary(BinaryOp::Div | BinaryOp::Rem, ..)
        | Expr::Call(..)
        | Expr::Int(_)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Text(_)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Member(..)
        | Expr::Stream(_)
        | Expr::Cast(..) => false,
    }
}

impl<'a> Call<'a> {
    /// Visits an extent or a stride.
    pub(super) fn occurrence(
        &mut self,
        param: usize,
        (part, dim): (&str, usize),
        value: i64,
        expr: &'a Expr,
        counts: bool,
    ) -> Checked<()> {
        let name = self.name(param);
        let (place, is_stride) = (format!("{name}.{part}[{dim}]"), part == "strides");
        let occurrence = Occurrence { param, dim, place, value, expr, counts };
        match self.symbols.unknown(expr)[..] {
            [] => self.compare(&occurrence),
            [symbol] if is_linear(expr, self.symbols.all[symbol].name) => {
                self.bind_or_compare(symbol, &occurrence)?;
                if !is_stride {
                    return self.know(symbol);
                }
                self.symbols.all[symbol].known = Known::Maybe;
                self.symbols.all[symbol].first.get_or_insert(occurrence);
                Ok(())
            }
            _ => {
                self.symbols.waiting.push(occurrence);
                Ok(())
            }
        }
    }

    /// The value of an integer parameter is an occurrence of the symbol of its name.
    pub(super) fn parameter(&mut self, param: usize, value: i64) -> Checked<()> {
        let name = self.name(param);
        let index = self.symbols.all.iter().position(|symbol| symbol.name == name);
        let index = index.expect("integer parameters are symbols");
        let symbol = &mut self.symbols.all[index];
        match symbol.value {
            None => {
                symbol.value = Some(value);
                symbol.origin = name.to_owned();
            }
            Some(known) if known != value => {
                let expected = format!("{known} (= {}) but got {value}", symbol.origin);
                return Err(Fault::at("ValueError", "Mismatched", name, param, expected));
            }
            Some(_) => {}
        }
        self.know(index)
    }

    fn mismatch_at(&self, occurrence: &Occurrence<'_>, expected: &str) -> Fault {
        let Occurrence { param, place, value, .. } = occurrence;
        let expected = format!("{expected} but got {value}");
        Fault::at("ValueError", "Mismatched", place, *param, expected)
    }

    /// Compares with an expression whose symbols all have values.
    fn compare(&self, occurrence: &Occurrence<'a>) -> Checked<()> {
        // What is declared is computed, even where it does not count.
        let expected = self.int(occurrence.expr)?;
        if !occurrence.counts || expected == occurrence.value {
            return Ok(());
        }
        let is_plain = |symbol: &&Symbol<'_>| *occurrence.expr == Expr::name(symbol.name);
        let plain = self.symbols.all.iter().find(is_plain);
        let shown = match plain {
            Some(symbol) => format!("{expected} (= {})", symbol.origin),
            None if names(occurrence.expr).is_empty() => expected.to_string(),
            None => format!("{expected} (= {})", occurrence.expr),
        };
        Err(self.mismatch_at(occurrence, &shown))
    }

    fn bind_or_compare(&mut self, symbol: usize, occurrence: &Occurrence<'a>) -> Checked<()> {
        if self.symbols.all[symbol].value.is_some() {
            return self.compare(occurrence);
        }
        let (value, exact) = self.solve(symbol, occurrence.expr, occurrence.value)?;
        if !occurrence.counts {
            return Ok(());
        }
        if !exact {
            return Err(self.mismatch_at(occurrence, &occurrence.expr.to_string()));
        }
        let plain = matches!(occurrence.expr, Expr::Name(_));
        let symbol = &mut self.symbols.all[symbol];
        symbol.value = Some(value);
        symbol.origin = if plain { occurrence.place.clone() } else { symbol.name.to_owned() };
        Ok(())
    }

    /// The value of the symbol for which an expression that is linear in it has this value, rounded
    /// down, and whether it is exact.
    fn solve(&mut self, symbol: usize, expr: &'a Expr, value: i64) -> Checked<(i64, bool)> {
        let mut at = |trial: i64| {
            self.symbols.all[symbol].value = Some(trial);
            let found = self.int(expr);
            self.symbols.all[symbol].value = None;
            found
        };
        let constant = at(0)?;
        let coefficient = at(1)?.wrapping_sub(constant);
        let difference = value.wrapping_sub(constant);
        if coefficient == 0 {
            return Ok((difference, false));
        }
        let (quotient, _) = floor_divide(difference, coefficient);
        Ok((quotient, quotient.wrapping_mul(coefficient) == difference))
    }

    /// A symbol is known from here on: compares what waited for it.
    fn know(&mut self, symbol: usize) -> Checked<()> {
        self.symbols.all[symbol].known = Known::Yes;
        for occurrence in std::mem::take(&mut self.symbols.waiting) {
            if self.symbols.unknown(occurrence.expr).is_empty() {
                self.compare(&occurrence)?;
            } else {
                self.symbols.waiting.push(occurrence);
            }
        }
        Ok(())
    }

    /// A symbol that only strides mention, none of which counts, takes the compact value of the first.
    pub(super) fn settle(&mut self) -> Checked<()> {
        for index in 0..self.symbols.all.len() {
            if self.symbols.all[index].known != Known::Maybe {
                continue;
            }
            if self.symbols.all[index].value.is_none() {
                let first = self.symbols.all[index].first.clone().expect("a stride mentions it");
                let Some(tensor) = self.tensor_argument(first.param) else { continue };
                let (value, _) =
                    self.solve(index, first.expr, compact_stride(tensor, first.dim))?;
                let symbol = &mut self.symbols.all[index];
                symbol.value = Some(value);
                symbol.origin = symbol.name.to_owned();
            }
            self.know(index)?;
        }
        Ok(())
    }
}
