//! Backends by name. To add one: a file beside `cranelift.rs`, and a line in [`ALL`].

mod cranelift;
mod llvm;
mod mlir;

use codegen::Backend;

use crate::{Error, Options};

/// What sets up a backend as the options say.
type New = fn(&Options) -> Result<Box<dyn Backend>, Error>;

/// Every backend by its name, whether it is part of this build or not.
const ALL: [(&str, New); 3] =
    [("cranelift", cranelift::new), ("llvm", llvm::new), ("mlir", mlir::new)];

/// Every name that [`backend`] knows, whether it is part of this build or not.
pub const BACKENDS: [&str; ALL.len()] = names();

const fn names() -> [&'static str; ALL.len()] {
    let mut names = [""; ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = ALL[i].0;
        i += 1;
    }
    names
}

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
    let unknown = || Error::UnknownBackend { name: options.backend.clone(), known: &BACKENDS };
    let (_, new) = ALL.iter().find(|(name, _)| *name == options.backend).ok_or_else(unknown)?;
    new(options)
}
