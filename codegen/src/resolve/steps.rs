//! What a signature means: its symbols, and its checks in the order in which they apply.
//!
//! [`resolve`] is the one place that decides which occurrence of a symbol binds it. The wrapper's
//! code and the descriptor that explains a failure are both made from its [`Step`]s.

use abi_spec::Scalar;

use crate::declaration::Expr;
use crate::declaration::{Dim, Function, ParamType, Shape, Strides, Tensor};
use crate::error::Part;
use crate::resolve::kind::constant;
use crate::resolve::linear::{Linear, linear};
use crate::resolve::scope::Scope;
use crate::resolve::values;

/// One check or binding. Steps stand in the order in which a failure is reported. A step about a value that
/// is absent, because it or what contains it is None, does not apply.
#[derive(Clone, Debug)]
pub(crate) enum Step<'a> {
    /// Type and range of a scalar.
    Scalar { value: usize, scalar: Scalar },
    /// Type, NULL, ndim, dtype and, if `device`, device of a tensor, the pointer to its extents, and,
    /// where the rank is free, their signs.
    Header { value: usize, tensor: &'a Tensor, device: bool },
    /// The type of any other value, and all else that concerns it alone.
    Value { value: usize },
    /// One extent, stride, number of a shape, or integer parameter that is an occurrence of a symbol.
    Occurrence { place: Place, rule: Rule<'a> },
    /// The strides are compact.
    Compact { value: usize },
    /// Data pointer and alignment.
    Data { value: usize, align: u64 },
    /// A symbol that only strides mention, none of which counted, takes its compact value.
    Settle { symbol: usize, place: Place, linear: Linear },
    /// Steps for each element of a sequence, or each key and value of a mapping.
    Each { value: usize, steps: Vec<Step<'a>> },
    /// Steps for each type of a union, all of which must hold for one of them.
    OneOf { value: usize, types: Vec<Vec<Step<'a>>> },
    /// A constraint holds.
    Constraint(usize),
    /// An extent of a tensor that is to be allocated can be computed.
    Extent(&'a Expr),
    /// An argument of the body can be computed.
    Argument(usize),
}

impl Step<'_> {
    /// The value that it is about, if it is the first step about it.
    pub(crate) fn opens(&self) -> Option<usize> {
        match self {
            Step::Scalar { value, .. } | Step::Header { value, .. } | Step::Value { value } => {
                Some(*value)
            }
            Step::Occurrence { .. }
            | Step::Compact { .. }
            | Step::Data { .. }
            | Step::Settle { .. }
            | Step::Each { .. }
            | Step::OneOf { .. }
            | Step::Constraint(_)
            | Step::Extent(_)
            | Step::Argument(_) => None,
        }
    }
}

/// Where a symbol may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An integer parameter.
    Value { value: usize },
    /// `value.shape[dim]` of a tensor.
    Extent { value: usize, dim: usize },
    /// `value.strides[dim]`
    Stride { value: usize, dim: usize },
    /// `value[dim]` of a shape.
    Number { value: usize, dim: usize },
}

impl Place {
    /// The value that the place belongs to.
    pub(crate) fn value(self) -> usize {
        match self {
            Place::Value { value }
            | Place::Extent { value, .. }
            | Place::Stride { value, .. }
            | Place::Number { value, .. } => value,
        }
    }

    fn part(self) -> Part {
        match self {
            Place::Value { value } => Part::Type(value),
            Place::Extent { value, dim } | Place::Number { value, dim } => Part::Dim(value, dim),
            Place::Stride { value, dim } => Part::Stride(value, dim),
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
    /// Equal to an expression whose symbols are all known, but for these, which are known if something
    /// optional is there: where one is not, nothing is required.
    Equal(&'a Expr, Vec<usize>),
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
    /// Determined by something in this parameter, if it is there.
    Within(usize),
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
        steps: Vec::with_capacity(4 * scope.values.len() + 4),
        scope,
        knowledge: vec![Knowledge::Unknown; count],
        waiting: Vec::new(),
        first: vec![None; count],
    };
    for param in 0..function.signature.params.len() {
        if let Some(value) = resolver.scope.value_of_param(param) {
            resolver.value(value)?;
        }
    }
    resolver.settle()?;
    resolver.tail(function)?;
    Ok(Resolved { scope: resolver.scope, steps: resolver.steps })
}

impl<'a> Resolver<'a> {
    fn value(&mut self, value: usize) -> Result<(), (Part, String)> {
        let ty: &'a ParamType = self.scope.values[value].ty;
        match ty {
            ParamType::Scalar(scalar) => {
                self.steps.push(Step::Scalar { value, scalar: *scalar });
                if let Some(symbol) = self.scope.symbol_of_value(value) {
                    let place = Place::Value { value };
                    self.steps.push(Step::Occurrence { place, rule: Rule::Symbol(symbol) });
                    self.know(symbol);
                }
                Ok(())
            }
            ParamType::Tensor(tensor) => self.tensor(value, tensor),
            ParamType::Shape(shape) => {
                self.steps.push(Step::Value { value });
                self.dims(shape, |dim| Place::Number { value, dim })
            }
            ParamType::Tuple(_) => {
                self.steps.push(Step::Value { value });
                self.children(value).into_iter().try_for_each(|child| self.value(child))
            }
            ParamType::Sequence(_, element) if **element == ParamType::Any => {
                self.steps.push(Step::Value { value });
                Ok(())
            }
            ParamType::Sequence(..) | ParamType::Mapping(..) => {
                self.steps.push(Step::Value { value });
                let outer = std::mem::take(&mut self.steps);
                self.children(value).into_iter().try_for_each(|child| self.value(child))?;
                self.compare_within(|resolver, place| resolver.is_in(place, value));
                let steps = std::mem::replace(&mut self.steps, outer);
                self.steps.push(Step::Each { value, steps });
                self.nothing_left_in(value)
            }
            ParamType::Union(_) => self.union(value),
            ParamType::Str
            | ParamType::Bytes
            | ParamType::DType
            | ParamType::Device
            | ParamType::Object(_)
            | ParamType::Optional(_)
            | ParamType::Literal(_)
            | ParamType::Any
            | ParamType::Stream => {
                self.steps.push(Step::Value { value });
                Ok(())
            }
        }
    }

    /// What is nested directly in a value.
    fn children(&self, value: usize) -> Vec<usize> {
        let is_child = |&at: &usize| self.scope.values[at].source.parent() == Some(value);
        (value + 1..self.scope.values.len()).filter(is_child).collect()
    }

    /// A type that does not fit must leave no trace, so the types of a union bind nothing.
    fn union(&mut self, value: usize) -> Result<(), (Part, String)> {
        self.steps.push(Step::Value { value });
        let before = self.knowledge.clone();
        let mut types = Vec::new();
        for child in self.children(value) {
            let outer = std::mem::take(&mut self.steps);
            self.value(child)?;
            self.compare_within(|resolver, place| resolver.is_in(place, child));
            types.push(std::mem::replace(&mut self.steps, outer));
            self.nothing_left_in(child)?;
            let changed = (0..before.len()).find(|&at| before[at] != self.knowledge[at]);
            if let Some(symbol) = changed {
                let name = self.scope.symbols[symbol].name;
                let reason = format!("a union cannot determine the symbol `{name}`");
                return Err((Part::Type(child), reason));
            }
        }
        self.steps.push(Step::OneOf { value, types });
        Ok(())
    }

    /// Nothing that is checked in a loop or a union can wait for what is known after it.
    fn nothing_left_in(&self, value: usize) -> Result<(), (Part, String)> {
        match self.waiting.iter().find(|(place, _)| self.is_in(*place, value)) {
            Some((place, expr)) => {
                let reason = format!("not all symbols of `{expr}` are known here");
                Err((place.part(), reason))
            }
            None => Ok(()),
        }
    }

    fn tensor(&mut self, value: usize, tensor: &'a Tensor) -> Result<(), (Part, String)> {
        self.steps.push(Step::Header { value, tensor, device: true });
        self.dims(&tensor.shape, |dim| Place::Extent { value, dim })?;
        match &tensor.strides {
            Strides::Contiguous => self.steps.push(Step::Compact { value }),
            Strides::Any => {}
            Strides::List(list) => {
                for (dim, stride) in list.iter().enumerate() {
                    self.dim(Place::Stride { value, dim }, stride)?;
                }
            }
        }
        self.steps.push(Step::Data { value, align: tensor.alignment() });
        Ok(())
    }

    fn dims(
        &mut self,
        shape: &'a Shape,
        place: impl Fn(usize) -> Place,
    ) -> Result<(), (Part, String)> {
        let Shape::Dims(dims) = shape else { return Ok(()) };
        dims.iter().enumerate().try_for_each(|(dim, extent)| self.dim(place(dim), extent))
    }

    /// True if the value of a place may be absent, or be one of many.
    fn is_within(&self, place: Place) -> bool {
        let optional = values::optionals(&self.scope.values, place.value()).next();
        optional.is_some() || self.is_dynamic(place)
    }

    /// True if a place belongs to a value or to what is nested in it.
    fn is_in(&self, place: Place, value: usize) -> bool {
        let parent = |&at: &usize| self.scope.values[at].source.parent();
        std::iter::successors(Some(place.value()), parent).any(|at| at == value)
    }

    /// True if a place is in a loop or a union.
    fn is_dynamic(&self, place: Place) -> bool {
        values::is_dynamic(&self.scope.values, place.value())
    }

    fn dim(&mut self, place: Place, dim: &'a Dim) -> Result<(), (Part, String)> {
        let at = |reason| (place.part(), reason);
        let expr = match dim {
            Dim::Any => {
                self.steps.push(Step::Occurrence { place, rule: Rule::Any });
                return Ok(());
            }
            Dim::Expr(expr) => expr,
        };
        self.scope.check_dim(expr).map_err(at)?;
        if let Place::Extent { .. } = place
            && let Some(extent @ ..=-1) = constant(expr)
        {
            return Err(at(format!("an extent is never negative, as {extent} is")));
        }
        let (rule, bound) = self.rule(expr);
        if let Rule::Any = rule {
            self.waiting.push((place, expr));
        }
        self.steps.push(Step::Occurrence { place, rule });
        if let Some((symbol, linear)) = bound {
            self.bound(place, symbol, linear);
        }
        Ok(())
    }

    /// What an expression requires of a place at this point, and the symbol that it determines.
    fn rule(&self, expr: &'a Expr) -> (Rule<'a>, Option<(usize, Linear)>) {
        let unknown = self.unknown(expr);
        match (expr, &unknown[..]) {
            (Expr::Name(_), &[symbol]) => {
                (Rule::Symbol(symbol), Some((symbol, Linear::identity())))
            }
            (_, []) => {
                let plain = self.scope.symbol_of(expr).map(Rule::Symbol);
                (plain.unwrap_or_else(|| Rule::Equal(expr, Vec::new())), None)
            }
            (_, &[symbol]) => match linear(expr, self.scope.symbols[symbol].name) {
                Some(linear) => {
                    (Rule::Solve { symbol, expr, linear: linear.clone() }, Some((symbol, linear)))
                }
                None => (Rule::Any, None),
            },
            _ => (Rule::Any, None),
        }
    }

    /// A place may determine a symbol.
    fn bound(&mut self, place: Place, symbol: usize, linear: Linear) {
        if self.is_within(place) {
            if self.knowledge[symbol] == Knowledge::Unknown {
                let param = self.scope.values[place.value()].param;
                self.knowledge[symbol] = Knowledge::Within(param);
            }
            return;
        }
        match place {
            Place::Stride { .. } => {
                self.knowledge[symbol] = Knowledge::Maybe;
                self.first[symbol].get_or_insert((place, linear));
            }
            Place::Extent { .. } | Place::Value { .. } | Place::Number { .. } => self.know(symbol),
        }
    }

    /// Marks a symbol as known and compares the expressions that waited for it.
    fn know(&mut self, symbol: usize) {
        if self.knowledge[symbol] == Knowledge::Known {
            return;
        }
        self.knowledge[symbol] = Knowledge::Known;
        self.compare(|resolver, _, expr| resolver.unknown(expr).is_empty());
    }

    /// Compares what waits for nothing but what is there if something else in the parameter is; `wanted` are the
    /// places that cannot wait any longer.
    fn compare_within(&mut self, wanted: impl Fn(&Self, Place) -> bool) {
        self.compare(|resolver, place, expr| {
            let param = resolver.scope.values[place.value()].param;
            let known =
                |knowledge| knowledge == Knowledge::Known || knowledge == Knowledge::Within(param);
            let unknown = resolver.symbols(expr, |knowledge| !known(knowledge));
            wanted(resolver, place) && resolver.is_within(place) && unknown.is_empty()
        });
    }

    fn compare(&mut self, wanted: impl Fn(&Self, Place, &Expr) -> bool) {
        for (place, expr) in std::mem::take(&mut self.waiting) {
            if wanted(self, place, expr) {
                let rule = Rule::Equal(expr, self.uncertain(expr));
                self.steps.push(Step::Occurrence { place, rule });
            } else {
                self.waiting.push((place, expr));
            }
        }
    }

    /// The symbols of an expression that are not known yet, without repetition.
    fn unknown(&self, expr: &Expr) -> Vec<usize> {
        self.symbols(expr, |knowledge| knowledge != Knowledge::Known)
    }

    /// The symbols of an expression that are known only if something is there.
    fn uncertain(&self, expr: &Expr) -> Vec<usize> {
        self.symbols(expr, |knowledge| matches!(knowledge, Knowledge::Within(_)))
    }

    fn symbols(&self, expr: &Expr, wanted: impl Fn(Knowledge) -> bool) -> Vec<usize> {
        let mut found = Vec::new();
        self.scope.visit_symbols(expr, &mut |symbol| {
            if wanted(self.knowledge[symbol]) && !found.contains(&symbol) {
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
        self.compare_within(|_, _| true);
        let unknown = self.knowledge.iter().position(|&known| known == Knowledge::Unknown);
        if let Some(symbol) = unknown {
            let symbol = &self.scope.symbols[symbol];
            return Err((symbol.part, format!("nothing determines the symbol `{}`", symbol.name)));
        }
        self.all_inside()
    }

    /// What is known within a parameter only must not be used in another.
    fn all_inside(&self) -> Result<(), (Part, String)> {
        for (value, declared) in self.scope.values.iter().enumerate() {
            if let Some(Shape::Dims(dims)) = declared.ty.shape() {
                let part = |dim| Part::Dim(value, dim);
                self.dims_inside(dims, declared.param, part)?;
            }
            let strides = declared.ty.tensor().map(|tensor| &tensor.strides);
            if let Some(Strides::List(dims)) = strides {
                let part = |dim| Part::Stride(value, dim);
                self.dims_inside(dims, declared.param, part)?;
            }
        }
        Ok(())
    }

    fn dims_inside(
        &self,
        dims: &[Dim],
        param: usize,
        part: impl Fn(usize) -> Part,
    ) -> Result<(), (Part, String)> {
        for (index, dim) in dims.iter().enumerate() {
            if let Dim::Expr(expr) = dim {
                self.inside(expr, Some(param)).map_err(|reason| (part(index), reason))?;
            }
        }
        Ok(())
    }

    /// Requires that an expression, which is in a parameter or outside, mentions no symbol that is known
    /// within another parameter only.
    fn inside(&self, expr: &Expr, param: Option<usize>) -> Result<(), String> {
        let mut outside = None;
        self.scope.visit_symbols(expr, &mut |symbol| match self.knowledge[symbol] {
            Knowledge::Within(of) if param != Some(of) => outside = Some((symbol, of)),
            Knowledge::Within(_) | Knowledge::Unknown | Knowledge::Maybe | Knowledge::Known => {}
        });
        let Some((symbol, of)) = outside else { return Ok(()) };
        let name = self.scope.symbols[symbol].name;
        let of = &self.scope.function.signature.params[of].name;
        Err(format!("nothing determines the symbol `{name}` where `{of}` does not"))
    }

    /// The `where` clause and the arguments of the body.
    fn tail(&mut self, function: &'a Function) -> Result<(), (Part, String)> {
        for (i, constraint) in function.signature.constraints.iter().enumerate() {
            let at = |reason| (Part::Constraint(i), reason);
            self.scope.check_constraint(constraint).map_err(at)?;
            self.inside(&constraint.lhs, None).map_err(at)?;
            self.inside(&constraint.rhs, None).map_err(at)?;
            self.steps.push(Step::Constraint(i));
        }
        for (i, output) in function.signature.outputs().iter().enumerate() {
            let at = |reason| (Part::Output(i), reason);
            for expr in output.extents() {
                self.scope.check_extent(expr).map_err(at)?;
                self.inside(expr, None).map_err(at)?;
                if self.scope.can_fail(expr) {
                    self.steps.push(Step::Extent(expr));
                }
            }
        }
        for (i, arg) in function.body.args.iter().enumerate() {
            let at = |reason| (Part::Argument(i), reason);
            self.scope.check_argument(arg).map_err(at)?;
            self.inside(arg, None).map_err(at)?;
            if self.scope.can_fail(arg) {
                self.steps.push(Step::Argument(i));
            }
        }
        Ok(())
    }
}
