//! The search for runtimes and symbols.

use std::ffi::c_void;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use libloading::Library;

use crate::error::Error;

/// File name of the library on this platform.
const FILE: &str = if cfg!(windows) {
    "tvm_ffi.dll"
} else if cfg!(target_os = "macos") {
    "libtvm_ffi.dylib"
} else {
    "libtvm_ffi.so"
};

/// The tool of the Python package that prints the folder of its runtime.
const TOOL: &str = "tvm-ffi-config";

/// Looks a function of the runtime up. Returns `None` for names without the runtime's prefix, since the process may
/// define them.
pub(super) fn library_symbol(library: &Library, name: &str) -> Option<*const c_void> {
    if !name.starts_with("TVMFFI") {
        return None;
    }
    // SAFETY: only the address is taken.
    let symbol = unsafe { library.get::<*const c_void>(name) }.ok()?;
    // SAFETY: the library outlives the address; it is never unloaded.
    unsafe { symbol.try_as_raw_ptr() }.map(<*mut c_void>::cast_const)
}

/// Looks a symbol of the process up, for the user's own code.
pub(crate) fn process_symbol(name: &str) -> Option<*const u8> {
    #[cfg(unix)]
    let library = libloading::os::unix::Library::this();
    #[cfg(windows)]
    let library = libloading::os::windows::Library::this().ok()?;
    // SAFETY: only the address is taken.
    let symbol = unsafe { library.get::<*const c_void>(name) }.ok()?;
    Some(symbol.as_raw_ptr().cast_const().cast())
}

/// Returns the libraries that may be a runtime: the process, and `libtvm_ffi` if it is loaded with hidden symbols.
#[cfg(unix)]
pub(super) fn loaded() -> Vec<Library> {
    use libloading::os::unix::{Library as Unix, RTLD_LAZY};
    /// The flag of `dlopen` that finds loaded libraries only, on Linux and macOS.
    const RTLD_NOLOAD: i32 = if cfg!(target_os = "linux") { 0x4 } else { 0x10 };
    // SAFETY: nothing is loaded, so no initialiser runs.
    let hidden = unsafe { Unix::open(Some(FILE), RTLD_LAZY | RTLD_NOLOAD) };
    [Some(Unix::this()), hidden.ok()].into_iter().flatten().map(Library::from).collect()
}

/// Returns the libraries that may be a runtime: the one of this name that is loaded.
#[cfg(windows)]
pub(super) fn loaded() -> Vec<Library> {
    use libloading::os::windows::Library as Windows;
    Windows::open_already_loaded(FILE).into_iter().map(Library::from).collect()
}

/// Asks the tool for the path of its library, and waits no longer than `limit`.
pub(super) fn ask_tool(limit: Duration) -> Result<PathBuf, Error> {
    let error = |reason: String| Error::Runtime { path: TOOL.into(), reason };
    let mut command = Command::new(TOOL);
    command.arg("--libdir").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|reason| error(reason.to_string()))?;
    let (sender, receiver) = mpsc::channel();
    let output = child.stdout.take();
    // The other end of the pipe may never be closed; then this thread never ends.
    thread::spawn(move || {
        let mut line = String::new();
        let read = output.map(|output| BufReader::new(output).read_line(&mut line));
        drop(sender.send(read.is_some_and(|read| read.is_ok()).then_some(line)));
    });
    let answer = receiver.recv_timeout(limit);
    // The tool has answered or is too late, so its exit status does not matter.
    let (_, _) = (child.kill(), child.wait());
    let folder = answer.map_err(|_| error(format!("no answer within {limit:?}")))?;
    let folder = folder.filter(|folder| !folder.trim().is_empty());
    let folder = folder.ok_or_else(|| error("it names no folder".to_owned()))?;
    Ok(Path::new(folder.trim()).join(FILE))
}
