//! The current stream of each device, by thread.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;

thread_local! {
    static STREAMS: RefCell<Vec<((i32, i32), *mut c_void)>> = const { RefCell::new(Vec::new()) };
}

/// `TVMFFIEnvGetStream`: NULL if none was set.
pub(super) extern "C" fn get(device_type: i32, device_id: i32) -> *mut c_void {
    let find = |streams: &RefCell<Vec<((i32, i32), *mut c_void)>>| {
        let streams = streams.borrow();
        let found = streams.iter().find(|(device, _)| *device == (device_type, device_id));
        found.map_or(ptr::null_mut(), |&(_, stream)| stream)
    };
    STREAMS.try_with(find).unwrap_or(ptr::null_mut())
}

/// `TVMFFIEnvSetStream`
///
/// # Safety
/// `previous` is valid or NULL.
pub(super) unsafe extern "C" fn set(
    device_type: i32,
    device_id: i32,
    stream: *mut c_void,
    previous: *mut *mut c_void,
) -> i32 {
    let old = get(device_type, device_id);
    let device = (device_type, device_id);
    let put = STREAMS.try_with(|streams| {
        let mut streams = streams.borrow_mut();
        streams.retain(|(other, _)| *other != device);
        streams.push((device, stream));
    });
    if put.is_err() {
        super::raise(b"RuntimeError", b"the thread is ending");
        return -1;
    }
    if !previous.is_null() {
        // SAFETY: as required above.
        unsafe { *previous = old };
    }
    0
}
