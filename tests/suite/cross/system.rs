//! Operating systems of the machines: names of libraries, and what compilers and the host need there.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use driver::link::Input;

/// An operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Linux,
    /// Windows, whose place Wine takes.
    Windows,
    /// macOS, whose place a loader in the host takes, which is a program of Linux.
    MacOs,
}

/// Wine of Debian's packages.
pub(crate) const WINE: &[&str] = &["/usr/lib/wine/wine64"];

/// Compiler of MinGW, which is for Windows.
pub(crate) const MINGW: &str = "x86_64-w64-mingw32-gcc";

/// Compiler of kernels for macOS.
pub(crate) const CLANG: &str = "clang-22";

/// Reads a library of a C compiler.
pub(crate) fn of_compiler(compiler: &str, name: &str) -> Input {
    let found = Command::new(compiler).arg(format!("-print-file-name={name}")).output();
    let found = found.unwrap_or_else(|error| panic!("{compiler}: {error}; use tests/run"));
    let path = String::from_utf8(found.stdout).expect("a path");
    Input::read(Path::new(path.trim())).unwrap_or_else(|error| panic!("{error}"))
}

impl System {
    /// Returns the name of the library that is tested.
    pub(crate) fn library(self) -> &'static str {
        match self {
            System::Linux => "library.so",
            System::Windows => "library.dll",
            System::MacOs => "library.dylib",
        }
    }

    /// Returns the name by which libraries open the driver of GPUs, which macOS has not.
    pub(crate) fn driver(self) -> Option<&'static str> {
        match self {
            System::Linux => Some("libcuda.so.1"),
            System::Windows => Some("nvcuda.dll"),
            System::MacOs => None,
        }
    }

    /// Returns options of the C compiler: on Windows `printf` as in C, and no library of the compiler beside the file.
    pub(crate) fn options(self) -> &'static [&'static str] {
        match self {
            System::Linux => &[],
            System::Windows => &["-D__USE_MINGW_ANSI_STDIO=1", "-static"],
            System::MacOs => &["-DMACH_O"],
        }
    }

    /// Returns options of the C compiler for kernels. [`libraries`](System::libraries) has their `printf`. Kernels for
    /// macOS are compiled with the headers of Linux, which has not all that clang would call there.
    pub(crate) fn of_kernels(self) -> &'static [&'static str] {
        match self {
            System::Linux => &[],
            System::Windows => &["-D_UCRT"],
            System::MacOs => &["-U__nonnull", "-fno-builtin", "-fno-stack-protector"],
        }
    }

    /// Returns libraries of the C compiler in which kernels find what no other linker adds.
    pub(crate) fn libraries(self) -> &'static [&'static str] {
        match self {
            System::Linux | System::MacOs => &[],
            System::Windows => &["libucrt.a"],
        }
    }

    /// Returns the C compiler's arguments that link the host with the runtime in a folder.
    pub(crate) fn runtime(self, folder: &Path) -> Vec<OsString> {
        match self {
            System::Linux | System::MacOs => {
                let mut rpath = OsString::from("-Wl,-rpath-link,");
                rpath.push(folder);
                let fixed = ["-ltvm_ffi", "-ldl", "-rdynamic"].map(OsString::from);
                [vec!["-L".into(), folder.into(), rpath], fixed.into()].concat()
            }
            System::Windows => vec![folder.join("tvm_ffi.lib").into()],
        }
    }

    /// Lets a command find the runtime and the libraries in the folder of the host, where Wine keeps its files.
    pub(crate) fn prepare(self, command: &mut Command, runtime: &Path, folder: &Path) {
        match self {
            System::Linux | System::MacOs => {
                let mut paths = runtime.as_os_str().to_owned();
                paths.push(":");
                paths.push(folder);
                command.env("LD_LIBRARY_PATH", paths);
            }
            System::Windows => {
                let library = folder.join("tvm_ffi.dll");
                if !library.exists() {
                    std::fs::copy(runtime.join("tvm_ffi.dll"), library).expect("a copy");
                }
                command.current_dir(folder).env("TMPDIR", folder);
                command.env("WINEPREFIX", folder.join("profile")).env("WINEDEBUG", "-all");
                command.env("WINEDLLOVERRIDES", "winedbg.exe=;mscoree=;mshtml=");
            }
        }
    }
}
