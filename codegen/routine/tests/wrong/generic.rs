//! Instances without symbols of their own.

use tvm_ffi_codegen::ir::typed::routine;

/// A type with a factor.
trait Factor {
    const FACTOR: u64;
}

/// The product with a factor.
#[routine]
fn scale<F: Factor>(x: u64) -> u64 {
    x * F::FACTOR
}

fn main() {}
