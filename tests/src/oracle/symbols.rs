//! The symbols of a declaration, and which of them the declaration has bound at some point.

mod occurrences;

use codegen::language::spelled;
use codegen::{BinaryOp, Dim, Expr, Function, ParamType, Shape, Strides};

/// The symbols of a function, in the order of their first occurrence.
pub(super) struct Symbols<'a> {
    all: Vec<Symbol<'a>>,
    rules: Rules<'a>,
}

/// State of the checks that depends on the declaration, not on the arguments.
#[derive(Clone)]
pub(super) struct Rules<'a> {
    /// State of each symbol.
    known: Vec<Known>,
    /// Occurrences with several unknown symbols.
    waiting: Vec<Occurrence<'a>>,
}

struct Symbol<'a> {
    name: &'a str,
    /// True if anything but a parameter mentions the symbol.
    measures: bool,
    /// The number of times that dims mention the symbol; one in a loop counts as several.
    mentions: u32,
    value: Option<i64>,
    /// Path that bound the symbol, as errors show it.
    origin: String,
    /// The first stride that is linear in the symbol.
    first: Option<Occurrence<'a>>,
}

/// State of a symbol.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    No,
    /// Bound if the stride that mentions the symbol counts.
    Maybe,
    /// Bound if a value that mentions the symbol is present.
    Within,
    Yes,
}

/// An occurrence: a number that must equal the value of an expression.
#[derive(Clone)]
pub(super) struct Occurrence<'a> {
    argument: usize,
    path: String,
    /// The number; `None` if the value around it is missing.
    value: Option<i64>,
    expr: &'a Expr,
    counts: bool,
    /// True if the value around the number may be missing.
    uncertain: bool,
    /// True in an element of a sequence, whose path no error names.
    many: bool,
    /// The compact value of a stride.
    compact: Option<i64>,
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
            ParamType::Optional(inner) => self.mention_type(inner),
            ParamType::Sequence(_, inner) => {
                (0..2).for_each(|_| self.mention_type(inner));
            }
            ParamType::Mapping(_, types) => {
                types.iter().chain(types.iter()).for_each(|ty| self.mention_type(ty));
            }
            ParamType::Union(types) => types.iter().for_each(|ty| self.mention_type(ty)),
            ParamType::Scalar(_)
            | ParamType::Leaf(_)
            | ParamType::Object(_)
            | ParamType::Literal(_) => {}
        }
    }

    fn mention_shape(&mut self, shape: &'a Shape) {
        if let Shape::Dims(dims) | Shape::Trailing { dims, .. } = shape {
            dims.iter().for_each(|dim| self.mention_dim(dim));
        }
    }

    fn mention(&mut self, name: &'a str) {
        if self.all.iter().all(|symbol| symbol.name != name) {
            let (value, origin) = (None, String::new());
            self.all.push(Symbol {
                name,
                measures: false,
                mentions: 0,
                value,
                origin,
                first: None,
            });
            self.rules.known.push(Known::No);
        }
    }

    fn mention_dim(&mut self, dim: &'a Dim) {
        if let Dim::Expr(expr) = dim {
            for name in names(expr) {
                self.mention(name);
                for symbol in self.all.iter_mut().filter(|symbol| symbol.name == name) {
                    symbol.measures = true;
                    symbol.mentions += 1;
                }
            }
        }
    }

    /// Returns true if an extent, a number of a shape or a stride mentions the symbol.
    pub(super) fn measures(&self, name: &str) -> bool {
        self.all.iter().any(|symbol| symbol.name == name && symbol.measures)
    }

    /// Returns the names of all symbols.
    pub(super) fn all(&self) -> impl Iterator<Item = &'a str> {
        self.all.iter().map(|symbol| symbol.name)
    }

    pub(super) fn rules(&self) -> Rules<'a> {
        self.rules.clone()
    }

    /// Restores an earlier state.
    pub(super) fn restore(&mut self, rules: Rules<'a>) {
        self.rules = rules;
    }

    /// Returns the values of all symbols and their origins.
    pub(super) fn bindings(&self) -> Vec<(Option<i64>, String)> {
        self.all.iter().map(|symbol| (symbol.value, symbol.origin.clone())).collect()
    }

    /// Restores earlier values.
    pub(super) fn unbind(&mut self, bindings: Vec<(Option<i64>, String)>) {
        for (symbol, (value, origin)) in self.all.iter_mut().zip(bindings) {
            (symbol.value, symbol.origin) = (value, origin);
        }
    }

    /// Returns the value of a bound symbol.
    pub(super) fn value(&self, name: &str) -> Option<i64> {
        self.all.iter().find(|symbol| symbol.name == name)?.value
    }

    /// Returns the value of a bound symbol, 0 if nothing has bound it in this call, and the place that has bound it, if
    /// errors name it.
    pub(super) fn origin(&self, name: &str) -> Option<(i64, Option<&str>)> {
        let symbol = self.all.iter().find(|symbol| symbol.name == name)?;
        let value = symbol.value.unwrap_or(0);
        // The place of a symbol that only a stride mentions is that of the declaration.
        if let (1, Some(stride)) = (symbol.mentions, &symbol.first) {
            let is_shown = matches!(stride.expr, Expr::Name(_)) && !stride.uncertain;
            return Some((value, is_shown.then_some(&stride.path[..])));
        }
        let origin = Some(&symbol.origin[..]).filter(|at| *at != spelled(name).to_string());
        Some((value, origin.filter(|at| !at.is_empty())))
    }

    /// Returns the symbols of an expression that may be unbound, each once.
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

    /// Returns true if an occurrence depends only on symbols that are bound in every call, or whenever the values that
    /// mention them are present.
    fn is_decided(&self, occurrence: &Occurrence<'_>) -> bool {
        let is_open = |known| matches!(known, Known::No | Known::Maybe);
        self.symbols(occurrence.expr, is_open).is_empty()
    }

    /// Returns true if every symbol of an expression except one has a value.
    fn is_bound(&self, expr: &Expr, but: &str) -> bool {
        let is_free = |name: &&str| *name != but && self.value(name).is_none();
        !names(expr).iter().any(is_free)
    }
}

/// Returns the names in an expression.
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
        | Expr::DeviceAttribute(..)
        | Expr::CurrentDevice
        | Expr::Global(_)
        | Expr::Cast(..)
        | Expr::Bool(_)
        | Expr::None
        | Expr::Compare(..)
        | Expr::Not(_)
        | Expr::Logic(..)
        | Expr::Array(_)
        | Expr::Shape(_)
        | Expr::Function(_) => expr.children().flat_map(names).collect(),
    }
}

/// Returns true if an expression is linear in a symbol: a sum of multiples of the symbol and of terms without it.
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
        | Expr::DeviceAttribute(..)
        | Expr::CurrentDevice
        | Expr::Global(_)
        | Expr::Cast(..)
        | Expr::Bool(_)
        | Expr::None
        | Expr::Compare(..)
        | Expr::Not(_)
        | Expr::Logic(..)
        | Expr::Array(_)
        | Expr::Shape(_)
        | Expr::Function(_) => false,
    }
}
