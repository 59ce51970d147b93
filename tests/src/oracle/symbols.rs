//! The symbols of a declaration, and what it says of them.

mod occurrences;

use codegen::{BinaryOp, Dim, Expr, Function, ParamType, Shape, Strides};

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
