//! Starting a message, and raising it as an error.

use abi_spec::layout::{BYTE_ARRAY, byte_array};
use abi_spec::runtime;

use crate::ir::{Cond, Type, Value};
use crate::lower::explain::codes::header;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::{Code, state};

/// ``<text><place><suffix> on argument #<argument> when calling: `<signature>`, expected ``
pub(crate) fn begin(c: &mut Code<'_>) {
    let [s, text, length, place, suffix, suffix_length, argument] =
        [0, 1, 2, 3, 4, 5, 6].map(|i| c.b.param(i));
    c.start(s);
    c.call(Routine::Put, &[s, text, length]);
    c.call(Routine::PutPlace, &[s, place]);
    c.call(Routine::Put, &[s, suffix, suffix_length]);
    c.say(s, " on argument #");
    c.call(Routine::PutUnsigned, &[s, argument]);
    c.calling(s);
    c.say(s, ", expected ");
    c.b.ret(None);
}

/// ``<text><subject> when calling: `<signature>` ``
pub(crate) fn begin_call(c: &mut Code<'_>) {
    let [s, text, length, subject, subject_length] = [0, 1, 2, 3, 4].map(|i| c.b.param(i));
    c.start(s);
    c.call(Routine::Put, &[s, text, length]);
    c.call(Routine::Put, &[s, subject, subject_length]);
    c.calling(s);
    c.b.ret(None);
}

/// `(state, kind, length)`: a constant backtrace spares the walk up the native stack.
pub(crate) fn raise(c: &mut Code<'_>) {
    let [s, kind, kind_length] = [0, 1, 2].map(|i| c.b.param(i));
    let quiet = c.is_quiet(s);
    c.when(quiet, |c| c.return_code(-1));
    let size = BYTE_ARRAY.size as i32;
    let arrays = c.b.stack_slot(3 * BYTE_ARRAY.size, 8);
    let error = c.b.stack_slot(8, 8);
    let null = c.b.null();
    c.b.store(null, error, 0);
    let message = c.b.ptr_offset(s, state::TEXT.into());
    let length = c.b.load(Type::I64, s, state::LENGTH);
    let descriptor = c.b.load(Type::Ptr, s, state::DESCRIPTOR);
    let [backtrace, backtrace_length] = c.text_at(s, descriptor, header::BACKTRACE);
    let parts = [(kind, kind_length), (message, length), (backtrace, backtrace_length)];
    for (i, (data, length)) in parts.into_iter().enumerate() {
        let at = i as i32 * size;
        c.b.store(data, arrays, at + byte_array::DATA.offset);
        c.b.store(length, arrays, at + byte_array::SIZE.offset);
    }
    let message = c.b.ptr_offset(arrays, size.into());
    let backtrace = c.b.ptr_offset(arrays, (2 * size).into());
    let create = crate::lower::runtime(c.b.module, &runtime::ERROR_CREATE);
    let status = c.b.call_value(create, &[arrays, message, backtrace, error]);
    let created = c.b.compare_const(Cond::Eq, status, 0);
    c.when(created, |c| {
        let error = c.b.load(Type::Ptr, error, 0);
        set_raised(c, error);
    });
    c.return_code(-1);
}

/// Stores an owned error in the thread's slot.
pub(crate) fn set_raised(c: &mut Code<'_>, error: Value) {
    let set = crate::lower::runtime(c.b.module, &runtime::ERROR_SET_RAISED);
    c.b.call(set, &[error]);
    let release = crate::lower::runtime(c.b.module, &runtime::OBJECT_DEC_REF);
    c.b.call(release, &[error]);
}

impl Code<'_> {
    /// A fresh state for a descriptor.
    pub(crate) fn new_state(&mut self, descriptor: Value) -> Value {
        let s = self.b.stack_slot(state::SIZE as u32, 8);
        self.b.store(descriptor, s, state::DESCRIPTOR);
        let zero = self.b.i64(0);
        self.b.store(zero, s, state::QUIET);
        s
    }

    /// Starts an empty message.
    pub(crate) fn start(&mut self, s: Value) {
        let zero = self.b.i64(0);
        self.b.store(zero, s, state::LENGTH);
    }

    /// `` when calling: `<signature>` ``
    pub(crate) fn calling(&mut self, s: Value) {
        self.say(s, " when calling: `");
        let descriptor = self.b.load(Type::Ptr, s, state::DESCRIPTOR);
        self.say_text(s, descriptor, header::SIGNATURE);
        self.say(s, "`");
    }

    /// Starts a message about a place.
    pub(crate) fn begin(
        &mut self,
        s: Value,
        text: &str,
        place: Value,
        suffix: &str,
        argument: Value,
    ) {
        let [text, length] = self.literal(text);
        let [suffix, suffix_length] = self.literal(suffix);
        let args = [s, text, length, place, suffix, suffix_length, argument];
        self.call(Routine::Begin, &args);
    }

    /// Starts a message about something else.
    pub(crate) fn begin_call(&mut self, s: Value, text: &str, subject: [Value; 2]) {
        let [text, length] = self.literal(text);
        self.call(Routine::BeginCall, &[s, text, length, subject[0], subject[1]]);
    }

    /// Raises the message; yields -1.
    pub(crate) fn raise(&mut self, s: Value, kind: &str) -> Value {
        let [kind, length] = self.literal(kind);
        self.call_value(Routine::Raise, &[s, kind, length])
    }

    /// Raises the message and returns 1.
    pub(crate) fn raise_and_stop(&mut self, s: Value, kind: &str) {
        self.raise(s, kind);
        self.return_code(1);
    }
}
