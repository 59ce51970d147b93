//! Functions that tell callgrind by their names where to count.

use std::hint::black_box;

/// Repetitions of each measure, whose counts are averaged: they include a share of occasional costs, such as growing a
/// table.
pub(super) const TIMES: u64 = 4;

/// The function after which valgrind writes the counts since the last time.
pub(super) const MEASURE: &str = "callgrind_measure";

/// The function in which [`collect`] counts.
pub const COLLECT: &str = "callgrind_collect";

/// Returns the number of the file with the counts of a measure.
pub(super) fn dump(measure: usize) -> usize {
    2 * (measure + 1)
}

/// Measures code and prints the name of the measure. Valgrind writes two counts: the first includes binding of symbols,
/// filling of caches and everything counted before; the second is the result.
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

/// Counts a run and the drop of its result.
pub fn collect<T>(mut run: impl FnMut() -> T) {
    callgrind_collect(&mut || drop(black_box(run())));
}

#[unsafe(no_mangle)]
#[inline(never)]
fn callgrind_collect(run: &mut dyn FnMut()) {
    run();
    // Keeps the call above from becoming a tail call.
    black_box(());
}
