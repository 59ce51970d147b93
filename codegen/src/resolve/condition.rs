//! Conditions: comparisons, and what a constraint may be made of.

use abi_spec::DType;

use super::ids::ValueId;
use super::names::Names;
use super::operator::{self, Binary, Unary};
use super::step::Condition;
use super::term::{Kind, Node, Term};
use crate::declaration::{Comparison, Constraint, Expr, Member, ParamType};

impl<'a> Names<'a> {
    /// What a `where` clause requires.
    pub(super) fn condition(&self, constraint: &'a Constraint) -> Result<Condition<'a>, String> {
        let Constraint { condition, message } = constraint;
        self.no_output(condition)?;
        self.before_the_call(condition)?;
        let test = self.truth(condition)?;
        let quote = self.quote(condition.to_string(), &[condition])?;
        Ok(Condition { message: message.as_deref(), test, quote })
    }

    /// Neither streams nor addresses are known before the call.
    fn before_the_call(&self, expr: &Expr) -> Result<(), String> {
        if matches!(expr, Expr::Stream(_)) {
            return Err("a stream is not known before the call".to_owned());
        }
        if self.is_address(expr) {
            return Err(format!("`{expr}` is for the call only"));
        }
        expr.children().try_for_each(|child| self.before_the_call(child))
    }

    /// Numbers compare with numbers; everything else for equality with its own kind. Text in quotes stands
    /// for an element type or a device where it is compared with one.
    pub(super) fn comparison(
        &self,
        op: Comparison,
        lhs: &Expr,
        rhs: &Expr,
    ) -> Result<Term, String> {
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
        let [a, b] = operands;
        if signs == [0, 0] {
            return Ok(compare(operator::unsigned(op), a, b));
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
    Term::new(Kind::Bool, Node::Binary(op, Box::new([a, b])))
}

/// The operator between what has no order.
fn same_or_not(op: Comparison, what: &str) -> Result<Binary, String> {
    match op {
        Comparison::Eq | Comparison::Ne => Ok(operator::comparison(op, false)),
        Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge => {
            Err(format!("{what} compare with == and != only"))
        }
    }
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
    let same = Term::new(Kind::Bool, Node::SameText(value, text));
    if same_or_not(op, "texts")? == Binary::Ne {
        return Ok(Term::new(Kind::Bool, Node::Unary(Unary::Not, same.into())));
    }
    Ok(same)
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
