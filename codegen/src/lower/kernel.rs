//! The call of the kernel, and what its result becomes.

use super::results::Pending;
use super::routines::Routine;
use super::scalar::abi_type;
use super::wrapper::{ParamState, Wrapper};
use crate::declaration::ResultType;
use crate::expr::Expr;
use crate::ir::{AbiType, Cond, Linkage, Signature, SymbolKind, Type, Value};
use crate::scope::{Kind, Scope};

/// The C signature of the function behind a declaration. The expressions must be valid.
pub(crate) fn signature(scope: &Scope<'_>) -> Signature {
    let body = &scope.function.body;
    let mut params: Vec<AbiType> = body.args.iter().map(|arg| argument_type(scope, arg)).collect();
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

/// A bare scalar keeps its own width; other integers are `int64_t`, floats `double`.
fn argument_type(scope: &Scope<'_>, arg: &Expr) -> AbiType {
    if let Some((_, scalar)) = scope.bare_scalar(arg) {
        return abi_type(scalar);
    }
    if let Expr::Cast(scalar, _) = arg {
        return abi_type(*scalar);
    }
    match scope.kind(arg) {
        Ok(Kind::Int) => Type::I64.into(),
        Ok(Kind::Float) => Type::F64.into(),
        Ok(Kind::Ptr) | Err(_) => Type::Ptr.into(),
    }
}

/// Computes the arguments, tests what is left to test, calls, writes the result and returns.
pub(super) fn call(w: &mut Wrapper<'_, '_>) {
    let scope = &w.resolved.scope;
    let body = &scope.function.body;
    w.plan_outputs();
    let early = |w: &mut Wrapper<'_, '_>, arg| (!scope.is_allocated(arg)).then(|| argument(w, arg));
    let args: Vec<Option<Value>> = body.args.iter().map(|arg| early(w, arg)).collect();
    w.checks.flush(&mut w.b, w.fail);
    let pending = w.prepare_result();
    let late = |(arg, value): (Option<Value>, _)| arg.unwrap_or_else(|| argument(w, value));
    let mut args: Vec<Value> = args.into_iter().zip(&body.args).map(late).collect();
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

fn argument(w: &mut Wrapper<'_, '_>, arg: &Expr) -> Value {
    if let Some((param, _)) = w.resolved.scope.bare_scalar(arg)
        && let ParamState::Scalar(state) = w.params[param]
    {
        return state.native;
    }
    match arg {
        Expr::Cast(scalar, inner) => w.cast(*scalar, inner),
        Expr::Int(_)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Name(_)
        | Expr::Member(..)
        | Expr::Neg(_)
        | Expr::Binary(..)
        | Expr::Call(..)
        | Expr::Stream(_) => w.expression(arg),
    }
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
