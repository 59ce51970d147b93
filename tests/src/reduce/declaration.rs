//! Passes over declarations.

use codegen::{Expr, Library, ParamType, Statement, StatementKind};

use super::edit::{self, Edit};
use super::function::{Arms, Params, Results};
use super::{Changes, Pass, Subject};

impl Subject for Library {
    const PASSES: &'static [Pass<Library>] = &[
        ("functions", functions),
        ("statements", |library, changes| edit::library(library, &mut Statements(changes))),
        ("nested blocks", |library, changes| edit::library(library, &mut Hoisted(changes))),
        ("arms", |library, changes| edit::library(library, &mut Arms(changes))),
        ("parameters", |library, changes| edit::library(library, &mut Params(changes))),
        ("results", |library, changes| edit::library(library, &mut Results(changes))),
        ("lists", |library, changes| edit::library(library, &mut Lists(changes))),
        ("options", |library, changes| edit::library(library, &mut Values(changes))),
        ("types", |library, changes| edit::library(library, &mut Types(changes))),
        ("expressions", |library, changes| edit::library(library, &mut Exprs(changes))),
        ("numbers", |library, changes| edit::library(library, &mut Numbers(changes))),
        ("texts", |library, changes| edit::library(library, &mut Texts(changes))),
    ];

    fn read(text: &str) -> Result<Library, String> {
        text.parse().map_err(|error: codegen::Error| error.to_string())
    }

    fn text(&self) -> String {
        self.to_string()
    }

    /// Parsing validates.
    fn is_valid(&self) -> bool {
        true
    }
}

fn functions(library: &mut Library, changes: &mut Changes) {
    library.functions.retain(|_| !changes.makes_next());
    library.images.retain(|_| !changes.makes_next());
}

/// Removes statements.
struct Statements<'a>(&'a mut Changes);

impl Edit for Statements<'_> {
    fn block(&mut self, statements: &mut Vec<Statement>) {
        statements.retain(|_| !self.0.makes_next());
    }
}

/// Puts the contents of a nested block into the place of its statement.
struct Hoisted<'a>(&'a mut Changes);

impl Edit for Hoisted<'_> {
    fn block(&mut self, statements: &mut Vec<Statement>) {
        let hoisted = |statement: Statement| {
            let made = blocks(&statement).iter().fold(None, |made, block| {
                if self.0.makes_next() { Some(block.to_vec()) } else { made }
            });
            made.unwrap_or_else(|| vec![statement])
        };
        *statements = std::mem::take(statements).into_iter().flat_map(hoisted).collect();
    }
}

fn blocks(statement: &Statement) -> Vec<&[Statement]> {
    match &statement.kind {
        StatementKind::If { branches, otherwise } => {
            branches.iter().map(|branch| &branch.body[..]).chain([&otherwise[..]]).collect()
        }
        StatementKind::For { body, .. } => vec![body],
        StatementKind::Match { arms, .. } => arms.iter().map(|arm| &arm.body[..]).collect(),
        StatementKind::Let { .. }
        | StatementKind::Call { .. }
        | StatementKind::Alloc { .. }
        | StatementKind::TensorMap { .. }
        | StatementKind::Launch(_)
        | StatementKind::Upload(_)
        | StatementKind::Fill(_)
        | StatementKind::Copy(_)
        | StatementKind::Wait(_)
        | StatementKind::Return(_)
        | StatementKind::Raise { .. } => Vec::new(),
    }
}

/// Removes elements of lists: constraints, arguments, results, dims, and so on.
struct Lists<'a>(&'a mut Changes);

impl Edit for Lists<'_> {
    fn list<T>(&mut self, list: &mut Vec<T>) {
        list.retain(|_| !self.0.makes_next());
    }
}

/// Replaces options by what holds without them.
struct Values<'a>(&'a mut Changes);

impl Edit for Values<'_> {
    fn value<T: PartialEq>(&mut self, value: &mut T, simpler: T) {
        if *value != simpler && self.0.makes_next() {
            *value = simpler;
        }
    }
}

/// Replaces types by parts of them, then by an integer.
struct Types<'a>(&'a mut Changes);

impl Edit for Types<'_> {
    fn ty(&mut self, ty: &mut ParamType) {
        let mut all = parts(ty);
        all.push(ParamType::Scalar(codegen::Scalar::Int8));
        replace(ty, all, self.0);
    }
}

fn parts(ty: &ParamType) -> Vec<ParamType> {
    match ty {
        ParamType::Sequence(_, inner) | ParamType::Optional(inner) => vec![(**inner).clone()],
        ParamType::Mapping(_, types) => types.to_vec(),
        ParamType::Tuple(elements) => elements.iter().map(|element| element.ty.clone()).collect(),
        ParamType::Union(types) => types.clone(),
        ParamType::Scalar(_)
        | ParamType::Tensor(_)
        | ParamType::Leaf(_)
        | ParamType::Shape(_)
        | ParamType::Object(_)
        | ParamType::Literal(_) => Vec::new(),
    }
}

/// Replaces expressions by operands of them, then by literals.
struct Exprs<'a>(&'a mut Changes);

impl Edit for Exprs<'_> {
    fn expr(&mut self, expr: &mut Expr) {
        let literals = [
            Expr::Int(0),
            Expr::Null,
            Expr::Float(0.0),
            Expr::Bool(true),
            Expr::text(""),
            Expr::None,
        ];
        let all = expr.children().cloned().chain(literals).collect();
        replace(expr, all, self.0);
    }
}

/// Makes numbers smaller.
struct Numbers<'a>(&'a mut Changes);

impl Edit for Numbers<'_> {
    fn expr(&mut self, expr: &mut Expr) {
        if let Expr::Int(number) = *expr {
            let smaller = (0..63).map(|shift| number - (number >> shift)).filter(|n| *n != number);
            replace(expr, smaller.map(Expr::Int).collect(), self.0);
        }
    }
}

/// Shortens texts: to nothing, to a half, by a character.
struct Texts<'a>(&'a mut Changes);

impl Edit for Texts<'_> {
    fn text(&mut self, text: &mut String) {
        let all: Vec<char> = text.chars().collect();
        let (half, last) = (all.len() / 2, all.len().saturating_sub(1));
        let shorter =
            [&all[..0], &all[half..], &all[..half], &all[all.len() - last..], &all[..last]];
        replace(text, shorter.iter().map(|part| part.iter().collect()).collect(), self.0);
    }
}

/// Replaces a value by the last chosen one of several.
fn replace<T>(value: &mut T, others: Vec<T>, changes: &mut Changes) {
    for other in others {
        if changes.makes_next() {
            *value = other;
        }
    }
}
