//! A compiler on Cranelift: its kernel, written with cranelift_frontend, and the wrapper in one module.

mod call;
mod kernel;

use std::error::Error;

use backend_cranelift::cranelift_module::{Module, default_libcall_names};
use backend_cranelift::target_lexicon::Triple;
use backend_cranelift::{Settings, emit, isa, signature};
use cranelift_jit::{JITBuilder, JITModule};

fn main() -> Result<(), Box<dyn Error>> {
    let (source, ty) = call::add_one()?;
    let isa = isa(&Triple::host(), Settings::JIT)?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    builder.symbols(call::imports(&source).map(|(name, address)| (name, address.cast())));
    let mut module = JITModule::new(builder);
    let signature = signature(module.isa(), &ty);
    kernel::define(&mut module, signature)?;
    let functions = emit(&mut module, &source)?;

    module.finalize_definitions()?;
    let code = module.get_finalized_function(functions[0]);
    // SAFETY: the module lives, and this is the wrapper.
    unsafe { call::call(code) };
    // SAFETY: nobody runs the code, and nobody will.
    unsafe { module.free_memory() };
    Ok(())
}
