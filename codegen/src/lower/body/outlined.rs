//! Calls of FFI functions in bodies with many of them. A routine looks the function up, calls it and raises its errors;
//! inline, each call would take nine blocks, and large functions are slow to compile.

use crate::lower::body::BodyEmitter;
use crate::lower::body::callee::{self, PackedArgs};
use crate::lower::checks::Checker;
use crate::lower::routines::Routine;
use crate::lower::routines::callee::named_callee;
use crate::resolve::body::{Action, Callee, PackedCall};
use crate::resolve::function::Function;
use crate::resolve::ids::ValueId;

/// Largest number of calls that a body makes inline.
const INLINE: usize = 16;

/// Returns true if the routine makes the calls in the body of a function. Calls by symbol stay inline: linkers may
/// inline them.
pub(super) fn outlines_calls(function: &Function<'_>) -> bool {
    let statements = function.statements();
    let calls = statements.iter().filter(|statement| {
        matches!(&statement.action, Action::Call { call, .. } if Object::of(&call.callee).is_some())
    });
    calls.count() > INLINE
}

/// A callee that is a function object.
#[derive(Clone, Copy)]
pub(super) enum Object<'a> {
    /// The function of a name.
    Named(&'a str),
    /// The function object of a value.
    Value(ValueId),
}

impl<'a> Object<'a> {
    fn of(callee: &Callee<'a>) -> Option<Object<'a>> {
        match callee {
            Callee::Symbol { .. } => None,
            Callee::Name(name) => Some(Object::Named(name)),
            Callee::Value(value) => Some(Object::Value(*value)),
        }
    }
}

/// Returns the callee if the routine makes this call.
pub(super) fn outlined_callee<'a>(
    w: &BodyEmitter<'a, '_>,
    call: &PackedCall<'a>,
) -> Option<Object<'a>> {
    Object::of(&call.callee).filter(|_| w.outlines_calls)
}

/// Emits the call of the routine. The routine drops the result if the address for it is NULL.
pub(super) fn call_outlined<'a>(
    c: &mut Checker<'a, '_>,
    call: &PackedCall<'a>,
    callee: Object<'a>,
    args: PackedArgs,
) {
    let (routine, function) = match callee {
        Object::Named(name) => {
            let callee = named_callee(c.e.b.module, name);
            (Routine::CallNamed, c.e.b.address(callee))
        }
        Object::Value(value) => (Routine::CallObject, callee::function_value(c, value)),
    };
    let fault = callee::call_fault(c, call);
    let site = c.exits.site(&mut c.e, &fault);
    let args = [site, function, args.args, args.count, args.result];
    let status = c.e.routine_value(routine, &args);
    c.e.exit_unless_zero(status, "failed");
}
