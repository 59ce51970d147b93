//! Complaining: composing the message of a fault, and raising it as an error.

use abi_spec::layout::{BYTE_ARRAY, OBJECT, byte_array, error_cell};
use abi_spec::runtime;

use crate::ir::{Binary, Builder, Cond, Convert, Signature, Type, Value};
use crate::lower::explain::codes::{Callee, Case, Feature, Meaning, Site, Used};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::names::{name_at, name_table};
use crate::lower::explain::routines::state::Field;
use crate::lower::explain::routines::text::PIECES;
use crate::lower::explain::schema::{At, Part};

/// How many values a complaint of a step may have.
const VALUES: usize = 4;

/// A backtrace of so many bytes takes no more frames. An error that a callee keeps and raises again and again would
/// grow without end, as one would that leaves a deep recursion.
const MAX_BACKTRACE: i64 = 1 << 16;

/// The mode of `update_backtrace` that appends.
const APPEND: i32 = 1;

/// `(state, complaint, values…)`: raises, unless a fault is no error now; 1.
pub(crate) fn complain(b: &mut Builder<'_>, _: Used) {
    let (s, complaint) = (b.param(0), b.param(1));
    let quiet = b.is_quiet(s);
    b.return_if(quiet, 1);
    let values = b.stack_slot(8 * VALUES as u32, 8);
    for at in 0..VALUES {
        let value = b.param(2 + at);
        b.store(value, values, 8 * at as i32);
    }
    let (null, zero) = (b.null(), b.i64(0));
    let code = b.routine_value(Routine::Say, &[s, complaint, values, null, zero]);
    b.ret(Some(code));
}

/// `(state, complaint, value)`: raises in any case; -1.
pub(crate) fn broken(b: &mut Builder<'_>, _: Used) {
    let [s, complaint, value] = [0, 1, 2].map(|i| b.param(i));
    let zero = b.i64(0);
    b.set_field(s, Field::Quiet, zero);
    b.routine(Routine::Complain, &[s, complaint, value, zero, zero, zero]);
    b.return_code(-1);
}

/// `(state, complaint, values, kind, length)`: composes the message and raises it; 1. A kind that is empty is
/// that of the complaint.
pub(crate) fn say(b: &mut Builder<'_>, used: Used) {
    let [s, complaint, values, kind, length] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    b.set_field(s, Field::Values, values);
    let zero = b.i64(0);
    b.set_field(s, Field::Length, zero);
    let all =
        if used.has(Feature::Launch) { Complaint::ALL } else { Complaint::without_launches() };
    let texts: Vec<[Vec<u8>; 2]> = all.iter().map(|c| [c.kind().into(), c.template()]).collect();
    let table = b.table(&name_table(texts.as_flattened().iter().map(|text| &text[..])));
    let own = b.binary_const(Binary::Shl, complaint, 1);
    let template = b.binary_const(Binary::Add, own, 1);
    let [template, size] = name_at(b, table, template);
    let limit = b.i64(PIECES.into());
    b.try_routine(Routine::Compose, &[s, template, size, limit]);
    let [own, own_length] = name_at(b, table, own);
    let given = b.compare_const(Cond::Ne, length, 0);
    let kind = b.select(given, kind, own);
    let length = b.select(given, length, own_length);
    b.routine(Routine::Raise, &[s, kind, length]);
    b.return_code(1);
}

/// The complaints that there is a text for.
fn complaints(used: Used) -> &'static [Complaint] {
    if used.has(Feature::Launch) { Complaint::ALL } else { Complaint::without_launches() }
}

/// `(state, kind, length)`: raises the message. A constant backtrace spares the walk up the native stack.
pub(crate) fn raise(b: &mut Builder<'_>, _: Used) {
    let [s, kind, kind_length] = [0, 1, 2].map(|i| b.param(i));
    let size = BYTE_ARRAY.size as i32;
    let arrays = b.stack_slot(3 * BYTE_ARRAY.size, 8);
    let error = b.stack_slot(8, 8);
    let null = b.null();
    b.store(null, error, 0);
    let (message, length) = (b.message(s), b.field(s, Field::Length));
    let backtrace = At::new(b.field(s, Field::Frame));
    let [backtrace, backtrace_length] = b.text_at(s, backtrace);
    let parts = [(kind, kind_length), (message, length), (backtrace, backtrace_length)];
    for (i, (data, length)) in parts.into_iter().enumerate() {
        let at = i as i32 * size;
        b.store(data, arrays, at + byte_array::DATA.offset);
        b.store(length, arrays, at + byte_array::SIZE.offset);
    }
    let message = b.ptr_offset(arrays, size.into());
    let backtrace = b.ptr_offset(arrays, (2 * size).into());
    let status = b.runtime(&runtime::ERROR_CREATE, &[arrays, message, backtrace, error]);
    let created = b.compare_const(Cond::Eq, status, 0);
    b.if_then(created, |b| {
        let error = b.load(Type::Ptr, error, 0);
        b.set_raised(error);
    });
    b.ret(None);
}

impl Builder<'_> {
    /// Stores an owned error in the thread's slot.
    pub(crate) fn set_raised(&mut self, error: Value) {
        let set = crate::lower::runtime(self.module, &runtime::ERROR_SET_RAISED);
        self.call(set, &[error]);
        self.release_object(error);
    }

    /// Takes the error out of the thread's slot; NULL if there is none.
    pub(crate) fn take_error(&mut self) -> Value {
        let error = self.stack_slot(8, 8);
        let null = self.null();
        self.store(null, error, 0);
        let take = crate::lower::runtime(self.module, &runtime::ERROR_MOVE_FROM_RAISED);
        self.call(take, &[error]);
        self.load(Type::Ptr, error, 0)
    }

    /// Takes the error out of the thread's slot and releases it.
    pub(crate) fn forget_error(&mut self) {
        let error = self.take_error();
        self.release_object(error);
    }

    /// A function of the runtime has failed: its error is passed on, unless a fault is no error; returns 1.
    pub(crate) fn stop_after_call(&mut self, s: Value, name: [Value; 2], status: Value) {
        let quiet = self.is_quiet(s);
        self.if_then(quiet, |b| {
            b.forget_error();
            b.return_code(1);
        });
        let error = self.take_error();
        let own = self.compare_const(Cond::Ne, error, 0);
        self.if_then(own, |b| {
            b.routine(Routine::SetPassing, &[s, error]);
            b.return_code(1);
        });
        let status = self.convert(Convert::Sext, status, Type::I64);
        self.complain(s, Complaint::Failed, &[name[0], name[1], status]);
    }

    /// Raises what has gone wrong at a place of a body.
    pub(crate) fn say_at(
        &mut self,
        descriptor: Value,
        site: Value,
        complaint: Complaint,
        values: &[Value],
    ) {
        let (complaint, values) = (self.i64(complaint as i64), self.values(values));
        self.routine(Routine::SaySite, &[descriptor, site, complaint, values]);
    }

    /// The same, and returns -1.
    pub(crate) fn fail_with(
        &mut self,
        descriptor: Value,
        site: Value,
        complaint: Complaint,
        values: &[Value],
    ) {
        self.say_at(descriptor, site, complaint, values);
        self.return_code(-1);
    }

    /// A function of the runtime has failed: its error is passed on, or one is raised that names it.
    pub(crate) fn fail_call(
        &mut self,
        [descriptor, site]: [Value; 2],
        name: [Value; 2],
        status: Value,
    ) {
        let passed = self.routine_value(Routine::PassOn, &[descriptor, site]);
        let nothing = self.compare_const(Cond::Eq, passed, 0);
        self.if_then(nothing, |b| {
            let status = b.convert(Convert::Sext, status, Type::I64);
            b.say_at(descriptor, site, Complaint::Failed, &[name[0], name[1], status]);
        });
    }

    /// The address of values on the stack.
    pub(crate) fn values(&mut self, values: &[Value]) -> Value {
        let slot = self.stack_slot(8 * values.len().max(1) as u32, 8);
        for (at, &value) in values.iter().enumerate() {
            self.store(value, slot, 8 * at as i32);
        }
        slot
    }
}

/// `(descriptor, site, values)`: passes on the error of a callee, or raises what the site says; -1.
pub(crate) fn fail_at(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, values] = [0, 1, 2].map(|i| b.param(i));
    let at = At::<Site>::new(site);
    let callee = at.callee(b);
    let some = b.compare_const(Cond::Ne, callee, Callee::None as i64);
    b.if_then(some, |b| {
        let passed = b.routine_value(Routine::PassOn, &[descriptor, site]);
        let passed = b.compare_const(Cond::Ne, passed, 0);
        b.return_if(passed, -1);
        // Runtimes up to 0.1.8 say so that the host has an error of its own.
        let function = b.compare_const(Cond::Eq, callee, Callee::Function as i64);
        let status = b.load(Type::I64, values, 0);
        let elsewhere = b.compare_const(Cond::Eq, status, -2);
        let elsewhere = b.and(function, elsewhere);
        b.return_if(elsewhere, -2);
    });
    let complaint = at.complaint(b);
    b.routine(Routine::SaySite, &[descriptor, site, complaint, values]);
    b.return_code(-1);
}

/// `(descriptor, site)`: 1 if somebody else has left an error, which goes on with the frame of the site; 0 if there
/// is none.
pub(crate) fn pass_on(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site] = [0, 1].map(|i| b.param(i));
    let error = b.take_error();
    let none = b.compare_const(Cond::Eq, error, 0);
    b.return_if(none, 0);
    let s = b.fields_slot();
    b.routine(Routine::Open, &[s, descriptor]);
    let frame = At::<Site>::new(site).frame(b);
    b.set_frame(s, frame);
    b.routine(Routine::SetPassing, &[s, error]);
    b.return_code(1);
}

/// `(state, error)`: puts an error of somebody else into the thread's slot, with a frame more. All else that it says
/// stays, and it stays the same object.
pub(crate) fn set_passing(b: &mut Builder<'_>, _: Used) {
    let [s, error] = [0, 1].map(|i| b.param(i));
    let cell = b.ptr_offset(error, OBJECT.size.into());
    let update = b.load(Type::Ptr, cell, error_cell::UPDATE_BACKTRACE.offset);
    let text = error_cell::BACKTRACE.offset;
    let size = b.load(Type::I64, cell, text + byte_array::SIZE.offset);
    let open = b.compare_const(Cond::Ne, update, 0);
    let short = b.compare_const(Cond::Ult, size, MAX_BACKTRACE);
    let open = b.and(open, short);
    b.if_then(open, |b| {
        let data = b.load(Type::Ptr, cell, text + byte_array::DATA.offset);
        let some = b.compare_const(Cond::Ne, size, 0);
        b.if_then(some, |b| end_line(b, update, error, [data, size]));
        let frame = At::new(b.field(s, Field::Frame));
        let frame = b.text_at(s, frame);
        append(b, update, error, frame);
    });
    b.set_raised(error);
    b.ret(None);
}

/// Ends the last line of a backtrace, if it is open.
fn end_line(b: &mut Builder<'_>, update: Value, error: Value, [data, size]: [Value; 2]) {
    let end = b.ptr_add(data, size);
    let last = b.load(Type::I8, end, -1);
    let open = b.compare_const(Cond::Ne, last, i64::from(b'\n'));
    b.if_then(open, |b| {
        let line = b.text("\n");
        append(b, update, error, line);
    });
}

/// Appends text to the backtrace of an error.
fn append(b: &mut Builder<'_>, update: Value, error: Value, text: [Value; 2]) {
    let array = b.byte_array(text);
    let mode = b.i32(APPEND);
    let signature = Signature::new(&[Type::Ptr, Type::Ptr, Type::I32], None);
    b.call_indirect(signature, update, &[error, array, mode]);
}

/// `(descriptor, site, complaint, values)`: raises a complaint of these values, with what a site says; 1.
pub(crate) fn say_site(b: &mut Builder<'_>, used: Used) {
    let [descriptor, site, complaint, values] = [0, 1, 2, 3].map(|i| b.param(i));
    let s = b.state_slot(0);
    b.routine(Routine::Open, &[s, descriptor]);
    let at = At::<Site>::new(site);
    let known = b.compare_const(Cond::Ult, complaint, complaints(used).len() as i64);
    b.unless(known, |b| b.unknown(s, complaint));
    let frame = at.frame(b);
    b.set_frame(s, frame);
    let meaning = meaning(b, s, at, values);
    let subject = meaning.subject(b).address(b);
    b.set_field(s, Field::First, subject);
    let kind = meaning.kind(b);
    let [kind, length] = b.text_at(s, kind);
    // The texts of a constant site are empty.
    let code = b.routine_value(Routine::Say, &[s, complaint, values, kind, length]);
    b.ret(Some(code));
}

/// That of the first value, if it is among the cases of a site, else that of the site.
fn meaning(b: &mut Builder<'_>, s: Value, site: At<Site>, values: Value) -> At<Meaning> {
    let size = i64::from(4 * Case::WORDS);
    let (count, first) = (site.cases(b), site.end(b));
    let bytes = b.binary_const(Binary::Mul, count, size);
    let (texts, all) = (b.field(s, Field::Texts), b.field(s, Field::TextSize));
    let (end, limit) = (b.ptr_add(first, bytes), b.ptr_add(texts, all));
    let inside = b.compare(Cond::Ule, end, limit);
    let none = b.compare_const(Cond::Eq, count, 0);
    let inside = b.or(inside, none);
    b.intact(s, inside);
    let own = site.meaning(b).address(b);
    let [found] = b.fold(count, [own], |b, at, [found]| {
        let status = b.unsigned(values, 0);
        let at = b.binary_const(Binary::Mul, at, size);
        let case = At::<Case>::new(b.ptr_add(first, at));
        let about = case.status(b);
        let same = b.eq(about, status);
        let open = b.eq(found, own);
        let same = b.and(same, open);
        let meaning = case.meaning(b).address(b);
        [b.select(same, meaning, found)]
    });
    At::new(found)
}
