//! Checks that allocated tensors are given to something that can write them before they are returned, since whoever
//! gets one may read all of it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Located;
use crate::declaration::{Body, Expr, Function, Member, Statement, StatementKind};
use crate::error::Part;

/// Checks the results of a function, and the tensors that its statements allocate and return.
pub(super) fn check(function: &Function) -> Located<()> {
    let is_alloc = |statement: &Statement| matches!(statement.kind, StatementKind::Alloc { .. });
    if function.signature.outputs().is_empty() && !function.body.statements().any(is_alloc) {
        return Ok(());
    }
    let uses = Uses::of(function);
    let outputs = if returns(&function.body) { function.signature.outputs() } else { &[] };
    let results = outputs.iter().enumerate();
    let results = results.map(|(index, output)| (Part::Output(index), &*output.name));
    let made = function.body.statements().enumerate().filter_map(|(index, statement)| {
        let StatementKind::Alloc { name, .. } = &statement.kind else { return None };
        uses.returned.contains(&**name).then_some((Part::Statement(index), &**name))
    });
    let unwritten = results.chain(made).find(|(_, name)| !uses.given.contains(name));
    unwritten.map_or(Ok(()), |(part, name)| {
        Err((part, format!("`{name}` is returned, but given to nothing that could write it")))
    })
}

/// Returns false for a body that only raises.
fn returns(body: &Body) -> bool {
    let ends =
        !matches!(body.block().last().map(|last| &last.kind), Some(StatementKind::Raise { .. }));
    ends || body.statements().any(|statement| matches!(statement.kind, StatementKind::Return(_)))
}

/// Uses of allocated tensors, by name.
#[derive(Default)]
struct Uses<'a> {
    /// Names that calls, launches and commands get, as a tensor or an address.
    given: FxHashSet<&'a str>,
    /// Names of tensors that are returned.
    returned: FxHashSet<&'a str>,
}

impl<'a> Uses<'a> {
    fn of(function: &'a Function) -> Uses<'a> {
        let mut uses = Uses::default();
        // Names that `let` gives, each with what it stands for.
        let mut aliases: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
        if let Body::Call(call) = &function.body {
            call.args.iter().for_each(|arg| handed(arg, &mut uses.given));
        }
        for Statement { kind, .. } in function.body.statements() {
            if let StatementKind::Let { name, value } = kind {
                let mut names = FxHashSet::default();
                handed(value, &mut names);
                aliases.entry(name).or_default().extend(names);
            } else if let StatementKind::Return(Some(value)) = kind {
                handed(value, &mut uses.returned);
            } else {
                kind.written().into_iter().for_each(|expr| handed(expr, &mut uses.given));
            }
        }
        for names in [&mut uses.given, &mut uses.returned] {
            let mut left: Vec<&str> = names.iter().copied().collect();
            while let Some(name) = left.pop() {
                let stands_for = aliases.get(name).into_iter().flatten().copied();
                left.extend(stands_for.filter(|name| names.insert(name)));
            }
        }
        uses
    }
}

/// Collects the names whose values or addresses an expression hands on; its other names are of numbers.
fn handed<'a>(expr: &'a Expr, names: &mut FxHashSet<&'a str>) {
    let mut left = vec![expr];
    while let Some(expr) = left.pop() {
        match expr {
            Expr::Name(name) => {
                names.insert(name);
            }
            Expr::Member(of, Member::Data)
            | Expr::Cast(_, of)
            | Expr::Field(of, _)
            | Expr::Element(of, _) => left.push(of),
            Expr::Binary(_, a, b) | Expr::Call(_, a, b) => left.extend([&**a, &**b]),
            Expr::Array(all) => left.extend(all),
            Expr::Int(_)
            | Expr::Unsigned(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Member(..)
            | Expr::Neg(_)
            | Expr::Stream(_)
            | Expr::DeviceAttribute(..)
            | Expr::CurrentDevice
            | Expr::Global(_)
            | Expr::Bool(_)
            | Expr::None
            | Expr::Compare(..)
            | Expr::Not(_)
            | Expr::Logic(..)
            | Expr::Shape(_)
            | Expr::Function(_) => {}
        }
    }
}
