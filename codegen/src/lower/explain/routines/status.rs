//! What was called has failed.

use abi_spec::runtime;

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::codes::header;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::Code;
use crate::lower::explain::routines::raise::set_raised;

/// `(descriptor, status)`
pub(crate) fn fail_status(c: &mut Code<'_>) {
    let [descriptor, status] = [0, 1].map(|i| c.b.param(i));
    if_not_raised(c, |c| say_status(c, descriptor, status));
    c.return_code(-1);
}

/// Raises what a status means.
fn say_status(c: &mut Code<'_>, descriptor: Value, status: Value) {
    let s = c.new_state(descriptor);
    let offset = c.word(descriptor, header::STATUSES);
    let table = c.b.ptr_add(descriptor, offset);
    let count = c.word(table, 0);
    let zero = c.b.i64(0);
    let index = c.variable(zero);
    let entry_at = |c: &mut Code<'_>| {
        let at = c.get(index);
        let offset = c.b.binary_const(Binary::Mul, at, 20);
        let entry = c.b.ptr_add(table, offset);
        c.b.ptr_offset(entry, 4)
    };
    // The last entry is about any other status.
    c.repeat(
        |c| {
            let at = c.get(index);
            let own = c.b.compare(Cond::Ult, at, count);
            let entry = entry_at(c);
            let about = c.b.load(Type::I32, entry, 0);
            let other = c.b.compare(Cond::Ne, about, status);
            c.b.and(own, other)
        },
        |c| c.add_to(index, 1),
    );
    let entry = entry_at(c);
    let message = c.text_at(s, entry, 3);
    c.begin_call(s, "", message);
    c.say(s, ", status = ");
    let status = c.b.convert(Convert::Sext, status, Type::I64);
    c.call(Routine::PutInt, &[s, status]);
    let [kind, length] = c.text_at(s, entry, 1);
    c.call(Routine::Raise, &[s, kind, length]);
}

/// `(descriptor, name, length, status)`: a function of the runtime has failed. Its error is passed on;
/// where it has left none, raises one.
pub(crate) fn fail_call(c: &mut Code<'_>) {
    let [descriptor, name, length, status] = [0, 1, 2, 3].map(|i| c.b.param(i));
    if_not_raised(c, |c| {
        let s = c.new_state(descriptor);
        c.begin_call(s, "Failed ", [name, length]);
        c.say(s, ", status = ");
        let status = c.b.convert(Convert::Sext, status, Type::I64);
        c.call(Routine::PutInt, &[s, status]);
        c.raise(s, "RuntimeError");
    });
    c.return_code(-1);
}

/// Runs `body` if there is no error in the thread's slot. One that is there stays there.
fn if_not_raised(c: &mut Code<'_>, body: impl FnOnce(&mut Code<'_>)) {
    let slot = c.b.stack_slot(8, 8);
    let null = c.b.null();
    c.b.store(null, slot, 0);
    let take = crate::lower::runtime(c.b.module, &runtime::ERROR_MOVE_FROM_RAISED);
    c.b.call(take, &[slot]);
    let error = c.b.load(Type::Ptr, slot, 0);
    let own = c.b.compare_const(Cond::Ne, error, 0);
    let done = c.b.block("raised");
    c.when(own, |c| {
        set_raised(c, error);
        c.b.jump(done, &[]);
    });
    body(c);
    c.b.jump(done, &[]);
    c.b.switch_to(done);
}
