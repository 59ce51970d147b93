//! The call of the kernel, and what its result becomes.

use crate::declaration::ResultType;
use crate::ir::{AbiType, Cond, Linkage, Signature, SymbolKind, Type, Value};
use crate::lower::body::results::Pending;
use crate::lower::explain::routines::Routine;
use crate::lower::prologue::arguments::c_types;
use crate::lower::prologue::scalar::abi_type;
use crate::lower::prologue::wrapper::Wrapper;
use crate::resolve::scope::Scope;

/// The C signature of the function behind a declaration. The expressions must be valid.
pub(crate) fn signature(scope: &Scope<'_>) -> Signature {
    let body = &scope.function.body;
    let mut params: Vec<AbiType> = body.args.iter().flat_map(|arg| c_types(scope, arg)).collect();
    let result = match scope.function.signature.result {
        ResultType::None | ResultType::Allocated(_) => None,
        ResultType::Scalar(scalar) => Some(abi_type(scalar)),
        ResultType::Written(_) => {
            params.push(Type::Ptr.into());
            None
        }
    };
    let result = if body.status.is_some() { Some(Type::I32.into()) } else { result };
    Signature { params, result }
}

/// Computes the arguments, tests what is left to test, calls, writes the result and returns.
pub(crate) fn call(w: &mut Wrapper<'_, '_>) {
    let scope = &w.resolved.scope;
    let body = &scope.function.body;
    w.plan_outputs();
    let early = |w: &mut Wrapper<'_, '_>, arg| (!scope.is_allocated(arg)).then(|| w.pass(arg));
    let args: Vec<Option<Vec<Value>>> = body.args.iter().map(|arg| early(w, arg)).collect();
    w.checks.flush(&mut w.b, w.fail);
    let pending = w.prepare_result();
    let late = |(early, arg): (Option<Vec<Value>>, _)| early.unwrap_or_else(|| w.pass(arg));
    let mut args: Vec<Value> = args.into_iter().zip(&body.args).flat_map(late).collect();
    if let Pending::Written(value) = pending {
        args.push(value);
    }
    let kind = SymbolKind::Function(signature(scope));
    let kernel = w.b.module.declare(&body.symbol, Linkage::Import, kind);
    let mut returned = w.b.call(kernel, &args);
    if body.status.is_some()
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
