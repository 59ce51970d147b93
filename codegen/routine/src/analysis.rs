//! Properties of code before translation: constants, effects, ends of control, assigned variables.

use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, Ident, Lit, Member, Pat, Stmt, UnOp};

/// The kind of an expression; the most constant kind comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// An integer literal without a type, or arithmetic on such literals.
    Literal,
    /// A constant that Rust computes.
    Const,
    /// An expression that may be computed even if its value is not needed.
    Pure,
    /// Any other expression.
    Effect,
}

/// Returns the kind of an expression.
pub(crate) fn kind(expr: &Expr) -> Kind {
    match expr {
        Expr::Lit(lit) => match &lit.lit {
            Lit::Int(int) if int.suffix().is_empty() => Kind::Literal,
            _ => Kind::Const,
        },
        Expr::Paren(inner) => kind(&inner.expr),
        Expr::Group(inner) => kind(&inner.expr),
        Expr::Const(_) => Kind::Const,
        Expr::Path(path) if is_constant(path) => Kind::Const,
        Expr::Path(_) => Kind::Pure,
        Expr::Unary(unary) => match unary.op {
            UnOp::Deref(_) => Kind::Effect,
            _ => kind(&unary.expr),
        },
        Expr::Cast(cast) => kind(&cast.expr).max(Kind::Const),
        Expr::Binary(binary) => {
            let operands = kind(&binary.left).max(kind(&binary.right));
            match operands {
                Kind::Pure if !is_total(&binary.op, &binary.right) => Kind::Effect,
                Kind::Literal if is_truth(&binary.op) => Kind::Const,
                operands => operands,
            }
        }
        Expr::If(branch) => match &branch.else_branch {
            Some((_, otherwise)) => {
                let arms = block_kind(&branch.then_branch).max(kind(otherwise));
                kind(&branch.cond).max(arms).max(Kind::Pure)
            }
            None => Kind::Effect,
        },
        Expr::Block(block) => block_kind(&block.block),
        _ => Kind::Effect,
    }
}

/// Returns the kind of a block that is a single expression.
pub(crate) fn block_kind(block: &Block) -> Kind {
    match &block.stmts[..] {
        [Stmt::Expr(expr, None)] => kind(expr),
        _ => Kind::Effect,
    }
}

/// Returns true if an operator is defined for every left operand; a constant divisor or shift amount counts as valid.
fn is_total(op: &BinOp, right: &Expr) -> bool {
    match op {
        BinOp::Div(_) | BinOp::Rem(_) | BinOp::Shl(_) | BinOp::Shr(_) => kind(right) <= Kind::Const,
        _ => !is_assignment(op),
    }
}

fn is_truth(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_)
    )
}

/// Returns true for operators that assign, such as `+=`.
pub(crate) fn is_assignment(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

/// Returns true for names in capitals and for `Type::Variant`.
fn is_constant(path: &syn::ExprPath) -> bool {
    let Some(last) = path.path.segments.last() else { return false };
    let name = last.ident.to_string();
    path.path.segments.len() > 1 || name.chars().all(|c| !c.is_ascii_lowercase())
}

/// Returns the name of the variable if the expression is one.
pub(crate) fn variable(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) if !is_constant(path) => path.path.get_ident(),
        Expr::Paren(inner) => variable(&inner.expr),
        _ => None,
    }
}

/// Returns true if control never gets past a statement.
pub(crate) fn ends(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Expr(expr, _) => never_returns(expr),
        Stmt::Macro(stmt) => stmt.mac.path.is_ident("raise"),
        Stmt::Local(_) | Stmt::Item(_) => false,
    }
}

/// Returns true if control never gets past a block.
pub(crate) fn block_ends(block: &Block) -> bool {
    block.stmts.iter().any(ends)
}

/// Returns true if a block ends in `raise!`.
pub(crate) fn raises(block: &Block) -> bool {
    match block.stmts.last() {
        Some(Stmt::Macro(stmt)) => stmt.mac.path.is_ident("raise"),
        Some(Stmt::Expr(Expr::Macro(expr), _)) => expr.mac.path.is_ident("raise"),
        _ => false,
    }
}

/// Returns true if control never gets past an expression.
pub(crate) fn never_returns(expr: &Expr) -> bool {
    match expr {
        Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) => true,
        Expr::Macro(mac) => mac.mac.path.is_ident("raise"),
        Expr::Block(block) => block_ends(&block.block),
        Expr::Paren(inner) => never_returns(&inner.expr),
        Expr::Loop(inner) => !has_break(&inner.body),
        Expr::If(branch) => {
            let otherwise = branch.else_branch.as_ref();
            block_ends(&branch.then_branch)
                && otherwise.is_some_and(|(_, expr)| never_returns(expr))
        }
        Expr::Match(cases) => {
            !cases.arms.is_empty() && cases.arms.iter().all(|arm| never_returns(&arm.body))
        }
        _ => false,
    }
}

/// Returns true if a body breaks out of its own loop.
pub(crate) fn has_break(body: &Block) -> bool {
    struct Breaks(bool);
    impl<'a> Visit<'a> for Breaks {
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Break(_) => self.0 = true,
                Expr::Loop(_) | Expr::While(_) | Expr::ForLoop(_) => {}
                other => visit::visit_expr(self, other),
            }
        }
    }
    let mut breaks = Breaks(false);
    breaks.visit_block(body);
    breaks.0
}

/// Returns true if a body contains `return`, `?` or `raise!`.
pub(crate) fn has_return(body: &Block) -> bool {
    struct Returns(bool);
    impl<'a> Visit<'a> for Returns {
        fn visit_expr(&mut self, expr: &'a Expr) {
            match expr {
                Expr::Return(_) | Expr::Try(_) => self.0 = true,
                other => visit::visit_expr(self, other),
            }
        }

        fn visit_macro(&mut self, mac: &'a syn::Macro) {
            self.0 |= mac.path.is_ident("raise");
        }
    }
    let mut returns = Returns(false);
    returns.visit_block(body);
    returns.0
}

/// Appends the names that a pattern binds.
pub(crate) fn bound(pat: &Pat, names: &mut Vec<Ident>) {
    match pat {
        Pat::Ident(pat) => names.push(pat.ident.clone()),
        Pat::Tuple(tuple) => tuple.elems.iter().for_each(|pat| bound(pat, names)),
        Pat::Type(typed) => bound(&typed.pat, names),
        _ => {}
    }
}

/// Returns the variables in scope that some code assigns, in the order of their declaration.
pub(crate) fn assigned(scope: &[Ident], visit: impl FnOnce(&mut Assigned)) -> Vec<Ident> {
    let mut found = Assigned { names: Vec::new(), hidden: Vec::new() };
    visit(&mut found);
    let mut names: Vec<Ident> = Vec::new();
    for name in scope {
        if found.names.contains(name) && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// A visitor that collects assigned variables, except those that the visited code declares.
pub(crate) struct Assigned {
    names: Vec<Ident>,
    hidden: Vec<Ident>,
}

impl Assigned {
    fn add(&mut self, target: &Expr) {
        if let Some(name) = variable(target)
            && !self.hidden.contains(name)
        {
            self.names.push(name.clone());
        }
        if let Expr::Tuple(tuple) = target {
            tuple.elems.iter().for_each(|target| self.add(target));
        }
    }
}

impl<'a> Visit<'a> for Assigned {
    fn visit_block(&mut self, block: &'a Block) {
        let outside = self.hidden.len();
        visit::visit_block(self, block);
        self.hidden.truncate(outside);
    }

    fn visit_local(&mut self, local: &'a syn::Local) {
        visit::visit_local(self, local);
        bound(&local.pat, &mut self.hidden);
    }

    fn visit_expr_for_loop(&mut self, each: &'a syn::ExprForLoop) {
        self.visit_expr(&each.expr);
        let outside = self.hidden.len();
        bound(&each.pat, &mut self.hidden);
        self.visit_block(&each.body);
        self.hidden.truncate(outside);
    }

    fn visit_expr_assign(&mut self, assign: &'a syn::ExprAssign) {
        visit::visit_expr_assign(self, assign);
        self.add(&assign.left);
    }

    fn visit_expr_binary(&mut self, binary: &'a syn::ExprBinary) {
        visit::visit_expr_binary(self, binary);
        if is_assignment(&binary.op) {
            self.add(&binary.left);
        }
    }
}

/// Returns the name of a struct member; `None` for an index.
pub(crate) fn named(member: &Member) -> Option<&Ident> {
    match member {
        Member::Named(name) => Some(name),
        Member::Unnamed(_) => None,
    }
}
