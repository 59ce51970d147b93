//! A compiler with a backend of its own links what it made: `link KERNEL.o OUT.so`, without the driver and its command
//! line. The kernel is `void add_one_kernel(const float*, float*, int64_t)`.

use std::error::Error;
use std::path::Path;

use backend_cranelift::Cranelift;
use backend_cranelift::target_lexicon::Triple;
use codegen::{Backend, Library, Options, Routines, lower};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(kernel), Some(output)) = (args.next(), args.next()) else {
        return Err("usage: link KERNEL.o OUT.so".into());
    };
    let library: Library = "
        add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
            = add_one_kernel(x.data, y.data, n);
    "
    .parse()?;

    // The linker adds the routines, so that the object has only the wrapper.
    let options = Options { routines: Routines::Linked, ..Options::default() };
    let module = lower(&library.resolve()?, &options);
    let host = Cranelift::new(Triple::host()).object(&module, &[])?;

    let inputs = [link::Input::new("host.o", host)?, link::Input::read(Path::new(&kernel))?];
    let linked = link::link(&inputs, &link::Options::default())?;
    std::fs::write(&output, &linked)?;

    let linked = link::Input::new(output, linked)?;
    println!("a shared library: {}", linked.is_library());
    println!("with the wrapper: {}", linked.defines("__tvm_ffi_add_one"));
    println!("with the kernel, for itself: {}", !linked.defines("add_one_kernel"));
    Ok(())
}
