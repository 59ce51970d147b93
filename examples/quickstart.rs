//! Declare a function, compile it in process, call it on data, and see what a wrong call says.

use std::error::Error;

use codegen::Library;
use jit::{Jit, runtime};

/// What a compiler would have generated: it trusts its arguments, the wrapper has checked them.
extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) = *x.add(i) + 1.0 };
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let library: Library = "
        /// Adds one to every element.
        add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
            = add_one_kernel(x.data, y.data, n);
    "
    .parse()?;

    let kernel: extern "C" fn(_, _, _) = add_one_kernel;
    // SAFETY: the kernel is sound for vectors of one length, and only reads `x`.
    let jit = unsafe { Jit::new()?.kernel("add_one_kernel", kernel).reads("add_one", "x") };
    let add_one = jit.compile(&library)?.function("add_one").ok_or("not declared")?;
    println!("runtime: {}", runtime().origin());

    let (x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
    add_one.call((&x, &mut y))?;
    println!("add_one({x:?}) = {y:?}");

    let mut wrong = [0.0_f64; 3];
    match add_one.call((&x, &mut wrong)) {
        Ok(_) => Err("a wrong dtype was accepted".into()),
        Err(error) => {
            println!("{error}");
            Ok(())
        }
    }
}
