//! A small compiler of kernels that has all parts of a large one: `minitriton FILE.mt OUT.so`. Its syntax becomes a
//! declaration and a kernel in a module of its own; both become a shared library for any host of TVM FFI, and functions
//! of this process. Errors name lines of the file.

mod ast;
mod declare;
mod kernel;

use std::error::Error;
use std::path::Path;

use backend_cranelift::cranelift_module::{Module as _, default_libcall_names};
use backend_cranelift::cranelift_object::{ObjectBuilder, ObjectModule};
use backend_cranelift::target_lexicon::Triple;
use backend_cranelift::{Lines, Settings, emit_with_lines, isa, signature};
use codegen::{Library, Options, lower};
use jit::{Compiled, Jit};

use ast::Kernel;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(source), Some(output)) = (args.next(), args.next()) else {
        return Err("usage: minitriton FILE.mt OUT.so".into());
    };
    let text = std::fs::read_to_string(&source)?;
    let file = Path::new(&source).file_name().and_then(|name| name.to_str());
    if let Err(error) = compile(file.ok_or("the file has no name")?, &text, &output) {
        eprintln!("{error}");
        std::process::exit(1);
    }
    Ok(())
}

/// Compiles a file ahead of time and in process.
fn compile(file: &str, text: &str, output: &str) -> Result<(), Box<dyn Error>> {
    let kernels = ast::parse(text).map_err(|(line, reason)| format!("{file}:{line}: {reason}"))?;
    let library = declare::declare(file, &kernels)?;
    // All faults, each with its line, not only the first.
    library.validate()?;
    print!("{library}");

    std::fs::write(output, shared(file, &library, &kernels)?)?;
    let compiled = in_process(file, &library, &kernels)?;
    if let Some(axpy) = compiled.function("axpy") {
        let (mut x, mut y) = ([1.0_f32, 2.0, 3.0], [10.0_f32; 3]);
        axpy.call((2.0, &mut x, &mut y))?;
        println!("axpy(2, {x:?}, …) = {y:?}");
        let error = axpy.call((2.0, &mut x, 5)).expect_err("5 is no vector");
        println!("{error}");
    }
    Ok(())
}

/// Returns a shared library: kernels and host functions of one native module, linked without any program.
fn shared(file: &str, library: &Library, kernels: &[Kernel]) -> Result<Vec<u8>, Box<dyn Error>> {
    let isa = isa(&Triple::host(), Settings::OBJECT)?;
    let mut module = ObjectModule::new(ObjectBuilder::new(isa, file, default_libcall_names())?);
    let resolved = library.resolve()?;
    // The library calls each kernel in the order of declaration.
    for (kernel, called) in kernels.iter().zip(resolved.kernels()) {
        let signature = signature(module.isa(), &called.signature);
        located(file, kernel::define(&mut module, kernel, signature))?;
    }
    // Debuggers stop at lines of the file.
    let mut lines = Lines::default();
    emit_with_lines(&mut module, &lower(&resolved, &Options::default()), &mut lines)?;
    let mut product = module.finish();
    lines.define(&mut product)?;
    let object = link::Input::new(format!("{file}.o"), product.emit()?)?;
    Ok(link::link(&[object], &link::Options::default())?)
}

/// Returns the functions in this process.
fn in_process(
    file: &str,
    library: &Library,
    kernels: &[Kernel],
) -> Result<Compiled, Box<dyn Error>> {
    // SAFETY: kernels access the elements of their vectors only, as many as the declaration checks.
    let jit = unsafe {
        Jit::new()?.define(library, |module, signatures| {
            kernels.iter().try_for_each(|kernel| {
                let signature = signatures.get(&declare::symbol(kernel))?;
                located(file, kernel::define(module, kernel, signature))
            })
        })?
    };
    Ok(jit.compile(library)?)
}

/// Puts the name of the file before the number of a line.
fn located(file: &str, result: Result<(), Box<dyn Error>>) -> Result<(), Box<dyn Error>> {
    result.map_err(|error| format!("{file}:{error}").into())
}
