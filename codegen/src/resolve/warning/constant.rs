//! Finds conditions that name nothing, which are the same in every call.

use crate::declaration::{Expr, Function, Signature, Statement, StatementKind};
use crate::error::Part;

/// Returns the conditions of a function that name nothing, with their parts: of its `where` clause, then of its
/// statements.
pub(super) fn conditions(function: &Function) -> Vec<(Part, &Expr)> {
    let mut found: Vec<(Part, &Expr)> = Vec::new();
    let required = required(&function.signature).enumerate();
    found.extend(required.map(|(index, condition)| (Part::Constraint(index), condition)));
    for (index, statement) in function.body.statements().enumerate() {
        let all = of_statement(statement).into_iter();
        found.extend(all.map(|condition| (Part::Statement(index), condition)));
    }
    found.retain(|(_, condition)| is_constant(condition));
    found
}

/// Returns the conditions of a signature.
fn required(signature: &Signature) -> impl Iterator<Item = &Expr> {
    signature.constraints.iter().map(|constraint| &constraint.condition)
}

/// Returns the conditions of a statement and of the signatures of the functions that it makes, without those in its
/// blocks.
fn of_statement(statement: &Statement) -> Vec<&Expr> {
    let functions = statement.kind.functions().into_iter();
    let mut all: Vec<&Expr> = functions.flat_map(|made| required(&made.signature)).collect();
    if let StatementKind::If { condition, .. } = &statement.kind {
        all.push(condition);
    }
    all
}

/// Returns true if no name occurs in an expression.
fn is_constant(expr: &Expr) -> bool {
    let mut names = 0;
    expr.names(&mut |_| names += 1);
    names == 0
}
