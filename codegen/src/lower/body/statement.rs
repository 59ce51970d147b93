//! The statements of a body, in order.

use crate::declaration::StatusError;
use crate::ir::{Cond, Convert, Linkage, SymbolKind, Type, Value};
use crate::lower::body::results::Pending;
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::site::Fault;
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
        check_status(w, call, status, pending);
    }
    w.finish(pending, returned);
}

/// Leaves with the kernel's error if its status is not zero.
fn check_status(w: &mut Wrapper<'_, '_>, call: &Call<'_>, status: Value, pending: Pending) {
    w.b.hint(status, "status");
    let failed = w.b.compare_const(Cond::Ne, status, 0);
    let (fail, next) = (w.b.cold_block("failed"), w.b.block("next"));
    w.b.branch(failed, fail, next);
    w.b.switch_to(fail);
    let fault = status_fault(call);
    let status = w.b.convert(Convert::Sext, status, Type::I64);
    let raised = w.fail_at(&fault, &[status]);
    w.leave(pending);
    w.b.ret(raised);
    w.b.switch_to(next);
}

/// What a status means that is not zero, where the kernel has left no error.
fn status_fault<'a>(call: &Call<'a>) -> Fault<'a> {
    let errors = call.status.unwrap_or_default();
    let own = |error: &'a StatusError| Some((error.status?, &error.kind[..], &error.message[..]));
    let other = errors.iter().find(|error| error.status.is_none());
    let (kind, subject) = match other {
        Some(error) => (&error.kind[..], error.message.clone()),
        None => ("", format!("Failed {}", call.symbol)),
    };
    let cases = errors.iter().filter_map(own).collect();
    Fault { complaint: Complaint::Status, callee: true, kind, subject, cases }
}
