//! The statements of a body, in order.

use crate::ir::{Cond, Linkage, SymbolKind, Value};
use crate::lower::body::results::Pending;
use crate::lower::explain::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::{Argument, Call, Statement};

/// Writes the body, every path of which returns.
pub(crate) fn body(w: &mut Wrapper<'_, '_>) {
    for statement in &w.function.body {
        match statement {
            Statement::Return(call) => return_call(w, call),
        }
    }
}

/// Computes the arguments, tests what is left to test, calls, writes the result and returns.
fn return_call(w: &mut Wrapper<'_, '_>, call: &Call<'_>) {
    w.plan_outputs();
    let early =
        |w: &mut Wrapper<'_, '_>, arg: &Argument| (!arg.is_allocated()).then(|| w.pass(arg));
    let args: Vec<Option<Vec<Value>>> = call.args.iter().map(|arg| early(w, arg)).collect();
    let pending = w.prepare_result();
    let late = |(early, arg): (Option<Vec<Value>>, _)| early.unwrap_or_else(|| w.pass(arg));
    let mut args: Vec<Value> = args.into_iter().zip(&call.args).flat_map(late).collect();
    if let Pending::Written(value) = pending {
        args.push(value);
    }
    let kind = SymbolKind::Function(call.prototype.clone());
    let kernel = w.b.module.declare(call.symbol, Linkage::Import, kind);
    let mut returned = w.b.call(kernel, &args);
    if call.status.is_some()
        && let Some(status) = returned.take()
    {
        check_status(w, status, pending);
    }
    w.finish(pending, returned);
}

/// Leaves with the kernel's error if its status is not zero.
fn check_status(w: &mut Wrapper<'_, '_>, status: Value, pending: Pending) {
    w.b.hint(status, "status");
    let failed = w.b.compare_const(Cond::Ne, status, 0);
    let (fail, next) = (w.b.cold_block("failed"), w.b.block("next"));
    w.b.branch(failed, fail, next);
    w.b.switch_to(fail);
    let descriptor = w.b.address(w.descriptor);
    let raised = w.routine(Routine::FailStatus, &[descriptor, status]);
    w.release(pending);
    w.b.ret(raised);
    w.b.switch_to(next);
}
