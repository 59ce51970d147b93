//! Contexts: the default stream is that of the current one.

use crate::ir::{Builder, Cond, Convert, Data, Linkage, SymbolKind, Type, Value};
use crate::lower::cuda::{Entry, INVALID_CONTEXT};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::cuda::load::DEVICES;

/// The primary context of each device, once it is retained; it is for the life of the process.
const CONTEXTS: &str = "tvm_ffi_codegen.contexts";

/// `(descriptor, site, kernel, device)`: makes a context of a device current, unless one is: 1 if it has, else 0; -1
/// once it has raised. A device's number is its handle.
pub(crate) fn enter(b: &mut Builder<'_>, _: Used) {
    let all @ [_, _, _, device] = [0, 1, 2, 3].map(|i| b.param(i));
    let out = b.stack_slot(4, 4);
    let status = b.driver(Entry::CtxGetDevice, &[out]);
    let current = b.compare_const(Cond::Eq, status, 0);
    b.if_then(current, |b| {
        let found = b.signed(out, 0);
        let same = b.eq(found, device);
        b.return_if(same, 0);
    });
    let none = b.compare_const(Cond::Eq, status, INVALID_CONTEXT);
    let usual = b.or(current, none);
    b.unless(usual, |b| {
        b.check_kernel(all, status);
        b.return_code(-1);
    });
    b.try_routine(Routine::PushPrimary, &all);
    b.return_code(1);
}

/// `(descriptor, site, kernel, device)`: makes the primary context of a device current; 0, or -1 once it has raised.
pub(crate) fn push_primary(b: &mut Builder<'_>, _: Used) {
    let all @ [_, _, _, device] = [0, 1, 2, 3].map(|i| b.param(i));
    let number = b.convert(Convert::Trunc, device, Type::I32);
    let (contexts, out) = (contexts(b), b.stack_slot(8, 8));
    let null = b.null();
    b.store(null, out, 0);
    let has_place = b.compare_const(Cond::Ult, device, DEVICES);
    let zero = b.i64(0);
    let place = b.select(has_place, device, zero);
    let cell = b.element(contexts, place);
    b.if_then(has_place, |b| {
        let known = b.atomic_load(Type::Ptr, cell, 0);
        b.store(known, out, 0);
    });
    let known = b.load(Type::Ptr, out, 0);
    let unknown = b.compare_const(Cond::Eq, known, 0);
    b.if_then(unknown, |b| {
        let status = b.driver(Entry::DevicePrimaryCtxRetain, &[out, number]);
        b.check_kernel(all, status);
        b.if_then(has_place, |b| keep(b, cell, out, number));
    });
    let context = b.load(Type::Ptr, out, 0);
    let status = b.driver(Entry::CtxPushCurrent, &[context]);
    b.check_kernel(all, status);
    b.return_code(0);
}

/// `(descriptor, site, status)`: what was current before is so again; 0, or -1 once it has raised that the driver has
/// failed at that. After a failure with a status, it is that failure which is said.
pub(crate) fn leave(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, status] = [0, 1, 2].map(|i| b.param(i));
    let out = b.stack_slot(8, 8);
    let popped = b.driver(Entry::CtxPopCurrent, &[out]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.return_if(failed, 0);
    b.check_driver(descriptor, site, Entry::CtxPopCurrent, popped);
    b.return_code(0);
}

/// Of several threads one keeps the context retained.
fn keep(b: &mut Builder<'_>, cell: Value, out: Value, number: Value) {
    let (null, context) = (b.null(), b.load(Type::Ptr, out, 0));
    let earlier = b.compare_exchange(cell, null, context);
    let lost = b.compare_const(Cond::Ne, earlier, 0);
    b.if_then(lost, |b| {
        b.driver(Entry::DevicePrimaryCtxRelease, &[number]);
    });
}

fn contexts(b: &mut Builder<'_>) -> Value {
    let symbol = b.module.declare(CONTEXTS, Linkage::Local, SymbolKind::Data);
    if b.module.data.iter().all(|data| data.symbol != symbol) {
        let bytes = vec![0; 8 * DEVICES as usize];
        b.module.data.push(Data::variable(symbol, bytes, 8));
    }
    b.address(symbol)
}
