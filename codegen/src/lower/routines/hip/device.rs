//! Devices: making the device of a launch current, and the one that was current again.

use crate::ir::typed::routine;
use crate::lower::hip::{self, Entry};
use crate::lower::routines::driver::Hip;
use crate::lower::routines::driver::failed::{Attempt, check_driver, check_of};
use crate::lower::routines::memory::Caller;

/// Makes a device current. Returns 0 if it already is, else one more than the index of the device that was, or -1 once
/// it has raised.
#[routine]
pub(crate) fn enter_device(attempt: Attempt<Hip>) -> i32 {
    let current: i32;
    check_of(Entry::GetDevice, attempt, hip::get_device(current))?;
    if *current as u64 == attempt.device {
        return 0;
    }
    let mut status = hip::HIP_ERROR_INVALID_DEVICE;
    if attempt.device <= i32::MAX as u64 {
        status = hip::set_device(attempt.device as i32);
    }
    check_of(Entry::SetDevice, attempt, status)?;
    *current + 1
}

/// Makes the device current that was so before [`enter_device()`], which has returned `entered`. Returns 0, or -1 once
/// it has raised. A `status` that is not 0 is an earlier failure, whose error takes precedence.
#[routine]
pub(crate) fn leave_device(caller: Caller, entered: i32, status: i32) -> i32 {
    if entered == 0 {
        return 0;
    }
    let left = hip::set_device(entered - 1);
    if status != 0 {
        return 0;
    }
    check_driver::<Hip>(Entry::SetDevice, caller, left)
}
