//! Calls whose results are kept by keys.

use crate::ir::typed::{Int, Ref, Single};
use crate::ir::{Binary, Block, Cond, Symbol, Type, Value};
use crate::lower::body::{BodyEmitter, call};
use crate::lower::checks::{self, terms};
use crate::lower::emitter::frame::Slot;
use crate::lower::routines::Routine;
use crate::lower::routines::cached::{
    HINT, KEYS, NEXT, ROOT, SITE_SIZE, cached_find, cached_note, cached_site, factor,
};
use crate::lower::value::zeros;
use crate::resolve::body::{PackedCall, Received};
use crate::resolve::term::Term;

/// Emits statement number `number`: a call whose result is kept under keys. The keys are compared with those of the
/// object that was found last, then with those of the objects of their hash, and only if none has them the call is
/// made. The body borrows the object from the site.
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
    let (other, kept) = (w.c.e.b.block("other_keys"), w.c.e.b.block("kept"));
    let hint = w.c.e.hint(received.value, "kept", None);
    let entry = w.c.e.b.block_param(kept, Type::Ptr, hint);

    let site = w.c.e.b.address(symbol);
    let last = w.c.e.b.atomic_load(Type::Ptr, site, HINT);
    let some = w.c.e.b.compare_const(Cond::Ne, last, 0);
    w.c.e.b.guard(some, other);
    compare(w, last, &words, other);
    w.c.e.b.jump(kept, &[last]);

    w.c.e.b.switch_to(other);
    let hash = hash(w, &words);
    let site = Ref::new(site);
    let found = cached_find(&mut w.c.e.b, site, Int::new(hash)).value(&mut w.c.e.b);
    let (candidate, miss) = (w.c.e.b.block("candidate"), w.c.e.b.cold_block("miss"));
    let at = w.c.e.b.block_param(candidate, Type::Ptr, "candidate");
    w.c.e.b.jump(candidate, &[found]);

    w.c.e.b.switch_to(candidate);
    let some = w.c.e.b.compare_const(Cond::Ne, at, 0);
    w.c.e.b.guard(some, miss);
    let differs = w.c.e.b.cold_block("same_hash");
    compare(w, at, &words, differs);
    cached_note(&mut w.c.e.b, site, Ref::new(at));
    w.c.e.b.jump(kept, &[at]);

    w.c.e.b.switch_to(differs);
    let next = w.c.e.b.atomic_load(Type::Ptr, at, NEXT);
    w.c.e.b.jump(candidate, &[next]);

    w.c.e.b.switch_to(miss);
    let made = make(w, (symbol, &words), call, received);
    w.c.e.b.jump(kept, &[made]);

    w.c.e.b.switch_to(kept);
    w.c.e.known.set_address(received.value, Some(entry));
    // A list in what is kept may have changed.
    checks::unpack_steps(&mut w.c, &received.steps, true);
}

/// Emits a branch to `differs` for each key that is not that of an entry.
fn compare(w: &mut BodyEmitter<'_, '_>, entry: Value, words: &[Value], differs: Block) {
    for (index, &word) in words.iter().enumerate() {
        let key = w.c.e.b.load(Type::I64, entry, KEYS + 8 * index as i32);
        let same = w.c.e.b.compare(Cond::Eq, word, key);
        w.c.e.b.guard(same, differs);
    }
}

/// Emits the hash of keys, whose products do not wait for each other.
fn hash(w: &mut BodyEmitter<'_, '_>, words: &[Value]) -> Value {
    let b = &mut w.c.e.b;
    let mut sum = b.i64(0);
    for (index, &word) in words.iter().enumerate() {
        let factor = factor(words.len() - 1 - index);
        let product = b.binary_const(Binary::Mul, word, factor.cast_signed());
        sum = if index == 0 { product } else { b.binary(Binary::Add, sum, product) };
    }
    sum
}

/// Emits the call, and hands its result to the site. Returns the entry that has the keys: this one, unless another
/// thread or the callee itself was faster.
fn make<'a>(
    w: &mut BodyEmitter<'a, '_>,
    (site, words): (Symbol, &[Value]),
    call: &PackedCall<'a>,
    received: &'a Received<'a>,
) -> Value {
    // The keys need no register while the call is made.
    let area = w.c.e.stored(Slot::Keys, words);
    let known = w.c.e.known.mark();
    let outside = w.c.e.frame.owned();
    call::call(w, call, Some(received));
    let result = w.c.e.any_address(received.value);
    let caller = w.c.exits.here(&mut w.c.e);
    let count = w.c.e.b.i64(words.len() as i64);
    // An address of its own, so that no other one is spilled for the calls here.
    let slots = w.c.e.b.address_in(site, ROOT);
    let site = w.c.e.b.ptr_offset(slots, (-ROOT).into());
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
