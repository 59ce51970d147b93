//! A cast that loses half of an address.

use tvm_ffi_codegen::ir::typed::routine;

#[routine]
fn address(to: &u64) -> u32 {
    to as u32
}

fn main() {}
