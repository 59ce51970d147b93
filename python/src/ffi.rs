//! Values between wrappers and kernels: borrowed and owned values, texts, errors.

use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::slice;

use abi_spec::TypeIndex;
use jit::abi::{Any, ByteArray, ErrorCell, Object};
use jit::{Arg, ArrayObject, FfiFunction, Returned, runtime};

use crate::fault::Fault;

// The wrappers import the same functions, so the loader finds them before anything runs.
unsafe extern "C" {
    fn TVMFFIErrorCreate(
        kind: *const ByteArray,
        message: *const ByteArray,
        backtrace: *const ByteArray,
        out: *mut *mut Object,
    ) -> i32;
    fn TVMFFIErrorSetRaised(error: *mut Object);
    fn TVMFFIErrorMoveFromRaised(error: *mut *mut Object);
    fn TVMFFIObjectDecRef(object: *mut Object) -> i32;
}

/// Result of a kernel.
pub(crate) type Outcome = Result<Returned, Fault>;

/// Runs a kernel: writes its value to `result`, or raises its fault. A panic becomes an error.
///
/// # Safety
/// `result` points to a value that holds no object.
pub(crate) unsafe fn run(result: *mut Any, kernel: impl FnOnce() -> Outcome) -> i32 {
    let outcome = panic::catch_unwind(AssertUnwindSafe(kernel));
    match outcome.unwrap_or_else(|panic| Err(Fault::internal(text_of(&*panic)))) {
        Ok(value) => {
            // The reference moves to `result`.
            let value = std::mem::ManuallyDrop::new(value);
            // SAFETY: as required above.
            unsafe { result.write(*value.as_raw()) };
            0
        }
        Err(fault) => {
            raise(&fault);
            -1
        }
    }
}

/// Returns the message of a panic.
fn text_of(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

fn raise(fault: &Fault) {
    let [kind, message] = [&fault.kind, &fault.message].map(|text| ByteArray::new(text.as_bytes()));
    let mut error = ptr::null_mut();
    // SAFETY: all pointers are valid; the runtime copies the texts, and takes a reference of its own to the error.
    unsafe {
        if TVMFFIErrorCreate(&kind, &message, &ByteArray::EMPTY, &mut error) == 0 {
            TVMFFIErrorSetRaised(error);
            TVMFFIObjectDecRef(error);
        }
    }
}

/// Makes a slice of a pointer and a size.
///
/// # Safety
/// `data` points to `size` bytes that live for `'a`.
pub(crate) unsafe fn contents<'a>(data: *const u8, size: i64) -> &'a [u8] {
    let size = usize::try_from(size).unwrap_or(0);
    // SAFETY: as required above.
    if size == 0 { &[] } else { unsafe { slice::from_raw_parts(data, size) } }
}

/// Makes a text of a pointer and a size.
///
/// # Safety
/// `data` points to `size` bytes that live for `'a`.
pub(crate) unsafe fn text<'a>(data: *const u8, size: i64) -> Result<&'a str, Fault> {
    // SAFETY: as required above.
    let bytes = unsafe { contents(data, size) };
    str::from_utf8(bytes).map_err(|error| Fault::value(format!("text is no UTF-8: {error}")))
}

/// Takes a reference to a value.
///
/// # Safety
/// The value is valid.
pub(crate) unsafe fn value(any: Any) -> Outcome {
    // SAFETY: as required above; the value is passed on at once.
    let borrowed = unsafe { Arg::from_raw(any) };
    // An array takes references to its elements.
    let array = ArrayObject::new([borrowed], runtime())?;
    array.get(0).ok_or_else(|| Fault::internal("an array of one value is empty"))
}

/// Takes a reference to an object.
///
/// # Safety
/// It is a live object of this class.
pub(crate) unsafe fn object(object: *mut c_void, class: TypeIndex) -> Outcome {
    // SAFETY: as required above.
    unsafe { value(Any::ptr(class, object)) }
}

/// Takes a reference to an object; returns None for NULL.
///
/// # Safety
/// It is NULL or a live object of this class.
pub(crate) unsafe fn optional(object: *mut c_void, class: TypeIndex) -> Outcome {
    // SAFETY: as required above.
    unsafe { value(if object.is_null() { Any::NONE } else { Any::ptr(class, object) }) }
}

/// Takes the error out of the thread's slot; returns its kind and message.
pub(crate) fn take_error() -> Option<Fault> {
    let mut error = ptr::null_mut();
    // SAFETY: the place is valid; the slot holds errors, whose cell follows the header, and the reference is ours now.
    unsafe {
        TVMFFIErrorMoveFromRaised(&mut error);
        if error.is_null() {
            return None;
        }
        let cell = error.add(1).cast::<ErrorCell>();
        let text = |part: ByteArray| String::from_utf8_lossy(part.bytes()).into_owned();
        let fault = Fault { kind: text((*cell).kind), message: text((*cell).message) };
        TVMFFIObjectDecRef(error);
        Some(fault)
    }
}

/// Makes a text of the runtime.
pub(crate) fn string(text: &str) -> Outcome {
    let array = ArrayObject::new((text,), runtime())?;
    array.get(0).ok_or_else(|| Fault::internal("an array of one text is empty"))
}

/// Makes bytes of the runtime.
pub(crate) fn bytes(bytes: &[u8]) -> Outcome {
    let array = ArrayObject::new((jit::Bytes(bytes),), runtime())?;
    array.get(0).ok_or_else(|| Fault::internal("an array of one value is empty"))
}

/// Returns a function of the runtime.
pub(crate) fn global(name: &str) -> Result<FfiFunction, Fault> {
    // SAFETY: this crate calls functions of the runtime with the arguments that they are made for.
    let function = unsafe { FfiFunction::global(name, runtime()) }?;
    function.ok_or_else(|| Fault::internal(format!("the runtime has no {name}")))
}

/// Tells whether the registry of the process has a function of this name.
pub(crate) fn is_global(name: &str) -> bool {
    // SAFETY: the function is not called.
    let found = unsafe { FfiFunction::global(name, runtime()) };
    found.is_ok_and(|function| function.is_some())
}

/// Returns the entries of a map from texts, in its order; none for None.
pub(crate) fn entries(map: &Returned) -> Result<Vec<(String, Returned)>, Fault> {
    if map.is_none() {
        return Ok(Vec::new());
    }
    let mut size = i64::try_from(global("ffi.MapSize")?.call((map,))?)?;
    let cursor: FfiFunction = global("ffi.MapForwardIterFunctor")?.call((map,))?.try_into()?;
    // The commands of the cursor.
    let (key_here, value_here, next) = (0, 1, 2);
    let mut entries = Vec::new();
    while size > 0 {
        let key = cursor.call((key_here,))?;
        let name = key.text().map_err(|_| Fault::ty(expected("a name", "str", &key)))?;
        entries.push((name.to_owned(), cursor.call((value_here,))?));
        cursor.call((next,))?;
        size -= 1;
    }
    Ok(entries)
}

/// Returns the message for a value of a wrong type.
pub(crate) fn expected(what: &str, expected: &str, found: &Returned) -> String {
    let ty = found.ty();
    let found = ty.received_name().map_or_else(|| ty.to_string(), str::to_owned);
    format!("Mismatched type of {what}, expected {expected} but got {found}")
}
