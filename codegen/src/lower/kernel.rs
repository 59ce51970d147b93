//! The call of the kernel, and what its result becomes.

use abi_spec::{Scalar, TypeIndex};

use super::routines::Routine;
use super::scalar::{abi_type, result_index, write_any};
use super::wrapper::{ParamState, Wrapper};
use crate::declaration::ResultType;
use crate::expr::Expr;
use crate::ir::{AbiType, Cond, Linkage, Signature, SymbolKind, Type, Value};
use crate::scope::{Kind, Scope};

/// The C signature of the function behind a declaration. The expressions must be valid.
pub(crate) fn signature(scope: &Scope<'_>) -> Signature {
    let body = &scope.function.body;
    let params = body.args.iter().map(|arg| argument_type(scope, arg)).collect();
    let result = match scope.function.signature.result {
        _ if body.status.is_some() => Some(Type::I32.into()),
        ResultType::None => None,
        ResultType::Scalar(scalar) => Some(abi_type(scalar)),
    };
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
    let function = w.resolved.scope.function;
    let args: Vec<Value> = function.body.args.iter().map(|arg| argument(w, arg)).collect();
    w.checks.flush(&mut w.b, w.fail);
    let kind = SymbolKind::Function(signature(&w.resolved.scope));
    let kernel = w.b.module.declare(&function.body.symbol, Linkage::Import, kind);
    let returned = w.b.call(kernel, &args);
    match (function.signature.result, returned) {
        (ResultType::Scalar(scalar), Some(returned)) => scalar_result(w, scalar, returned),
        (ResultType::None | ResultType::Scalar(_), status) => {
            if let Some(status) = status {
                check_status(w, status);
            }
            let zero = w.b.i64(0);
            let result = w.b.param(3);
            write_any(&mut w.b, result, TypeIndex::NONE, zero);
        }
    }
    let success = w.b.i32(0);
    w.b.ret(Some(success));
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
fn check_status(w: &mut Wrapper<'_, '_>, status: Value) {
    w.b.hint(status, "status");
    let failed = w.b.compare_const(Cond::Ne, status, 0);
    let (fail, next) = (w.b.cold_block("failed"), w.b.block("next"));
    w.b.branch(failed, fail, next);
    w.b.switch_to(fail);
    let descriptor = w.b.address(w.descriptor);
    let raised = w.routine(Routine::FailStatus, &[descriptor, status]);
    w.b.ret(raised);
    w.b.switch_to(next);
}

fn scalar_result(w: &mut Wrapper<'_, '_>, scalar: Scalar, returned: Value) {
    w.b.hint(returned, "returned");
    if scalar == Scalar::Uint64 {
        let too_large = w.b.compare_const(Cond::Slt, returned, 0);
        let (fail, next) = (w.b.cold_block("too_large"), w.b.block("next"));
        w.b.branch(too_large, fail, next);
        w.b.switch_to(fail);
        let descriptor = w.b.address(w.descriptor);
        let raised = w.routine(Routine::FailResult, &[descriptor, returned]);
        w.b.ret(raised);
        w.b.switch_to(next);
    }
    let payload = if scalar == Scalar::Bool {
        let truth = w.b.compare_const(Cond::Ne, returned, 0);
        w.b.widen_bool(truth, Type::I64)
    } else {
        w.widen(returned, scalar)
    };
    let result = w.b.param(3);
    write_any(&mut w.b, result, result_index(scalar), payload);
}
