//! A call: what is checked before it, the call itself, and what came of it.

use abi_spec::TypeIndex;

use super::arg::{Arg, Note};
use super::object::{Owned, raised};
use super::returned::Returned;
use crate::abi::Any;
use crate::error::CallError;
use crate::runtime::Runtime;

/// Which arguments a function only reads: one bit for each of the first 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads(pub(crate) u64);

impl Reads {
    /// The function may write to any of them.
    pub(crate) const NONE: Reads = Reads(0);

    /// This one too.
    pub(crate) fn and(self, index: usize) -> Reads {
        Reads(self.0 | if index < 64 { 1 << index } else { 0 })
    }

    #[inline]
    fn has(self, index: usize) -> bool {
        index < 64 && self.0 >> index & 1 != 0
    }
}

/// What can be called with values.
///
/// # Safety
/// Calling it with as many valid values as are said, of its runtime, none of them a tensor that others read
/// unless the function only [reads](Callee::reads) it, is sound.
#[doc(hidden)]
pub unsafe trait Callee {
    /// Whose function it is.
    fn runtime(&self) -> &'static Runtime;

    /// What it only reads.
    fn reads(&self) -> Reads;

    /// Whether it holds on to what it gets.
    fn keeps(&self) -> bool {
        false
    }

    /// Calls it as C does.
    ///
    /// # Safety
    /// See above; `result` is a place for a value that holds no object.
    unsafe fn enter(&self, args: *const Any, num_args: i32, result: *mut Any) -> i32;
}

/// Calls a function with arguments, given also as the values that are passed.
#[inline]
pub(crate) fn invoke<C: Callee>(
    callee: &C,
    args: &[Arg<'_>],
    values: &[Any],
) -> Result<Returned, CallError> {
    let (runtime, reads) = (callee.runtime(), callee.reads());
    for (index, arg) in args.iter().enumerate() {
        let fits = match arg.note() {
            Note::Plain => true,
            Note::Shared => reads.has(index),
            Note::TooLarge => false,
        };
        let ours = arg.owner().is_none_or(|owner| owner.is_same(runtime));
        let kept = callee.keeps() && arg.as_raw().ty() == TypeIndex::DL_TENSOR_PTR;
        if !fits || !ours || kept {
            return Err(refused(index, arg, runtime));
        }
    }
    // No function takes as many.
    let num_args = i32::try_from(values.len()).unwrap_or(i32::MAX);
    let mut result = Any::NONE;
    // SAFETY: the values are valid while the arguments are borrowed, and fit, as has been checked.
    let status = unsafe { callee.enter(values.as_ptr(), num_args, &mut result) };
    if status == 0 {
        // SAFETY: the call has succeeded, and the result is the caller's.
        return Ok(Returned::from(unsafe { Owned::new(result, runtime) }));
    }
    Err(raised(status, runtime))
}

/// Why a call is not made.
#[cold]
fn refused(index: usize, arg: &Arg<'_>, runtime: &Runtime) -> CallError {
    if let Some(owner) = arg.owner().filter(|owner| !owner.is_same(runtime)) {
        let message = format!(
            "argument #{index} is an object of another runtime ({}) than the function ({})",
            owner.origin(),
            runtime.origin()
        );
        return CallError::new("TypeError", message);
    }
    match arg.note() {
        Note::TooLarge => {
            let message = format!("argument #{index} is an integer beyond int64");
            CallError::new("OverflowError", message)
        }
        Note::Shared => {
            let message = format!(
                "argument #{index} is a tensor that others may read, and the function may write to it: \
                 pass it by `&mut`, if nobody else holds it, or see `Jit::reads`"
            );
            CallError::new("TypeError", message)
        }
        Note::Plain => {
            let message = format!("argument #{index} is borrowed memory, which cannot be kept");
            CallError::new("TypeError", message)
        }
    }
}
