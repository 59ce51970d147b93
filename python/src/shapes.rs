//! `shapes`: how the shapes of tensors follow from the arguments of a function.

use codegen::{Expr, Library, Signature, Statement};

use crate::ffi::{Outcome, string};

/// Returns the shapes of a function with this signature, as JSON.
pub(crate) fn shapes(signature: &str) -> Outcome {
    // Shapes do not depend on the body.
    let body = [Statement::raise("RuntimeError", [Expr::text("not called")])];
    let library = Library::new([signature.parse::<Signature>()?.body(body)]);
    string(&library.resolve()?.shapes(0))
}
