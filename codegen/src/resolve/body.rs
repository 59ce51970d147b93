//! What follows the parameters: constraints, the tensors that are allocated, and the call of the kernel.

use abi_spec::{DType, Scalar};

use super::function::{Argument, Call, Function, Statement};
use super::ids::ValueId;
use super::names::Names;
use super::operator::{self, Binary, Unary};
use super::order::Order;
use super::prototype;
use super::step::{Condition, Step};
use super::term::{Kind, Node, Term};
use crate::declaration::{Comparison, Constraint, Expr, Member, ParamType};
use crate::error::Part;

/// Finds the meaning of a function, or why it has none.
pub(super) fn resolve(declared: &crate::Function) -> Result<Function<'_>, (Part, String)> {
    let mut names = Names::new(declared)?;
    let mut order = Order::new(&names)?;
    constraints(&names, &mut order)?;
    let extents = outputs(&names, &mut order)?;
    let body = vec![Statement::Return(call(&names, &mut order)?)];
    let steps = order.steps;
    for (output, extents) in names.outputs.keys().zip(extents) {
        names.outputs[output].extents = extents;
    }
    let Names { values, symbols, outputs, .. } = names;
    Ok(Function { declared, values, symbols, outputs, steps, body })
}

fn constraints<'a>(names: &Names<'a>, order: &mut Order<'_, 'a>) -> Result<(), (Part, String)> {
    for (index, constraint) in names.function.signature.constraints.iter().enumerate() {
        let at = |reason| (Part::Constraint(index), reason);
        let condition = names.condition(constraint).map_err(at)?;
        order.inside(&condition.test, None).map_err(at)?;
        order.steps.push(Step::Require(condition));
    }
    Ok(())
}

fn outputs<'a>(
    names: &Names<'a>,
    order: &mut Order<'_, 'a>,
) -> Result<Vec<Vec<Term>>, (Part, String)> {
    let mut all = Vec::with_capacity(names.outputs.len());
    for (index, output) in names.function.signature.outputs().iter().enumerate() {
        let at = |reason| (Part::Output(index), reason);
        let mut extents = Vec::new();
        for expr in output.extents() {
            let term = names.extent(expr).map_err(at)?;
            order.inside(&term, None).map_err(at)?;
            if term.can_fail() {
                order.steps.push(Step::Evaluate(term.clone()));
            }
            extents.push(term);
        }
        all.push(extents);
    }
    Ok(all)
}

fn call<'a>(names: &Names<'a>, order: &mut Order<'_, 'a>) -> Result<Call<'a>, (Part, String)> {
    let body = &names.function.body;
    let mut args = Vec::with_capacity(body.args.len());
    for (index, expr) in body.args.iter().enumerate() {
        let at = |reason| (Part::Argument(index), reason);
        let argument = names.argument(expr).map_err(at)?;
        if let Argument::Term(term, _) = &argument {
            order.inside(term, None).map_err(at)?;
            if term.can_fail() {
                order.steps.push(Step::Evaluate(term.clone()));
            }
        }
        args.push(argument);
    }
    let prototype = prototype::of_call(names, body, &args);
    Ok(Call { symbol: &body.symbol, prototype, args, status: body.status.as_deref() })
}

impl<'a> Names<'a> {
    /// Dims are integer expressions over symbols.
    pub(super) fn dim(&self, expr: &Expr) -> Result<Term, String> {
        over_symbols(expr)?;
        self.term(expr).map(Term::into_int)
    }

    /// An extent is a number that is known before the call.
    fn extent(&self, expr: &Expr) -> Result<Term, String> {
        self.no_output(expr)?;
        let term = self.dim(expr)?;
        match term.kind {
            Kind::Int => Ok(term),
            Kind::Unsigned
            | Kind::Float
            | Kind::Ptr
            | Kind::DType
            | Kind::Device
            | Kind::Text
            | Kind::Several => Err(format!("`{expr}` is not an integer")),
        }
    }

    /// Nothing is known of results before the call.
    fn no_output(&self, expr: &Expr) -> Result<(), String> {
        if self.output_of(expr).is_some() {
            return Err(format!("`{expr}` is a result, which is not known before the call"));
        }
        expr.children().try_for_each(|child| self.no_output(child))
    }

    /// Everything that has a value can be passed on, but for text in quotes.
    fn argument(&self, expr: &Expr) -> Result<Argument, String> {
        let term = self.term(expr)?;
        if let Some(value) = self.value_of(expr) {
            return Ok(Argument::Value(value));
        }
        let scalar = match (expr, term.kind) {
            (Expr::Cast(scalar, _), _) => *scalar,
            (Expr::Member(_, Member::IsSome | Member::IsContiguous), _) => Scalar::Bool,
            (_, Kind::Int) => Scalar::Int64,
            (_, Kind::Unsigned) => {
                return Err(format!("`{expr}` is above int64: only a `uint64` compares with it"));
            }
            (_, Kind::Float) => Scalar::Float64,
            (_, Kind::DType) => Scalar::Uint32,
            (_, Kind::Ptr) => Scalar::Ptr,
            (_, Kind::Device | Kind::Text | Kind::Several) => {
                return Err("text in quotes is for comparisons".to_owned());
            }
        };
        Ok(Argument::Term(term, scalar))
    }

    /// Numbers compare with numbers; everything else for equality with its own kind. Text in quotes stands
    /// for an element type or a device where it is compared with one.
    fn condition(&self, constraint: &'a Constraint) -> Result<Condition<'a>, String> {
        let Constraint { lhs, op, rhs, message } = constraint;
        self.no_output(lhs)?;
        self.no_output(rhs)?;
        if mentions_stream(lhs) || mentions_stream(rhs) {
            return Err("a stream is not known before the call".to_owned());
        }
        if let Some(text) = [lhs, rhs].into_iter().find(|expr| self.is_address(expr)) {
            return Err(format!("`{text}` is for the call only"));
        }
        let (test, what) = self.comparison(*op, lhs, rhs)?;
        let ordered =
            matches!(op, Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge);
        if let Some(what) = what.filter(|_| ordered) {
            return Err(format!("{what} compare with == and != only"));
        }
        let quote = self.quote(constraint.comparison().to_string(), &[lhs, rhs])?;
        Ok(Condition { message: message.as_deref(), test, quote })
    }

    /// A comparison, and what it compares if that has no order.
    fn comparison(
        &self,
        op: Comparison,
        lhs: &Expr,
        rhs: &Expr,
    ) -> Result<(Term, Option<&'static str>), String> {
        let (a, b) = (self.term(lhs)?, self.term(rhs)?);
        let words = |a, b, what| Ok((compare(operator::comparison(op, false), a, b), Some(what)));
        match (a.kind, b.kind) {
            (Kind::Int, Kind::Int) => Ok((compare(operator::comparison(op, false), a, b), None)),
            (Kind::Int | Kind::Unsigned, Kind::Int | Kind::Unsigned) => {
                Ok((self.integers(op, [lhs, rhs], [a, b])?, None))
            }
            (
                Kind::Int | Kind::Unsigned | Kind::Float,
                Kind::Int | Kind::Unsigned | Kind::Float,
            ) => {
                let op = operator::comparison(op, true);
                Ok((compare(op, a.into_float(), b.into_float()), None))
            }
            (Kind::Ptr, Kind::Ptr) => words(a, b, "addresses"),
            (Kind::DType, Kind::DType) => words(a, b, "element types"),
            (Kind::Device, Kind::Device) => words(a, b, "devices"),
            (Kind::DType, Kind::Text) => words(a, dtype(rhs)?, "element types"),
            (Kind::Text, Kind::DType) => words(dtype(lhs)?, b, "element types"),
            (Kind::Device, Kind::Text) => words(a, device(rhs)?, "devices"),
            (Kind::Text, Kind::Device) => words(device(lhs)?, b, "devices"),
            (Kind::Text, Kind::Text) => Ok((texts(op, a, b)?, Some("texts"))),
            _ => Err(format!("`{lhs}` and `{rhs}` cannot be compared")),
        }
    }

    /// A comparison of integers of which some are `uint64`: of each other and of literals as what they are, of
    /// other integers as arithmetic takes them.
    fn integers(
        &self,
        op: Comparison,
        exprs: [&Expr; 2],
        operands: [Term; 2],
    ) -> Result<Term, String> {
        let exact = |term: &Term| term.kind == Kind::Unsigned || term.constant().is_some();
        if !operands.iter().all(exact) {
            // What is above int64 is no operand.
            exprs.into_iter().try_for_each(|expr| self.number(expr).map(drop))?;
            let [a, b] = operands.map(Term::into_int);
            return Ok(compare(operator::comparison(op, false), a, b));
        }
        let negative =
            |term: &Term| term.kind == Kind::Int && term.constant().is_some_and(|n| n < 0);
        let signs = operands.each_ref().map(|term| if negative(term) { -1 } else { 0 });
        let ((unsigned, change), [a, b]) = (operator::unsigned(op), operands);
        if signs == [0, 0] {
            return Ok(if change { compare(unsigned, b, a) } else { compare(unsigned, a, b) });
        }
        // Always or never, once the other operand has been computed, which may fail.
        let other = if signs[0] < 0 { b } else { a };
        let always = operator::comparison(op, false).fold(signs[0], signs[1]) != 0;
        Ok(match always {
            true => compare(Binary::Ule, Term::int(0), other),
            false => compare(Binary::Ult, other, Term::int(0)),
        })
    }

    /// True for the addresses of what is no tensor.
    fn is_address(&self, expr: &Expr) -> bool {
        let is_tensor = |value: ValueId| matches!(self.values[value].ty, ParamType::Tensor(_));
        matches!(expr, Expr::Member(of, Member::Data) if !self.value_of(of).is_some_and(is_tensor))
    }
}

fn compare(op: Binary, a: Term, b: Term) -> Term {
    Term::new(Kind::Int, Node::Binary(op, Box::new([a, b])))
}

/// Whether two texts, of which one is in quotes, are equal or not.
fn texts(op: Comparison, a: Term, b: Term) -> Result<Term, String> {
    let (text, value) = match (a.node, b.node) {
        (Node::Text(_), Node::Text(_)) => return Err("this never changes".to_owned()),
        (Node::Text(text), Node::Value(value)) | (Node::Value(value), Node::Text(text)) => {
            (text, value)
        }
        _ => return Err("text compares with text in quotes".to_owned()),
    };
    let same = Term::new(Kind::Int, Node::SameText(value, text));
    Ok(match op {
        Comparison::Ne => Term::new(Kind::Int, Node::Unary(Unary::Not, same.into())),
        Comparison::Eq | Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge => same,
    })
}

/// The word of the element type that text in quotes names.
fn dtype(expr: &Expr) -> Result<Term, String> {
    let word = named::<DType>(expr, "element types")?.to_word();
    Ok(Term::new(Kind::DType, Node::Int(word.into())))
}

/// The word of the device that text in quotes names.
fn device(expr: &Expr) -> Result<Term, String> {
    let word = named::<abi_spec::Device>(expr, "devices")?.to_word();
    Ok(Term::new(Kind::Device, Node::Int(word as i64)))
}

fn named<T: std::str::FromStr>(expr: &Expr, what: &str) -> Result<T, String> {
    let named = if let Expr::Text(text) = expr { text.parse().ok() } else { None };
    named.ok_or_else(|| format!("`{expr}` names none of the {what}"))
}

fn over_symbols(expr: &Expr) -> Result<(), String> {
    match expr {
        Expr::Int(_) | Expr::Name(_) | Expr::Neg(_) | Expr::Binary(..) | Expr::Call(..) => {
            expr.children().try_for_each(over_symbols)
        }
        Expr::Unsigned(_)
        | Expr::Float(_)
        | Expr::Text(_)
        | Expr::Null
        | Expr::Member(..)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Stream(_)
        | Expr::Cast(..) => Err(format!("`{expr}` is no expression over symbols")),
    }
}

fn mentions_stream(expr: &Expr) -> bool {
    matches!(expr, Expr::Stream(_)) || expr.children().any(mentions_stream)
}

impl Argument {
    /// True for what is known only once a tensor is allocated: its address and that of its elements.
    pub(crate) fn is_allocated(&self) -> bool {
        match self {
            Argument::Value(_) => false,
            Argument::Term(term, _) => {
                term.any(&mut |node| matches!(node, Node::Output(_) | Node::OutputData(_)))
            }
        }
    }
}
