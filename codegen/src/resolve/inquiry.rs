//! The function that is asked after calls of kernels: what a library says of it holds.

use rustc_hash::FxHashSet;

use super::function::Function;
use crate::declaration::limit::Limit;
use crate::declaration::reserved::is_callee;
use crate::declaration::{Inquiry, Library};
use crate::error::Error;

/// Checks that the function has a name to be looked up by, and that its kernels, at least one, are called and named
/// once. A kernel that nobody calls would be a misspelt one, whose errors nobody would learn of.
pub(super) fn check(library: &Library, functions: &[Function<'_>]) -> Result<(), Error> {
    let Some(Inquiry { function, kernels }) = &library.inquiry else { return Ok(()) };
    let invalid = |reason| Err(Error::Inquiry { reason });
    if function.len() > Limit::Name.max() {
        return invalid(Limit::Name.to_string());
    }
    if !is_callee(function) {
        return invalid(format!("{function:?} names no function"));
    }
    if kernels.is_empty() {
        return invalid("there are no kernels after which the function is asked".to_owned());
    }
    let calls = functions.iter().flat_map(Function::calls);
    let called: FxHashSet<&str> = calls.map(|(symbol, _)| symbol).collect();
    let mut known = FxHashSet::default();
    for kernel in kernels {
        if !called.contains(&kernel[..]) {
            return invalid(format!("there is no kernel {kernel:?}"));
        }
        if !known.insert(&kernel[..]) {
            return invalid(format!("the kernel {kernel:?} is named twice"));
        }
    }
    Ok(())
}
