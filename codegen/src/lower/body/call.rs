//! Calls of C functions, and of FFI functions by symbol, by name and by value.

use abi_spec::symbol::{LIBRARY_CTX, function_symbol};
use abi_spec::{Scalar, runtime};

use crate::declaration::StatusError;
use crate::ir::{Cond, Convert, Linkage, Signature, SymbolKind, Type, Value};
use crate::lower::body::callee::{
    PackedArgs, call_fault, entry_linkage, entry_symbol, function_value,
};
use crate::lower::body::{BodyEmitter, objects, outlined, pass, results, stored};
use crate::lower::checks::{self, Checker, terms};
use crate::lower::emitter::state::{ScalarState, ValueState};
use crate::lower::failure::message::Message;
use crate::lower::failure::site::Failed;
use crate::lower::routines::Routine;
use crate::lower::routines::callee::callee_variable;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::CalleeKind;
use crate::lower::value::{cache, constant_bytes, safe_call, write_none};
use crate::resolve::body::{
    Address, Callee, Kernel, KernelCall, KernelResult, PackedCall, Received,
};
use crate::resolve::c_type::ResultConvention;
use crate::resolve::ids::ValueId;

/// Emits a call of a C function and the check of its status if it returns one. Returns the scalar that it yields, in
/// its C type. Any other result is written to `slot`, a `TVMFFIAny` that the frame owns; if scalars are the elements of
/// a tuple, their array is made there.
pub(super) fn call_kernel<'a>(
    c: &mut Checker<'a, '_>,
    call: &KernelCall<'a>,
    mut args: Vec<Value>,
    slot: Option<Value>,
) -> Option<Value> {
    let stored = stored::pass(c, call.yields.stored());
    match &call.yields {
        ResultConvention::Stored(_) | ResultConvention::StoredAll(_) => args.extend(&stored),
        ResultConvention::Written => args.extend(slot),
        ResultConvention::None | ResultConvention::Returned(_) => {}
    }
    let returned = match &call.callee {
        Kernel::Symbol(symbol) => {
            let kind = SymbolKind::Function(call.signature.clone());
            let kernel = c.e.b.module.declare(symbol, Linkage::Import, kind);
            c.e.b.call(kernel, &args)
        }
        Kernel::Address(address) => {
            let address = kernel_address(c, address);
            c.e.b.call_indirect(call.signature.clone(), address, &args)
        }
    };
    if let Some(name) = call.inquiry {
        inquire(c, name);
    }
    if let Some(status) = returned.filter(|_| call.status.is_some()) {
        check_status(c, call, status);
    }
    match (&call.yields, slot) {
        (ResultConvention::Returned(_), _) => returned,
        (ResultConvention::Stored(scalar), _) => Some(stored::load(c, *scalar, &stored)),
        (ResultConvention::StoredAll(scalars), Some(slot)) => {
            stored::make_array(c, scalars, &stored, slot);
            None
        }
        (
            ResultConvention::StoredAll(_) | ResultConvention::None | ResultConvention::Written,
            _,
        ) => None,
    }
}

/// Emits a call of the function of the FFI that raises what a kernel has kept; leaves with its error.
fn inquire<'a>(c: &mut Checker<'a, '_>, name: &'a str) {
    let before = c.e.frame.owned();
    let call = PackedCall { callee: Callee::Name(name), args: Vec::new(), values: None };
    let (args, count, result) = (c.e.b.null(), c.e.b.i32(0), c.e.own_none());
    let status = call_packed(c, &call.callee, PackedArgs { args, count, result });
    check_call(c, &call, status, Some(result));
    c.e.release_beyond(before);
    c.e.frame.truncate_owned(before);
}

/// Returns the address of a C function; leaves with an error if it is NULL.
fn kernel_address(c: &mut Checker<'_, '_>, Address { term, text }: &Address) -> Value {
    let address = terms::eval(c, term);
    let fail = c.failing(|_| Message::of(Complaint::NoKernel, text));
    let some = c.e.b.compare_const(Cond::Ne, address, 0);
    c.e.b.guard(some, fail);
    address
}

/// Emits a statement that calls a C function. If it `ends` the function, None is written as the result before the call.
pub(super) fn kernel<'a>(
    c: &mut Checker<'a, '_>,
    call: &KernelCall<'a>,
    result: &'a KernelResult<'a>,
    ends: bool,
) {
    let args: Vec<Value> = call.args.iter().flat_map(|arg| pass::pass(c, arg)).collect();
    if ends {
        results::write_none(c);
    }
    match result {
        KernelResult::None => {
            call_kernel(c, call, args, None);
        }
        KernelResult::Scalar(value) => {
            if let Some(scalar) = call_kernel(c, call, args, None) {
                yielded_scalar(c, *value, scalar);
            }
        }
        KernelResult::Written(received) => {
            let slot = c.e.own_none();
            call_kernel(c, call, args, Some(slot));
            checks::receive(c, received, slot);
        }
    }
}

/// Binds a scalar that a C function has yielded, in its C type. A `bool` is true unless its byte is 0.
fn yielded_scalar(c: &mut Checker<'_, '_>, value: ValueId, yielded: Value) {
    let ty = c.e.function.values[value].ty.scalar().unwrap_or(Scalar::Int64);
    let native = if ty == Scalar::Bool {
        let truth = c.e.b.compare_const(Cond::Ne, yielded, 0);
        c.e.b.widen_bool(truth, Type::I8)
    } else {
        yielded
    };
    c.e.known.load(value, ValueState::Scalar(ScalarState { native, ty, wide: None }));
}

/// Leaves with the kernel's error unless the status is 0.
fn check_status(c: &mut Checker<'_, '_>, call: &KernelCall<'_>, status: Value) {
    c.e.b.hint(status, "status");
    let failed = c.e.b.compare_const(Cond::Ne, status, 0);
    let next = c.e.b.enter_cold_if(failed, "failed");
    let fault = status_fault(call);
    let status = c.e.b.convert(Convert::Sext, status, Type::I64);
    let raised = c.exits.fail_at(&mut c.e, &fault, &[status]);
    c.e.exit(Some(raised));
    c.e.b.switch_to(next);
}

/// Emits a statement that calls an FFI function. Objects that were made for its arguments are released after the
/// call.
pub(super) fn call<'a>(
    w: &mut BodyEmitter<'a, '_>,
    call: &PackedCall<'a>,
    result: Option<&'a Received<'a>>,
) {
    if let Some(signature) = &call.values {
        return call_with_values(&mut w.c, call, signature, result);
    }
    let before = w.c.e.frame.owned();
    let outlined = outlined::outlined_callee(w, call);
    let unwanted = outlined.is_some() && result.is_none();
    let slot = if unwanted { w.c.e.b.null() } else { w.c.e.own_none() };
    let owned = w.c.e.frame.owned();
    let args = objects::pack_all(w, &call.args);
    let count = w.c.e.b.i32(call.args.len() as i32);
    let args = PackedArgs { args, count, result: slot };
    if let Some(callee) = outlined {
        outlined::call_outlined(&mut w.c, call, callee, args);
    } else {
        let status = call_packed(&mut w.c, &call.callee, args);
        check_call(&mut w.c, call, status, Some(slot));
    }
    w.c.e.release_beyond(owned);
    w.c.e.frame.truncate_owned(owned);
    take_result(&mut w.c, result, slot, before);
}

/// Takes over the result of a call, or releases it. `before` is the number of owned values before the call.
fn take_result<'a>(
    c: &mut Checker<'a, '_>,
    result: Option<&'a Received<'a>>,
    slot: Value,
    before: u32,
) {
    match result {
        Some(received) => {
            checks::receive(c, received, slot);
            if c.e.function.is_plain(received.value) {
                c.e.frame.disown(1);
            }
        }
        None => {
            c.e.release_beyond(before);
            c.e.frame.truncate_owned(before);
        }
    }
}

/// Emits a call of code of this library that takes the values of its arguments.
fn call_with_values<'a>(
    c: &mut Checker<'a, '_>,
    call: &PackedCall<'a>,
    signature: &Signature,
    result: Option<&'a Received<'a>>,
) {
    let Callee::Symbol { name, entry: Some(entry) } = &call.callee else {
        unreachable!("only functions of this library take values")
    };
    let before = c.e.frame.owned();
    let has_result = signature.params.len() > call.args.len();
    let slot = (has_result || result.is_some()).then(|| c.e.own_none());
    let types = signature.params.iter().map(|param| param.ty);
    let args = call.args.iter().zip(types).map(|(arg, ty)| pass::pass_plain(c, arg, ty));
    let mut args: Vec<Value> = args.collect();
    args.extend(slot.filter(|_| has_result));
    let kind = SymbolKind::Function(signature.clone());
    let symbol = c.e.b.module.declare(&entry_symbol(name, *entry), Linkage::Local, kind);
    let status = c.e.b.call_value(symbol, &args);
    check_call(c, call, status, slot);
    if let Some(slot) = slot {
        take_result(c, result, slot, before);
    }
}

/// Emits the call of an FFI function; returns its status.
fn call_packed<'a>(c: &mut Checker<'a, '_>, callee: &Callee<'a>, args: PackedArgs) -> Value {
    match callee {
        Callee::Symbol { name, entry } => {
            let (symbol, linkage) = match entry {
                Some(entry) => (entry_symbol(name, *entry), entry_linkage(*entry)),
                None => (function_symbol(name), Linkage::Import),
            };
            let kind = SymbolKind::Function(safe_call());
            let symbol = c.e.b.module.declare(&symbol, linkage, kind);
            let null = c.e.b.null();
            c.e.b.call_value(symbol, &[null, args.args, args.count, args.result])
        }
        Callee::Name(name) => {
            let function = function_named(c, name);
            call_object(c, function, args)
        }
        Callee::Value(value) => {
            let function = function_value(c, *value);
            call_object(c, function, args)
        }
    }
}

/// Emits the call of a function object; returns its status.
fn call_object(c: &mut Checker<'_, '_>, function: Value, args: PackedArgs) -> Value {
    let call = crate::lower::runtime(c.e.b.module, &runtime::FUNCTION_CALL);
    c.e.b.call_value(call, &[function, args.args, args.count, args.result])
}

/// Returns the function object of a name. The first call looks it up, in the imports of the library and then in the
/// registry, and caches it.
pub(super) fn function_named(c: &mut Checker<'_, '_>, name: &str) -> Value {
    let cache = cache(&mut c.e.b, &callee_variable(name));
    let known = c.e.b.atomic_load(Type::Ptr, cache, 0);
    let [usual, found] = ["usual", "found"].map(|label| c.e.b.block(label));
    let look_up = c.e.b.cold_block("look_up");
    let function = c.e.b.block_param(found, Type::Ptr, "function");
    let is_known = c.e.b.compare_const(Cond::Ne, known, 0);
    c.e.b.branch(is_known, usual, look_up);
    c.e.b.switch_to(usual);
    c.e.b.jump(found, &[known]);
    c.e.b.switch_to(look_up);
    let new = look_up_named(c, name, cache);
    let (missing, there) = (c.e.b.cold_block("missing"), c.e.b.cold_block("new"));
    let some = c.e.b.compare_const(Cond::Ne, new, 0);
    c.e.b.branch(some, there, missing);
    c.e.b.switch_to(missing);
    let failed = c.e.b.i32(-1);
    c.e.exit(Some(failed));
    c.e.b.switch_to(there);
    c.e.b.jump(found, &[new]);
    c.e.b.switch_to(found);
    function
}

/// Emits the look-up of a name; returns the function object, or NULL once the error is raised.
fn look_up_named(c: &mut Checker<'_, '_>, name: &str, cache: Value) -> Value {
    let text = constant_bytes(&mut c.e.b, [name.as_bytes(), &[0]].concat());
    let length = c.e.b.i64(name.len() as i64);
    let context = c.e.b.module.declare(LIBRARY_CTX, Linkage::Weak, SymbolKind::Data);
    let context = c.e.b.address(context);
    let context = c.e.b.load(Type::Ptr, context, 0);
    let site = c.exits.here(&mut c.e);
    c.e.routine_value(Routine::LookUp, &[site, text, length, cache, context])
}

/// Leaves with the callee's error unless the status is 0.
fn check_call(c: &mut Checker<'_, '_>, call: &PackedCall<'_>, status: Value, slot: Option<Value>) {
    let failed = c.e.b.compare_const(Cond::Ne, status, 0);
    let next = c.e.b.enter_cold_if(failed, "failed");
    // A callee that fails may leave any bits in the result slot. They must not be released, so None is stored.
    if let Some(slot) = slot {
        write_none(&mut c.e.b, slot);
    }
    let fault = call_fault(c, call);
    let status = c.e.b.convert(Convert::Sext, status, Type::I64);
    let raised = c.exits.fail_at(&mut c.e, &fault, &[status]);
    c.e.exit(Some(raised));
    c.e.b.switch_to(next);
}

/// Returns the declared errors of a kernel, by status. They are raised if the kernel has left no error itself.
fn status_fault(call: &KernelCall<'_>) -> Failed {
    let errors = call.status.unwrap_or_default();
    let says = |error: &StatusError| {
        let message = Message::of(Complaint::Status, &error.message);
        if error.kind.is_empty() { message } else { message.with_kind(&error.kind) }
    };
    let own = |error: &StatusError| Some((error.status?, says(error)));
    let message = match errors.iter().find(|error| error.status.is_none()) {
        Some(error) => says(error),
        None => Message::of(Complaint::Status, &format!("Failed {}", call.callee.name())),
    };
    let cases = errors.iter().filter_map(own).collect();
    Failed { callee: CalleeKind::Kernel, message, cases }
}
