//! Errors in the thread's slot: creating, taking, and passing them on with one more frame.

use crate::ir::Builder;
use crate::ir::typed::{Ref, Single, Text, call_indirect, constant, routine};
use crate::lower::routines::memory::{ByteArray, Caller, MessageBuffer, Object, bytes, filled};
use crate::lower::routines::records::{Head, host_of, text_of};
use crate::lower::routines::runtime::{
    error_create, error_move_from_raised, error_set_raised, object_dec_ref,
};

/// Size in bytes from which no frame is appended to a backtrace. Without a limit a backtrace would grow with the depth
/// of a recursion, and forever if a callee keeps an error and raises it again.
const MAX_BACKTRACE: u64 = 1 << 16;

/// Mode of `update_backtrace` that appends.
const APPEND: i32 = 1;

/// Moves an owned error into the thread's slot.
#[routine(inline)]
pub(crate) fn set_raised(error: &Object) {
    error_set_raised(error);
    object_dec_ref(error);
}

/// Moves the error out of the thread's slot; NULL if there is none.
#[routine(inline)]
pub(crate) fn take_error() -> &Object {
    let error: &Object;
    *error = null;
    error_move_from_raised(error);
    *error
}

/// Drops the error in the thread's slot.
#[routine(inline)]
pub(crate) fn forget_error() {
    let error = take_error();
    if error != null {
        object_dec_ref(error);
    }
}

/// Raises the composed message as an error of a kind.
///
/// The backtrace is the constant line of the host function, which saves a walk of the native stack.
#[routine]
pub(crate) fn raise(s: &MessageBuffer, kind: Text) {
    let arrays: [ByteArray; 3];
    let error: &Object;
    *error = null;
    let frame = text_of(s.head, host_of(s.head).backtrace);
    let kind = filled(&arrays[0], kind.data, kind.len);
    let message = filled(&arrays[1], s.message, s.length);
    let backtrace = filled(&arrays[2], frame.data, frame.len);
    if error_create(kind, message, backtrace, error) == 0 {
        set_raised(*error);
    }
}

/// Passes on the error in the thread's slot, with the frame of the caller added. Returns 1, or 0 if the slot is empty.
#[routine]
pub(crate) fn pass_on(caller: Caller) -> i32 {
    let error = take_error();
    if error == null {
        return 0;
    }
    set_passing(caller.site as &Head, error);
    1
}

/// Puts the error of a callee into the thread's slot, with the frame of the host function appended to its backtrace.
/// The error stays the same object.
#[routine]
pub(crate) fn set_passing(head: &Head, error: &Object) {
    let cell = error.error;
    let update = cell.update_backtrace;
    let backtrace = bytes(cell.backtrace);
    if update != null && backtrace.len < MAX_BACKTRACE {
        if backtrace.len != 0 && backtrace.data[backtrace.len - 1] != b'\n' {
            append(update, error, "\n");
        }
        append(update, error, text_of(head, host_of(head).backtrace));
    }
    set_raised(error);
}

/// Appends text to the backtrace of an error.
#[routine(inline)]
fn append(update: &u8, error: &Object, text: Text) {
    let array: ByteArray;
    update_backtrace(update, error, filled(array, text.data, text.len));
}

/// Calls the `update_backtrace` function of an error.
fn update_backtrace(
    b: &mut Builder<'_>,
    update: Ref<u8>,
    error: Ref<Object>,
    text: Ref<ByteArray>,
) {
    let update = update.value(b);
    let mode = constant(b, APPEND);
    call_indirect::<_, ()>(b, update, (error, text, mode));
}
