//! Commands on streams, as far as CUDA has others than HIP: operations on memory, and contexts of streams.

use crate::ir::Builder;
use crate::ir::typed::{Ref, routine};
use crate::lower::cuda::{self, CU_STREAM_PER_THREAD, CuContext, Entry, MemOp};
use crate::lower::driver::Stream;
use crate::lower::dynamic::{entry_address, variable};
use crate::lower::routines::cuda::context::{enter_context, leave_context, push_primary};
use crate::lower::routines::driver::Cuda;
use crate::lower::routines::driver::command::{
    Command, NO_ATTRIBUTE, NO_DEVICE, begin, device_attribute, end, has, write_words,
};
use crate::lower::routines::driver::failed::{Attempt, check_driver, driver_failed, name_of};
use crate::lower::routines::driver::open::open_driver;
use crate::lower::routines::memory::Caller;

const LAST_DEFAULT: u64 = CU_STREAM_PER_THREAD as u64;

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
    let wide =
        device_attribute::<Cuda>(command.caller, wide_operations(), device, cuda::WIDE_OPERATIONS);
    if wide == NO_ATTRIBUTE {
        return -1;
    }
    let entered = begin::<Cuda>(Entry::MemsetD32Async, command);
    if entered < 0 {
        return -1;
    }
    if entry_address(Entry::StreamBatchMemOp) != null {
        let status = operate(command.stream, to, words, count, operations, wide);
        if status != cuda::CUDA_ERROR_NOT_SUPPORTED {
            return end::<Cuda>(Entry::StreamBatchMemOp, command, entered, status);
        }
    }
    write_words::<Cuda>(command, entered, to, words, count)
}

/// Emits the address of the cell of the attribute [`WIDE_OPERATIONS`](cuda::WIDE_OPERATIONS).
fn wide_operations(b: &mut Builder<'_>) -> Ref<u64> {
    variable(b, "tvm_ffi_codegen.wide_operations", 1)
}

/// Writes words by operations on memory: two at an aligned address if the device is `wide`, else one. Returns the
/// status of the driver.
#[routine]
pub(crate) fn operate(
    stream: &Stream,
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

/// Checks that the open driver has what waits need. Returns 0, or -1 once it has raised.
#[routine(inline)]
pub(crate) fn can_wait(caller: Caller) -> i32 {
    has(Entry::StreamGetCtx, caller)?;
    has(Entry::EventCreate, caller)?;
    has(Entry::EventRecord, caller)?;
    has(Entry::StreamWaitEvent, caller)?;
    has(Entry::EventDestroy, caller)?;
    0
}

/// Makes a context for the stream of a command current, if it is a default stream, which belongs to the current one.
/// Returns as [`enter_context()`] does.
#[routine(inline)]
pub(crate) fn enter_waiter(command: Command) -> i32 {
    let mut entered: i32 = 0;
    if command.stream as u64 <= LAST_DEFAULT {
        entered = enter_stream(command, command.stream);
    }
    entered
}

/// Makes the context of a stream current; of a default stream a context of the device. Returns 1 if it has pushed a
/// context, else 0, or -1 once it has raised.
#[routine]
pub(crate) fn enter_stream(command: Command, stream: &Stream) -> i32 {
    let (caller, device) = (command.caller, command.device);
    if stream as u64 > LAST_DEFAULT {
        let context: &CuContext;
        check_driver::<Cuda>(Entry::StreamGetCtx, caller, cuda::stream_get_ctx(stream, context))?;
        check_driver::<Cuda>(Entry::CtxPushCurrent, caller, cuda::ctx_push_current(*context))?;
        return 1;
    }
    if device as i64 == NO_DEVICE {
        return 0;
    }
    enter_context(Attempt { caller, kernel: null, device })
}

/// Prepares commands on a device: opens the driver and makes the primary context exist. Returns 0, or -1 once it has
/// raised.
#[routine]
pub(crate) fn prepare_commands(caller: Caller, device: u64) -> i32 {
    open_driver::<Cuda>(caller)?;
    if device > i32::MAX as u64 {
        let entry = name_of(Entry::DevicePrimaryCtxRetain);
        driver_failed::<Cuda>(caller, entry, cuda::CUDA_ERROR_INVALID_DEVICE);
        return -1;
    }
    push_primary(Attempt { caller, kernel: null, device })?;
    leave_context(caller, 0)
}
