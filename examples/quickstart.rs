//! Declares a function, compiles it into this process, calls it, and calls it wrongly.
//!
//! Needs nothing but Rust: without an installed TVM FFI runtime the built-in one is used.

use std::error::Error;

use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Jit, Tensor};

/// The kernel: plain code with a C signature, from whatever compiler. It checks nothing.
extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) = *x.add(i) + 1.0 };
    }
}

/// The declaration: what callers must pass, and how the kernel is called then.
const DECLARATION: &str = "
    /// Adds one to every element.
    add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
        = add_one_kernel(x.data, y.data, n);
";

fn main() -> Result<(), Box<dyn Error>> {
    let library: Library = DECLARATION.parse()?;
    let mut jit = Jit::new()?;
    // SAFETY: the kernel has the type that the declaration calls it with.
    unsafe { jit.kernel("add_one_kernel", add_one_kernel as *const u8) };
    let add_one = jit.compile(&library)?.function("add_one").ok_or("not declared")?;

    let (mut x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
    add_one.call(&[(&Tensor::new(&mut x)).into(), (&Tensor::new(&mut y)).into()])?;
    println!("add_one({x:?}) = {y:?}");

    let mut doubles = [0.0_f64; 3];
    let wrong = add_one.call(&[(&Tensor::new(&mut x)).into(), (&Tensor::new(&mut doubles)).into()]);
    match wrong {
        Ok(_) => Err("a wrong type was accepted".into()),
        Err(error) => {
            println!("{error}");
            Ok(())
        }
    }
}
