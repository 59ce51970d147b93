//! Detection of a closed standard output. Rust opens `/dev/null` in its place before `main` runs, so output is lost
//! without an error. Only a constructor, which runs earlier, can tell. It is the driver's only unsafe code.

use std::sync::atomic::{AtomicBool, Ordering};

/// Result of [`LOOK`].
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether the program was started without a standard output. Returns false where that is unknown: on Windows,
/// and in a library that was loaded later.
pub(crate) fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

#[cfg(unix)]
extern "C" fn look() {
    // SAFETY: any descriptor may be asked for its flags, open or not.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// Constructor. It runs before `main` and before Rust is set up, which a system call does not need.
// SAFETY: the section is a list of functions that the loader calls; they may ignore its arguments.
#[cfg(unix)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;
