//! Routes: the ways by which tests call a declared function.

mod in_process;
mod python;
mod shared;

use std::ffi::{CStr, c_char};

use codegen::Library;
use jit::abi::{Any, Payload};

use crate::argument::Argument;
use crate::ffi::Ffi;
use crate::frame::Frame;
use crate::objects::take_notes;
use crate::outcome::{End, Outcome, Value};

pub use in_process::InProcess;
pub use python::{BEYOND_PYTHON, Python};
pub use shared::{Before, Shared, build, build_with, lowering};

/// Names of the backends of this build.
pub const BACKENDS: &[&str] = driver::BackendName::BUILT;

/// Returns a request for a form from one of [`BACKENDS`].
pub fn request(backend: &str, form: driver::Form) -> driver::Request {
    let backend = backend.parse().unwrap_or_else(|error| panic!("{error}"));
    driver::Request { backend, ..driver::Request::new(form) }
}

/// Returns true if a backend makes objects for a target wherever the tests run: C has a compiler of this machine.
pub fn has_target(backend: &str, target: &str) -> bool {
    backend != "c" || target == driver::Request::default().target.to_string()
}

/// A call of a function.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// Declared name.
    pub function: &'a str,
    /// Arguments.
    pub arguments: &'a [Argument],
    /// The number of arguments that is passed, if it differs from their actual number.
    pub count: Option<i32>,
}

/// A way to call the functions of a library.
pub trait Route {
    /// Returns the name of the route in messages.
    fn name(&self) -> String;

    /// Makes the calls in order; returns the reason for calls that the route cannot express.
    fn run(&self, calls: &[Call<'_>]) -> Vec<Result<Outcome, Reason>>;
}

/// Reason why a route cannot make a call.
pub type Reason = &'static str;

/// Reason for arguments that only an installed runtime makes, such as mappings, errors and integers of many words.
pub const LACKING: Reason = "the runtime does not make such values";

/// Declaration in every library that returns the notes of the last kernel.
const RECORDED: &str = "recorded";

/// Declaration in every library that returns the allocator of tensors.
const ALLOCATOR: &str = "allocator";

/// Adds the functions `recorded` and `allocator` of the kernels to a library.
pub fn with_recorder(library: &Library) -> Library {
    let mut library = library.clone();
    for name in [RECORDED, ALLOCATOR] {
        let text = format!("{name}() -> ptr = {name}();");
        library.functions.push(text.parse().expect("the declaration is valid"));
    }
    library
}

/// An FFI function: arguments, their number, and the result.
type SafeCall<'a> = &'a dyn Fn(*const Any, i32, *mut Any) -> i32;

/// Code around each call of a function, excluding building of arguments and reading of results.
pub type Around = fn(call: &mut dyn FnMut() -> i32) -> i32;

/// Makes the call and nothing else.
fn plainly(call: &mut dyn FnMut() -> i32) -> i32 {
    call()
}

/// Calls a function and checks that it obeys the ABI.
fn perform(
    ffi: &Ffi,
    call: &Call<'_>,
    around: Around,
    function: SafeCall<'_>,
    recorder: SafeCall<'_>,
) -> Result<Outcome, Reason> {
    // Kernels have one place for notes; only one frame, and so one call, exists at a time.
    let frame = Frame::new(call.arguments, ffi).ok_or(LACKING)?;
    assert_eq!(ffi.take_error(), None, "left from before");
    let count = call.count.unwrap_or(call.arguments.len() as i32);
    let mut result = NOISE;
    take_notes();
    let status = around(&mut || function(frame.as_ptr(), count, &mut result));
    let end = end(ffi, status, &result);
    let end = if frame.is_balanced() { end } else { broken("references were kept or lost".into()) };
    let mut recorded = vec![recorded(ffi, recorder)];
    recorded.retain(|text| !text.is_empty());
    recorded.extend(take_notes());
    Ok(Outcome { recorded: recorded.join(", "), end })
}

/// Contents of the result before a call: no object, and no value that a callee would write.
const NOISE: Any =
    Any { type_index: -0x5a5a_5a5b, small_len: 0xa5a5_a5a5, payload: Payload { bytes: [0xa5; 8] } };

fn end(ffi: &Ffi, status: i32, result: &Any) -> End {
    let error = ffi.take_error();
    if status == 0 {
        let value = Value::read(result);
        if result.ty().is_object() {
            // SAFETY: the result is owned.
            unsafe { ffi.release(result.pointer().cast()) };
        }
        return match (error, value) {
            (None, Ok(value)) => End::Result(value),
            (None, Err(reason)) => broken(reason),
            (Some(error), _) => broken(format!("success, but the slot holds {error:?}")),
        };
    }
    let words = |any: &Any| (any.type_index, any.small_len, any.bits());
    if status != -1 {
        return broken(format!("the status is {status}, the error {error:?}"));
    }
    if words(result) != words(&NOISE) {
        return broken(format!("an error, but the result is {result:?}"));
    }
    match error {
        Some((kind, message)) => End::Error { kind, message },
        None => broken("a failure without an error".to_owned()),
    }
}

fn broken(reason: String) -> End {
    End::Broken(reason)
}

/// Returns the address that a function returns.
fn pointer(ffi: &Ffi, function: SafeCall<'_>) -> u64 {
    let mut result = NOISE;
    let status = function(std::ptr::null(), 0, &mut result);
    let end = end(ffi, status, &result);
    let End::Result(Value::Pointer(address)) = end else { panic!("{end:?}") };
    address
}

/// Sets the kernels' allocator for calls from now on.
fn set_allocator(ffi: &Ffi, allocator: SafeCall<'_>) {
    let address = pointer(ffi, allocator) as *const std::ffi::c_void;
    // SAFETY: the kernels have an allocator.
    unsafe { ffi.set_allocator(address) };
}

fn recorded(ffi: &Ffi, recorder: SafeCall<'_>) -> String {
    let text = pointer(ffi, recorder);
    // SAFETY: the kernel returns a text that ends with a NUL.
    let text = unsafe { CStr::from_ptr(text as *const c_char) };
    text.to_string_lossy().into_owned()
}
