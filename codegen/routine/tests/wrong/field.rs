//! A field that there is not.

use tvm_ffi_codegen::ir::typed::{Text, routine};

#[routine]
fn length(text: Text) -> u64 {
    text.length
}

fn main() {}
