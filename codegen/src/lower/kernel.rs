//! The call of the kernel, and what its result becomes.

use abi_spec::{Scalar, TypeIndex};

use super::arguments::c_types;
use super::routines::Routine;
use super::scalar::{abi_type, result_index, write_any};
use super::wrapper::Wrapper;
use crate::declaration::ResultType;
use crate::ir::{Cond, Linkage, Signature, SymbolKind, Type, Value};
use crate::scope::Scope;

/// The C signature of the function behind a declaration. The expressions must be valid.
pub(crate) fn signature(scope: &Scope<'_>) -> Signature {
    let body = &scope.function.body;
    let params = body.args.iter().flat_map(|arg| c_types(scope, arg)).collect();
    let result = match scope.function.signature.result {
        _ if body.status.is_some() => Some(Type::I32.into()),
        ResultType::None => None,
        ResultType::Scalar(scalar) => Some(abi_type(scalar)),
    };
    Signature { params, result }
}

/// Computes the arguments, tests what is left to test, calls, writes the result and returns.
pub(super) fn call(w: &mut Wrapper<'_, '_>) {
    let function = w.resolved.scope.function;
    let args: Vec<Value> = function.body.args.iter().flat_map(|arg| w.pass(arg)).collect();
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
