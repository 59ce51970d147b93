//! What each name of a function stands for.

use crate::declaration::Expr;
use crate::declaration::{Dim, Function, ParamType, Shape, Strides, Tensor};
use crate::error::Part;
use crate::resolve::values::{self, Source, Value};

/// A symbol: an integer that extents, strides and integer parameters agree on.
#[derive(Clone, Debug)]
pub(crate) struct SymbolInfo<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// Where it is first mentioned.
    pub(crate) part: Part,
    /// The integer parameter of the same name, as a value.
    pub(crate) value: Option<usize>,
}

/// Symbols of one function, integer parameters included: the routine that explains failures has room
/// for so many.
pub(crate) const MAX_SYMBOLS: usize = 1024;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A symbol; every integer parameter that is always there is one.
    Symbol(usize),
    /// Another parameter, as a value.
    Value(usize),
    /// A tensor that is allocated for the kernel.
    Output(usize),
}

/// The names of one function.
#[derive(Debug)]
pub(crate) struct Scope<'a> {
    /// The declaration.
    pub(crate) function: &'a Function,
    /// Its parameters and what is nested in them.
    pub(crate) values: Vec<Value<'a>>,
    /// In the order in which they are first mentioned.
    pub(crate) symbols: Vec<SymbolInfo<'a>>,
}

impl<'a> Scope<'a> {
    /// Collects the symbols.
    pub(crate) fn new(function: &'a Function) -> Result<Self, (Part, String)> {
        let values = values::values(&function.signature);
        let mut scope = Scope { function, values, symbols: Vec::new() };
        for index in 0..scope.values.len() {
            match scope.values[index].ty {
                ParamType::Scalar(_) if scope.is_symbol(index) => {
                    let param = scope.values[index].param;
                    scope.mention(&function.signature.params[param].name, Part::Param(param))?;
                }
                ParamType::Tensor(tensor) => {
                    scope.collect_shape(index, &tensor.shape)?;
                    scope.collect_strides(index, &tensor.strides)?;
                }
                ParamType::Shape(shape) => scope.collect_shape(index, shape)?,
                ParamType::Scalar(_)
                | ParamType::Str
                | ParamType::Bytes
                | ParamType::DType
                | ParamType::Device
                | ParamType::Object(_)
                | ParamType::Sequence(..)
                | ParamType::Mapping(..)
                | ParamType::Tuple(_)
                | ParamType::Optional(_)
                | ParamType::Union(_)
                | ParamType::Literal(_)
                | ParamType::Any
                | ParamType::Stream => {}
            }
        }
        scope.check_outputs()?;
        Ok(scope)
    }

    /// True for an integer parameter that is always there.
    fn is_symbol(&self, value: usize) -> bool {
        let Value { ty, optional, ref source, .. } = self.values[value];
        let is_int = matches!(ty, ParamType::Scalar(scalar) if scalar.is_int());
        is_int && !optional && matches!(source, Source::Argument(_))
    }

    fn collect_shape(&mut self, value: usize, shape: &'a Shape) -> Result<(), (Part, String)> {
        let Shape::Dims(dims) = shape else { return Ok(()) };
        let mut dims = dims.iter().enumerate();
        dims.try_for_each(|(dim, extent)| self.collect_dim(extent, Part::Dim(value, dim)))
    }

    fn collect_strides(
        &mut self,
        value: usize,
        strides: &'a Strides,
    ) -> Result<(), (Part, String)> {
        let Strides::List(list) = strides else { return Ok(()) };
        let mut list = list.iter().enumerate();
        list.try_for_each(|(dim, stride)| self.collect_dim(stride, Part::Stride(value, dim)))
    }

    fn collect_dim(&mut self, dim: &'a Dim, part: Part) -> Result<(), (Part, String)> {
        match dim {
            Dim::Any => Ok(()),
            Dim::Expr(expr) => self.collect_expr(expr, part),
        }
    }

    fn collect_expr(&mut self, expr: &'a Expr, part: Part) -> Result<(), (Part, String)> {
        if let Expr::Name(name) = expr {
            return self.mention(name, part);
        }
        expr.children().try_for_each(|child| self.collect_expr(child, part))
    }

    fn mention(&mut self, name: &'a str, part: Part) -> Result<(), (Part, String)> {
        if self.symbols.iter().any(|symbol| symbol.name == name) {
            return Ok(());
        }
        let value = self.param(name);
        if let Some(value) = value
            && !self.is_symbol(value)
        {
            let Value { ty, optional, .. } = self.values[value];
            let a = if optional { "an optional" } else { "a" };
            let what = if ty.tensor().is_some() {
                "a tensor".to_owned()
            } else if let ParamType::Scalar(scalar) = ty {
                format!("{a} {scalar} parameter")
            } else {
                format!("{a} parameter of type {ty}")
            };
            return Err((part, format!("`{name}` is {what}, not a symbol")));
        }
        if self.symbols.len() == MAX_SYMBOLS {
            return Err((part, format!("more than {MAX_SYMBOLS} symbols")));
        }
        self.symbols.push(SymbolInfo { name, part, value });
        Ok(())
    }

    /// The value of the parameter of this name.
    fn param(&self, name: &str) -> Option<usize> {
        let params = &self.function.signature.params;
        let param = params.iter().position(|param| param.name == name)?;
        self.value_of_param(param)
    }

    /// The value that a parameter is.
    pub(crate) fn value_of_param(&self, param: usize) -> Option<usize> {
        self.values.iter().position(|value| value.param == param && value.source.parent().is_none())
    }

    /// The position among the arguments of a call of the one that a value is in; `None` for `self`.
    pub(crate) fn argument(&self, value: usize) -> Option<usize> {
        let param = self.values[value].param;
        if self.function.signature.has_self() { param.checked_sub(1) } else { Some(param) }
    }

    /// The declaration of a tensor.
    pub(crate) fn tensor_of(&self, value: usize) -> Option<&'a Tensor> {
        self.values[value].ty.tensor()
    }

    /// The symbol that an integer parameter is an occurrence of.
    pub(crate) fn symbol_of_value(&self, value: usize) -> Option<usize> {
        self.symbols.iter().position(|symbol| symbol.value == Some(value))
    }

    /// The symbol that an expression consists of.
    pub(crate) fn symbol_of(&self, expr: &Expr) -> Option<usize> {
        let Expr::Name(name) = expr else {
            return None;
        };
        self.symbols.iter().position(|symbol| symbol.name == name)
    }

    /// What a name stands for.
    pub(crate) fn meaning(&self, name: &str) -> Option<Meaning> {
        if let Some(symbol) = self.symbols.iter().position(|symbol| symbol.name == name) {
            return Some(Meaning::Symbol(symbol));
        }
        let param = self.param(name).map(Meaning::Value);
        param.or_else(|| self.output(name).map(Meaning::Output))
    }

    /// The value that an expression consists of: a parameter, or an element of one that is a tuple.
    pub(crate) fn value_of(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Name(name) => self.param(name),
            Expr::Element(tuple, index) => self.element(self.value_of(tuple)?, *index as usize),
            Expr::Field(tuple, name) => {
                let of = self.value_of(tuple)?;
                let ParamType::Tuple(elements) = self.values[of].ty else { return None };
                let named = |element: &crate::Element| element.name.as_ref() == Some(name);
                self.element(of, elements.iter().position(named)?)
            }
            Expr::Int(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Member(..)
            | Expr::Neg(_)
            | Expr::Binary(..)
            | Expr::Call(..)
            | Expr::Stream(_)
            | Expr::Cast(..) => None,
        }
    }

    /// An element of a tuple.
    pub(crate) fn element(&self, of: usize, index: usize) -> Option<usize> {
        let source = Source::Element { of, index };
        self.values.iter().position(|value| value.source == source)
    }

    /// The tensor that an expression consists of.
    pub(crate) fn tensor(&self, expr: &Expr) -> Option<(usize, &'a Tensor)> {
        let value = self.value_of(expr)?;
        Some((value, self.tensor_of(value)?))
    }

    /// The shape whose number `index` an expression is.
    pub(crate) fn number_of_shape(&self, expr: &Expr) -> Option<(usize, u32)> {
        let Expr::Element(of, index) = expr else { return None };
        let value = self.value_of(of)?;
        matches!(self.values[value].ty, ParamType::Shape(_)).then_some((value, *index))
    }

    /// Calls `f` with every occurrence of a symbol in an expression.
    pub(crate) fn visit_symbols(&self, expr: &Expr, f: &mut impl FnMut(usize)) {
        if let Some(symbol) = self.symbol_of(expr) {
            f(symbol);
        }
        expr.children().for_each(|child| self.visit_symbols(child, f));
    }
}
