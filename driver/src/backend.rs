//! Backends by name.

use backend_cranelift::Cranelift;
use codegen::Backend;

use crate::{Error, Options};

/// Every name that [`backend`] knows, whether it is part of this build or not.
pub const BACKENDS: [&str; 3] = ["cranelift", "llvm", "mlir"];

/// The backend that the options name, set up for their target.
///
/// # Errors
/// [`Error::UnknownBackend`], or [`Error::NotBuilt`] if a cargo feature is missing. Whether the backend
/// supports the target is known only when it is used.
///
/// ```
/// use tvm_ffi_codegen_driver::{Error, Options, backend};
///
/// assert_eq!(backend(&Options::default())?.name(), "cranelift");
/// let unknown = Options { backend: "gcc".to_owned(), ..Options::default() };
/// assert!(matches!(backend(&unknown), Err(Error::UnknownBackend { .. })));
/// # Ok::<(), Error>(())
/// ```
pub fn backend(options: &Options) -> Result<Box<dyn Backend>, Error> {
    let triple = options.target.clone();
    match options.backend.as_str() {
        "cranelift" => Ok(Box::new(Cranelift { triple })),
        "llvm" => Err(Error::NotBuilt { name: "backend llvm", feature: "llvm" }),
        "mlir" => Err(Error::NotBuilt { name: "backend mlir", feature: "mlir" }),
        name => Err(Error::UnknownBackend { name: name.to_owned() }),
    }
}
