//! The unwinder of the process passes through wrappers.

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::ir::runtimes;
use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Arg, Jit};

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
    fn _Unwind_FindEnclosingFunction(address: *mut c_void) -> *mut c_void;
}

unsafe extern "C" fn visit(context: *mut c_void, frames: *mut c_void) -> i32 {
    // SAFETY: the unwinder passes its context, and the vector that it was given.
    unsafe { (*frames.cast::<Vec<usize>>()).push(_Unwind_GetIP(context)) };
    0
}

static CALLER: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of frames behind that of the wrapper; -1 if there is no frame of the wrapper.
extern "C" fn depth() -> i64 {
    let mut frames: Vec<usize> = Vec::new();
    // SAFETY: the vector is what `visit` expects.
    unsafe { _Unwind_Backtrace(visit, (&raw mut frames).cast()) };
    let wrapper = CALLER.load(Ordering::SeqCst);
    let in_wrapper = frames.iter().position(|&address| {
        // SAFETY: the unwinder only looks the address up.
        let start = unsafe {
            _Unwind_FindEnclosingFunction(std::ptr::with_exposed_provenance_mut(address - 1))
        };
        start.addr() == wrapper
    });
    // Behind the wrapper come the frames of the test.
    in_wrapper.map_or(-1, |index| (frames.len() - index) as i64)
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn backtraces_pass_through_wrappers() {
    // The kernel ignores what it is given; functions that pass many words have another register allocator.
    for count in [0, 100] {
        let list = |each: fn(usize) -> String| (0..count).map(each).collect::<Vec<_>>().join(", ");
        let (params, args) = (list(|i| format!("x{i}: int64")), list(|i| format!("x{i}")));
        let library: Library =
            format!("depth({params}) -> int64 = depth({args});").parse().unwrap();
        for runtime in runtimes() {
            let jit = Jit::with_runtime(runtime).unwrap();
            // SAFETY: the kernel is sound, and callers remove the arguments in the C ABIs of 64-bit machines.
            let jit = unsafe { jit.kernel_at("depth", depth as *const u8) };
            let function = jit.compile(&library).unwrap().function("depth").unwrap();
            CALLER.store(function.as_ptr() as usize, Ordering::SeqCst);
            let found: i64 = function.call(vec![Arg::from(7); count]).unwrap().try_into().unwrap();
            assert!(found > 3, "{count}: {found}");
        }
    }
}
