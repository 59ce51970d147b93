//! A program that compiles a declaration in process and calls the function once: the benchmark times it whole.
//! It links no more than it needs.

use codegen::Library;
use jit::{Jit, Tensor};

const TEXT: &str = "add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
    = add_one_kernel(x.data, y.data, n);";

extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) = *x.add(i) + 1.0 };
    }
}

fn main() {
    let library: Library = TEXT.parse().expect("the declaration is valid");
    let mut jit = Jit::new().expect("the host is supported");
    // SAFETY: the kernel is what the declaration calls.
    unsafe { jit.kernel("add_one_kernel", add_one_kernel as *const u8) };
    let compiled = jit.compile(&library).expect("the kernel is there");
    let add_one = compiled.function("add_one").expect("it is declared");
    let (mut x, mut y) = ([1.0_f32], [0.0_f32]);
    let result = add_one.call(&[(&Tensor::new(&mut x)).into(), (&Tensor::new(&mut y)).into()]);
    result.expect("the arguments are right");
    assert_eq!(y, [2.0]);
}
