//! The unwinder, asked at every instruction of code in memory for the function that has called it.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Once;

use crate::ir::runtimes;
use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Arg, Jit};

/// Flag of the processor that makes it trap after every instruction.
const TRAP: i64 = 0x100;

/// Numbers by DWARF of the registers that functions preserve: rbx, rbp, r12, r13, r14 and r15.
const KEPT: [c_int; 6] = [3, 6, 12, 13, 14, 15];

unsafe extern "C" {
    fn _Unwind_Backtrace(
        visit: unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32,
        data: *mut c_void,
    ) -> i32;
    fn _Unwind_GetRegionStart(frame: *mut c_void) -> usize;
    fn _Unwind_GetCFA(frame: *mut c_void) -> usize;
    fn _Unwind_GetGR(frame: *mut c_void, register: c_int) -> usize;
}

/// End and registers of the frame of [`stepped`]; `None` if the unwinder does not find it.
type Found = Option<(usize, [usize; KEPT.len()])>;

thread_local! {
    static STEPS: Cell<bool> = const { Cell::new(false) };
    /// What is found at the first instruction of a call.
    static FIRST: Cell<Found> = const { Cell::new(None) };
    /// The instructions that were looked at, and those at which something else is found.
    static SEEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static WRONG: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn visit(frame: *mut c_void, found: *mut c_void) -> i32 {
    // SAFETY: the unwinder passes a frame that it visits, and what it was given.
    unsafe {
        if _Unwind_GetRegionStart(frame) != stepped as *const () as usize {
            return 0;
        }
        let registers = KEPT.map(|register| _Unwind_GetGR(frame, register));
        *found.cast::<Found>() = Some((_Unwind_GetCFA(frame), registers));
    }
    // The end of the stack, as far as it matters here.
    5
}

unsafe extern "C" fn on_trap(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system hands a context to handlers.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let flags = &mut registers[libc::REG_EFL as usize];
    if !STEPS.get() {
        *flags &= !TRAP;
        return;
    }
    *flags |= TRAP;
    let at = registers[libc::REG_RIP as usize] as usize;
    // SAFETY: the structure is one of addresses, which the call fills if the address is in a file.
    let is_of_file = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        libc::dladdr(ptr::without_provenance(at), &mut info) != 0
    };
    if is_of_file || SEEN.with_borrow(|seen| seen.last() == Some(&at)) {
        return;
    }
    let mut found: Found = None;
    // SAFETY: `visit` expects this pointer.
    unsafe { _Unwind_Backtrace(visit, (&raw mut found).cast()) };
    FIRST.set(FIRST.get().or(found));
    SEEN.with_borrow_mut(|seen| seen.push(at));
    if found.is_none() || found != FIRST.get() {
        WRONG.with_borrow_mut(|wrong| wrong.push(at));
    }
}

/// Makes a call instruction by instruction; returns whether it succeeded.
#[inline(never)]
fn stepped(call: &mut dyn FnMut() -> bool) -> bool {
    static HANDLED: Once = Once::new();
    HANDLED.call_once(|| {
        // SAFETY: the handler allocates only where code in memory was interrupted, which does not.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_trap as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()), 0);
        }
    });
    FIRST.set(None);
    STEPS.set(true);
    // SAFETY: the signal has a handler.
    unsafe { libc::raise(libc::SIGTRAP) };
    let succeeded = call();
    STEPS.set(false);
    // SAFETY: as above.
    unsafe { libc::raise(libc::SIGTRAP) };
    succeeded
}

#[test]
fn callers_are_found_at_every_instruction() {
    // Calls with many arguments have frames of more than a page, and another register allocator.
    const WIDE: usize = 300;
    let list = |item: fn(usize) -> String| (0..WIDE).map(item).collect::<Vec<_>>().join(", ");
    let (params, names) = (list(|i| format!("p{i}: int64")), list(|i| format!("p{i}")));
    let library: Library =
        format!("wide({params}) -> Any = {{ return [{names}]; }};").parse().unwrap();
    for runtime in runtimes().into_iter().take(1) {
        let compiled = Jit::with_runtime(runtime).unwrap().compile(&library).unwrap();
        let wide = compiled.function("wide").unwrap();
        assert!(stepped(&mut || wide.call(vec![Arg::from(7); WIDE]).is_ok()));
    }
    let looked: HashSet<usize> = SEEN.take().into_iter().collect();
    let wrong = WRONG.take();
    assert!(wrong.is_empty(), "{} of {}: {wrong:x?}", wrong.len(), looked.len());
    assert!(looked.len() > 1500, "{}", looked.len());
}
