//! Commands on streams other than launches: filling, copying and writing device memory, and waiting for a stream. Also
//! attributes of devices.

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, handles, routine};
use crate::lower::cuda::{
    self, ATTRIBUTE_DEVICE_SHIFT, ATTRIBUTE_KNOWN, CU_STREAM_PER_THREAD, CuContext, CuEvent,
    CuStream, Entry, MemOp, driver_address,
};
use crate::lower::driver::variable;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::cuda::context::{enter_context, leave_context, push_primary};
use crate::lower::routines::cuda::driver::open_driver;
use crate::lower::routines::cuda::failed::{Attempt, check_driver, driver_failed, name_of};
use crate::lower::routines::memory::Caller;
use crate::lower::routines::message::raise;

/// Device of a wait whose streams are not known to belong to one.
pub(crate) const NO_DEVICE: i64 = i64::MIN;

/// Result of [`device_attribute()`] after an error.
pub(crate) const NO_ATTRIBUTE: i64 = i64::MIN;

const LAST_DEFAULT: u64 = CU_STREAM_PER_THREAD as u64;

handles! {
    /// A command on a stream of a device. `caller` is the function that messages name.
    pub(crate) struct Command {
        caller: Caller,
        /// The `CUdevice`, which is the device index. A negative index becomes a large `u64`.
        device: Int<u64>,
        stream: Ref<CuStream>,
    }
}

/// Fills `bytes` bytes of device memory with a byte. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn fill(command: Command, to: &u8, bytes: u64, value: i32) -> i32 {
    if bytes == 0 {
        return 0;
    }
    let entered = begin(Entry::MemsetD8Async, command);
    if entered < 0 {
        return -1;
    }
    let status = cuda::memset_d8_async(to, value, bytes, command.stream);
    end(Entry::MemsetD8Async, command, entered, status)
}

/// Copies `bytes` bytes. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn copy(command: Command, to: &u8, from: &u8, bytes: u64) -> i32 {
    if bytes == 0 {
        return 0;
    }
    let entered = begin(Entry::MemcpyAsync, command);
    if entered < 0 {
        return -1;
    }
    let status = cuda::memcpy_async(to, from, bytes, command.stream);
    end(Entry::MemcpyAsync, command, entered, status)
}

/// Writes `count` words of 32 bits to device memory. `operations` has room for as many operations as words, and for
/// [`MOST_OPERATIONS`](cuda::MOST_OPERATIONS) at most. Returns 0, or -1 once it has raised.
///
/// Operations on memory contain the words. A driver or device without such operations gets a fill for each word.
#[routine]
pub(crate) fn upload(
    command: Command,
    to: &u32,
    words: &u32,
    count: u64,
    operations: &MemOp,
) -> i32 {
    let device = command.device;
    let wide = device_attribute(command.caller, wide_operations(), device, cuda::WIDE_OPERATIONS);
    if wide == NO_ATTRIBUTE {
        return -1;
    }
    let entered = begin(Entry::MemsetD32Async, command);
    if entered < 0 {
        return -1;
    }
    if driver_address(Entry::StreamBatchMemOp) != null {
        let status = operate(command.stream, to, words, count, operations, wide);
        if status != cuda::CUDA_ERROR_NOT_SUPPORTED {
            return end(Entry::StreamBatchMemOp, command, entered, status);
        }
    }
    let mut status: i32 = 0;
    for at in 0..count {
        if status == 0 {
            status = cuda::memset_d32_async(&to[at], words[at], 1, command.stream);
        }
    }
    end(Entry::MemsetD32Async, command, entered, status)
}

/// Emits the address of the cell of the attribute [`WIDE_OPERATIONS`](cuda::WIDE_OPERATIONS).
fn wide_operations(b: &mut Builder<'_>) -> Ref<u64> {
    variable(b, "tvm_ffi_codegen.wide_operations", 1)
}

/// Writes words by operations on memory: two at an aligned address if the device is `wide`, else one. Returns the status
/// of the driver.
#[routine]
pub(crate) fn operate(
    stream: &CuStream,
    to: &u32,
    words: &u32,
    count: u64,
    operations: &MemOp,
    wide: i64,
) -> i32 {
    let mut at: u64 = 0;
    while at < count {
        let mut used: u64 = 0;
        while at < count && used < cuda::MOST_OPERATIONS {
            let operation = &operations[used];
            let address = &to[at];
            operation.kind = cuda::WRITE_VALUE_32;
            operation.address = address as u64;
            operation.value = words[at] as u64;
            operation.flags = 0;
            operation.alias = 0;
            operation.padding = 0;
            if wide != 0 && at + 1 < count && address as u64 & 7 == 0 {
                operation.kind = cuda::WRITE_VALUE_64;
                at += 1;
                operation.value = operation.value | (words[at] as u64) << 32;
            }
            at += 1;
            used += 1;
        }
        let status = cuda::stream_batch_mem_op(stream, used as u32, operations, 0);
        if status != 0 {
            return status;
        }
    }
    0
}

/// Opens the driver and makes a context of the device current, which the driver wants for every command but a launch.
/// Returns 1 if it has pushed a context, else 0, or -1 once it has raised.
#[routine(inline)]
fn begin(#[known] entry: Entry, command: Command) -> i32 {
    open_driver(command.caller)?;
    has(entry, command.caller)?;
    enter_context(Attempt { caller: command.caller, kernel: null, device: command.device })
}

/// Leaves the context and checks the status of a command. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn end(#[known] entry: Entry, command: Command, entered: i32, status: i32) -> i32 {
    leave(command.caller, entered, status)?;
    check_driver(entry, command.caller, status)
}

/// Pops the context if one was pushed. Returns 0, or -1 once it has raised. No error of popping is raised if `status`
/// is not 0.
#[routine(inline)]
fn leave(caller: Caller, entered: i32, status: i32) -> i32 {
    let mut left: i32 = 0;
    if entered != 0 {
        left = leave_context(caller, status);
    }
    left
}

/// Checks that the open driver has a function. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn has(#[known] entry: Entry, caller: Caller) -> i32 {
    if driver_address(entry) == null {
        raise!(caller, Complaint::NoCommand, name_of(entry));
    }
    0
}

/// Makes a stream wait for the work that another one has been given so far. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn wait(command: Command, other: &CuStream) -> i32 {
    let caller = command.caller;
    open_driver(caller)?;
    has(Entry::StreamGetCtx, caller)?;
    has(Entry::EventCreate, caller)?;
    has(Entry::EventRecord, caller)?;
    has(Entry::StreamWaitEvent, caller)?;
    has(Entry::EventDestroy, caller)?;
    let event: &CuEvent;
    record(command, other, event)?;
    let code = wait_for(command, *event);
    let status = cuda::event_destroy(*event);
    if code != 0 {
        return code;
    }
    check_driver(Entry::EventDestroy, caller, status)
}

/// Creates an event after the work of a stream, in the context of the stream. Returns 0, or -1 once it has raised; then
/// there is no event.
#[routine]
pub(crate) fn record(command: Command, stream: &CuStream, event: &&CuEvent) -> i32 {
    let caller = command.caller;
    let entered = enter_stream(command, stream);
    if entered < 0 {
        return -1;
    }
    let created = cuda::event_create(event, cuda::CU_EVENT_DISABLE_TIMING);
    if created != 0 {
        return end(Entry::EventCreate, command, entered, created);
    }
    let recorded = cuda::event_record(*event, stream);
    let mut code = leave(caller, entered, recorded);
    if code == 0 {
        code = check_driver(Entry::EventRecord, caller, recorded);
    }
    if code != 0 {
        cuda::event_destroy(*event);
    }
    code
}

/// Makes the stream of a command wait for an event. Returns 0, or -1 once it has raised.
#[routine(inline)]
fn wait_for(command: Command, event: &CuEvent) -> i32 {
    let mut entered: i32 = 0;
    if command.stream as u64 <= LAST_DEFAULT {
        entered = enter_stream(command, command.stream);
    }
    if entered < 0 {
        return -1;
    }
    let status = cuda::stream_wait_event(command.stream, event, 0);
    end(Entry::StreamWaitEvent, command, entered, status)
}

/// Makes the context of a stream current; of a default stream a context of the device. Returns 1 if it has pushed a
/// context, else 0, or -1 once it has raised.
#[routine]
pub(crate) fn enter_stream(command: Command, stream: &CuStream) -> i32 {
    let (caller, device) = (command.caller, command.device);
    if stream as u64 > LAST_DEFAULT {
        let context: &CuContext;
        check_driver(Entry::StreamGetCtx, caller, cuda::stream_get_ctx(stream, context))?;
        check_driver(Entry::CtxPushCurrent, caller, cuda::ctx_push_current(*context))?;
        return 1;
    }
    if device as i64 == NO_DEVICE {
        return 0;
    }
    enter_context(Attempt { caller, kernel: null, device })
}

/// Asks the driver for an attribute of a device and stores it in a cell. Returns the attribute, or [`NO_ATTRIBUTE`]
/// once it has raised.
///
/// The cell holds the attribute of one device, the last one that was asked: the attribute in the low half, in the high
/// half the index of the device with its highest bit inverted, so that an empty cell is that of no device.
#[routine]
pub(crate) fn device_attribute(caller: Caller, cell: &u64, device: u64, id: i32) -> i64 {
    let known = cell.load_atomic();
    if known >> ATTRIBUTE_DEVICE_SHIFT == device ^ ATTRIBUTE_KNOWN {
        return known as i32 as i64;
    }
    if open_driver(caller) != 0 {
        return NO_ATTRIBUTE;
    }
    let value: i32;
    let mut status = cuda::CUDA_ERROR_INVALID_DEVICE;
    if device <= i32::MAX as u64 {
        status = cuda::device_get_attribute(value, id, device as i32);
    }
    if status != 0 {
        driver_failed(caller, name_of(Entry::DeviceGetAttribute), status);
        return NO_ATTRIBUTE;
    }
    cell.store_atomic((device ^ ATTRIBUTE_KNOWN) << ATTRIBUTE_DEVICE_SHIFT | *value as u32 as u64);
    *value as i64
}

/// Prepares commands on a device: opens the driver and makes the primary context exist. Returns 0, or -1 once it has
/// raised.
#[routine]
pub(crate) fn prepare_commands(caller: Caller, device: u64) -> i32 {
    open_driver(caller)?;
    if device > i32::MAX as u64 {
        driver_failed(
            caller,
            name_of(Entry::DevicePrimaryCtxRetain),
            cuda::CUDA_ERROR_INVALID_DEVICE,
        );
        return -1;
    }
    push_primary(Attempt { caller, kernel: null, device })?;
    leave_context(caller, 0)
}
