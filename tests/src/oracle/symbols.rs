//! Binding symbols and comparing with them.

use codegen::{BinaryOp, Dim, Expr, Function, ParamType, Shape, Strides};

use super::expression::floor_divide;
use super::tensor::compact_stride;
use super::{Call, Checked, Fault, Place};
use crate::argument::Tensor;

/// The symbols of a function, in the order in which they are first mentioned.
pub(super) struct Symbols<'a> {
    all: Vec<Symbol<'a>>,
    rules: Rules<'a>,
}

/// What the declaration says at some point, whatever the arguments are.
#[derive(Clone)]
pub(super) struct Rules<'a> {
    /// Of each symbol.
    known: Vec<Known>,
    /// Occurrences with several unknowns.
    waiting: Vec<Occurrence<'a>>,
}

struct Symbol<'a> {
    name: &'a str,
    /// Something but a parameter mentions it.
    measures: bool,
    value: Option<i64>,
    /// The place that shows the value.
    origin: String,
    /// The first stride that is linear in it.
    first: Option<Occurrence<'a>>,
}

/// Whether a symbol is known.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    No,
    /// If the strides count that it occurs in.
    Maybe,
    /// If what it occurs in, in this argument, is there.
    Within(usize),
    Yes,
}

/// A number that an expression must be equal to.
#[derive(Clone)]
pub(super) struct Occurrence<'a> {
    argument: usize,
    place: String,
    /// `None` where it is missing.
    value: Option<i64>,
    expr: &'a Expr,
    counts: bool,
    /// What it occurs in may be missing.
    uncertain: bool,
    /// It is one of many, and shows no value by its name.
    many: bool,
    /// The tensor and the dim of a stride.
    stride: Option<(&'a Tensor, usize)>,
    is_stride: bool,
}

impl<'a> Symbols<'a> {
    pub(super) fn new(function: &'a Function) -> Symbols<'a> {
        let rules = Rules { known: Vec::new(), waiting: Vec::new() };
        let mut symbols = Symbols { all: Vec::new(), rules };
        for param in &function.signature.params {
            if matches!(&param.ty, ParamType::Scalar(scalar) if scalar.is_int()) {
                symbols.mention(&param.name);
            }
            symbols.mention_type(&param.ty);
        }
        symbols
    }

    fn mention_type(&mut self, ty: &'a ParamType) {
        match ty {
            ParamType::Tensor(tensor) => {
                self.mention_shape(&tensor.shape);
                if let Strides::List(dims) = &tensor.strides {
                    dims.iter().for_each(|dim| self.mention_dim(dim));
                }
            }
            ParamType::Shape(shape) => self.mention_shape(shape),
            ParamType::Tuple(elements) => {
                elements.iter().for_each(|element| self.mention_type(&element.ty));
            }
            ParamType::Optional(inner) | ParamType::Sequence(_, inner) => self.mention_type(inner),
            ParamType::Mapping(_, types) => types.iter().for_each(|ty| self.mention_type(ty)),
            ParamType::Union(types) => types.iter().for_each(|ty| self.mention_type(ty)),
            ParamType::Scalar(_)
            | ParamType::Leaf(_)
            | ParamType::Object(_)
            | ParamType::Literal(_) => {}
        }
    }

    fn mention_shape(&mut self, shape: &'a Shape) {
        if let Shape::Dims(dims) = shape {
            dims.iter().for_each(|dim| self.mention_dim(dim));
        }
    }

    fn mention(&mut self, name: &'a str) {
        if self.all.iter().all(|symbol| symbol.name != name) {
            let (value, origin) = (None, String::new());
            self.all.push(Symbol { name, measures: false, value, origin, first: None });
            self.rules.known.push(Known::No);
        }
    }

    fn mention_dim(&mut self, dim: &'a Dim) {
        if let Dim::Expr(expr) = dim {
            for name in names(expr) {
                self.mention(name);
                let known = self.all.iter_mut().filter(|symbol| symbol.name == name);
                known.for_each(|symbol| symbol.measures = true);
            }
        }
    }

    /// True for what extents and the like depend on.
    pub(super) fn measures(&self, name: &str) -> bool {
        self.all.iter().any(|symbol| symbol.name == name && symbol.measures)
    }

    /// The names of all.
    pub(super) fn all(&self) -> impl Iterator<Item = &'a str> {
        self.all.iter().map(|symbol| symbol.name)
    }

    pub(super) fn rules(&self) -> Rules<'a> {
        self.rules.clone()
    }

    /// Forgets what the declaration has said since.
    pub(super) fn restore(&mut self, rules: Rules<'a>) {
        self.rules = rules;
    }

    /// What is bound.
    pub(super) fn bindings(&self) -> Vec<(Option<i64>, String)> {
        self.all.iter().map(|symbol| (symbol.value, symbol.origin.clone())).collect()
    }

    /// Forgets what has been bound since.
    pub(super) fn unbind(&mut self, bindings: Vec<(Option<i64>, String)>) {
        for (symbol, (value, origin)) in self.all.iter_mut().zip(bindings) {
            (symbol.value, symbol.origin) = (value, origin);
        }
    }

    /// The value of a symbol that is bound.
    pub(super) fn value(&self, name: &str) -> Option<i64> {
        self.all.iter().find(|symbol| symbol.name == name)?.value
    }

    /// The symbols of an expression that are not known for sure, each once.
    fn unknown(&self, expr: &Expr) -> Vec<usize> {
        self.symbols(expr, |known| known != Known::Yes)
    }

    fn symbols(&self, expr: &Expr, wanted: impl Fn(Known) -> bool) -> Vec<usize> {
        let mut found = Vec::new();
        for name in names(expr) {
            let index = self.all.iter().position(|symbol| symbol.name == name);
            if let Some(index) = index
                && wanted(self.rules.known[index])
                && !found.contains(&index)
            {
                found.push(index);
            }
        }
        found
    }

    /// True if an occurrence that may be missing waits for nothing but what is there if something else in
    /// the same argument is.
    fn is_settled(&self, occurrence: &Occurrence<'_>) -> bool {
        let within = Known::Within(occurrence.argument);
        let is_open = |known| known != Known::Yes && known != within;
        occurrence.uncertain && self.symbols(occurrence.expr, is_open).is_empty()
    }

    /// True if what may be missing has bound the symbols of an expression, but for one.
    fn is_bound(&self, expr: &Expr, but: &str) -> bool {
        let is_free = |name: &&str| *name != but && self.value(name).is_none();
        !names(expr).iter().any(is_free)
    }
}

/// The names in an expression.
fn names(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::Name(name) => vec![name],
        Expr::Int(_) | Expr::Unsigned(_) | Expr::Float(_) | Expr::Text(_) | Expr::Null => {
            Vec::new()
        }
        Expr::Member(..)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Neg(_)
        | Expr::Binary(..)
        | Expr::Call(..)
        | Expr::Stream(_)
        | Expr::Cast(..)
        | Expr::Bool(_)
        | Expr::None
        | Expr::Compare(..)
        | Expr::Not(_)
        | Expr::Logic(..)
        | Expr::Array(_)
        | Expr::Shape(_) => expr.children().flat_map(names).collect(),
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
        | Expr::Unsigned(_)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Text(_)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Member(..)
        | Expr::Stream(_)
        | Expr::Cast(..)
        | Expr::Bool(_)
        | Expr::None
        | Expr::Compare(..)
        | Expr::Not(_)
        | Expr::Logic(..)
        | Expr::Array(_)
        | Expr::Shape(_) => false,
    }
}

impl<'a> Call<'a> {
    /// Visits an extent of a tensor or a number of a shape.
    pub(super) fn dim(
        &mut self,
        place: &Place<'a>,
        part: String,
        value: Option<i64>,
        rule: &'a Dim,
    ) -> Checked<()> {
        let Dim::Expr(expr) = rule else { return Ok(()) };
        self.occurrence(Occurrence {
            argument: place.argument,
            place: format!("{}{part}", place.path),
            value,
            expr,
            counts: true,
            uncertain: place.uncertain,
            many: place.many,
            stride: None,
            is_stride: false,
        })
    }

    /// Visits a stride.
    pub(super) fn stride(
        &mut self,
        place: &Place<'a>,
        dim: usize,
        tensor: Option<(&'a Tensor, i64, bool)>,
        rule: &'a Dim,
    ) -> Checked<()> {
        let Dim::Expr(expr) = rule else { return Ok(()) };
        self.occurrence(Occurrence {
            argument: place.argument,
            place: format!("{}.strides[{dim}]", place.path),
            value: tensor.map(|(_, value, _)| value),
            expr,
            counts: tensor.is_some_and(|(_, _, counts)| counts),
            uncertain: place.uncertain,
            many: place.many,
            stride: tensor.map(|(tensor, _, _)| (tensor, dim)),
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

    /// What the declaration says of a symbol after an occurrence that may bind it.
    fn bound(&mut self, symbol: usize, occurrence: Occurrence<'a>) -> Checked<()> {
        let known = &mut self.symbols.rules.known[symbol];
        if occurrence.uncertain {
            if *known == Known::No {
                *known = Known::Within(occurrence.argument);
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

    /// The value of an integer parameter is an occurrence of the symbol of its name.
    pub(super) fn parameter(&mut self, place: &Place<'a>, value: i64) -> Checked<()> {
        let name = &place.path;
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
                return Err(place.mismatch("", expected));
            }
            Some(_) => {}
        }
        self.know(index)
    }

    fn mismatch_at(&self, occurrence: &Occurrence<'_>, value: i64, expected: &str) -> Fault {
        let Occurrence { argument, place, .. } = occurrence;
        let expected = format!("{expected} but got {value}");
        Fault::at("ValueError", "Mismatched", place, *argument, expected)
    }

    /// Compares with an expression whose symbols all have values.
    fn compare(&self, occurrence: &Occurrence<'a>) -> Checked<()> {
        let Some(value) = occurrence.value.filter(|_| self.symbols.is_bound(occurrence.expr, ""))
        else {
            return Ok(());
        };
        // What is declared is computed, even where it does not count.
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
        let (value, exact) = self.solve(symbol, occurrence.expr, found)?;
        if !occurrence.counts {
            return Ok(());
        }
        if !exact {
            return Err(self.mismatch_at(occurrence, found, &occurrence.expr.to_string()));
        }
        let shown = matches!(occurrence.expr, Expr::Name(_)) && !occurrence.many;
        let symbol = &mut self.symbols.all[symbol];
        symbol.value = Some(value);
        symbol.origin = if shown { occurrence.place.clone() } else { symbol.name.to_owned() };
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
        self.symbols.rules.known[symbol] = Known::Yes;
        self.compare_waiting(|symbols, one| symbols.unknown(one.expr).is_empty())
    }

    /// Compares what waits in an element of a loop, by its path, and cannot wait any longer.
    pub(super) fn compare_in(&mut self, path: &str) -> Checked<()> {
        self.compare_waiting(|symbols, one| one.place.starts_with(path) && symbols.is_settled(one))
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

    /// A symbol that only strides mention, none of which counts, takes the compact value of the first.
    pub(super) fn settle(&mut self) -> Checked<()> {
        for index in 0..self.symbols.all.len() {
            if self.symbols.rules.known[index] != Known::Maybe {
                continue;
            }
            if self.symbols.all[index].value.is_none() {
                let first = self.symbols.all[index].first.clone().expect("a stride mentions it");
                let Some((tensor, dim)) = first.stride else { continue };
                let (value, _) = self.solve(index, first.expr, compact_stride(tensor, dim))?;
                let symbol = &mut self.symbols.all[index];
                symbol.value = Some(value);
                symbol.origin = symbol.name.to_owned();
            }
            self.know(index)?;
        }
        self.compare_waiting(|symbols, one| symbols.is_settled(one))
    }
}
