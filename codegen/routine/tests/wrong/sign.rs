//! Numbers of which one has a sign.

use tvm_ffi_codegen::ir::typed::routine;

#[routine]
fn is_less(x: u64, y: i64) -> i32 {
    (x < y) as i32
}

fn main() {}
