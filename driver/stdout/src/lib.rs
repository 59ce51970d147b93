//! Whether a program has a standard output. Rust opens `/dev/null` in the place of one that is closed before `main`
//! runs, so that what is written there is lost without an error. Only who looks before that can tell, which takes
//! unsafe code: it is all here, so that the driver itself has none.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether it was closed, which [`LOOK`] says.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// True if the program was started without a standard output. Where that cannot be known, as on Windows and in a
/// library that is loaded later, it is taken for granted.
pub fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(unix)]
extern "C" fn look() {
    // SAFETY: any descriptor may be asked for its flags, open or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Called before `main`, and before Rust has set up anything, of which a system call needs nothing.
// SAFETY: the section is a list of functions that the loader calls; what it passes them may be ignored.
#[cfg(unix)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;
