//! Device variables of images, and the functions that are called once an image is loaded on a device.

use abi_spec::TypeIndex;

use crate::ir::typed::routine;
use crate::lower::driver::{DEVICES, HOOK_DONE, HOOK_OPEN};
use crate::lower::routines::driver::Driver;
use crate::lower::routines::driver::failed::{Attempt, check, kernel_failed};
use crate::lower::routines::driver::open::open_driver;
use crate::lower::routines::driver::thread::{pause, this_thread};
use crate::lower::routines::functions::call_named;
use crate::lower::routines::memory::{Any, NamedCallee, write};

/// Finds a device variable, which stands in the place of a kernel, on a device, and loads its image before. Stores the
/// address in the table of places, by the device, and behind all addresses the size in bytes. Returns 0, or -1 once it
/// has raised. Threads that find it at once store the same.
#[routine(D::FIND_GLOBAL)]
pub(crate) fn find_global<D: Driver>(attempt: Attempt<D>, places: &u64) -> i32 {
    open_driver::<D>(attempt.caller)?;
    let entered = enter(attempt);
    if entered < 0 {
        return -1;
    }
    let code = find_here(attempt, places);
    let left = D::leave(attempt.caller, entered, code);
    if code != 0 { code } else { left }
}

/// Finds a device variable on the current device. Returns as [`find_global()`] does.
#[routine(inline)]
fn find_here<D: Driver>(attempt: Attempt<D>, places: &u64) -> i32 {
    D::load_image(attempt)?;
    let address: &u8;
    let size: u64;
    check(D::GET_GLOBAL, attempt, D::get_global(attempt, address, size))?;
    let device = attempt.device;
    (&places[DEVICES + device]).store_atomic(*size);
    (&places[device]).store_atomic(*address as u64);
    0
}

/// Makes a device current that has a place in tables. Returns as [`Driver::enter`] does.
#[routine(inline)]
fn enter<D: Driver>(attempt: Attempt<D>) -> i32 {
    if attempt.device >= DEVICES {
        kernel_failed(attempt, "", D::INVALID_DEVICE);
        return -1;
    }
    D::enter(attempt)
}

/// Calls the function of an image that is loaded on a device, unless it has been called there. Returns 0, or a status
/// that is not 0 once it has raised; then the next call begins anew.
///
/// `hooks` has a word for each device: [`HOOK_OPEN`], [`HOOK_DONE`], or the number of the thread that makes the call.
/// Other threads wait until it has ended. That thread itself goes on: what the function launches finds the image
/// loaded.
#[routine(D::RUN_HOOK)]
pub(crate) fn run_hook<D: Driver>(attempt: Attempt<D>, hooks: &u64, callee: &NamedCallee) -> i32 {
    if attempt.device >= DEVICES {
        kernel_failed(attempt, "", D::INVALID_DEVICE);
        return -1;
    }
    let number: u64;
    this_thread(attempt.caller, number)?;
    let own = *number;
    let hook = &hooks[attempt.device];
    let mut found = hook.compare_exchange(HOOK_OPEN, own);
    while found != HOOK_OPEN && found != HOOK_DONE && found != own {
        pause(attempt.caller)?;
        found = hook.compare_exchange(HOOK_OPEN, own);
    }
    if found != HOOK_OPEN {
        return 0;
    }
    call_hook(attempt, hook, callee)
}

/// Calls the function of an image with the device current, and stores whether it has been called. Returns as
/// [`run_hook()`] does.
#[routine(inline)]
fn call_hook<D: Driver>(attempt: Attempt<D>, hook: &u64, callee: &NamedCallee) -> i32 {
    let entered = D::enter(attempt);
    if entered < 0 {
        hook.store_atomic(HOOK_OPEN);
        return -1;
    }
    let code = call_here(attempt, callee);
    let next = if code == 0 { HOOK_DONE } else { HOOK_OPEN };
    hook.store_atomic(next);
    let left = D::leave(attempt.caller, entered, code);
    if code != 0 { code } else { left }
}

/// Calls the function of an image. Returns 0, or a status that is not 0 once it has raised.
#[routine(inline)]
fn call_here<D: Driver>(attempt: Attempt<D>, callee: &NamedCallee) -> i32 {
    let (library, module, status) = D::handles(attempt);
    check(D::GET_HANDLES, attempt, status)?;
    let args: [Any; 3];
    write(&args[0], TypeIndex::OPAQUE_PTR, library as u64);
    write(&args[1], TypeIndex::OPAQUE_PTR, module as u64);
    write(&args[2], TypeIndex::INT, attempt.device);
    call_named(attempt.caller, callee, args, 3, null)
}
