//! Callees of FFI calls, and what every form of such a call takes.

use abi_spec::symbol::function_symbol;

use crate::ir::{Cond, Linkage, Value};
use crate::lower::checks::Checker;
use crate::lower::failure::site::Failed;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::CalleeKind;
use crate::resolve::body::{Callee, Entry, PackedCall};
use crate::resolve::ids::ValueId;

/// The last three arguments of a call of an FFI function.
#[derive(Clone, Copy)]
pub(super) struct PackedArgs {
    /// Address of the arguments, each a `TVMFFIAny`.
    pub(crate) args: Value,
    /// Number of arguments, `I32`.
    pub(crate) count: Value,
    /// Address of the result, a `TVMFFIAny`; NULL where a routine drops the result.
    pub(crate) result: Value,
}

/// Returns the symbol of the code of a function of the library.
pub(in crate::lower) fn entry_symbol(name: &str, Entry { into, checked }: Entry) -> String {
    match (into, checked) {
        (false, false) => function_symbol(name),
        (true, false) => format!("tvm_ffi_codegen.into.{name}"),
        (false, true) => format!("tvm_ffi_codegen.checked.{name}"),
        (true, true) => format!("tvm_ffi_codegen.checked_into.{name}"),
    }
}

/// Returns the linkage of this symbol.
pub(in crate::lower) fn entry_linkage(entry: Entry) -> Linkage {
    if entry == Entry::default() { Linkage::Export } else { Linkage::Local }
}

/// Returns the function object of a value; leaves with an error if the value is an absent optional.
pub(super) fn function_value(c: &mut Checker<'_, '_>, value: ValueId) -> Value {
    let function = c.e.known.value(value).word();
    let function = c.e.or_zero(value, function);
    require_function(c, value, function);
    function
}

/// Leaves with an error if an optional function is None.
fn require_function(c: &mut Checker<'_, '_>, value: ValueId, function: Value) {
    if c.e.known.mask(value).is_none() {
        return;
    }
    let path = c.e.function.values[value].path.clone();
    let some = c.e.b.compare_const(Cond::Ne, function, 0);
    let next = c.e.b.enter_cold_unless(some, "no_function");
    let raised = c.exits.fail_at(&mut c.e, &Failed::of(Complaint::NoFunction, &path), &[]);
    c.e.exit(Some(raised));
    c.e.b.switch_to(next);
}

/// Returns the error of a callee that fails without raising one.
pub(super) fn call_fault(c: &Checker<'_, '_>, call: &PackedCall<'_>) -> Failed {
    let name = match &call.callee {
        Callee::Symbol { name, .. } | Callee::Name(name) => (*name).to_owned(),
        Callee::Value(value) => c.e.function.values[*value].path.clone(),
    };
    let failed = Failed::of(Complaint::Status, &format!("Failed {name}"));
    Failed { callee: CalleeKind::Function, ..failed }
}
