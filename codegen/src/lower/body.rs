//! Bodies: statements, calls, launches and results. A body runs after the arguments have passed their checks.

mod allocate;
mod cached;
mod call;
mod callee;
mod closure;
pub(super) mod launch;
mod objects;
mod outlined;
mod packed;
mod pass;
mod results;
mod statement;
mod stored;

use crate::ir;
use crate::lower::checks::Checker;

pub(super) use callee::{entry_linkage, entry_symbol};
pub(super) use closure::symbol as closure_symbol;
pub(super) use launch::kept::{Kept, first_signature, first_symbol};

/// The body of a function under construction.
struct BodyEmitter<'a, 'm> {
    c: Checker<'a, 'm>,
    /// The beginning of the symbols of the closures that the body makes.
    closures: &'a str,
    /// The launches that the function keeps, if it is a closure.
    kept: Kept<'a>,
    /// True if a routine calls function objects.
    outlines_calls: bool,
    /// True if the result has been written that the next statement returns.
    none_written: bool,
}

/// Emits the body of a function after its prologue. `closures` is the beginning of the symbols of the closures that the
/// body makes.
pub(super) fn body<'a>(c: Checker<'a, '_>, closures: &'a str) -> ir::Function {
    let outlines_calls = outlined::outlines_calls(c.e.function);
    let kept = Kept::of(c.e.function);
    let mut w = BodyEmitter { c, closures, kept, outlines_calls, none_written: false };
    statement::body(&mut w);
    let BodyEmitter { c: Checker { mut e, .. }, .. } = w;
    e.write_leave();
    e.b.finish()
}

/// Emits the first call of launch number `index` of those that a closure keeps, after its prologue.
pub(super) fn first_launch<'a>(
    mut c: Checker<'a, '_>,
    kept: &Kept<'a>,
    index: usize,
) -> ir::Function {
    launch::kept::first(&mut c, kept, index);
    let Checker { mut e, .. } = c;
    e.write_leave();
    e.b.finish()
}

/// Emits the allocation of the results of a function by PyTorch, after its prologue.
pub(super) fn allocation(mut c: Checker<'_, '_>) -> ir::Function {
    allocate::lend(&mut c);
    let Checker { mut e, .. } = c;
    e.write_leave();
    e.b.finish()
}
