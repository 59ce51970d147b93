//! A program that compiles a declaration in process and calls the function once. It prints the milliseconds; the
//! benchmark also times the whole process. Its dependencies are the least possible.

use std::time::Instant;

use codegen::Library;
use jit::Jit;

const TEXT: &str = "add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32)) -> None
    = add_one_kernel(x.data, y.data, n);";

extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) = *x.add(i) + 1.0 };
    }
}

fn main() {
    let start = Instant::now();
    let library: Library = TEXT.parse().expect("the declaration is valid");
    let jit = Jit::new().expect("the host is supported");
    let kernel: extern "C" fn(_, _, _) = add_one_kernel;
    // SAFETY: the kernel is what the declaration calls, and only reads `x`.
    let jit = unsafe { jit.kernel("add_one_kernel", kernel) };
    let compiled = jit.compile(&library).expect("the kernel is there");
    let add_one = compiled.function("add_one").expect("it is declared");
    let (x, mut y) = ([1.0_f32], [0.0_f32]);
    add_one.call((&x, &mut y)).expect("the arguments are right");
    let passed = start.elapsed();
    assert_eq!(y, [2.0]);
    println!("{}", passed.as_secs_f64() * 1e3);
}
