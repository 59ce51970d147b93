//! Compiles declarations ahead of time: an object for another machine, and a shared library for this one,
//! which `tvm_ffi.load_module` and every other TVM FFI host can load.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_driver::link::Input;
use tvm_ffi_codegen_driver::{Form, Options, compile_shared, emit, inspect};

const DECLARATION: &str = "
    /// Multiplies every element.
    scale(x: Tensor([n], float32), factor: float32) -> None
        where n % 4 == 0
        = scale_kernel(x.data, n, factor);
";

/// The kernel comes from any compiler that writes objects; here from C.
const KERNEL: &str = "
    void scale_kernel(float *x, long long n, float factor) {
        for (long long i = 0; i < n; i++) x[i] *= factor;
    }
";

fn kernel(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let (source, object) = (folder.join("kernel.c"), folder.join("kernel.o"));
    std::fs::write(&source, KERNEL)?;
    let compiler = Command::new("cc").args(["-O2", "-fPIC", "-c"]).arg(source).arg("-o").arg(&object).status()?;
    if compiler.success() { Ok(object) } else { Err("cc failed".into()) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("tvm-ffi-codegen-aot-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let library: Library = DECLARATION.parse()?;

    let target = "aarch64-unknown-linux-gnu".parse().map_err(|error| format!("{error}"))?;
    let object = emit(&library, Form::Object, &Options { target, ..Options::default() })?;
    println!("scale.o: {}", inspect(&object)?.machine);

    let kernels = vec![Input::read(&kernel(&folder)?)?];
    let output = folder.join("scale.so");
    compile_shared(&library, &output, &Options { kernels, ..Options::default() })?;
    for function in inspect(&std::fs::read(&output)?)?.functions {
        println!("scale.so: exports {}", function.name);
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
