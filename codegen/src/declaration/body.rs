//! Bodies: code that runs after the arguments are checked.

use super::{Call, Expr, KernelCall, Launch, Member, Statement, StatementKind};

/// Code that runs after the arguments are checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A call of a C function, whose result is the result of the function: `= k(x.data, n)`.
    Call(KernelCall),
    /// A program: `= { … }`.
    Block(Vec<Statement>),
}

impl Body {
    /// Returns the outermost statements; none if the body is one call.
    pub(crate) fn block(&self) -> &[Statement] {
        if let Body::Block(statements) = self { statements } else { &[] }
    }

    /// Returns all statements, nested ones included, in source order.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        let mut left: Vec<&Statement> = self.block().iter().rev().collect();
        std::iter::from_fn(move || {
            let next = left.pop()?;
            let blocks = next.kind.blocks().into_iter().rev();
            left.extend(blocks.flat_map(|block| block.iter().rev()));
            Some(next)
        })
    }

    /// Returns all launches in source order.
    pub fn launches(&self) -> impl Iterator<Item = &Launch> {
        self.statements().filter_map(|statement| {
            let StatementKind::Launch(launch) = &statement.kind else { return None };
            Some(&**launch)
        })
    }

    /// Returns all calls of C functions in source order.
    pub fn kernel_calls(&self) -> impl Iterator<Item = &KernelCall> {
        let whole = if let Body::Call(call) = self { Some(call) } else { None };
        let nested = self.statements().filter_map(|statement| {
            let StatementKind::Call { call: Call::Kernel(call), .. } = &statement.kind else {
                return None;
            };
            Some(call)
        });
        whole.into_iter().chain(nested)
    }
}

impl Body {
    /// Returns all expressions, including those in the types of results.
    pub(crate) fn exprs(&self) -> Vec<&Expr> {
        match self {
            Body::Call(call) => call.exprs().collect(),
            Body::Block(_) => {
                self.statements().flat_map(|statement| statement.kind.exprs()).collect()
            }
        }
    }

    /// Returns true if an expression asks for the object of a tensor.
    pub(crate) fn asks_object(&self) -> bool {
        fn asks(expr: &Expr) -> bool {
            matches!(expr, Expr::Member(_, Member::Object)) || expr.children().any(asks)
        }
        self.exprs().into_iter().any(asks)
    }
}

/// Converts a call of a C function to a one-call body, and a call of a function of the FFI to a statement.
impl<C: Into<Call>> From<C> for Body {
    fn from(call: C) -> Body {
        match call.into() {
            Call::Kernel(call) => Body::Call(call),
            call @ Call::Function(_) => Body::Block(vec![Statement::call(call)]),
        }
    }
}
