//! Debuggers and profilers see functions by name: the map of `perf`, and real `gdb` and `perf` where they run.
//!
//! The tests of tools start this program again under the tool, with one test of it, `subject`.

use std::process::{Command, Output};
use std::time::Duration;

use crate::alone::alone;
use crate::left_out::{left_out, missing};
use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Error, Jit, JitOptions, Observers};

/// The environment variable that tells `subject` which tool looks at it: `trap` for a debugger, `spin` for a profiler.
const ASKED: &str = "TVM_FFI_CODEGEN_TEST_SUBJECT";

extern "C" fn raised() {
    // SAFETY: the debugger stops at the signal.
    unsafe { libc::raise(libc::SIGTRAP) };
}

/// Takes a while; the wrapper around it does not.
extern "C" fn spin(turns: i64) -> i64 {
    (0..turns).fold(0, |sum, i| std::hint::black_box(sum ^ i))
}

/// Both wrappers are in the map of the profiler, at their addresses.
#[test]
#[cfg(unix)]
fn subject() {
    let asked = std::env::var(ASKED).unwrap_or_default();
    let text = "@\"observed.mt\":7 observed_trap() -> None = { @\"observed.mt\":8:3 raised(); };\n        observed_spin(n: int64) -> int64 = spin(n);";
    let library: Library = text.parse().unwrap();
    let debugger = asked == "trap";
    let observers = Observers { debugger, profiler: !debugger };
    let jit = Jit::with_options(JitOptions { observers, ..JitOptions::default() }).unwrap();
    // SAFETY: the kernels are sound, and a debugger is there if one of them traps.
    let jit = unsafe {
        jit.kernel("raised", raised as extern "C" fn())
            .kernel("spin", spin as extern "C" fn(_) -> _)
    };
    let compiled = jit.compile(&library).unwrap();
    if asked == "trap" {
        compiled.function("observed_trap").unwrap().call(()).unwrap();
        return;
    }
    let spin = compiled.function("observed_spin").unwrap();
    let turns = if asked == "spin" { 8_000_000_i64 } else { 1 };
    (0..turns).for_each(|_| drop(spin.call((1,)).unwrap()));
    let path = format!("/tmp/perf-{}.map", std::process::id());
    let map = std::fs::read_to_string(&path).unwrap();
    for name in ["observed_trap", "observed_spin"] {
        let start = format!("{:x} ", compiled.function(name).unwrap().as_ptr() as usize);
        let line =
            map.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{map}"));
        assert!(line.ends_with(&format!(" __tvm_ffi_{name}")), "{line}");
    }
    // A profiler reads it when this program has ended.
    if asked == "spin" {
        println!("map: {path}");
    } else {
        std::fs::remove_file(path).unwrap();
    }
}

/// A map that is something else is neither followed nor waited for, and nothing is written.
#[test]
#[cfg(unix)]
fn the_map_is_a_file_of_this_user() {
    use std::fs::{self, File, OpenOptions};
    use std::os::unix::fs::{OpenOptionsExt, chown, symlink};
    let compile = || {
        let observers = Observers { profiler: true, ..Observers::default() };
        let options = JitOptions { observers, ..JitOptions::default() };
        let library: Library = "observed(n: int64) -> int64 = { return n; };".parse().unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let compiled = Jit::with_options(options).and_then(|jit| jit.compile(&library));
            sender.send(compiled.map(|_| ()))
        });
        receiver.recv_timeout(Duration::from_secs(60)).expect("nobody waits")
    };
    alone(|| {
        let path = format!("/tmp/perf-{}.map", std::process::id());
        let folder = std::env::temp_dir().join(format!("tvm-ffi-map-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (target, new) = (folder.join("target"), folder.join("new"));
        File::create(&target).unwrap();
        let fifo = || {
            let path = std::ffi::CString::new(path.as_str()).unwrap();
            // SAFETY: the path is a C string.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o666) }, 0);
        };
        let refused = |what: &str| match compile() {
            Err(Error::Profile { .. }) => {}
            other => panic!("{what}: {other:?}"),
        };
        fifo();
        refused("pipe");
        let reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        refused("pipe with a reader");
        assert_eq!(std::io::read_to_string(reader.unwrap()).unwrap(), "");
        fs::remove_file(&path).unwrap();
        for link in [&target, &new] {
            symlink(link, &path).unwrap();
            refused("symbolic link");
            fs::remove_file(&path).unwrap();
        }
        assert!(!new.exists());
        fs::hard_link(&target, &path).unwrap_or_else(|_| drop(symlink(&target, &path)));
        refused("second name");
        fs::remove_file(&path).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"");
        fs::create_dir(&path).unwrap();
        refused("folder");
        fs::remove_dir(&path).unwrap();
        fs::write(&path, "1 1 before\n").unwrap();
        // Nobody but the superuser can give a file away.
        if chown(&path, Some(1), None).is_ok() {
            refused("file of another user");
            chown(&path, Some(0), None).unwrap();
        }
        compile().unwrap();
        let map = fs::read_to_string(&path).unwrap();
        assert!(map.starts_with("1 1 before\n") && map.contains("observed"), "{map}");
        fs::remove_file(&path).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    });
}

/// Runs a tool on `subject`; `None` if the tool is not installed.
fn run(tool: &str, args: &[&str], asked: &str) -> Option<Output> {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(tool);
    command.args(args).arg(program).args(["--exact", "observers::subject", "--nocapture"]);
    command.env(ASKED, asked).output().ok()
}

fn text(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
#[cfg(target_os = "linux")]
fn gdb_names_wrappers_and_unwinds_them() {
    let commands = ["-batch", "-nx", "-ex", "run", "-ex", "backtrace 40", "-ex", "kill", "--args"];
    let Some(output) = run("gdb", &commands, "trap") else {
        missing("gdb");
        return;
    };
    let text = text(&output);
    let frames: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
    let find = |name: &str| {
        let found = frames.iter().position(|frame| frame.contains(name));
        found.unwrap_or_else(|| panic!("{name}: {text}"))
    };
    let wrapper = find("__tvm_ffi_observed_trap () at observed.mt:8");
    assert!(find("raised") < wrapper && wrapper < find("subject"), "{text}");
}

#[test]
#[cfg(target_os = "linux")]
fn perf_names_wrappers() {
    let folder = std::env::temp_dir().join(format!("tvm-ffi-codegen-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let data = folder.join("perf.data");
    let file = data.to_str().unwrap();
    let record = ["record", "-q", "-e", "cpu-clock", "-o", file, "--"];
    let recorded = run("perf", &record, "spin").filter(|output| output.status.success());
    let Some(recorded) = recorded else {
        // Kernels let few containers use it, so CI does not insist.
        left_out("perf does not run");
        return;
    };
    let printed = text(&recorded);
    let report = ["report", "-i", file, "--stdio", "--sort", "symbol"];
    let report = Command::new("perf").args(report).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let path = printed.lines().find_map(|line| line.strip_prefix("map: ")).unwrap();
    std::fs::remove_file(path).unwrap();
    let report = text(&report);
    assert!(report.contains("__tvm_ffi_observed_spin"), "{report}");
}
