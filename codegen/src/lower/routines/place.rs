//! Device and stream of a call that another host makes: its stream is the thread's while the function runs.

use crate::ir::typed::{Ref, routine, structs};
use crate::lower::routines::runtime::set_stream;

structs! {
    /// The device of a call and its stream.
    Place PlaceFields: PLACE_SIZE, 8 => {
        // The type and the index, 32 bits each; 0 unless the stream is the thread's.
        device: Field<u64> = PLACE_DEVICE,
        stream: Field<Ref<u8>> = PLACE_STREAM,
        // The stream of the thread before the call.
        previous: Field<Ref<u8>> = 16,
    }
}

/// Size of the struct that holds the device and the stream of a call.
pub(crate) const PLACE_SIZE: u32 = 24;

/// Byte offset of the device, its type and its index in 32 bits each.
pub(crate) const PLACE_DEVICE: i32 = 0;

/// Byte offset of the stream.
pub(crate) const PLACE_STREAM: i32 = 8;

/// Makes the stream of a place the thread's.
#[routine(inline)]
pub(crate) fn enter_stream(place: &Place, device: u64, stream: &u8) {
    place.device = device;
    place.stream = stream;
    set_stream(device as i32, (device >> 32) as i32, stream, &place.previous);
}

/// Gives the thread back the stream that it had before the call, if the call has one.
#[routine]
pub(crate) fn leave_stream(place: &Place) {
    let device = place.device;
    if device != 0 {
        set_stream(device as i32, (device >> 32) as i32, place.previous, null);
    }
}
