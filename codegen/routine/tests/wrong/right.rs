//! Nothing wrong.

use tvm_ffi_codegen::ir::typed::routine;

/// The sum of so many words.
#[routine]
fn sum(words: &u64, count: u64) -> u64 {
    let mut sum: u64 = 0;
    for at in 0..count {
        sum += words[at];
    }
    sum
}

fn main() {}
