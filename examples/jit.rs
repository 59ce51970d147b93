//! A compiler that runs its output: the kernel, written with cranelift_frontend, goes into the module of the JIT; the
//! function is called from Rust, and as an `ffi.Function` by any host of TVM FFI.

mod kernel;

use std::error::Error;

use codegen::Library;
use jit::{Context, Jit, JitOptions, OptLevel};

fn main() -> Result<(), Box<dyn Error>> {
    let library: Library = "
        add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32)) -> None
            = add_one_kernel(x.data, y.data, n);
    "
    .parse()?;

    // The kernel is worth the optimizer's time.
    let jit =
        Jit::with_options(JitOptions { opt_level: OptLevel::Speed, ..JitOptions::default() })?;
    // SAFETY: the kernel has the type that the declaration calls it with, and only reads `x`.
    let jit = unsafe {
        jit.define(&library, |module, signatures| {
            let signature = signatures.get("add_one_kernel")?;
            println!("kernel: {signature}");
            kernel::define(module, signature)
        })?
    };
    let add_one = jit.compile(&library)?.function("add_one").ok_or("not declared")?;

    let (x, mut y) = (vec![1.0_f32, 2.0, 3.0], vec![0.0_f32; 3]);
    add_one.call((&x, &mut y))?;
    println!("HostFunction: add_one({x:?}) = {y:?}");

    // A function object keeps the code alive; `register_global` makes it visible to Python.
    let object = add_one.into_ffi_function(Context::none())?;
    object.call((&y.clone(), &mut y))?;
    println!("ffi.Function: once more, {y:?}");
    Ok(())
}
