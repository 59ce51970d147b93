//! Release of owned values.

use crate::ir::typed::routine;
use crate::lower::routines::access::is_object;
use crate::lower::routines::errors::{set_raised, take_error};
use crate::lower::routines::memory::Any;
use crate::lower::routines::runtime::object_dec_ref;

/// Releases the objects among values.
#[routine]
pub(crate) fn release(values: &Any, count: i64) {
    for at in 0..count {
        let value = &values[at];
        if is_object(value.type_index) && value.object != null {
            object_dec_ref(value.object);
        }
    }
}

/// Releases the objects among values and keeps the error in the thread's slot, which deleters may overwrite.
#[routine]
pub(crate) fn leave(values: &Any, count: i64) {
    let error = take_error();
    release(values, count);
    if error != null {
        set_raised(error);
    }
}
