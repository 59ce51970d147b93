//! The error in the thread's slot: made, taken, passed on with a frame more.

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Single, Text, call_indirect, constant, routine, words};
use crate::lower::explain::codes::{Callee, Header, Span};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::access::filled;
use crate::lower::explain::routines::memory::{ByteArray, Caller, Object, State, bytes};
use crate::lower::explain::routines::runtime::{
    error_create, error_move_from_raised, error_set_raised, object_dec_ref,
};
use crate::lower::explain::schema::At;

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
pub(crate) fn raise(s: &State, kind: Text) {
    let arrays: [ByteArray; 3];
    let error: &Object;
    *error = null;
    let frame = text_at(s, s.frame);
    let kind = filled(&arrays[0], kind.data, kind.len);
    let message = filled(&arrays[1], s.message, s.length);
    let backtrace = filled(&arrays[2], frame.data, frame.len);
    if error_create(kind, message, backtrace, error) == 0 {
        set_raised(*error);
    }
}

/// -1, once it has passed on the error of a callee, or raised what the site says. -2 stands for an error that the
/// host has of its own, as runtimes up to 0.1.8 say.
#[routine]
pub(crate) fn fail_at(caller: Caller, values: &i64) -> i32 {
    let callee = caller.site.callee;
    if callee != Callee::None {
        if pass_on(caller) != 0 {
            return -1;
        }
        if callee == Callee::Function && *values == -2 {
            return -2;
        }
    }
    say_site(caller, caller.site.complaint, values);
    -1
}

/// 1 if somebody else has left an error, which goes on with the frame of the site; 0 if there is none.
#[routine]
pub(crate) fn pass_on(caller: Caller) -> i32 {
    let error = take_error();
    if error == null {
        return 0;
    }
    let s = opened(caller.descriptor);
    set_frame(s, caller.site.frame);
    set_passing(s, error);
    1
}

/// Puts an error of somebody else into the thread's slot, with a frame more. All else that it says stays, and it stays
/// the same object.
#[routine]
pub(crate) fn set_passing(s: &State, error: &Object) {
    let cell = error.error;
    let update = cell.update_backtrace;
    let backtrace = bytes(cell.backtrace);
    if update != null && backtrace.len < MAX_BACKTRACE {
        if backtrace.len != 0 && backtrace.data[backtrace.len - 1] != b'\n' {
            append(update, error, "\n");
        }
        append(update, error, text_at(s, s.frame));
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

/// A text of the descriptor.
pub(crate) fn text_at(b: &mut Builder<'_>, s: Ref<State>, text: Ref<Span>) -> Text {
    let (base, offset) = text.parts();
    let s = s.value(b);
    let [data, len] = b.text_at(s, At::within(base, offset));
    Text { data: Ref::new(data), len: Int::new(len) }
}

/// What messages need, without room for one.
fn opened(b: &mut Builder<'_>, descriptor: Ref<Header>) -> Ref<State> {
    let s = b.fields_slot();
    let descriptor = descriptor.value(b);
    b.routine(Routine::Open, &[s, descriptor]);
    Ref::new(s)
}

/// Says where errors are from, unless the frame is empty.
fn set_frame(b: &mut Builder<'_>, s: Ref<State>, frame: Ref<Span>) {
    let (base, offset) = frame.parts();
    let s = s.value(b);
    b.set_frame(s, At::within(base, offset));
}

/// Raises a complaint of these values, with what a site says.
fn say_site(b: &mut Builder<'_>, caller: Caller, complaint: Int<u64>, values: Ref<i64>) {
    let args = words(b, (caller, complaint, values));
    b.routine(Routine::SaySite, &args);
}
