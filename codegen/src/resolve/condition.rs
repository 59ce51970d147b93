//! Conditions: comparisons, and the expressions that constraints allow.

use abi_spec::DType;

use super::Explained;
use super::ids::ValueId;
use super::look_up::When;
use super::names::Names;
use super::operator::{self, Binary, OfIntegers, Unary};
use super::presence::Point;
use super::step::Condition;
use super::term::{Kind, Node, Term};
use crate::declaration::{Comparison, Constraint, Expr, Member, ParamType};

impl<'a> Names<'a> {
    /// Resolves a constraint of a `where` clause, of which there are `number` before it.
    pub(super) fn condition(
        &mut self,
        here: Point<'_>,
        (number, constraint): (usize, &'a Constraint),
    ) -> Explained<Condition<'a>> {
        let Constraint { condition, message } = constraint;
        self.no_output(condition)?;
        let when = When { changed: self.is_closure, ..When::AT_FIRST };
        self.look_up(here, [condition], when)?;
        self.before_the_call(condition)?;
        let test = self.truth(condition)?;
        let quote = self.quote(condition.to_string(), &[condition])?;
        Ok(Condition { number, message: message.as_deref(), test, quote })
    }

    /// Checks that an expression contains no stream, and no `.data` of a value other than a tensor: both are for calls
    /// only.
    fn before_the_call(&self, expr: &Expr) -> Explained<()> {
        if matches!(expr, Expr::Stream(_)) {
            return Err("a stream is not known before the call".to_owned());
        }
        if matches!(expr, Expr::Global(_)) {
            return Err(format!("`{expr}` is known once the body has its image loaded"));
        }
        if self.is_address(expr) {
            return Err(format!("`{expr}` is for the call only"));
        }
        expr.children().try_for_each(|child| self.before_the_call(child))
    }

    /// Resolves a comparison. Numbers compare with numbers, and everything else for equality with its own kind. Text
    /// in quotes that is compared with an element type or a device stands for the one that it names.
    pub(super) fn comparison(&self, op: Comparison, lhs: &Expr, rhs: &Expr) -> Explained<Term> {
        let (a, b) = (self.term(lhs)?.into_number(), self.term(rhs)?.into_number());
        let words = |a, b, what| same_or_not(op, what).map(|op| compare(op, a, b));
        match (a.kind, b.kind) {
            (Kind::Int, Kind::Int) => Ok(compare(operator::comparison(op, false), a, b)),
            (Kind::Int | Kind::Unsigned, Kind::Int | Kind::Unsigned) => {
                self.integers(op, [lhs, rhs], [a, b])
            }
            (
                Kind::Int | Kind::Unsigned | Kind::Float,
                Kind::Int | Kind::Unsigned | Kind::Float,
            ) => {
                let op = operator::comparison(op, true);
                Ok(compare(op, a.into_float(), b.into_float()))
            }
            (Kind::Ptr, Kind::Ptr) => words(a, b, "addresses"),
            (Kind::DType, Kind::DType) => words(a, b, "element types"),
            (Kind::Device, Kind::Device) => words(a, b, "devices"),
            (Kind::DType, Kind::Text) => words(a, dtype(rhs)?, "element types"),
            (Kind::Text, Kind::DType) => words(dtype(lhs)?, b, "element types"),
            (Kind::Device, Kind::Text) => words(a, device(rhs)?, "devices"),
            (Kind::Text, Kind::Device) => words(device(lhs)?, b, "devices"),
            (Kind::Text, Kind::Text) => texts(op, a, b),
            _ => Err(format!("`{lhs}` and `{rhs}` cannot be compared")),
        }
    }

    /// Compares integers of which one is a `uint64`, by their values.
    fn integers(&self, op: Comparison, exprs: [&Expr; 2], operands: [Term; 2]) -> Explained<Term> {
        let exact = |term: &Term| term.kind == Kind::Unsigned || term.constant().is_some();
        if !operands.iter().all(exact) {
            // Literals above `int64` are no operands of arithmetic.
            exprs.into_iter().try_for_each(|expr| self.number(expr).map(drop))?;
            return Ok(Term::new(Kind::Bool, Node::Mixed(op, operands.into())));
        }
        let negative =
            |term: &Term| term.kind == Kind::Int && term.constant().is_some_and(|n| n < 0);
        let signs = operands.each_ref().map(|term| if negative(term) { -1 } else { 0 });
        let [a, b] = operands;
        if signs == [0, 0] {
            return Ok(compare(operator::unsigned(op), a, b));
        }
        // The result is constant, but the other operand is still computed, since it may fail.
        let other = if signs[0] < 0 { b } else { a };
        let always = OfIntegers::Compare(op).fold(signs[0], signs[1]) != 0;
        Ok(match always {
            true => compare(operator::unsigned(Comparison::Le), Term::int(0), other),
            false => compare(operator::unsigned(Comparison::Lt), other, Term::int(0)),
        })
    }

    /// Returns true for `x.data` where `x` is not a tensor.
    fn is_address(&self, expr: &Expr) -> bool {
        let is_tensor = |value: ValueId| matches!(self.values[value].ty, ParamType::Tensor(_));
        matches!(expr, Expr::Member(of, Member::Data) if !self.value_of(of).is_some_and(is_tensor))
    }
}

fn compare(op: Binary, a: Term, b: Term) -> Term {
    Term::new(Kind::Bool, Node::Binary(op, Box::new([a, b])))
}

/// Returns the operator for values without an order.
fn same_or_not(op: Comparison, what: &str) -> Explained<Binary> {
    match op {
        Comparison::Eq | Comparison::Ne => Ok(operator::comparison(op, false)),
        Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge => {
            Err(format!("{what} compare with == and != only"))
        }
    }
}

/// Compares a text with text in quotes.
fn texts(op: Comparison, a: Term, b: Term) -> Explained<Term> {
    let (text, value) = match (a.node, b.node) {
        (Node::Text(_), Node::Text(_)) => return Err("this never changes".to_owned()),
        (Node::Text(text), Node::Value(value)) | (Node::Value(value), Node::Text(text)) => {
            (text, value)
        }
        _ => return Err("text compares with text in quotes".to_owned()),
    };
    let same = Term::new(Kind::Bool, Node::SameText(value, text));
    same_or_not(op, "texts")?;
    if op == Comparison::Ne {
        return Ok(Term::new(Kind::Bool, Node::Unary(Unary::Not, same.into())));
    }
    Ok(same)
}

/// Returns the word of the element type that text in quotes names.
fn dtype(expr: &Expr) -> Explained<Term> {
    let word = named::<DType>(expr, "element types")?.to_word();
    Ok(Term::new(Kind::DType, Node::Int(word.into())))
}

/// Returns the word of the device that text in quotes names.
fn device(expr: &Expr) -> Explained<Term> {
    let word = named::<abi_spec::Device>(expr, "devices")?.to_word();
    Ok(Term::new(Kind::Device, Node::Int(word as i64)))
}

fn named<T: std::str::FromStr>(expr: &Expr, what: &str) -> Explained<T> {
    let named = if let Expr::Text(text) = expr { text.parse().ok() } else { None };
    named.ok_or_else(|| format!("`{expr}` names none of the {what}"))
}
