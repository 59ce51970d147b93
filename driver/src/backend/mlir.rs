//! MLIR, where the cargo feature `mlir` adds it.

use codegen::Backend;

use crate::{Error, Options};

#[cfg(feature = "mlir")]
pub(super) fn new(options: &Options) -> Result<Box<dyn Backend>, Error> {
    use backend_mlir::Mlir;
    let (triple, optimize) = (options.target.clone(), options.optimization);
    let cpu = options.cpu.clone().unwrap_or_else(|| Mlir::default().cpu);
    Ok(Box::new(Mlir { triple, cpu, optimize }))
}

#[cfg(not(feature = "mlir"))]
pub(super) fn new(_: &Options) -> Result<Box<dyn Backend>, Error> {
    Err(Error::NotBuilt { name: "backend mlir", feature: "mlir" })
}
