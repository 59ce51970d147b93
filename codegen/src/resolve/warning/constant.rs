//! Finds conditions that name nothing, which are the same in every call.

use crate::declaration::{Branch, Expr, Function, Signature, StatementKind};
use crate::error::Part;

/// Returns the conditions of a function that name nothing, with their parts: of its `where` clause, then of its
/// statements.
pub(super) fn conditions<'f>(function: &'f Function) -> Vec<(Part, &'f Expr)> {
    let mut found: Vec<(Part, &Expr)> = Vec::new();
    let own = required(&function.signature).enumerate();
    found.extend(own.map(|(index, condition)| (Part::Constraint(index), condition)));
    for (index, statement) in function.body.statements().enumerate() {
        let made = statement.kind.functions().into_iter();
        let made = made.flat_map(|function| required(&function.signature));
        found.extend(made.map(|condition| (Part::Statement(index), condition)));
        if let StatementKind::If { branches, .. } = &statement.kind {
            let all = branches.iter().enumerate();
            let at = |(number, branch): (usize, &'f Branch)| {
                (Part::branch(index, number), &branch.condition)
            };
            found.extend(all.map(at));
        }
    }
    found.retain(|(_, condition)| is_constant(condition));
    found
}

/// Returns the conditions of a signature.
fn required(signature: &Signature) -> impl Iterator<Item = &Expr> {
    signature.constraints.iter().map(|constraint| &constraint.condition)
}

/// Returns true if no name occurs in an expression.
fn is_constant(expr: &Expr) -> bool {
    let mut names = 0;
    expr.names(&mut |_| names += 1);
    names == 0
}
