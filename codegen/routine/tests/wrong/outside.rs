//! A closure, which is not part of the language.

use tvm_ffi_codegen::ir::typed::routine;

#[routine]
fn each(words: &u64) -> u64 {
    let first = |at: u64| words[at];
    first(0)
}

fn main() {}
