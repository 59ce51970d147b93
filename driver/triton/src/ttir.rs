//! Specialisations in Triton's IR of a kernel, the only file that has them.
//!
//! ```text
//! tt.func public @add(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), %n: i32 loc("n"(#loc)))
//! ```

use crate::Error;
use crate::scan::{closing, split};
use crate::signature::{Hint, KernelSignature, Kind};

/// Attribute of a parameter that is a multiple of 16.
const DIVISIBLE: &str = "tt.divisibility = 16";

/// Attribute of a parameter that points to at most 2^31 - 1 bytes. Triton sets it for AMD only.
const SMALL: &str = "tt.pointer_range = 32";

/// Checks that the signature has `:16` for every parameter that is a multiple of 16 in Triton's IR, and `:S` for every
/// pointer of 32-bit range. A text without a kernel passes.
pub(crate) fn check(ttir: &str, kernel: &KernelSignature) -> Result<(), Error> {
    let Some(arguments) = arguments(ttir) else { return Ok(()) };
    let mut arguments = arguments.into_iter();
    for parameter in kernel.parameters.iter().filter(|one| one.hint != Some(Hint::One)) {
        let Some(argument) = arguments.next() else { return Ok(()) };
        if let Kind::Descriptor(described) = &parameter.kind {
            // Its extents and strides.
            arguments.by_ref().take(2 * described.rank).for_each(drop);
            continue;
        }
        let refused = |reason: &str| {
            Err(Error::Parameter { text: parameter.text.clone(), reason: reason.to_owned() })
        };
        if argument.contains(DIVISIBLE) && parameter.hint.is_none() {
            return refused("Triton has compiled the kernel for multiples of 16: `:16`");
        }
        if argument.contains(SMALL) && !parameter.small {
            return refused("Triton has compiled the kernel for tensors of less than 2 GiB: `:S`");
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
