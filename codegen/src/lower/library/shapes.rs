//! Shapes of tensors as data: how they follow from the arguments of a call, for hosts that know extents as symbols.
//!
//! The shapes of a function are a JSON object with three keys. An argument is its index in a call.
//!
//! | key | holds |
//! |---|---|
//! | `symbols` | a list of objects: the extents and integer arguments from which symbols follow, in the order of the checks; several for a symbol, since some arguments may not be there |
//! | `symbols[i].symbol` | the name of the symbol, never in backticks. Its value is that of its first object whose argument is there and whose terms are known |
//! | `symbols[i].argument` | an argument: a tensor or a shape if there are `extents`, else an integer |
//! | `symbols[i].extents` | first and end of a range of extents, or of the numbers of a shape, whose product counts, 1 for none. Both are indices as those of a slice of Python: negative from the end, or null |
//! | `symbols[i].coefficient`, `symbols[i].constant` | terms: extents and arguments are this multiple of the symbol, and this more; no keys for 1 and 0 |
//! | `tensors` | an object with the tensors among parameters and results by their names |
//! | `tensors.x.shape` | a list of terms, with null for an extent that may be any; null for any rank |
//! | `tensors.x.dtype` | the element type; null if it may be one of several |
//! | `tensors.x.dtype_of` | the argument whose element type it has; no key for a declared one |
//! | `tensors.x.device` | the device type, or `any` |
//! | `tensors.x.access` | `read` for an argument whose elements are only read, `write` for one whose elements are not read before they are written; no key for others |
//! | `returned` | a list of the values that the function returns by no names, those of a `Tuple` each: an object as those of `tensors`, whose extents may be symbols that no argument determines, or null for a value that is no contiguous tensor |
//!
//! A term is an integer, the name of a symbol, or a list of an operator and its operands: `neg` with one operand, and
//! with two `+`, `-`, `*`, `/` (floor division), `%` (the remainder of floor division), `ceildiv`, `min` and `max`.
//! Terms are exact, as the [arithmetic](crate::language#arithmetic) of the language is: a call for which an operation
//! leaves `int64`, or divides by 0, is an error.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::declaration::{Dim, Expr, OwnDim, ParamType, ResultType, Strides, Tensor};
use crate::resolve::Resolved;
use crate::resolve::function::Function;
use crate::resolve::ids::{SymbolId, ValueId};
use crate::resolve::linear::linear;
use crate::resolve::operator::{Binary, Division, Exact, Extreme, OfIntegers};
use crate::resolve::step::{Linear, Place, Rule, Step};
use crate::resolve::term::{Node, Term};
use crate::resolve::value::Source;

impl Resolved<'_> {
    /// Returns the shapes of function number `index` as JSON; see the [module](crate::lower::library::shapes) for its
    /// keys.
    ///
    /// ```
    /// let text = "halves(x: Tensor([..., 2 * n], float32)) -> y: Tensor([ceildiv(n, 4)], float32) = k(x.data, y.data);";
    /// let library: tvm_ffi_codegen::Library = text.parse()?;
    /// let shapes: serde_json::Value = serde_json::from_str(&library.resolve()?.shapes(0)).unwrap();
    /// let n = serde_json::json!({
    ///     "symbol": "n", "argument": 0, "extents": [-1, null], "coefficient": 2, "constant": 0
    /// });
    /// assert_eq!(shapes["symbols"][0], n);
    /// assert_eq!(shapes["tensors"]["y"]["shape"], serde_json::json!([["ceildiv", "n", 4]]));
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the library declares no function of this number.
    pub fn shapes(&self, index: usize) -> String {
        let function = &self.functions[index];
        let symbols = function.steps.iter().flat_map(|step| Occurrence::of(function, step));
        let shapes = Shapes {
            symbols: symbols.collect(),
            tensors: tensors(function),
            returned: returned(function),
        };
        serde_json::to_string(&shapes).expect("texts and numbers under texts are JSON")
    }
}

#[derive(Serialize)]
struct Shapes<'a> {
    symbols: Vec<Occurrence<'a>>,
    tensors: BTreeMap<&'a str, Extents>,
    returned: Vec<Option<Extents>>,
}

/// A place that binds a symbol, or may.
#[derive(Serialize)]
struct Occurrence<'a> {
    symbol: &'a str,
    argument: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    extents: Option<[Option<i64>; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coefficient: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constant: Option<Value>,
}

/// A tensor.
#[derive(Serialize)]
struct Extents {
    shape: Option<Vec<Option<Value>>>,
    dtype: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype_of: Option<usize>,
    device: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    access: Option<&'static str>,
}

impl<'a> Occurrence<'a> {
    /// Describes the place of a step for each symbol that follows from it; none where no argument has its number. Steps
    /// for elements and for types of unions bind nothing outside of them.
    fn of(function: &Function<'a>, step: &Step<'a>) -> Vec<Occurrence<'a>> {
        let Step::Occurrence { place, rule } = step else { return Vec::new() };
        let extents = match *place {
            Place::Value { .. } => None,
            Place::Extent { value, dim } | Place::Number { value, dim } => {
                match function.values[value].ty.required().0.shape() {
                    Some(shape) => Some(range(shape.own_dim(dim))),
                    None => return Vec::new(),
                }
            }
            // Strides of tensors that have no memory yet are unknown.
            Place::Stride { .. } => return Vec::new(),
        };
        let Some(argument) = argument(function, place.value()) else { return Vec::new() };
        let describe = |(symbol, linear): (SymbolId, Option<Linear>)| Occurrence {
            symbol: function.symbols[symbol].name,
            argument,
            extents,
            coefficient: linear.as_ref().map(|linear| data(function, &linear.coefficient)),
            constant: linear.as_ref().map(|linear| data(function, &linear.constant)),
        };
        solved(rule).into_iter().map(describe).collect()
    }
}

/// Returns the symbols that follow from a number under this rule; `None` for the linear function of the symbol itself.
/// An expression that a call compares, since all its symbols are known, determines each of them where the others are.
fn solved(rule: &Rule) -> Vec<(SymbolId, Option<Linear>)> {
    match rule {
        Rule::Any => Vec::new(),
        Rule::Symbol(symbol) => vec![(*symbol, None)],
        Rule::Solve { symbol, linear, .. } => vec![(*symbol, Some(linear.clone()))],
        Rule::Equal { term, .. } => {
            let mut symbols = Vec::new();
            term.visit_symbols(&mut |symbol| symbols.push(symbol));
            symbols.sort_unstable();
            symbols.dedup();
            let of = |symbol| Some((symbol, Some(linear(term, symbol)?)));
            symbols.into_iter().filter_map(of).collect()
        }
    }
}

impl Extents {
    /// Describes a tensor by the terms for its extents.
    fn new(
        function: &Function<'_>,
        tensor: &Tensor,
        terms: Vec<Option<Value>>,
        dtype_of: Option<ValueId>,
    ) -> Extents {
        let shape = tensor.rank().map(|_| terms);
        let dtype = if let [dtype] = &tensor.dtypes[..] { Some(dtype.to_string()) } else { None };
        let dtype_of = dtype_of.and_then(|of| argument(function, of));
        let device = tensor.device.to_string();
        Extents { shape, dtype, dtype_of, device, access: tensor.access.said() }
    }
}

fn tensors<'a>(function: &Function<'a>) -> BTreeMap<&'a str, Extents> {
    let params = function.values.iter().filter_map(|(id, value)| {
        let (index, tensor) = (argument(function, id)?, value.tensor()?);
        let mut terms = vec![None; tensor.shape.dims().len()];
        for step in &function.steps {
            if let Step::Occurrence { place: Place::Extent { value, dim }, rule } = step
                && *value == id
                && let Some(term) = required(function, rule)
            {
                terms[*dim] = Some(term);
            }
        }
        let name = &function.declared.signature.arguments()[index].name;
        Some((name.as_str(), Extents::new(function, tensor, terms, value.dtype_of)))
    });
    let results = function.results().map(|(_, output)| {
        let terms = output.extents.iter().map(|term| Some(data(function, term))).collect();
        (output.name, Extents::new(function, &output.tensor, terms, output.dtype_of))
    });
    params.chain(results).collect()
}

/// Describes each value that a function returns and does not allocate by its signature.
fn returned(function: &Function<'_>) -> Vec<Option<Extents>> {
    let tensor = |ty: &ParamType| {
        let tensor = ty.tensor().filter(|tensor| tensor.strides == Strides::Contiguous)?;
        let terms = tensor.shape.dims().iter().map(written).collect();
        let binds =
            |of: &Tensor| of.bound_symbol().is_some_and(|of| tensor.used_symbol() == Some(of));
        let mut values = function.values.iter();
        let dtype_of = values.find(|(_, value)| value.tensor().is_some_and(binds));
        Some(Extents::new(function, tensor, terms, dtype_of.map(|(id, _)| id)))
    };
    match &function.declared.signature.result {
        ResultType::Value(ParamType::Tuple(elements)) => {
            elements.iter().map(|element| tensor(&element.ty)).collect()
        }
        ResultType::Value(ty) => vec![tensor(ty)],
        ResultType::None | ResultType::Allocated(_) => Vec::new(),
    }
}

/// Writes a dim as the declaration has it; `None` for any number.
fn written(dim: &Dim) -> Option<Value> {
    fn term(expr: &Expr) -> Option<Value> {
        let of_two = |name: &str, [a, b]: [&Expr; 2]| Some(json!([name, term(a)?, term(b)?]));
        if let Expr::Int(number) = expr {
            return Some(Value::from(*number));
        }
        if let Expr::Name(symbol) = expr {
            return Some(Value::from(symbol.as_str()));
        }
        if let Expr::Neg(operand) = expr {
            return Some(json!(["neg", term(operand)?]));
        }
        if let Expr::Binary(op, a, b) = expr {
            return of_two(op.text(), [a, b]);
        }
        let Expr::Call(builtin, a, b) = expr else { return None };
        of_two(builtin.text(), [a, b])
    }
    match dim {
        Dim::Any => None,
        Dim::Expr(expr) => term(expr),
    }
}

/// Returns the index of the argument that a value is; `None` for values of the body and for parts of others.
fn argument(function: &Function<'_>, value: ValueId) -> Option<usize> {
    match function.values[value].source {
        Source::Argument(index) => Some(index),
        Source::Context
        | Source::Rest(_)
        | Source::Result
        | Source::LookUp(_)
        | Source::Captured(_)
        | Source::Element { .. }
        | Source::Each { .. }
        | Source::Key { .. }
        | Source::Mapped { .. }
        | Source::Alternative { .. } => None,
    }
}

/// Returns the range of extents that a declared dim is.
fn range(dim: OwnDim) -> [Option<i64>; 2] {
    let from_end = |count: usize| (count > 0).then_some(-(count as i64));
    match dim {
        OwnDim::FromStart(at) => [Some(at as i64), Some(at as i64 + 1)],
        OwnDim::FromEnd(count) => [from_end(count), from_end(count - 1)],
        OwnDim::Leading(after) => [None, from_end(after)],
    }
}

/// Returns the number that a rule requires; `None` for any.
fn required(function: &Function<'_>, rule: &Rule) -> Option<Value> {
    match rule {
        Rule::Any => None,
        Rule::Symbol(symbol) => Some(name(function, *symbol)),
        Rule::Equal { term, .. } => Some(data(function, term)),
        Rule::Solve { symbol, linear: Linear { coefficient, constant, .. }, .. } => {
            let multiple = json!(["*", data(function, coefficient), name(function, *symbol)]);
            Some(json!(["+", multiple, data(function, constant)]))
        }
    }
}

fn name(function: &Function<'_>, symbol: SymbolId) -> Value {
    Value::from(function.symbols[symbol].name)
}

/// Writes a term as data. Dims have no others: `resolve` refuses them.
fn data(function: &Function<'_>, term: &Term) -> Value {
    let of_two = |operator: &str, [a, b]: &[Term; 2]| {
        json!([operator, data(function, a), data(function, b)])
    };
    match &term.node {
        Node::Int(value) => Value::from(*value),
        Node::Symbol(symbol) => name(function, *symbol),
        Node::Exact(Exact::Add, operands, _) => of_two("+", operands),
        Node::Exact(Exact::Sub, operands, _) if operands[0].constant() == Some(0) => {
            json!(["neg", data(function, &operands[1])])
        }
        Node::Exact(Exact::Sub, operands, _) => of_two("-", operands),
        Node::Exact(Exact::Mul, operands, _) => of_two("*", operands),
        Node::Binary(Binary::Integers(OfIntegers::Pick(Extreme::Min)), operands) => {
            of_two("min", operands)
        }
        Node::Binary(Binary::Integers(OfIntegers::Pick(Extreme::Max)), operands) => {
            of_two("max", operands)
        }
        Node::Divide(Division::Div, operands, _) => of_two("/", operands),
        Node::Divide(Division::Rem, operands, _) => of_two("%", operands),
        Node::Divide(Division::CeilDiv, operands, _) => of_two("ceildiv", operands),
        Node::Unary(..)
        | Node::Binary(..)
        | Node::Float(_)
        | Node::Text(_)
        | Node::Null
        | Node::Local(_)
        | Node::Value(_)
        | Node::Output(_)
        | Node::OutputData(_)
        | Node::OutputObject(_)
        | Node::Property(..)
        | Node::Number { .. }
        | Node::Logic(..)
        | Node::Narrow(..)
        | Node::Round(..)
        | Node::Mixed(..)
        | Node::Offset(..)
        | Node::SameText(..)
        | Node::Stream(_)
        | Node::OutputStream(_)
        | Node::DeviceAttribute { .. }
        | Node::CurrentDevice
        | Node::Global(_) => unreachable!("{:?} is in no dim", term.node),
    }
}
