//! LLVM, where the cargo feature `llvm` adds it.

use codegen::Backend;

use crate::{Error, Options};

#[cfg(feature = "llvm")]
pub(super) fn new(options: &Options) -> Result<Box<dyn Backend>, Error> {
    use backend_llvm::Llvm;
    let (triple, optimize) = (options.target.clone(), options.optimization);
    let cpu = options.cpu.clone().unwrap_or_else(|| Llvm::default().cpu);
    Ok(Box::new(Llvm { triple, cpu, optimize }))
}

#[cfg(not(feature = "llvm"))]
pub(super) fn new(_: &Options) -> Result<Box<dyn Backend>, Error> {
    Err(Error::NotBuilt { name: "backend llvm", feature: "llvm" })
}
