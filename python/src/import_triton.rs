//! `import_triton`: the declaration of a kernel that Triton has compiled.

use driver::{Error, triton};

use crate::ffi::{Outcome, string};

/// Declares a kernel from the files that Triton compiled it to. `ttir` is its IR, if there is one.
pub(crate) fn import_triton(
    metadata: &str,
    code: &[u8],
    signature: &str,
    grid: &str,
    ttir: Option<&str>,
) -> Outcome {
    if let Some(ttir) = ttir {
        triton::check_specialization(ttir, signature).map_err(Error::from)?;
    }
    let library = triton::import(metadata, code, signature, grid).map_err(Error::from)?;
    string(&library.to_string())
}
