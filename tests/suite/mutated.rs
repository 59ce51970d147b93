//! Containers that others change while a function checks them, here between two instructions of a call.
//! `tests/volume --mutated` has threads change them.

mod between;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use tvm_ffi_codegen_tests::ffi::{Ffi, installed};
use tvm_ffi_codegen_tests::mutated::{ROWS, call, everywhere, frame, word};

/// Bounds of the number of instructions after which a word changes: from the preparation of the arguments to the
/// composition of the error.
const FEW: u64 = 40;
const MANY: u64 = 1_000;

/// Changes every word of every row, in both directions, at up to eighteen points of the call.
#[test]
fn what_changes_between_two_instructions_is_accepted_or_refused() {
    for (declaration, arguments, changes) in ROWS {
        everywhere(declaration, |backend, function| {
            let (place, frame) = (format!("{backend}: {declaration}"), frame(arguments));
            let (ffi, mut ended) = (Ffi::new(installed()), BTreeSet::new());
            for (number, (path, to)) in changes.iter().enumerate() {
                let (word, [first, other]) = word(&frame, path, *to);
                for (before, after) in [(first, other), (other, first)] {
                    let place = format!("{place}, change {number} from {before:#x}");
                    let mut instructions = FEW + number as u64;
                    while instructions < MANY {
                        word.store(before, Ordering::Relaxed);
                        let changed = between::change(instructions, word, after, &mut || {
                            let end = call(function, &frame, &ffi);
                            ended.insert(end.unwrap_or_else(|wrong| panic!("{place}: {wrong}")));
                        });
                        assert!(frame.is_balanced(), "{place}: {instructions}");
                        instructions = if changed { instructions * 6 / 5 } else { MANY };
                    }
                }
                word.store(first, Ordering::Relaxed);
            }
            assert!(ended.contains("") && ended.len() > 1, "{place}: {ended:?}");
        });
    }
}
