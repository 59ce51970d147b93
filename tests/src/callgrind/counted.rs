//! Where callgrind counts: it is told the names of these functions.

use std::hint::black_box;

/// How often each measure is repeated: what grows or fills up now and then counts with its share.
pub(super) const TIMES: u64 = 4;

/// The function after which valgrind writes down what it has counted since the last time.
pub(super) const MEASURE: &str = "callgrind_measure";

/// The function in which [`collect`] counts.
pub const COLLECT: &str = "callgrind_collect";

/// The number of the file with the counts of a measure.
pub(super) fn dump(measure: usize) -> usize {
    2 * (measure + 1)
}

/// Makes one measure and prints its name. There are two counts of it: in the first one symbols are bound,
/// caches are filled and whatever was counted before is in it; the second one is what is wanted.
pub fn count(name: &str, mut run: impl FnMut()) {
    callgrind_measure(&mut run);
    callgrind_measure(&mut run);
    println!("{name}");
}

#[unsafe(no_mangle)]
#[inline(never)]
fn callgrind_measure(run: &mut dyn FnMut()) {
    for _ in 0..TIMES {
        run();
    }
}

/// Counts what is run and the drop of what it yields.
pub fn collect<T>(mut run: impl FnMut() -> T) {
    callgrind_collect(&mut || drop(black_box(run())));
}

#[unsafe(no_mangle)]
#[inline(never)]
fn callgrind_collect(run: &mut dyn FnMut()) {
    run();
    // Keeps the call from being a jump, so that this function returns after it.
    black_box(());
}
