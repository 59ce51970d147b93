//! The error in the thread's slot: made, taken, passed on with a frame more.

use crate::ir::Builder;
use crate::ir::typed::{Ref, Single, Text, call_indirect, constant, routine};
use crate::lower::routines::memory::{ByteArray, Caller, MessageBuffer, Object, bytes, filled};
use crate::lower::routines::records::{Head, host_of, text_of};
use crate::lower::routines::runtime::{
    error_create, error_move_from_raised, error_set_raised, object_dec_ref,
};

/// A backtrace of so many bytes takes no more frames. An error that a callee keeps and raises again and again would
/// grow without end, as one would that leaves a deep recursion.
const MAX_BACKTRACE: u64 = 1 << 16;

/// The mode of `update_backtrace` that appends.
const APPEND: i32 = 1;

/// Stores an owned error in the thread's slot.
#[routine(inline)]
pub(crate) fn set_raised(error: &Object) {
    error_set_raised(error);
    object_dec_ref(error);
}

/// Takes the error out of the thread's slot; NULL if there is none.
#[routine(inline)]
pub(crate) fn take_error() -> &Object {
    let error: &Object;
    *error = null;
    error_move_from_raised(error);
    *error
}

/// Takes the error out of the thread's slot and releases it.
#[routine(inline)]
pub(crate) fn forget_error() {
    object_dec_ref(take_error());
}

/// Raises the message as an error of a kind. A constant backtrace spares the walk up the native stack.
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

/// 1 if somebody else has left an error, which goes on with the frame of the site; 0 if there is none.
#[routine]
pub(crate) fn pass_on(caller: Caller) -> i32 {
    let error = take_error();
    if error == null {
        return 0;
    }
    set_passing(caller.site as &Head, error);
    1
}

/// Puts an error of somebody else into the thread's slot, with a frame more. All else that it says stays, and it stays
/// the same object.
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

/// Calls what appends to a backtrace.
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
