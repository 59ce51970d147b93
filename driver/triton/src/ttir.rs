//! Specialisations in Triton's IR of a kernel, the only file that has them.
//!
//! ```text
//! tt.func public @add(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), %n: i32 loc("n"(#loc)))
//! ```

use crate::Error;
use crate::signature::{Hint, KernelSignature, closing, split};

/// Attribute of a parameter that is a multiple of 16.
const DIVISIBLE: &str = "tt.divisibility = 16";

/// Checks that the signature has `:16` for every parameter that is a multiple of 16 in Triton's IR. A text without a
/// kernel passes.
pub(crate) fn check(ttir: &str, kernel: &KernelSignature) -> Result<(), Error> {
    let Some(arguments) = arguments(ttir) else { return Ok(()) };
    let given = kernel.parameters.iter().filter(|parameter| parameter.hint != Some(Hint::One));
    for (parameter, argument) in given.zip(arguments) {
        if argument.contains(DIVISIBLE) && parameter.hint.is_none() {
            let reason = "Triton has compiled the kernel for multiples of 16: `:16`".to_owned();
            return Err(Error::Parameter { text: parameter.text.clone(), reason });
        }
    }
    Ok(())
}

/// Returns the source texts of the kernel's parameters.
fn arguments(ttir: &str) -> Option<Vec<&str>> {
    let (_, function) = ttir.split_once("tt.func public @")?;
    let (_, list) = function.split_once('(')?;
    Some(split(&list[..closing(list)?]))
}
