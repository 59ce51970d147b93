//! Error objects, and the slot that holds the error of a thread.

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::ptr;

use abi_spec::TypeIndex;

use super::object;
use crate::abi::{ByteArray, ErrorCell, Object};

/// The body of an error object: the cell, and the bytes that it points at.
#[repr(C)]
struct ErrorBody {
    cell: ErrorCell,
    kind: Vec<u8>,
    message: Vec<u8>,
    backtrace: Vec<u8>,
}

/// The error of a thread: an owned reference, or NULL.
struct Slot(Cell<*mut Object>);

impl Slot {
    /// Takes over a reference and releases the previous one.
    fn put(&self, error: *mut Object) {
        // SAFETY: the slot owned that reference.
        unsafe { object::dec_ref(self.0.replace(error)) };
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.put(ptr::null_mut());
    }
}

thread_local! {
    static SLOT: Slot = const { Slot(Cell::new(ptr::null_mut())) };
}

fn new(kind: &[u8], message: &[u8], backtrace: &[u8]) -> *mut Object {
    let (kind, message, backtrace) = (kind.to_vec(), message.to_vec(), backtrace.to_vec());
    let cell = ErrorCell {
        kind: ByteArray::new(&kind),
        message: ByteArray::new(&message),
        backtrace: ByteArray::new(&backtrace),
        update_backtrace,
        cause_chain: ptr::null_mut(),
        extra_context: ptr::null_mut(),
    };
    object::allocate(TypeIndex::ERROR, ErrorBody { cell, kind, message, backtrace })
}

/// Puts a new error into the slot of the thread.
pub(crate) fn raise(kind: &[u8], message: &[u8]) {
    let error = new(kind, message, b"");
    let put = SLOT.try_with(|slot| slot.put(error));
    if put.is_err() {
        // SAFETY: the reference is this function's; the thread is ending, and its slot is gone.
        unsafe { object::dec_ref(error) };
    }
}

unsafe extern "C" fn update_backtrace(error: *mut Object, text: *const ByteArray, mode: i32) {
    // SAFETY: only errors made here have this function pointer, and the caller passes the error that it read the
    // pointer from, which nobody else uses.
    let (body, text) = unsafe { (&mut *object::body::<ErrorBody>(error), (*text).bytes()) };
    if mode == 0 {
        body.backtrace.clear();
    }
    body.backtrace.extend_from_slice(text);
    body.cell.backtrace = ByteArray::new(&body.backtrace);
}

/// `TVMFFIErrorCreate`
///
/// # Safety
/// All pointers are valid.
pub(super) unsafe extern "C" fn create(
    kind: *const ByteArray,
    message: *const ByteArray,
    backtrace: *const ByteArray,
    out: *mut *mut Object,
) -> i32 {
    // SAFETY: as required above.
    unsafe { *out = new((*kind).bytes(), (*message).bytes(), (*backtrace).bytes()) };
    0
}

/// `TVMFFIErrorSetRaised`: the caller keeps its reference.
///
/// # Safety
/// `error` is a live error.
pub(super) unsafe extern "C" fn set_raised(error: *mut Object) {
    // SAFETY: `error` is live; the reference taken here goes to the slot, or is released again.
    unsafe {
        object::inc_ref(error);
        if SLOT.try_with(|slot| slot.put(error)).is_err() {
            object::dec_ref(error);
        }
    }
}

/// `TVMFFIErrorMoveFromRaised`: NULL if there is no error.
///
/// # Safety
/// `out` is valid.
pub(super) unsafe extern "C" fn move_from_raised(out: *mut *mut Object) {
    let error = SLOT.try_with(|slot| slot.0.replace(ptr::null_mut()));
    // SAFETY: as required above.
    unsafe { *out = error.unwrap_or(ptr::null_mut()) };
}

/// `TVMFFIErrorSetRaisedFromCStr`
///
/// # Safety
/// Both are NUL-terminated strings.
pub(super) unsafe extern "C" fn set_raised_from_c_str(kind: *const c_char, message: *const c_char) {
    // SAFETY: as required above.
    let (kind, message) = unsafe { (CStr::from_ptr(kind), CStr::from_ptr(message)) };
    raise(kind.to_bytes(), message.to_bytes());
}

/// `TVMFFIErrorSetRaisedFromCStrParts`: NULL parts are skipped.
///
/// # Safety
/// `kind` is a NUL-terminated string; so are the `count` parts unless they are NULL.
pub(super) unsafe extern "C" fn set_raised_from_c_str_parts(
    kind: *const c_char,
    parts: *const *const c_char,
    count: i32,
) {
    let mut message = Vec::new();
    for i in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: `count` is the number of parts.
        let part = unsafe { *parts.add(i) };
        if !part.is_null() {
            // SAFETY: as required above.
            message.extend_from_slice(unsafe { CStr::from_ptr(part) }.to_bytes());
        }
    }
    // SAFETY: as required above.
    raise(unsafe { CStr::from_ptr(kind) }.to_bytes(), &message);
}
