//! Whether expressions and names are well formed.

use super::form::Checker;
use crate::declaration::limit::Limit;
use crate::declaration::{Expr, is_identifier};
use crate::error::{Error, Part};

impl Checker<'_> {
    pub(crate) fn expr(&self, part: Part, expr: &Expr) -> Result<(), Error> {
        if deeper_than(expr, Limit::Nesting.max()) {
            return Err(Error::limit(self.index, self.function, part, Limit::Nesting));
        }
        self.leaves(part, expr)
    }

    pub(crate) fn leaves(&self, part: Part, expr: &Expr) -> Result<(), Error> {
        match expr {
            Expr::Name(name) => self.identifier(part, name),
            Expr::Float(value) if !value.is_finite() => {
                Err(self.invalid(part, format!("{value} is not a number that can be written")))
            }
            Expr::Unsigned(value) if i64::try_from(*value).is_ok() => {
                Err(self.invalid(part, format!("{value} is an `int64`")))
            }
            Expr::Array(all) | Expr::Shape(all) => {
                let shape = matches!(expr, Expr::Shape(_));
                self.limit(part, all.len(), if shape { Limit::Rank } else { Limit::Arguments })?;
                all.iter().try_for_each(|entry| self.leaves(part, entry))
            }
            Expr::Field(inner, name) => {
                self.identifier(part, name)?;
                self.leaves(part, inner)
            }
            Expr::Text(text) if text.contains('\n') => {
                Err(self.invalid(part, "text in quotes is one line"))
            }
            Expr::Int(_)
            | Expr::Unsigned(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Member(..)
            | Expr::Element(..)
            | Expr::Neg(_)
            | Expr::Binary(..)
            | Expr::Call(..)
            | Expr::Stream(_)
            | Expr::Cast(..)
            | Expr::Bool(_)
            | Expr::None
            | Expr::Compare(..)
            | Expr::Not(_)
            | Expr::Logic(..) => expr.children().try_for_each(|child| self.leaves(part, child)),
        }
    }

    /// A name, reserved or not.
    pub(crate) fn identifier(&self, part: Part, name: &str) -> Result<(), Error> {
        self.limit(part, name.len(), Limit::Name)?;
        if is_identifier(name) {
            return Ok(());
        }
        Err(self.invalid(part, format!("{name:?} is not an identifier")))
    }
}

/// True if the path from the expression to some leaf has more than `height` nodes.
fn deeper_than(expr: &Expr, height: usize) -> bool {
    height == 0 || expr.children().any(|child| deeper_than(child, height - 1))
}
