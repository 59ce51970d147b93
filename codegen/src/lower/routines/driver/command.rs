//! Commands on streams other than launches: filling, copying and writing device memory, and waiting for a stream. Also
//! attributes of devices.

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, handles, routine};
use crate::lower::cuda::{ATTRIBUTE_DEVICE_SHIFT, ATTRIBUTE_KNOWN};
use crate::lower::driver::{Event, Stream};
use crate::lower::dynamic::{Entries, call, entry_address};
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::driver::Driver;
use crate::lower::routines::driver::failed::{Attempt, check_driver, driver_failed, name_of};
use crate::lower::routines::driver::open::open_driver;
use crate::lower::routines::memory::Caller;
use crate::lower::routines::message::raise;

/// Device of a wait whose streams are not known to belong to one.
pub(crate) const NO_DEVICE: i64 = i64::MIN;

/// Result of [`device_attribute()`] after an error.
pub(crate) const NO_ATTRIBUTE: i64 = i64::MIN;

handles! {
    /// A command on a stream of a device. `caller` is the function that messages name.
    pub(crate) struct Command {
        caller: Caller,
        /// The device index, which is a `CUdevice`. A negative index becomes a large `u64`.
        device: Int<u64>,
        stream: Ref<Stream>,
    }
}

/// Fills `bytes` bytes of device memory with a byte. Returns 0, or -1 once it has raised.
#[routine(D::FILL)]
pub(crate) fn fill<D: Driver>(command: Command, to: &u8, bytes: u64, value: i32) -> i32 {
    if bytes == 0 {
        return 0;
    }
    let entered = begin::<D>(D::MEMSET, command);
    if entered < 0 {
        return -1;
    }
    let status = call(D::MEMSET, (to, value, bytes, command.stream));
    end::<D>(D::MEMSET, command, entered, status)
}

/// Copies `bytes` bytes. Returns 0, or -1 once it has raised.
#[routine(D::COPY)]
pub(crate) fn copy<D: Driver>(command: Command, to: &u8, from: &u8, bytes: u64) -> i32 {
    if bytes == 0 {
        return 0;
    }
    let entered = begin::<D>(D::MEMCPY, command);
    if entered < 0 {
        return -1;
    }
    let status = D::copy_memory(to, from, bytes, command.stream);
    end::<D>(D::MEMCPY, command, entered, status)
}

/// Writes `count` words of 32 bits to device memory, each by a command that contains it, and ends the command. Returns
/// 0, or -1 once it has raised.
#[routine(inline)]
pub(crate) fn write_words<D: Driver>(
    command: Command,
    entered: i32,
    to: &u32,
    words: &u32,
    count: u64,
) -> i32 {
    let mut status: i32 = 0;
    for at in 0..count {
        if status == 0 {
            status = call(D::MEMSET_WORDS, (&to[at], words[at], 1_u64, command.stream));
        }
    }
    end::<D>(D::MEMSET_WORDS, command, entered, status)
}

/// Makes a stream wait for the work that another one has been given so far. Returns 0, or -1 once it has raised.
#[routine(D::WAIT)]
pub(crate) fn wait<D: Driver>(command: Command, other: &Stream) -> i32 {
    let caller = command.caller;
    open_driver::<D>(caller)?;
    D::can_wait(caller)?;
    let event: &Event;
    record::<D>(command, other, event)?;
    let code = wait_for::<D>(command, *event);
    let status = call(D::EVENT_DESTROY, *event);
    if code != 0 {
        return code;
    }
    check_driver::<D>(D::EVENT_DESTROY, caller, status)
}

/// Creates an event after the work of a stream, on the device of the stream. Returns 0, or -1 once it has raised; then
/// there is no event.
#[routine(D::RECORD)]
pub(crate) fn record<D: Driver>(command: Command, stream: &Stream, event: &&Event) -> i32 {
    let entered = D::enter_stream(command, stream);
    if entered < 0 {
        return -1;
    }
    let created = call(D::EVENT_CREATE, (event, D::DISABLE_TIMING));
    if created != 0 {
        return end::<D>(D::EVENT_CREATE, command, entered, created);
    }
    let recorded = call(D::EVENT_RECORD, (*event, stream));
    let code = end::<D>(D::EVENT_RECORD, command, entered, recorded);
    if code != 0 {
        call(D::EVENT_DESTROY, *event);
    }
    code
}

/// Makes the stream of a command wait for an event. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn wait_for<D: Driver>(command: Command, event: &Event) -> i32 {
    let entered = D::enter_waiter(command);
    if entered < 0 {
        return -1;
    }
    let status = call(D::STREAM_WAIT_EVENT, (command.stream, event, 0_i32));
    end::<D>(D::STREAM_WAIT_EVENT, command, entered, status)
}

/// Opens the library and makes the device of a command current, which all but launches want. Returns as
/// [`Driver::enter`] does.
#[routine(inline)]
pub(crate) fn begin<D: Driver>(#[known] entry: D::Entry, command: Command) -> i32 {
    open_driver::<D>(command.caller)?;
    has(entry, command.caller)?;
    D::enter(Attempt { caller: command.caller, kernel: null, device: command.device })
}

/// Makes what was current before a command current again and checks the status of the command. Returns 0, or -1 once it
/// has raised.
#[routine(inline)]
pub(crate) fn end<D: Driver>(
    #[known] entry: D::Entry,
    command: Command,
    entered: i32,
    status: i32,
) -> i32 {
    D::leave(command.caller, entered, status)?;
    check_driver::<D>(entry, command.caller, status)
}

/// Checks that the open library has a function, unless all have it. Returns 0, or -1 once it has raised.
pub(crate) fn has(b: &mut Builder<'_>, entry: impl Entries, caller: Caller) -> Option<Int<i32>> {
    (!entry.is_needed()).then(|| is_there(b, entry, caller))
}

/// Checks that the open library has a function. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn is_there(#[known] entry: impl Entries, caller: Caller) -> i32 {
    if entry_address(entry) == null {
        raise!(caller, Complaint::NoCommand, name_of(entry));
    }
    0
}

/// Asks the library for an attribute of a device and stores it in a cell. Returns the attribute, or [`NO_ATTRIBUTE`]
/// once it has raised.
///
/// The cell holds the attribute of one device, the last one that was asked: the attribute in the low half, in the high
/// half the index of the device with its highest bit inverted, so that an empty cell is that of no device.
#[routine(D::DEVICE_ATTRIBUTE)]
pub(crate) fn device_attribute<D: Driver>(caller: Caller, cell: &u64, device: u64, id: i32) -> i64 {
    let known = cell.load_atomic();
    if known >> ATTRIBUTE_DEVICE_SHIFT == device ^ ATTRIBUTE_KNOWN {
        return known as i32 as i64;
    }
    if open_driver::<D>(caller) != 0 {
        return NO_ATTRIBUTE;
    }
    let value: i32;
    let mut status = D::INVALID_DEVICE;
    if device <= i32::MAX as u64 {
        status = call(D::DEVICE_GET_ATTRIBUTE, (value, id, device as i32));
    }
    if status != 0 {
        driver_failed::<D>(caller, name_of(D::DEVICE_GET_ATTRIBUTE), status);
        return NO_ATTRIBUTE;
    }
    cell.store_atomic((device ^ ATTRIBUTE_KNOWN) << ATTRIBUTE_DEVICE_SHIFT | *value as u32 as u64);
    *value as i64
}

/// Asks the library for the current device: 0 on a thread that has none yet. Returns its index, or [`NO_ATTRIBUTE`]
/// once it has raised.
#[routine(D::CURRENT_DEVICE)]
pub(crate) fn current_device<D: Driver>(caller: Caller) -> i64 {
    if open_driver::<D>(caller) != 0 {
        return NO_ATTRIBUTE;
    }
    let device: i32;
    *device = 0;
    let status = call(D::GET_DEVICE, device);
    if status == D::NO_DEVICE_YET {
        return 0;
    }
    if status != 0 {
        driver_failed::<D>(caller, name_of(D::GET_DEVICE), status);
        return NO_ATTRIBUTE;
    }
    *device as i64
}
