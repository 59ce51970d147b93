//! Where valgrind counts: it is told the names of these functions.

use std::hint::black_box;

/// How often each measure is repeated: what grows or fills up now and then counts with its share.
pub(crate) const TIMES: u64 = 4;

/// The function after which valgrind writes down what it has counted since the last time.
pub(crate) const MEASURE: &str = "guard_measure";

/// Functions in which it counts: this one, and wrappers.
pub(crate) const COLLECT: [&str; 2] = ["guard_collect", "__tvm_ffi_*"];

/// Makes one measure and prints its name. There are two counts of it: in the first one symbols are bound,
/// caches are filled and whatever was counted before is in it; the second one is what is wanted.
pub(crate) fn count(name: &str, mut run: impl FnMut()) {
    guard_measure(&mut run);
    guard_measure(&mut run);
    println!("{name}");
}

#[unsafe(no_mangle)]
#[inline(never)]
fn guard_measure(run: &mut dyn FnMut()) {
    for _ in 0..TIMES {
        run();
    }
}

/// Counts what is run and the drop of what it yields.
pub(crate) fn collect<T>(mut run: impl FnMut() -> T) {
    guard_collect(&mut || drop(black_box(run())));
}

#[unsafe(no_mangle)]
#[inline(never)]
fn guard_collect(run: &mut dyn FnMut()) {
    run();
    // Keeps the call from being a jump, so that this function returns after it.
    black_box(());
}
