//! A byte where there are eight.

use tvm_ffi_codegen::ir::typed::routine;

#[routine]
fn clear(to: &u64, value: u8) {
    *to = value;
}

fn main() {}
