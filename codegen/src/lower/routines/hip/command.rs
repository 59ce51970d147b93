//! Commands on streams, as far as HIP has others than CUDA.

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, constant, routine};
use crate::lower::driver::Stream;
use crate::lower::dynamic::entry_address;
use crate::lower::hip::{self, Entry};
use crate::lower::routines::driver::Hip;
use crate::lower::routines::driver::command::{Command, NO_DEVICE, begin, write_words};
use crate::lower::routines::driver::failed::{Attempt, check_driver};
use crate::lower::routines::driver::open::open_driver;
use crate::lower::routines::hip::device::{enter_device, leave_device};
use crate::lower::routines::memory::Caller;

/// Writes `count` words of 32 bits to device memory. Returns 0, or -1 once it has raised. `_room` is what other
/// platforms need.
#[routine]
pub(crate) fn hip_upload(command: Command, to: &u32, words: &u32, count: u64, _room: &u8) -> i32 {
    let entered = begin::<Hip>(Entry::MemsetD32Async, command);
    if entered < 0 {
        return -1;
    }
    write_words::<Hip>(command, entered, to, words, count)
}

/// Copies memory on a stream; yields the status.
pub(crate) fn copy_memory(
    b: &mut Builder<'_>,
    to: Ref<u8>,
    from: Ref<u8>,
    bytes: Int<u64>,
    stream: Ref<Stream>,
) -> Int<i32> {
    let kind = constant(b, hip::HIP_MEMCPY_DEFAULT);
    hip::memcpy_async(b, to, from, bytes, kind, stream)
}

/// Makes the device of the stream of a command current. Returns as [`enter_device()`] does.
pub(crate) fn enter_waiter(b: &mut Builder<'_>, command: Command) -> Int<i32> {
    stream_device(b, command, command.stream)
}

/// Makes the device of a stream current; that of a default stream is the device of the command, and so is that of every
/// stream where the runtime cannot be asked. Returns as [`enter_device()`] does.
#[routine]
pub(crate) fn stream_device(command: Command, stream: &Stream) -> i32 {
    let mut device = command.device;
    if stream as u64 > hip::LAST_DEFAULT && entry_address(Entry::StreamGetDevice) != null {
        let found: i32;
        let status = hip::stream_get_device(stream, found);
        check_driver::<Hip>(Entry::StreamGetDevice, command.caller, status)?;
        device = *found as u64;
    }
    if device as i64 == NO_DEVICE {
        return 0;
    }
    enter_device(Attempt { caller: command.caller, kernel: null, device })
}

/// Prepares commands on a device: opens the runtime, and makes the device current once so that it is initialized.
/// Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn hip_prepare_commands(caller: Caller, device: u64) -> i32 {
    open_driver::<Hip>(caller)?;
    let entered = enter_device(Attempt { caller, kernel: null, device });
    if entered < 0 {
        return -1;
    }
    leave_device(caller, entered, 0)
}
