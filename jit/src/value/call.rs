//! Calls: the check of each argument, the call itself, and its result or error.

use std::ffi::c_void;
use std::sync::Arc;

use abi_spec::TypeIndex;

use super::arg::{Arg, Note};
use super::object::{Owned, raised};
use super::returned::Returned;
use crate::abi::{Any, Payload};
use crate::error::CallError;
use crate::runtime::Runtime;

/// The indices of the arguments whose tensors a function never writes to, since it only reads them or refuses every
/// tensor there; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// A bit for each of the first arguments.
    first: u64,
    /// The indices of further arguments, which few functions have.
    others: Option<Arc<[usize]>>,
}

/// Number of arguments that have a bit.
const FIRST: usize = u64::BITS as usize;

impl Reads {
    /// Adds an argument.
    pub(crate) fn and(mut self, index: usize) -> Reads {
        if index < FIRST {
            self.first |= 1 << index;
        } else {
            let others = self.others.iter().flat_map(|others| others.iter().copied());
            self.others = Some(others.chain([index]).collect());
        }
        self
    }

    /// Adds the arguments from an index on, as far as they have a bit.
    pub(crate) fn and_from(mut self, index: usize) -> Reads {
        if index < FIRST {
            self.first |= u64::MAX << index;
        }
        self
    }

    #[inline]
    pub(crate) fn has(&self, index: usize) -> bool {
        if index < FIRST { self.first >> index & 1 != 0 } else { self.has_other(index) }
    }

    #[cold]
    fn has_other(&self, index: usize) -> bool {
        self.others.as_ref().is_some_and(|others| others.contains(&index))
    }
}

/// A function that can be called with values.
///
/// # Safety
/// It is sound to call the function with any number of valid values of its runtime, if no tensor among them is read by
/// others, except where the function only [reads](Callee::reads) it, and if somebody vouches for each address.
#[doc(hidden)]
pub unsafe trait Callee {
    /// The runtime of the function.
    fn runtime(&self) -> &'static Runtime;

    /// True if the function writes to no tensor that is this argument.
    fn reads(&self, index: usize) -> bool;

    /// True if the function keeps its arguments after it has returned.
    fn retains_arguments(&self) -> bool {
        false
    }

    /// Calls the function as C does.
    ///
    /// # Safety
    /// As for the trait. `result` points at a value that is no object.
    unsafe fn enter(&self, args: *const Any, num_args: i32, result: *mut Any) -> i32;
}

/// True if a function may take an argument.
#[inline]
pub(crate) fn fits<C: Callee>(callee: &C, index: usize, arg: Arg<'_>) -> bool {
    let fits = match arg.note() {
        Note::Plain => true,
        Note::Shared => callee.reads(index),
        Note::TooLarge | Note::Address => false,
    };
    let ours = arg.owner().is_none_or(|owner| owner.is_same(callee.runtime()));
    let retained = callee.retains_arguments() && arg.as_raw().ty() == TypeIndex::DL_TENSOR_PTR;
    fits && ours && !retained
}

/// Calls a function with the values of arguments that fit.
///
/// # Safety
/// The values are valid during the call, and their arguments [fit](fits).
#[inline]
pub(crate) unsafe fn perform<C: Callee>(callee: &C, values: &[Any]) -> Result<Returned, CallError> {
    // No function takes more arguments than an `i32` counts.
    let num_args = i32::try_from(values.len()).unwrap_or(i32::MAX);
    let mut result = Any::NONE;
    // SAFETY: as required above.
    let status = unsafe { callee.enter(values.as_ptr(), num_args, &mut result) };
    if status == 0 {
        // SAFETY: the call has succeeded, so that the caller owns the result.
        return Ok(Returned::from(unsafe { Owned::new(take(&result), callee.runtime()) }));
    }
    Err(*boxed(status, callee.runtime()))
}

/// Takes the error of a failed call. Boxed, so that the successful path keeps the result in registers.
#[cold]
#[inline(never)]
fn boxed(status: i32, runtime: &'static Runtime) -> Box<CallError> {
    Box::new(raised(status, runtime))
}

/// Reads the result word by word, as callees write it. A load of both words at once cannot be forwarded from two
/// stores, and waiting for them takes as long as the call.
#[inline]
fn take(result: &Any) -> Any {
    let words: *const u64 = (&raw const *result).cast();
    // SAFETY: a value is two words, and all its bytes are initialised.
    let head = unsafe { words.read_volatile() };
    // SAFETY: as above. What is read as a pointer still is one.
    let ptr = unsafe { words.add(1).cast::<*mut c_void>().read_volatile() };
    Any { type_index: head as i32, small_len: (head >> 32) as u32, payload: Payload { ptr } }
}

/// Makes the error of a call that may not take an argument.
#[cold]
pub(crate) fn refused(
    index: usize,
    note: Note,
    owner: Option<&Runtime>,
    runtime: &Runtime,
) -> Box<CallError> {
    if let Some(owner) = owner.filter(|owner| !owner.is_same(runtime)) {
        let message = format!(
            "argument #{index} is an object of another runtime ({}) than the function ({})",
            owner.origin(),
            runtime.origin()
        );
        return Box::new(CallError::new("TypeError", message));
    }
    let (kind, reason) = match note {
        Note::TooLarge => ("OverflowError", "is an integer beyond int64"),
        Note::Shared => (
            "TypeError",
            "is a tensor that others may read, and the function may write to it: pass it by `&mut`, if \
             nobody else holds it, or declare it with `access=read`",
        ),
        Note::Address => (
            "TypeError",
            "is or holds an address that a call has returned, and nobody says that what was there still is: see \
             `Arg::vouched`",
        ),
        Note::Plain => ("TypeError", "is borrowed memory, which cannot be kept"),
    };
    Box::new(CallError::new(kind, format!("argument #{index} {reason}")))
}
