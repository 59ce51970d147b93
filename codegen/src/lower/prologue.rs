//! Prologues: code that counts, checks and unpacks the arguments and binds symbols. It dominates the body.

mod arguments;
mod held;

use crate::ir::{Block, Builder, Linkage};
use crate::lower::checks::{self, Checker};
use crate::lower::emitter::Emitter;
use crate::lower::failure::records::{self, Records};
use crate::lower::failure::{Exits, Subjects};
use crate::lower::routines::Routine;
use crate::resolve::function::Function;

pub(super) use held::{bytes_at, loading_anew};

/// Emits the prologue of a function. Returns what the code after it knows. `host` is the offset of the record of the
/// function.
pub(super) fn prologue<'a, 'm>(
    mut b: Builder<'m>,
    function: &'a Function<'a>,
    linkage: Linkage,
    (host, records): (u32, &'m mut Records),
) -> Checker<'a, 'm> {
    let miscounted = b.cold_block("miscounted");
    let counted = arguments::count(&mut b, &function.declared.signature, miscounted);
    let emitter = Emitter::new(b, function, counted, linkage);
    let exits = Exits::new(Subjects::new(function, host, records));
    let mut c = Checker::new(emitter, exits, checks::forms(function));
    fail_count(&mut c.e, miscounted, host);
    checks::device_table(&mut c, &function.steps);
    held::unpack_held(&mut c);
    checks::check_steps(&mut c, &function.steps);
    c
}

/// Emits the block that raises the error of a wrong number of arguments.
fn fail_count(e: &mut Emitter<'_, '_>, block: Block, host: u32) {
    let here = e.b.current();
    e.b.switch_to(block);
    let (host, given) = (records::address(&mut e.b, host), e.b.param(2));
    let status = e.routine(Routine::FailCount, &[host, given]);
    e.b.ret(status);
    e.b.switch_to(here);
}
