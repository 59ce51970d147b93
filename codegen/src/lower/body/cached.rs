//! Calls whose results are kept by keys.

use crate::ir::{Cond, Type, Value};
use crate::lower::body::{BodyEmitter, call};
use crate::lower::checks::{self, terms};
use crate::lower::routines::Routine;
use crate::lower::routines::cached::{HINT, KEYS, SITE_SIZE, cached_site};
use crate::lower::value::zeros;
use crate::resolve::body::{PackedCall, Received};
use crate::resolve::term::Term;

/// Emits statement number `number`: a call whose result is kept under keys. The object that was found last is compared
/// here, a routine finds others, and only for keys that have none the call is made. The body borrows the object from the
/// site.
pub(super) fn cached<'a>(
    w: &mut BodyEmitter<'a, '_>,
    number: usize,
    keys: &[Term],
    call: &PackedCall<'a>,
    received: &'a Received<'a>,
) {
    let words: Vec<Value> = keys.iter().map(|key| word(w, key)).collect();
    let name = cached_site(&format!("{}.{number}", w.closures));
    let symbol = zeros(w.c.e.b.module, &name, SITE_SIZE as usize);
    let site = w.c.e.b.address(symbol);
    let (other, kept) = (w.c.e.b.block("other_keys"), w.c.e.b.block("kept"));
    let hint = w.c.e.hint(received.value, "kept", None);
    let entry = w.c.e.b.block_param(kept, Type::Ptr, hint);

    let last = w.c.e.b.atomic_load(Type::Ptr, site, HINT);
    let some = w.c.e.b.compare_const(Cond::Ne, last, 0);
    w.c.e.b.guard(some, other);
    for (index, &word) in words.iter().enumerate() {
        let key = w.c.e.b.load(Type::I64, last, KEYS + 8 * index as i32);
        let same = w.c.e.b.compare(Cond::Eq, key, word);
        w.c.e.b.guard(same, other);
    }
    w.c.e.b.jump(kept, &[last]);

    w.c.e.b.switch_to(other);
    let count = w.c.e.b.i64(words.len() as i64);
    let area = w.c.e.scratch(&words);
    let found = w.c.e.routine_value(Routine::CachedFind, &[site, area, count]);
    let missing = w.c.e.b.compare_const(Cond::Eq, found, 0);
    let (miss, hit) = (w.c.e.b.cold_block("miss"), w.c.e.b.block("hit"));
    w.c.e.b.branch(missing, miss, hit);
    w.c.e.b.switch_to(hit);
    w.c.e.b.jump(kept, &[found]);

    w.c.e.b.switch_to(miss);
    let made = make(w, (site, &words), call, received);
    w.c.e.b.jump(kept, &[made]);

    w.c.e.b.switch_to(kept);
    w.c.e.known.set_address(received.value, Some(entry));
    // A list in what is kept may have changed.
    checks::unpack_steps(&mut w.c, &received.steps, true);
}

/// Emits the call, and hands its result to the site. Returns the entry that has the keys: this one, unless another thread
/// or the callee itself was faster.
fn make<'a>(
    w: &mut BodyEmitter<'a, '_>,
    (site, words): (Value, &[Value]),
    call: &PackedCall<'a>,
    received: &'a Received<'a>,
) -> Value {
    let known = w.c.e.known.mark();
    let outside = w.c.e.frame.owned();
    call::call(w, call, Some(received));
    let result = w.c.e.any_address(received.value);
    let caller = w.c.exits.here(&mut w.c.e);
    let count = w.c.e.b.i64(words.len() as i64);
    let area = w.c.e.scratch(words);
    let status = w.c.e.routine_value(Routine::CachedKeep, &[caller, site, area, count, result]);
    w.c.e.exit_unless_zero(status, "not_kept");
    w.c.e.frame.truncate_owned(outside);
    w.c.e.known.go_back(known);
    w.c.e.b.load(Type::Ptr, area, 0)
}

/// Returns a key as an `I64`.
fn word(w: &mut BodyEmitter<'_, '_>, key: &Term) -> Value {
    let value = terms::eval(&mut w.c, key);
    w.c.e.b.as_word(value)
}
