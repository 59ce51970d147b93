//! Complaining: composing the message of a fault, and raising it as an error.

use crate::ir::typed::{Int, Single};
use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::{Case, Feature, Meaning, Site, Used};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::names::Names;
use crate::lower::explain::routines::state::Field;
use crate::lower::explain::routines::text::PIECES;
use crate::lower::explain::routines::{Routine, errors, names};
use crate::lower::explain::schema::{At, Part};

/// How many values a complaint of a step may have.
const VALUES: usize = 4;

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
    let table = names::table(b, texts.as_flattened().iter().map(|text| &text[..]));
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

fn name_at(b: &mut Builder<'_>, table: Names, at: Value) -> [Value; 2] {
    let name = names::name_at(b, table, Int::new(at));
    [name.data.value(b), name.len.value(b)]
}

/// The complaints that there is a text for.
fn complaints(used: Used) -> &'static [Complaint] {
    if used.has(Feature::Launch) { Complaint::ALL } else { Complaint::without_launches() }
}

impl Builder<'_> {
    /// Takes the error out of the thread's slot; NULL if there is none.
    pub(crate) fn take_error(&mut self) -> Value {
        errors::take_error(self).value(self)
    }

    /// Takes the error out of the thread's slot and releases it.
    pub(crate) fn forget_error(&mut self) {
        errors::forget_error(self);
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

    /// The address of values on the stack.
    pub(crate) fn values(&mut self, values: &[Value]) -> Value {
        let slot = self.stack_slot(8 * values.len().max(1) as u32, 8);
        for (at, &value) in values.iter().enumerate() {
            self.store(value, slot, 8 * at as i32);
        }
        slot
    }
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
