//! What Triton's own IR says of the parameters of a kernel, which nothing else keeps.
//!
//! ```text
//! tt.func public @add(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"(#loc)), %n: i32 loc("n"(#loc)))
//! ```

use crate::Error;
use crate::signature::{Hint, KernelSignature, closing, split};

/// What marks a parameter that the kernel takes for a multiple of 16.
const DIVISIBLE: &str = "tt.divisibility = 16";

/// That the signature says `:16` wherever the kernel was compiled for it. Text without a kernel says nothing.
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

/// The parameters of the kernel, as they are written.
fn arguments(ttir: &str) -> Option<Vec<&str>> {
    let (_, function) = ttir.split_once("tt.func public @")?;
    let (_, list) = function.split_once('(')?;
    Some(split(&list[..closing(list)?]))
}
