//! `import_triton`: the declaration of a kernel that Triton has compiled.

use driver::triton;

use crate::ffi::{Outcome, string};

/// What Triton leaves of a kernel, as text and as code; its own intermediate code if it is at hand.
pub(crate) fn import_triton(
    metadata: &str,
    cubin: &[u8],
    signature: &str,
    grid: &str,
    ttir: Option<&str>,
) -> Outcome {
    if let Some(ttir) = ttir {
        triton::check_specialization(ttir, signature)?;
    }
    string(&triton::import(metadata, cubin, signature, grid)?.to_string())
}
