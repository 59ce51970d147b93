//! Numbers of different widths.

use tvm_ffi_codegen::ir::typed::routine;

#[routine]
fn add(x: u64, y: u32) -> u64 {
    x + y
}

fn main() {}
