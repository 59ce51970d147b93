//! Compiles a declaration to an object file and a shared library, from Rust and without a C toolchain: `aot KERNEL.o
//! OUT.so`, where the kernel is `void add_one_kernel(const float*, float*, int64_t)`. With an installed runtime the
//! library is then loaded and called.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use codegen::{Library, Options, lower};
use driver::link::Input;
use driver::{Form, Request};
use jit::{FfiFunction, ObjectRef, Runtime};

type Failure = Box<dyn Error + Send + Sync>;

/// Looks up a global function of the runtime.
fn global(name: &str, runtime: &'static Runtime) -> Result<FfiFunction, Failure> {
    // SAFETY: this file calls functions that load modules, with modules and texts.
    let found = unsafe { FfiFunction::global(name, runtime) }?;
    found.ok_or_else(|| format!("no {name}").into())
}

/// Loads the library and calls its function through the runtime, as every host does.
fn call(library: &str, runtime: &'static Runtime) -> Result<(), Failure> {
    // The loader would search a bare name in the system's folders.
    let path = std::fs::canonicalize(library)?;
    let path = path.to_str().ok_or("the path is no text")?;
    let module = global("ffi.Module.load_from_file.so", runtime)?.call((path, ""))?;
    let module = ObjectRef::try_from(module)?;
    let found = global("ffi.ModuleGetFunction", runtime)?.call((&module, "add_one", false))?;
    let (mut x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
    FfiFunction::try_from(found)?.call((&mut x, &mut y))?;
    println!("add_one({x:?}) = {y:?}");
    Ok(())
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let (Some(kernel), Some(output)) = (args.next(), args.next()) else {
        return Err("usage: aot KERNEL.o OUT.so".into());
    };
    let library: Library = "
        add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
            = add_one_kernel(x.data, y.data, n);
    "
    .parse()?;

    // Declaration → host IR → object file, for any linker.
    let module = lower(&library.resolve()?, &Options::default());
    let object = Request::default().backend()?.object(&module, &[])?;
    println!("object: ELF {}", object.starts_with(b"\x7fELF"));

    // Declaration → shared library with the kernel, linked in process.
    let kernels = vec![Input::read(Path::new(&kernel))?];
    let request = Request { kernels, ..Request::new(Form::Shared) };
    request.write(&library, Path::new(&output))?;
    print!("{}", driver::inspect(&std::fs::read(&output)?)?);

    // SAFETY: the runtime is what the tool of its package names.
    match unsafe { Runtime::ask_tool(Duration::from_secs(60)) } {
        Ok(runtime) => call(&output, runtime),
        Err(reason) => {
            println!("not called: {reason}");
            Ok(())
        }
    }
}
