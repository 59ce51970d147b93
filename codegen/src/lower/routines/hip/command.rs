//! Commands on streams other than launches: filling, copying and writing device memory, and waiting for a stream. Also
//! attributes of devices.

use crate::ir::typed::{Int, Ref, handles, routine};
use crate::lower::cuda::{ATTRIBUTE_DEVICE_SHIFT, ATTRIBUTE_KNOWN};
use crate::lower::hip::{self, Entry, HipEvent, HipStream, driver_address};
use crate::lower::routines::cuda::command::{NO_ATTRIBUTE, NO_DEVICE};
use crate::lower::routines::hip::device::{enter_device, leave_device};
use crate::lower::routines::hip::driver::open_hip;
use crate::lower::routines::hip::failed::{Attempt, check_driver, hip_failed, name_of};
use crate::lower::routines::memory::Caller;

handles! {
    /// A command on a stream of a device. `caller` is the function that messages name.
    pub(crate) struct Command {
        caller: Caller,
        /// The device index. A negative index becomes a large `u64`.
        device: Int<u64>,
        stream: Ref<HipStream>,
    }
}

/// Fills `bytes` bytes of device memory with a byte. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn hip_fill(command: Command, to: &u8, bytes: u64, value: i32) -> i32 {
    if bytes == 0 {
        return 0;
    }
    let entered = begin(command, command.stream);
    if entered < 0 {
        return -1;
    }
    let status = hip::memset_async(to, value, bytes, command.stream);
    end(Entry::MemsetAsync, command, entered, status)
}

/// Copies `bytes` bytes. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn hip_copy(command: Command, to: &u8, from: &u8, bytes: u64) -> i32 {
    if bytes == 0 {
        return 0;
    }
    let entered = begin(command, command.stream);
    if entered < 0 {
        return -1;
    }
    let status = hip::memcpy_async(to, from, bytes, hip::HIP_MEMCPY_DEFAULT, command.stream);
    end(Entry::MemcpyAsync, command, entered, status)
}

/// Writes `count` words of 32 bits to device memory, each by a command that contains it. Returns 0, or -1 once it has
/// raised. `_room` is what other platforms need.
#[routine]
pub(crate) fn hip_upload(command: Command, to: &u32, words: &u32, count: u64, _room: &u8) -> i32 {
    let entered = begin(command, command.stream);
    if entered < 0 {
        return -1;
    }
    let mut status: i32 = 0;
    for at in 0..count {
        if status == 0 {
            status = hip::memset_d32_async(&to[at], words[at], 1, command.stream);
        }
    }
    end(Entry::MemsetD32Async, command, entered, status)
}

/// Makes a stream wait for the work that another one has been given so far. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn hip_wait(command: Command, other: &HipStream) -> i32 {
    let event: &HipEvent;
    hip_record(command, other, event)?;
    let mut code: i32 = -1;
    let entered = begin(command, command.stream);
    if entered >= 0 {
        let status = hip::stream_wait_event(command.stream, *event, 0);
        code = end(Entry::StreamWaitEvent, command, entered, status);
    }
    let status = hip::event_destroy(*event);
    if code != 0 {
        return code;
    }
    check_driver(Entry::EventDestroy, command.caller, status)
}

/// Creates an event after the work of a stream, on the device of the stream. Returns 0, or -1 once it has raised; then
/// there is no event.
#[routine]
pub(crate) fn hip_record(command: Command, stream: &HipStream, event: &&HipEvent) -> i32 {
    let entered = begin(command, stream);
    if entered < 0 {
        return -1;
    }
    let created = hip::event_create_with_flags(event, hip::HIP_EVENT_DISABLE_TIMING);
    if created != 0 {
        return end(Entry::EventCreateWithFlags, command, entered, created);
    }
    let recorded = hip::event_record(*event, stream);
    let code = end(Entry::EventRecord, command, entered, recorded);
    if code != 0 {
        hip::event_destroy(*event);
    }
    code
}

/// Opens the runtime and makes the device of a stream current: of the default stream that of the command. Returns as
/// [`enter_device()`] does.
#[routine(inline)]
fn begin(command: Command, stream: &HipStream) -> i32 {
    open_hip(command.caller)?;
    stream_device(command, stream)
}

/// Makes the device of a stream current. Returns as [`enter_device()`] does.
#[routine]
pub(crate) fn stream_device(command: Command, stream: &HipStream) -> i32 {
    let mut device = command.device;
    if device as i64 == NO_DEVICE {
        if stream == null || driver_address(Entry::StreamGetDevice) == null {
            return 0;
        }
        let found: i32;
        let status = hip::stream_get_device(stream, found);
        check_driver(Entry::StreamGetDevice, command.caller, status)?;
        device = *found as u64;
    }
    enter_device(Attempt { caller: command.caller, kernel: null, device })
}

/// Makes the device current again that was so and checks the status of a command. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn end(#[known] entry: Entry, command: Command, entered: i32, status: i32) -> i32 {
    leave_device(command.caller, entered, status)?;
    check_driver(entry, command.caller, status)
}

/// Asks the runtime for an attribute of a device and stores it in a cell, as the routine for CUDA does. Returns the
/// attribute, or [`NO_ATTRIBUTE`] once it has raised.
#[routine]
pub(crate) fn hip_device_attribute(caller: Caller, cell: &u64, device: u64, id: i32) -> i64 {
    let known = cell.load_atomic();
    if known >> ATTRIBUTE_DEVICE_SHIFT == device ^ ATTRIBUTE_KNOWN {
        return known as i32 as i64;
    }
    if open_hip(caller) != 0 {
        return NO_ATTRIBUTE;
    }
    let value: i32;
    let mut status = hip::HIP_ERROR_INVALID_DEVICE;
    if device <= i32::MAX as u64 {
        status = hip::device_get_attribute(value, id, device as i32);
    }
    if status != 0 {
        hip_failed(caller, name_of(Entry::DeviceGetAttribute), status);
        return NO_ATTRIBUTE;
    }
    cell.store_atomic((device ^ ATTRIBUTE_KNOWN) << ATTRIBUTE_DEVICE_SHIFT | *value as u32 as u64);
    *value as i64
}

/// Prepares commands on a device: opens the runtime, and makes the device current once so that it is initialized. Returns
/// 0, or -1 once it has raised.
#[routine]
pub(crate) fn hip_prepare_commands(caller: Caller, device: u64) -> i32 {
    open_hip(caller)?;
    let entered = enter_device(Attempt { caller, kernel: null, device });
    if entered < 0 {
        return -1;
    }
    leave_device(caller, entered, 0)
}
