//! A statement that control never gets to.

use tvm_ffi_codegen::ir::typed::routine;

#[routine]
fn half(x: u64) -> u64 {
    if x == 0 {
        return 0;
        x += 1;
    }
    x >> 1
}

fn main() {}
