//! Threads: the number of the current one, and a pause. The functions of the platform are found when they are needed,
//! so that no object imports them.

use crate::ir::Builder;
use crate::ir::typed::{Int, Ref, Single, Text, call_indirect, routine};
use crate::lower::dynamic::Loader;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::loading::{self, dl, load, windows};
use crate::lower::routines::memory::Caller;
use crate::lower::routines::message::raise;

/// Symbols of the routines, which depend on the platform.
const THIS_THREAD: &str = "tvm_ffi_codegen.this_thread";
const PAUSE: &str = "tvm_ffi_codegen.pause";

/// Length of a pause, in microseconds and, on Windows, in milliseconds.
const MICROSECONDS: u32 = 1000;
const MILLISECONDS: u32 = 1;

/// Stores the number of this thread, which is above 1. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn this_thread(caller: Caller, number: &u64) -> i32 {
    let function = of_process("pthread_self\0");
    if function == null {
        raise!(caller, Complaint::Missing, "pthread_self");
    }
    *number = wide(function);
    0
}

/// Stores the number of this thread. Returns as [`this_thread()`] does.
#[routine(THIS_THREAD)]
pub(crate) fn this_thread_on_windows(caller: Caller, number: &u64) -> i32 {
    let function = of_system("GetCurrentThreadId\0");
    if function == null {
        raise!(caller, Complaint::Missing, "GetCurrentThreadId");
    }
    *number = narrow(function) as u64;
    0
}

/// Lets other threads run for a while. Returns 0, or -1 once it has raised.
#[routine]
pub(crate) fn pause(caller: Caller) -> i32 {
    let function = of_process("usleep\0");
    if function == null {
        raise!(caller, Complaint::Missing, "usleep");
    }
    sleep(function, MICROSECONDS);
    0
}

/// Lets other threads run for a while. Returns as [`pause()`] does.
#[routine(PAUSE)]
pub(crate) fn pause_on_windows(caller: Caller) -> i32 {
    let function = of_system("Sleep\0");
    if function == null {
        raise!(caller, Complaint::Missing, "Sleep");
    }
    sleep_on_windows(function, MILLISECONDS);
    0
}

/// Looks up a function of the process, by a name that ends with a NUL. Returns NULL if there is none. `dlopen(NULL)` is
/// the process.
#[routine(inline)]
fn of_process(name: Text) -> &u8 {
    let nothing: &u8 = null;
    found(dl(), load(dl(), nothing), name.data)
}

/// Looks up a function of the library that every process on Windows has loaded. Returns NULL if there is none.
#[routine(inline)]
fn of_system(name: Text) -> &u8 {
    let file = "kernel32.dll\0";
    found(windows(), load(windows(), file.data), name.data)
}

/// Looks up a function of a library. Returns NULL if either is not there.
#[routine(inline)]
fn found(#[known] loader: Loader, library: &u8, name: &u8) -> &u8 {
    let mut function: &u8 = null;
    if library != null {
        function = loading::function(loader, library, name);
    }
    function
}

/// Calls `pthread_t function(void)`.
fn wide(b: &mut Builder<'_>, function: Ref<u8>) -> Int<u64> {
    let function = function.value(b);
    call_indirect(b, function, ())
}

/// Calls `DWORD function(void)`.
fn narrow(b: &mut Builder<'_>, function: Ref<u8>) -> Int<u32> {
    let function = function.value(b);
    call_indirect(b, function, ())
}

/// Calls `int function(useconds_t)`.
fn sleep(b: &mut Builder<'_>, function: Ref<u8>, length: Int<u32>) -> Int<i32> {
    let function = function.value(b);
    call_indirect(b, function, length)
}

/// Calls `void function(DWORD)`.
fn sleep_on_windows(b: &mut Builder<'_>, function: Ref<u8>, length: Int<u32>) {
    let function = function.value(b);
    call_indirect(b, function, length)
}
