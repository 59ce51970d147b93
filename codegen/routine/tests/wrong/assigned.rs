//! A variable that may not be assigned.

use tvm_ffi_codegen::ir::typed::routine;

#[routine]
fn half(x: u64) -> u64 {
    let half = x;
    while half > 1 {
        half >>= 1;
    }
    half
}

fn main() {}
