//! From a declaration to an object file and a shared library, from Rust and without a C toolchain:
//! `aot KERNEL.o OUT.so`, where the kernel is `void add_one_kernel(const float*, float*, int64_t)`.

use std::error::Error;
use std::path::Path;

use codegen::{Library, Options, lower};
use driver::link::Input;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let mut args = std::env::args().skip(1);
    let (Some(kernel), Some(output)) = (args.next(), args.next()) else {
        return Err("usage: aot KERNEL.o OUT.so".into());
    };
    let library: Library = "
        add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
            = add_one_kernel(x.data, y.data, n);
    "
    .parse()?;

    // Declaration → host IR → object file, for whatever links it later.
    let module = lower(&library.resolve()?, &Options::default());
    let object = driver::backend(&driver::Options::default())?.object(&module, &[])?;
    println!("object: ELF {}", object.starts_with(b"\x7fELF"));

    // Or all the way: the object and the kernel, linked in process.
    let kernels = vec![Input::read(Path::new(&kernel))?];
    let options = driver::Options { kernels, ..Default::default() };
    driver::compile_shared(&library, Path::new(&output), &options)?;
    print!("{}", driver::inspect(&std::fs::read(&output)?)?);
    Ok(())
}
