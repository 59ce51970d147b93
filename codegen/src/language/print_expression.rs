//! The printer: expressions.

use std::fmt::{self, Display, Formatter};

use super::parse_expression::{Infix, Precedence};
use super::print_body::made;
use super::print_items::{enclosed, quote};
use super::reserved::{spelled, spelled_label};
use crate::declaration::{DeviceAttribute, Expr, Member};

/// Prints canonical text. Recursion is as deep as the expression; [`MAX_NESTING`](super::MAX_NESTING) bounds it in a
/// valid library.
impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Int(value) => value.fmt(f),
            Expr::Unsigned(value) => value.fmt(f),
            Expr::Float(value) => float(f, *value),
            Expr::Text(text) => quote(f, text),
            Expr::Null => f.write_str("null"),
            Expr::Name(name) => spelled(name).fmt(f),
            Expr::Member(base, member) => postfix(f, base, format_args!(".{member}")),
            Expr::Element(base, index) => postfix(f, base, format_args!("[{index}]")),
            Expr::Field(base, name) => postfix(f, base, format_args!(".{}", spelled_label(name))),
            Expr::Neg(inner) => {
                f.write_str("-")?;
                let literal = is_literal(inner) && precedence(inner) == Precedence::Postfix;
                operand(f, inner, !literal && precedence(inner) >= Precedence::Unary)
            }
            Expr::Binary(op, lhs, rhs) => infix(f, Infix::Arithmetic(*op), op.text(), [lhs, rhs]),
            Expr::Call(builtin, a, b) => write!(f, "{}({a}, {b})", builtin.text()),
            Expr::Stream(tensor) => write!(f, "stream({tensor})"),
            Expr::CurrentDevice => f.write_str("current_device()"),
            Expr::Global(global) => {
                write!(f, "{}.global(", spelled(&global.image))?;
                quote(f, &global.name)?;
                f.write_str(")")
            }
            Expr::DeviceAttribute(base, attribute) => {
                postfix(f, base, format_args!(".device.{attribute}"))
            }
            Expr::Cast(scalar, inner) => write!(f, "{scalar}({inner})"),
            Expr::Bool(truth) => f.write_str(if *truth { "True" } else { "False" }),
            Expr::None => f.write_str("None"),
            Expr::Compare(op, lhs, rhs) => infix(f, Infix::Comparison(*op), op.text(), [lhs, rhs]),
            Expr::Not(inner) => {
                f.write_str("not ")?;
                operand(f, inner, precedence(inner) >= Precedence::Not)
            }
            Expr::Logic(op, lhs, rhs) => infix(f, Infix::Logic(*op), op.text(), [lhs, rhs]),
            Expr::Array(all) => enclosed(f, "[", all, "]"),
            Expr::Shape(all) => enclosed(f, "Shape(", all, ")"),
            Expr::Function(function) => made(f, function),
        }
    }
}

/// Prints a postfix expression: an operand and its suffix.
fn postfix(f: &mut Formatter<'_>, base: &Expr, after: fmt::Arguments<'_>) -> fmt::Result {
    operand(f, base, !is_literal(base) && precedence(base) == Precedence::Postfix)?;
    f.write_fmt(after)
}

/// Prints a binary expression. Comparisons do not chain; other operators are left-associative.
fn infix(f: &mut Formatter<'_>, op: Infix, text: &str, [lhs, rhs]: [&Expr; 2]) -> fmt::Result {
    let own = op.precedence();
    let first = precedence(lhs);
    operand(f, lhs, first > own || first == own && own != Precedence::Comparison)?;
    write!(f, " {text} ")?;
    operand(f, rhs, precedence(rhs) > own)
}

/// Prints an operand, in parentheses unless it is `plain`.
fn operand(f: &mut Formatter<'_>, expr: &Expr, plain: bool) -> fmt::Result {
    if plain { expr.fmt(f) } else { write!(f, "({expr})") }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Int(_) | Expr::Unsigned(_) | Expr::Float(_))
}

/// Returns the precedence of an expression's text. A literal with a sign binds like a negation.
fn precedence(expr: &Expr) -> Precedence {
    match expr {
        Expr::Int(value) if *value < 0 => Precedence::Unary,
        Expr::Float(value) if value.is_sign_negative() => Precedence::Unary,
        Expr::Neg(_) => Precedence::Unary,
        Expr::Binary(op, ..) => Infix::Arithmetic(*op).precedence(),
        Expr::Compare(op, ..) => Infix::Comparison(*op).precedence(),
        Expr::Logic(op, ..) => Infix::Logic(*op).precedence(),
        Expr::Not(_) => Precedence::Not,
        Expr::Int(_) | Expr::Unsigned(_) | Expr::Float(_) => Precedence::Postfix,
        Expr::Text(_) | Expr::Null | Expr::Name(_) => Precedence::Postfix,
        Expr::Member(..) | Expr::Element(..) | Expr::Field(..) => Precedence::Postfix,
        Expr::DeviceAttribute(..) | Expr::Global(_) => Precedence::Postfix,
        Expr::Call(..) | Expr::Stream(_) | Expr::CurrentDevice | Expr::Cast(..) => {
            Precedence::Postfix
        }
        Expr::Bool(_) | Expr::None | Expr::Array(_) | Expr::Shape(_) => Precedence::Postfix,
        Expr::Function(_) => Precedence::Postfix,
    }
}

/// Prints the shortest digits that read back as the value, at least one after the point.
pub(super) fn float(f: &mut Formatter<'_>, value: f64) -> fmt::Result {
    let point = if value.fract() == 0.0 { ".0" } else { "" };
    write!(f, "{value}{point}")
}

impl Display for DeviceAttribute {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            DeviceAttribute::Multiprocessors => f.write_str("multiprocessors"),
            DeviceAttribute::Other(id) => write!(f, "attribute({id})"),
        }
    }
}

impl Display for Member {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Member::Shape(index) = self {
            return write!(f, "shape[{index}]");
        }
        if let Member::Strides(index) = self {
            return write!(f, "strides[{index}]");
        }
        let known = Member::PLAIN.iter().find(|(_, member)| member == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}
