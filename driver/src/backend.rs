//! Backends by name.

use codegen::Backend;
use target_lexicon::Triple;

use crate::Error;

/// Every name that [`backend`] knows, whether it is part of this build or not.
pub const NAMES: [&str; 3] = ["cranelift", "llvm", "mlir"];
