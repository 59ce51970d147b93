//! Expressions of a function of the library in the words of its caller.

use rustc_hash::FxHashMap;

use crate::declaration::Expr;

/// Replaces names in an expression. Returns `None` if it has a name without a replacement, or an operation whose
/// meaning depends on where it stands.
pub(super) fn replaced(expr: &Expr, words: &FxHashMap<&str, Expr>) -> Option<Expr> {
    let of = |expr: &Expr| replaced(expr, words);
    Some(match expr {
        Expr::Int(_)
        | Expr::Unsigned(_)
        | Expr::Float(_)
        | Expr::Text(_)
        | Expr::Null
        | Expr::None
        | Expr::Bool(_) => expr.clone(),
        Expr::Name(name) => words.get(&name[..])?.clone(),
        Expr::Neg(inner) => -of(inner)?,
        Expr::Not(inner) => !of(inner)?,
        Expr::Binary(op, a, b) => of(a)?.binary(*op, of(b)?),
        Expr::Call(builtin, a, b) => of(a)?.builtin(*builtin, of(b)?),
        Expr::Compare(comparison, a, b) => Expr::Compare(*comparison, of(a)?.into(), of(b)?.into()),
        Expr::Logic(logic, a, b) => Expr::Logic(*logic, of(a)?.into(), of(b)?.into()),
        Expr::Member(of_value, member) => of(of_value)?.member(*member),
        Expr::Element(..)
        | Expr::Field(..)
        | Expr::Stream(_)
        | Expr::DeviceAttribute(..)
        | Expr::CurrentDevice
        | Expr::Global(_)
        | Expr::Cast(..)
        | Expr::Array(_)
        | Expr::Shape(_)
        | Expr::Function(_) => return None,
    })
}
