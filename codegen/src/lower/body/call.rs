//! The call of the kernel, and what its result becomes.

use crate::declaration::{ResultType, StatusError};
use crate::ir::{AbiType, Cond, Convert, Linkage, Signature, SymbolKind, Type, Value};
use crate::lower::body::results::Pending;
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::site::{self, Fault};
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
    let fault = status_fault(w);
    let status = w.b.convert(Convert::Sext, status, Type::I64);
    let raised = w.fail_at(&fault, &[status]);
    w.leave(pending);
    w.b.ret(raised);
    w.b.switch_to(next);
}

/// What a status means that is not zero, where the kernel has left no error.
fn status_fault<'a>(w: &Wrapper<'a, '_>) -> Fault<'a> {
    let body = &w.resolved.scope.function.body;
    let errors = body.status.as_deref().unwrap_or_default();
    let own = |error: &'a StatusError| Some((error.status?, &error.kind[..], &error.message[..]));
    let other = errors.iter().find(|error| error.status.is_none());
    let (kind, subject) = match other {
        Some(error) => (&error.kind[..], error.message.clone()),
        None => ("", format!("Failed {}", body.symbol)),
    };
    let cases = errors.iter().filter_map(own).collect();
    Fault { complaint: Complaint::Status, callee: true, kind, subject, cases }
}

impl Wrapper<'_, '_> {
    /// Fails at a site of its own; yields the status.
    pub(crate) fn fail_at(&mut self, fault: &Fault<'_>, values: &[Value]) -> Option<Value> {
        let site = site::add(&mut self.b, self.descriptor, fault);
        let descriptor = self.b.address(self.descriptor);
        let values = self.b.values(values);
        self.routine(Routine::FailAt, &[descriptor, site, values])
    }
}
