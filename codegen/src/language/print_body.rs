//! The printer: bodies.

use std::fmt::{self, Display, Formatter, Write as _};

use super::print_items::{enclosed, list, quote};
use super::reserved::{is_symbol, spelled, spelled_label};
use crate::declaration::{
    Arm, Body, Branch, Call, Expr, Function, FunctionCall, FunctionRef, KernelCall, KernelRef,
    Local, Statement, StatementKind, StatusError,
};

/// The indentation of a body's statements, and the further indentation of each nested block.
const MARGIN: usize = 8;
const STEP: usize = 4;

/// Stands before each statement in the alternate form.
pub(crate) const MARK: char = '\u{1}';

/// Prints a body, between `=` and `;`: a call on one line, or a block on several lines. Recursion is as deep as blocks
/// are nested; [`MAX_NESTING`](super::MAX_NESTING) bounds it in a valid library. The alternate form (`{:#}`) has the
/// control character U+0001 before each statement.
impl Display for Body {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Body::Call(call) => call.fmt(f),
            Body::Block(statements) => block(f, statements, MARGIN),
        }
    }
}

/// Prints statements in braces.
fn block(f: &mut Formatter<'_>, statements: &[Statement], margin: usize) -> fmt::Result {
    if statements.is_empty() {
        return f.write_str("{}");
    }
    f.write_str("{\n")?;
    for statement in statements {
        if let Some(location) = &statement.location {
            writeln!(f, "{:margin$}{location}", "")?;
        }
        write!(f, "{:margin$}", "")?;
        mark(f)?;
        statement_kind(f, &statement.kind, margin)?;
        f.write_str("\n")?;
    }
    write!(f, "{:1$}}}", "", margin - STEP)
}

/// Marks the statement that follows, in the alternate form.
fn mark(f: &mut Formatter<'_>) -> fmt::Result {
    if f.alternate() { f.write_char(MARK) } else { Ok(()) }
}

/// Prints an expression in a statement at a margin. The block of a function within another expression stands at
/// [`MARGIN`].
fn expr(f: &mut Formatter<'_>, expr: &Expr, margin: usize) -> fmt::Result {
    if let Expr::Function(made) = expr { function(f, made, margin) } else { expr.fmt(f) }
}

/// Prints a function that a body makes.
fn function(f: &mut Formatter<'_>, function: &Function, margin: usize) -> fmt::Result {
    write!(f, "{} ", function.signature)?;
    block(f, function.body.block(), margin + STEP)
}

/// Prints a function that a body makes, in an expression.
pub(super) fn made(f: &mut Formatter<'_>, made: &Function) -> fmt::Result {
    function(f, made, MARGIN)
}

/// Prints a statement without its location.
fn statement_kind(f: &mut Formatter<'_>, kind: &StatementKind, margin: usize) -> fmt::Result {
    match kind {
        StatementKind::Let { name, value } => {
            write!(f, "let {} = ", spelled(name))?;
            expr(f, value, margin)?;
            f.write_str(";")
        }
        StatementKind::Call { result: Some(Local { name, ty: Some(ty), .. }), call } => {
            write!(f, "let {}: {ty} = {call};", spelled(name))
        }
        StatementKind::Call { result: Some(Local { name, ty: None, .. }), call } => {
            write!(f, "let {} = {call};", spelled(name))
        }
        StatementKind::Call { result: None, call } => write!(f, "{call};"),
        StatementKind::Alloc { name, tensor, on: Some(on) } => {
            write!(f, "let {} = alloc {tensor} on {on};", spelled(name))
        }
        StatementKind::Alloc { name, tensor, on: None } => {
            write!(f, "let {} = alloc {tensor};", spelled(name))
        }
        StatementKind::TensorMap { name, map } => write!(f, "let {} = {map};", spelled(name)),
        StatementKind::If { branches, otherwise } => {
            for (index, Branch { condition, body }) in branches.iter().enumerate() {
                write!(f, "{}if {condition} ", if index == 0 { "" } else { " else " })?;
                block(f, body, margin + STEP)?;
            }
            if otherwise.is_empty() {
                return Ok(());
            }
            f.write_str(" else ")?;
            block(f, otherwise, margin + STEP)
        }
        StatementKind::For { name, start, end, body } => {
            write!(f, "for {} in {start}..{end} ", spelled(name))?;
            block(f, body, margin + STEP)
        }
        StatementKind::Match { value, arms } => {
            write!(f, "match {value} {{")?;
            arms.iter().try_for_each(|next| arm(f, next, margin + STEP))?;
            if arms.is_empty() { f.write_str("}") } else { write!(f, "\n{:margin$}}}", "") }
        }
        StatementKind::Launch(launch) => write!(f, "{launch};"),
        StatementKind::Upload(upload) => write!(f, "{upload};"),
        StatementKind::Fill(fill) => write!(f, "{fill};"),
        StatementKind::Copy(copy) => write!(f, "{copy};"),
        StatementKind::Wait(wait) => write!(f, "{wait};"),
        StatementKind::Return(Some(value)) => {
            f.write_str("return ")?;
            expr(f, value, margin)?;
            f.write_str(";")
        }
        StatementKind::Return(None) => f.write_str("return;"),
        StatementKind::Raise { kind, message } => {
            write!(f, "raise {kind}{}", if message.is_empty() { "" } else { " " })?;
            list(f, message)?;
            f.write_str(";")
        }
    }
}

/// Prints an arm of a `match` on a line of its own.
fn arm(f: &mut Formatter<'_>, arm: &Arm, margin: usize) -> fmt::Result {
    write!(f, "\n{:margin$}", "")?;
    match (&arm.name, &arm.ty) {
        (Some(name), Some(ty)) => write!(f, "{}: {ty} => ", spelled(name))?,
        (None, Some(ty)) => write!(f, "_: {ty} => ")?,
        (_, None) => f.write_str("None => ")?,
    }
    block(f, &arm.body, margin + STEP)
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (callee, args, into, keys) = match self {
            Call::Kernel(call) => return call.fmt(f),
            Call::Function(FunctionCall { callee, args, into, keys }) => (callee, args, into, keys),
        };
        if !keys.is_empty() {
            enclosed(f, "cached (", keys, ") ")?;
        }
        write!(f, "{callee}")?;
        enclosed(f, "(", args, ")")?;
        if into.is_empty() { Ok(()) } else { enclosed(f, " into ", into, "") }
    }
}

impl Display for FunctionRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("@")?;
        match self {
            FunctionRef::Symbol(name) => spelled_label(name).fmt(f),
            FunctionRef::Name(name) => quote(f, name),
            FunctionRef::Value(function) => write!(f, "({function})"),
        }
    }
}

impl Display for KernelCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.status.is_some() { "try " } else { "" })?;
        match &self.callee {
            KernelRef::Symbol(symbol) if is_symbol(symbol) => f.write_str(symbol)?,
            KernelRef::Symbol(symbol) => quote(f, symbol)?,
            KernelRef::Address(address) => write!(f, "({address})")?,
        }
        enclosed(f, "(", &self.args, ")")?;
        match &self.status {
            Some(errors) if !errors.is_empty() => enclosed(f, " errors { ", errors, " }"),
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
