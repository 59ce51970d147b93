//! Folders of a run, and execution of other programs.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::children::CHILD;

/// Names of the parts.
const PARTS: [&str; 7] = ["calls", "time", "scale", "size", "stack", "python", "threads"];

/// Request and folders of a run.
#[derive(Debug)]
pub(crate) struct Setup {
    /// True for few rounds and few points, which only show that everything works.
    pub(crate) short: bool,
    /// Parts by name; all if the list is empty.
    pub(crate) parts: Vec<String>,
    /// Output folder, `target/bench`.
    pub(crate) folder: PathBuf,
    /// Folder with the sources of other peers.
    pub(crate) sources: PathBuf,
}

impl Setup {
    /// Parses the arguments of the process.
    pub(crate) fn new() -> Setup {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = tests.parent().expect("the crate is in a workspace");
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let parts = arguments.iter().filter(|argument| !argument.starts_with("--"));
        let parts: Vec<String> = parts.cloned().collect();
        let unknown = parts.iter().find(|part| !PARTS.contains(&part.as_str()));
        if let (Some(part), true) = (unknown, arguments.first().is_none_or(|a| a != CHILD)) {
            eprintln!("bench: no part {part}; there are: {}", PARTS.join(" "));
            std::process::exit(2);
        }
        let short = arguments.iter().any(|a| a == "--short");
        let target = std::env::var_os("CARGO_TARGET_DIR").map(|target| root.join(target));
        let folder = target.unwrap_or_else(|| root.join("target")).join("bench");
        std::fs::create_dir_all(&folder).expect("the target folder is writable");
        Setup { short, parts, folder, sources: tests.join("benches/peers") }
    }

    pub(crate) fn wants(&self, part: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|wanted| wanted == part)
    }

    /// Returns the second number in short mode, otherwise the first.
    pub(crate) fn pick<T>(&self, full: T, short: T) -> T {
        if self.short { short } else { full }
    }

    /// Creates a folder below [`Setup::folder`].
    pub(crate) fn subfolder(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::create_dir_all(&path).expect("the folder is writable");
        path
    }

    /// Returns lines about this machine, the processor first, and about versions of tools.
    pub(crate) fn machine(&self) -> Vec<[String; 2]> {
        let mut lines = vec![
            ["processor".to_owned(), processor()],
            ["date".to_owned(), first_line("date", &["-u", "+%Y-%m-%d %H:%M UTC"])],
            ["commit".to_owned(), first_line("git", &["describe", "--always", "--dirty"])],
            ["mode".to_owned(), self.pick("full", "short: figures mean little").to_owned()],
            ["load".to_owned(), first_line("cat", &["/proc/loadavg"])],
            ["system".to_owned(), first_line("uname", &["-srm"])],
        ];
        for program in ["rustc", "gcc", "g++", "clang-22", "python3"] {
            lines.push([program.to_owned(), first_line(program, &["--version"])]);
        }
        let llvm = format!("LLVM {}", first_line("llvm-config-22", &["--version"]));
        lines.push(["LLVM".to_owned(), llvm]);
        let version = "import tvm_ffi; print('apache-tvm-ffi', tvm_ffi.__version__)";
        lines.push(["runtime".to_owned(), first_line("python3", &["-c", version])]);
        lines
    }
}

/// Returns the processor's own description. Virtual machines shorten names, not numbers.
fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let mut fields = text.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(key, _)| key.trim() == name).map_or("unknown", |(_, value)| value.trim())
    };
    let [name, family, model] = ["model name", "cpu family", "model"].map(field);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{name} (family {family}, model {model}), {cores} cores")
}

/// Returns the first line that a program prints; `not found` if there is no such program.
fn first_line(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let output = output.ok().filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.and_then(|text| Some(text.lines().next()?.to_owned())).unwrap_or("not found".to_owned())
}

/// Returns true if a program can be started.
pub(crate) fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs a program and returns its output.
///
/// # Panics
/// If it fails.
pub(crate) fn must(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{message}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
