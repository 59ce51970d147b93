//! Checks that defaults are values of their parameters.

use std::slice;

use super::FormChecker;
use crate::declaration::{Literal, ParamType};
use crate::error::{Error, Part};
use crate::resolve::accepted::{MAX_SMALL, needs_object};
use crate::resolve::fits::takes;
use crate::resolve::range::Range;

impl FormChecker<'_> {
    /// Checks that a call may pass the default of parameter `index` as an argument.
    pub(super) fn default(
        &self,
        index: usize,
        ty: &ParamType,
        default: &Literal,
    ) -> Result<(), Error> {
        let mut reason = format!("`{default}` is no value of type `{ty}`");
        match default {
            Literal::Str(text) if takes(ty, default) && needs_object(text) => {
                reason = format!("a default with a NUL has {MAX_SMALL} bytes at most");
            }
            _ if takes(ty, default) => return Ok(()),
            Literal::Int(_) => reason.push_str(&ranges(ty)),
            Literal::None | Literal::Bool(_) | Literal::Float(_) | Literal::Str(_) => {}
        }
        Err(self.invalid(Part::Default(index), reason))
    }
}

/// Spells the ranges of the integer types that a value may have.
fn ranges(ty: &ParamType) -> String {
    let ty = ty.required().0;
    let types = if let ParamType::Union(types) = ty { &types[..] } else { slice::from_ref(ty) };
    let mut text = String::new();
    for ty in types {
        if let ParamType::Scalar(scalar) = ty
            && scalar.is_int()
        {
            let before = if text.is_empty() { ":" } else { "," };
            text.push_str(&format!("{before} `{scalar}` is {}", Range::of(*scalar)));
        }
    }
    text
}
