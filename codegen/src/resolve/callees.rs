//! The types of C functions that a library calls: each has one, also those that lowering calls.

use rustc_hash::FxHashMap;

use super::function::Function;
use super::{Located, prototype};
use crate::declaration::{self, Body, Library, StatementKind};
use crate::error::{Error, Part};
use crate::ir::Signature;

/// Checks that a function calls C functions as those before it do, and notes the types of others.
pub(super) fn agrees<'a>(
    declared: &crate::Function,
    function: &Function<'a>,
    prototypes: &mut FxHashMap<&'a str, Signature>,
) -> Located<()> {
    for (count, (symbol, call)) in function.calls().into_iter().enumerate() {
        let found = &call.signature;
        let known = prototypes.entry(symbol).or_insert_with(|| found.clone());
        if known != found {
            let reason = format!("`{symbol}` is called as {found}, but earlier as {known}");
            return Err((callee(&declared.body, count), reason));
        }
    }
    Ok(())
}

/// Returns the part of a body that is its call number `count` of a C function by its symbol, counted from 0 in source
/// order.
fn callee(body: &Body, count: usize) -> Part {
    let Body::Block(_) = body else { return Part::Callee };
    nth_statement(body, count, |action| {
        let StatementKind::Call { call: declaration::Call::Kernel(call), .. } = action else {
            return false;
        };
        call.symbol().is_some()
    })
}

/// Returns the part that is number `count` of the statements that satisfy a predicate, counted from 0 in source order.
pub(super) fn nth_statement(
    body: &Body,
    count: usize,
    wanted: impl Fn(&StatementKind) -> bool,
) -> Part {
    let mut found = body.statements().enumerate().filter(|(_, at)| wanted(&at.kind));
    found.nth(count).map_or(Part::Callee, |(index, _)| Part::Statement(index))
}

/// Checks calls of C functions that lowering calls too, to allocate tensors and to find the driver: both must call a
/// function with the same type.
pub(super) fn c_library(library: &Library, functions: &[Function<'_>]) -> Result<(), Error> {
    let mut known = Vec::new();
    let mut all = functions.iter().flat_map(Function::with_closures);
    if all.any(|function| function.outputs.iter().next().is_some()) {
        known.extend(prototype::of_c_library().map(|function| (function, "allocate tensors")));
    }
    if functions.iter().any(Function::uses_driver) {
        known.extend(prototype::of_loaders().map(|function| (function, "find the driver")));
    }
    for (index, function) in functions.iter().enumerate() {
        for (count, (symbol, call)) in function.calls().into_iter().enumerate() {
            let wrong =
                |((name, own), _): &&((&str, _), _)| *name == symbol && *own != call.signature;
            let Some(((_, own), what)) = known.iter().find(wrong) else { continue };
            let found = &call.signature;
            let reason = format!("`{symbol}` is called as {found}, but to {what} as {own}");
            let declared = &library.functions[index];
            let part = callee(&declared.body, count);
            return Err(Error::invalid(index, declared, part, reason));
        }
    }
    Ok(())
}
