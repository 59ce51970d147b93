//! Closures that functions return: what a program of XLA makes once, and what its calls are.

use rustc_hash::FxHashMap;

use super::{Handler, Stage};
use crate::declaration::{self, Dim, Expr, ParamType, ResultType, Shape, Signature, StatementKind};
use crate::resolve::function::Function;
use crate::resolve::words;

/// Returns the closure that a function returns, with the index of the statement, if that is the last one and no other
/// one of the function returns anything.
pub(in crate::resolve) fn returned(
    of: &declaration::Function,
) -> Option<(usize, &declaration::Function)> {
    let (last, others) = of.body.block().split_last()?;
    let StatementKind::Return(Some(Expr::Function(closure))) = &last.kind else { return None };
    let mut left = vec![others];
    while let Some(block) = left.pop() {
        if block.iter().any(|statement| matches!(statement.kind, StatementKind::Return(_))) {
            return None;
        }
        left.extend(block.iter().flat_map(|statement| statement.kind.own_blocks()));
    }
    let index = of.body.statements().position(|statement| std::ptr::eq(statement, last))?;
    Some((index, closure))
}

impl Handler<'_> {
    /// Returns the signature of a call of XLA if it is not that of the function: the function returns a closure, which
    /// this handler calls. It has the parameters of both, those with a default last, and the results of the closure.
    pub(crate) fn signature_of_call(&self, functions: &[Function<'_>]) -> Option<Signature> {
        let declared = functions[self.function].declared;
        let (_, closure) = returned(declared).filter(|_| self.stage == Stage::Execute)?;
        let (own, mut both) = (&declared.signature, closure.signature.clone());
        let words = values(declared);
        if let ResultType::Allocated(outputs) = &mut both.result {
            outputs.iter_mut().for_each(|output| say(&mut output.tensor.shape, &words));
        }
        for param in &mut both.params {
            if let ParamType::Tensor(tensor) = &mut param.ty {
                say(&mut tensor.shape, &words);
            }
        }
        both.name.clone_from(&own.name);
        both.params.splice(0..0, own.params.iter().cloned());
        both.params.sort_by_key(|param| param.default.is_some());
        both.constraints.splice(0..0, own.constraints.iter().cloned());
        Some(both)
    }
}

/// Returns what the names that a body gives to expressions stand for, in the words of its parameters.
fn values(of: &declaration::Function) -> FxHashMap<&str, Expr> {
    let mut words = FxHashMap::default();
    for statement in of.body.block() {
        if let StatementKind::Let { name, value } = &statement.kind
            && let Some(value) = said(value, &words)
        {
            words.insert(&name[..], value);
        }
    }
    words
}

/// Replaces names in the extents of a shape.
fn say(shape: &mut Shape, words: &FxHashMap<&str, Expr>) {
    let (Shape::Dims(dims) | Shape::Trailing { dims, .. }) = shape else { return };
    for dim in dims {
        if let Dim::Expr(expr) = dim
            && let Some(said) = said(expr, words)
        {
            *expr = said;
        }
    }
}

/// Replaces those names in an expression that have words; `None` for an expression of which no dim consists.
fn said(expr: &Expr, words: &FxHashMap<&str, Expr>) -> Option<Expr> {
    let mut all = FxHashMap::default();
    expr.names(&mut |name| {
        all.insert(name, words.get(name).cloned().unwrap_or_else(|| Expr::name(name)));
    });
    words::replaced(expr, &all)
}
