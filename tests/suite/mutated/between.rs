//! Calls in which a word changes between two instructions, as if another thread had written it at that moment.

use std::ffi::{c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// Flag of the processor that makes it trap after every instruction.
const TRAP: i64 = 0x100;

/// Instructions until the change, the word, and its new value. Only one thread at a time runs these calls.
static LEFT: AtomicU64 = AtomicU64::new(0);
static PLACE: AtomicPtr<u64> = AtomicPtr::new(std::ptr::null_mut());
static VALUE: AtomicU64 = AtomicU64::new(0);

/// Counts an instruction. After the last one the word changes, and the call continues untraced.
unsafe extern "C" fn count(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    if LEFT.fetch_sub(1, Ordering::Relaxed) > 1 {
        return;
    }
    // SAFETY: the word is that of a running call, and the system hands a context to handlers.
    unsafe {
        let place = AtomicU64::from_ptr(PLACE.load(Ordering::Relaxed));
        place.store(VALUE.load(Ordering::Relaxed), Ordering::Relaxed);
        let context = context.cast::<libc::ucontext_t>();
        (*context).uc_mcontext.gregs[libc::REG_EFL as usize] &= !TRAP;
    }
}

/// Makes a call and changes the word after `instructions` instructions, at least one. Returns false if the call ended
/// before.
pub(super) fn change(
    instructions: u64,
    place: &AtomicU64,
    value: u64,
    call: &mut dyn FnMut(),
) -> bool {
    static HANDLED: Once = Once::new();
    HANDLED.call_once(|| {
        // SAFETY: the handler touches nothing but atomics and its context.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = count as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO;
            assert_eq!(libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()), 0);
        }
    });
    PLACE.store(place.as_ptr(), Ordering::Relaxed);
    VALUE.store(value, Ordering::Relaxed);
    LEFT.store(instructions, Ordering::Relaxed);
    // SAFETY: the instructions change only the trap flag, and the signal has a handler.
    unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    call();
    // SAFETY: as above.
    unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], ~0x100", "popfq") };
    LEFT.load(Ordering::Relaxed) == 0
}
