//! Prologues: code that counts, checks and unpacks the arguments and binds symbols. It dominates the body.

mod arguments;
mod held;

use crate::declaration::{ParamType, ResultType};
use crate::ir::{Block, Builder};
use crate::lower::checks::{self, Checker};
use crate::lower::emitter::state::{ScalarState, TensorState, ValueState};
use crate::lower::emitter::{Emitter, Interface};
use crate::lower::failure::records::{self, Reporter};
use crate::lower::failure::{Exits, Subjects};
use crate::lower::routines::Routine;
use crate::resolve::function::Function;
use crate::resolve::ids::ValueId;
use crate::resolve::step::Step;

pub(super) use arguments::store_literal;
pub(super) use held::bytes_at;

/// Emits the prologue of a function. Returns what the code after it knows.
pub(super) fn prologue<'a, 'm>(
    mut b: Builder<'m>,
    function: &'a Function<'a>,
    reporter: Reporter<'m>,
) -> Checker<'a, 'm> {
    let record = reporter.record;
    let miscounted = b.cold_block("miscounted");
    let (args, num_args) = arguments::count(&mut b, &function.declared.signature, miscounted);
    let interface = Interface { args: Some(args), num_args, result: Some(b.param(3)) };
    let mut c = context(b, function, interface, reporter);
    fail_count(&mut c.e, miscounted, record);
    checks::device_table(&mut c, &function.steps);
    held::unpack_held(&mut c);
    checks::check_steps(&mut c, &function.steps);
    c
}

/// Emits the prologue of code whose arguments are all given and known to pass the checks; it takes `values` of them, or
/// an array. Returns what the code after it knows, as [`prologue`] does.
pub(super) fn behind_checks<'a, 'm>(
    b: Builder<'m>,
    (function, values): (&'a Function<'a>, bool),
    reporter: Reporter<'m>,
) -> Checker<'a, 'm> {
    let count = function.declared.signature.params.len();
    let has_result = !values || function.declared.signature.result != ResultType::None;
    let result = has_result.then(|| b.param(if values { count } else { 3 }));
    let args = (!values).then(|| b.param(1));
    let mut c = context(b, function, Interface { args, num_args: None, result }, reporter);
    if values {
        function.values.keys().take(count).for_each(|value| take_value(&mut c.e, value));
    }
    let is_taken = |step: &Step<'_>| matches!(step, Step::Scalar { .. } | Step::Header { .. });
    for step in function.steps.iter().filter(|step| !(values && is_taken(step))) {
        checks::unpack_steps(&mut c, std::slice::from_ref(step), false);
    }
    c
}

/// Emits the prologue of code of a closure that takes the address of what that holds, and no arguments. Returns what
/// the code after it knows, as [`prologue`] does.
pub(super) fn of_held<'a, 'm>(
    b: Builder<'m>,
    function: &'a Function<'a>,
    reporter: Reporter<'m>,
) -> Checker<'a, 'm> {
    let interface = Interface { args: None, num_args: None, result: None };
    let mut c = context(b, function, interface, reporter);
    let elements = c.e.b.param(0);
    held::unpack_elements(&mut c, elements);
    c
}

/// Creates the context of a function of which no argument is loaded yet.
fn context<'a, 'm>(
    b: Builder<'m>,
    function: &'a Function<'a>,
    interface: Interface,
    Reporter { record, records, linkage }: Reporter<'m>,
) -> Checker<'a, 'm> {
    let emitter = Emitter::new(b, function, interface, linkage);
    let exits = Exits::new(Subjects::new(function, record, records));
    Checker::new(emitter, exits, checks::forms(function))
}

/// Takes the value of an argument, a tensor or a number.
fn take_value(e: &mut Emitter<'_, '_>, value: ValueId) {
    let declared = &e.function.values[value];
    let (given, hint) = (e.b.param(declared.param), e.hint(value, "", None));
    e.b.hint(given, hint);
    let state = if let ParamType::Scalar(scalar) = declared.ty {
        ValueState::Scalar(ScalarState { ty: *scalar, native: given, wide: None })
    } else {
        let dims = declared.tensor().map_or(0, |tensor| tensor.shape.dims().len());
        ValueState::Tensor(TensorState::new(Some(given), None, dims))
    };
    e.known.load(value, state);
}

/// Emits the block that raises the error of a wrong number of arguments.
fn fail_count(e: &mut Emitter<'_, '_>, block: Block, record: u32) {
    let here = e.b.current();
    e.b.switch_to(block);
    let (host, given) = (records::address(&mut e.b, record), e.b.param(2));
    let status = e.routine(Routine::FailCount, &[host, given]);
    e.b.ret(status);
    e.b.switch_to(here);
}
