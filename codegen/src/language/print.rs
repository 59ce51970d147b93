//! The printer: canonical text.

use std::fmt::{self, Display, Formatter, Write as _};

use super::expression::Precedence;
use super::reserved::is_reserved;
use crate::declaration::{Body, Constraint, Function, Library, Location, Signature, StatusError};
use crate::declaration::{Expr, Member, is_identifier};

/// The declarations, an empty line between them; not the imports, which the language cannot say.
impl Display for Library {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, function) in self.functions.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "\n" })?;
            writeln!(f, "{function}")?;
        }
        Ok(())
    }
}

/// Several lines, the last of which ends with `;`.
impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.docs.is_empty() {
            for line in self.docs.split('\n') {
                writeln!(f, "///{}{line}", if line.is_empty() { "" } else { " " })?;
            }
        }
        if let Some(location) = &self.location {
            writeln!(f, "{location}")?;
        }
        let Signature { result, constraints, .. } = &self.signature;
        write!(f, "{} -> {result}", self.signature.header())?;
        if !constraints.is_empty() {
            f.write_str("\n    where ")?;
            list(f, constraints)?;
        }
        write!(f, "\n    = {};", self.body)
    }
}

impl Display for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("@")?;
        quote(f, &self.file)?;
        write!(f, ":{}", self.line)
    }
}

/// One line.
impl Display for Signature {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.header(), self.result)?;
        if !self.constraints.is_empty() {
            f.write_str(" where ")?;
            list(f, &self.constraints)?;
        }
        Ok(())
    }
}

impl Signature {
    /// The canonical text up to the closing parenthesis: how error messages show what was called.
    pub fn header(&self) -> impl Display {
        Header(self)
    }
}

struct Header<'a>(&'a Signature);

impl Display for Header<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.0.name)?;
        list(f, &self.0.params)?;
        f.write_str(")")
    }
}

pub(super) fn list(f: &mut Formatter<'_>, entries: &[impl Display]) -> fmt::Result {
    for (index, entry) in entries.iter().enumerate() {
        write!(f, "{}{entry}", if index == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl Display for Constraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.comparison().fmt(f)?;
        match &self.message {
            Some(message) => {
                f.write_str(" else ")?;
                quote(f, message)
            }
            None => Ok(()),
        }
    }
}

impl Constraint {
    /// The comparison without the message.
    pub fn comparison(&self) -> impl Display {
        fmt::from_fn(|f| write!(f, "{} {} {}", self.lhs, self.op.text(), self.rhs))
    }
}

impl Display for Body {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.status.is_some() { "try " } else { "" })?;
        if is_identifier(&self.symbol) && !is_reserved(&self.symbol) {
            f.write_str(&self.symbol)?;
        } else {
            quote(f, &self.symbol)?;
        }
        f.write_str("(")?;
        list(f, &self.args)?;
        f.write_str(")")?;
        match &self.status {
            Some(errors) if !errors.is_empty() => {
                f.write_str(" errors { ")?;
                list(f, errors)?;
                f.write_str(" }")
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Display for StatusError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "{status}: {} ", self.kind)?,
            None => write!(f, "_: {} ", self.kind)?,
        }
        quote(f, &self.message)
    }
}

/// Prints a text in quotes.
pub(super) fn quote(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            f.write_str("\\")?;
        }
        f.write_char(c)?;
    }
    f.write_str("\"")
}

/// Canonical text. The recursion is as deep as the expression, which
/// [`MAX_NESTING`](super::MAX_NESTING) bounds in a valid library.
impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Int(value) => value.fmt(f),
            Expr::Unsigned(value) => value.fmt(f),
            Expr::Float(value) => float(f, *value),
            Expr::Text(text) => quote(f, text),
            Expr::Null => f.write_str("null"),
            Expr::Name(name) => f.write_str(name),
            Expr::Member(base, member) => {
                let plain = !is_literal(base) && precedence(base) == Precedence::Postfix;
                operand(f, base, plain)?;
                write!(f, ".{member}")
            }
            Expr::Element(base, index) => {
                let plain = !is_literal(base) && precedence(base) == Precedence::Postfix;
                operand(f, base, plain)?;
                write!(f, "[{index}]")
            }
            Expr::Field(base, name) => {
                let plain = !is_literal(base) && precedence(base) == Precedence::Postfix;
                operand(f, base, plain)?;
                write!(f, ".{name}")
            }
            Expr::Neg(inner) => {
                f.write_str("-")?;
                let literal = is_literal(inner) && precedence(inner) == Precedence::Postfix;
                operand(f, inner, !literal && precedence(inner) >= Precedence::Unary)
            }
            Expr::Binary(op, lhs, rhs) => {
                operand(f, lhs, precedence(lhs) >= Precedence::of(*op))?;
                write!(f, " {} ", op.text())?;
                operand(f, rhs, precedence(rhs) > Precedence::of(*op))
            }
            Expr::Call(builtin, a, b) => write!(f, "{}({a}, {b})", builtin.text()),
            Expr::Stream(tensor) => write!(f, "stream({tensor})"),
            Expr::Cast(scalar, inner) => write!(f, "{scalar}({inner})"),
        }
    }
}

/// Prints an operand, in parentheses unless it can stand `plain`.
fn operand(f: &mut Formatter<'_>, expr: &Expr, plain: bool) -> fmt::Result {
    if plain { expr.fmt(f) } else { write!(f, "({expr})") }
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Int(_) | Expr::Unsigned(_) | Expr::Float(_))
}

/// How tightly the text of an expression holds together. A literal with a sign is like a negation.
fn precedence(expr: &Expr) -> Precedence {
    match expr {
        Expr::Int(value) if *value < 0 => Precedence::Unary,
        Expr::Float(value) if value.is_sign_negative() => Precedence::Unary,
        Expr::Neg(_) => Precedence::Unary,
        Expr::Binary(op, ..) => Precedence::of(*op),
        Expr::Int(_) | Expr::Unsigned(_) | Expr::Float(_) => Precedence::Postfix,
        Expr::Text(_) | Expr::Null | Expr::Name(_) => Precedence::Postfix,
        Expr::Member(..) | Expr::Element(..) | Expr::Field(..) => Precedence::Postfix,
        Expr::Call(..) | Expr::Stream(_) | Expr::Cast(..) => Precedence::Postfix,
    }
}

/// All digits that it takes, and at least one after the point.
pub(super) fn float(f: &mut Formatter<'_>, value: f64) -> fmt::Result {
    let point = if value.fract() == 0.0 { ".0" } else { "" };
    write!(f, "{value}{point}")
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
