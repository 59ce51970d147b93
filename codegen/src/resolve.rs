//! What a signature means: its symbols, and its checks in the order in which they apply.
//!
//! [`resolve`] is the one place that decides which occurrence of a symbol binds it. The wrapper's
//! code and the descriptor that explains a failure are both made from its [`Step`]s.

use abi_spec::Scalar;

use crate::declaration::{Dim, Function, Param, ParamType, Shape, Strides, Tensor};
use crate::error::Part;
use crate::expr::Expr;
use crate::linear::{Linear, linear};
use crate::scope::{Scope, constant};

/// One check or binding. Steps stand in the order in which a failure is reported.
#[derive(Clone, Debug)]
pub(crate) enum Step<'a> {
    /// Type and range of a scalar parameter.
    Scalar { param: usize, scalar: Scalar },
    /// Type, NULL, ndim, dtype and device of a tensor, the pointer to its extents, and, where the
    /// rank is free, their signs.
    Header { param: usize, tensor: &'a Tensor },
    /// One extent, stride, or integer parameter that is an occurrence of a symbol.
    Occurrence { place: Place, rule: Rule<'a> },
    /// The strides are compact.
    Compact { param: usize },
    /// Data pointer and alignment.
    Data { param: usize, align: u64 },
    /// A symbol that only strides mention, none of which counted, takes its compact value.
    Settle { symbol: usize, place: Place, linear: Linear },
    /// A constraint holds.
    Constraint(usize),
    /// An extent of a tensor that is to be allocated can be computed.
    Extent(&'a Expr),
    /// An argument of the body can be computed.
    Argument(usize),
}

/// Where a symbol may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The value of an integer parameter.
    Value { param: usize },
    /// `param.shape[dim]`
    Extent { param: usize, dim: usize },
    /// `param.strides[dim]`
    Stride { param: usize, dim: usize },
}

impl Place {
    /// The parameter that the place belongs to.
    pub(crate) fn param(self) -> usize {
        match self {
            Place::Value { param } | Place::Extent { param, .. } | Place::Stride { param, .. } => {
                param
            }
        }
    }
}

/// What is required of the number at a place.
#[derive(Clone, Debug)]
pub(crate) enum Rule<'a> {
    /// Nothing, beyond what every extent must satisfy.
    Any,
    /// Equal to a symbol, which it determines unless an earlier occurrence has done so.
    Symbol(usize),
    /// Equal to an expression whose symbols are all known.
    Equal(&'a Expr),
    /// Equal to `expr`, linear in a symbol that it determines unless an earlier occurrence has.
    Solve { symbol: usize, expr: &'a Expr, linear: Linear },
}

/// A signature with its meaning.
#[derive(Debug)]
pub(crate) struct Resolved<'a> {
    /// Names.
    pub(crate) scope: Scope<'a>,
    /// Checks, in order.
    pub(crate) steps: Vec<Step<'a>>,
}

/// What is known of a symbol while the occurrences are visited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Knowledge {
    Unknown,
    /// Determined by a stride, if that stride counts.
    Maybe,
    Known,
}

struct Resolver<'a> {
    scope: Scope<'a>,
    steps: Vec<Step<'a>>,
    knowledge: Vec<Knowledge>,
    /// Expressions with several unknowns, to be compared once these are known.
    waiting: Vec<(Place, &'a Expr)>,
    /// The first stride that mentions a symbol.
    first: Vec<Option<(Place, Linear)>>,
}

/// Finds the meaning of a function, or why it has none.
pub(crate) fn resolve(function: &Function) -> Result<Resolved<'_>, (Part, String)> {
    let scope = Scope::new(function)?;
    let count = scope.symbols.len();
    let mut resolver = Resolver {
        scope,
        steps: Vec::with_capacity(4 * function.signature.params.len() + 4),
        knowledge: vec![Knowledge::Unknown; count],
        waiting: Vec::new(),
        first: vec![None; count],
    };
    for (index, param) in function.signature.params.iter().enumerate() {
        resolver.param(index, param)?;
    }
    resolver.settle()?;
    resolver.tail(function)?;
    Ok(Resolved { scope: resolver.scope, steps: resolver.steps })
}

impl<'a> Resolver<'a> {
    fn param(&mut self, index: usize, param: &'a Param) -> Result<(), (Part, String)> {
        match &param.ty {
            ParamType::Scalar(scalar) => {
                self.steps.push(Step::Scalar { param: index, scalar: *scalar });
                if let Some(symbol) = self.scope.symbol_of_param(index) {
                    let place = Place::Value { param: index };
                    self.steps.push(Step::Occurrence { place, rule: Rule::Symbol(symbol) });
                    self.know(symbol);
                }
                Ok(())
            }
            ParamType::Tensor(tensor) => self.tensor(index, tensor),
        }
    }

    fn tensor(&mut self, param: usize, tensor: &'a Tensor) -> Result<(), (Part, String)> {
        self.steps.push(Step::Header { param, tensor });
        if let Shape::Dims(dims) = &tensor.shape {
            for (dim, extent) in dims.iter().enumerate() {
                let place = Place::Extent { param, dim };
                self.dim(place, extent).map_err(|reason| (Part::Dim(param, dim), reason))?;
            }
        }
        match &tensor.strides {
            Strides::Contiguous => self.steps.push(Step::Compact { param }),
            Strides::Any => {}
            Strides::List(list) => {
                for (dim, stride) in list.iter().enumerate() {
                    let place = Place::Stride { param, dim };
                    self.dim(place, stride).map_err(|reason| (Part::Stride(param, dim), reason))?;
                }
            }
        }
        let align = tensor.alignment();
        self.steps.push(Step::Data { param, align });
        Ok(())
    }

    fn dim(&mut self, place: Place, dim: &'a Dim) -> Result<(), String> {
        let expr = match dim {
            Dim::Any => {
                self.steps.push(Step::Occurrence { place, rule: Rule::Any });
                return Ok(());
            }
            Dim::Expr(expr) => expr,
        };
        self.scope.check_dim(expr)?;
        if let Place::Extent { .. } = place
            && let Some(extent @ ..=-1) = constant(expr)
        {
            return Err(format!("an extent is never negative, as {extent} is"));
        }
        let unknown = self.unknown(expr);
        let (rule, symbol, linear) = match (expr, &unknown[..]) {
            (Expr::Name(_), &[symbol]) => (Rule::Symbol(symbol), symbol, Linear::identity()),
            (_, []) => {
                let rule = self.scope.symbol_of(expr).map_or(Rule::Equal(expr), Rule::Symbol);
                self.steps.push(Step::Occurrence { place, rule });
                return Ok(());
            }
            (_, &[symbol]) => match linear(expr, self.scope.symbols[symbol].name) {
                Some(linear) => {
                    (Rule::Solve { symbol, expr, linear: linear.clone() }, symbol, linear)
                }
                None => {
                    self.steps.push(Step::Occurrence { place, rule: Rule::Any });
                    self.waiting.push((place, expr));
                    return Ok(());
                }
            },
            _ => {
                self.steps.push(Step::Occurrence { place, rule: Rule::Any });
                self.waiting.push((place, expr));
                return Ok(());
            }
        };
        self.steps.push(Step::Occurrence { place, rule });
        match place {
            Place::Stride { .. } => {
                self.knowledge[symbol] = Knowledge::Maybe;
                self.first[symbol].get_or_insert((place, linear));
            }
            Place::Extent { .. } | Place::Value { .. } => self.know(symbol),
        }
        Ok(())
    }

    /// Marks a symbol as known and compares the expressions that waited for it.
    fn know(&mut self, symbol: usize) {
        if self.knowledge[symbol] == Knowledge::Known {
            return;
        }
        self.knowledge[symbol] = Knowledge::Known;
        for (place, expr) in std::mem::take(&mut self.waiting) {
            if self.unknown(expr).is_empty() {
                self.steps.push(Step::Occurrence { place, rule: Rule::Equal(expr) });
            } else {
                self.waiting.push((place, expr));
            }
        }
    }

    /// The symbols of an expression that are not known yet, without repetition.
    fn unknown(&self, expr: &Expr) -> Vec<usize> {
        let mut found = Vec::new();
        self.scope.visit_symbols(expr, &mut |symbol| {
            if self.knowledge[symbol] != Knowledge::Known && !found.contains(&symbol) {
                found.push(symbol);
            }
        });
        found
    }

    /// After the last parameter: what only strides determine is known now; nothing may be left.
    fn settle(&mut self) -> Result<(), (Part, String)> {
        for symbol in 0..self.knowledge.len() {
            if self.knowledge[symbol] == Knowledge::Maybe
                && let Some((place, linear)) = self.first[symbol].take()
            {
                self.steps.push(Step::Settle { symbol, place, linear });
                self.know(symbol);
            }
        }
        let unknown = self.knowledge.iter().position(|&known| known == Knowledge::Unknown);
        let Some(symbol) = unknown else {
            return Ok(());
        };
        let symbol = &self.scope.symbols[symbol];
        Err((symbol.part, format!("nothing determines the symbol `{}`", symbol.name)))
    }

    /// The `where` clause and the arguments of the body.
    fn tail(&mut self, function: &'a Function) -> Result<(), (Part, String)> {
        for (i, constraint) in function.signature.constraints.iter().enumerate() {
            let part = Part::Constraint(i);
            self.scope.check_constraint(constraint).map_err(|reason| (part, reason))?;
            self.steps.push(Step::Constraint(i));
        }
        for (i, output) in function.signature.outputs().iter().enumerate() {
            for expr in output.extents() {
                self.scope.check_extent(expr).map_err(|reason| (Part::Output(i), reason))?;
                if self.scope.can_fail(expr) {
                    self.steps.push(Step::Extent(expr));
                }
            }
        }
        for (i, arg) in function.body.args.iter().enumerate() {
            self.scope.kind(arg).map_err(|reason| (Part::Argument(i), reason))?;
            if self.scope.can_fail(arg) {
                self.steps.push(Step::Argument(i));
            }
        }
        Ok(())
    }
}
