//! A way that ends without a result.

use tvm_ffi_codegen::ir::typed::routine;

#[routine]
fn half(x: u64) -> u64 {
    if x > 1 {
        return x >> 1;
    }
}

fn main() {}
