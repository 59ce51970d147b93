//! The command line: output, messages and exit codes, to the letter.

mod wrong;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tvm_ffi_codegen_driver::inspect;

use crate::support::{compile, folder};

pub(crate) const ADD_ONE: &str = "\
add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
    = add_one_kernel(x.data, y.data, n);
";
const KERNEL: &str = "
    #include <stdint.h>
    void add_one_kernel(const float* x, float* y, int64_t n) {
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] + 1;
    }
";

/// Result of a run.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

/// Runs the command line in a folder.
pub(crate) fn run(folder: &Path, arguments: &str, stdin: &[u8]) -> Outcome {
    run_with(folder, arguments, stdin, &[])
}

/// Runs the command line in a folder with these variables, and without `CC` if it is not one of them.
pub(crate) fn run_with(
    folder: &Path,
    arguments: &str,
    stdin: &[u8],
    variables: &[(&str, &str)],
) -> Outcome {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tvm-ffi-codegen"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .env_remove("CC")
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The program need not read its input.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Outcome {
        code: output.status.code().expect("no signal"),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Checks that a run succeeds without messages; returns its output.
pub(crate) fn quiet(folder: &Path, arguments: &str) -> Vec<u8> {
    let outcome = run(folder, arguments, b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{arguments}");
    outcome.stdout
}

/// Returns the exit code and message of a run that fails. Checks that it prints nothing else and changes no file.
pub(crate) fn fails(folder: &Path, arguments: &str) -> (i32, String) {
    let files = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.map(|path| (fs::read(&path).ok(), path)).collect();
        files.sort();
        files
    };
    let before = files(folder);
    let Outcome { code, stdout, stderr } = run(folder, arguments, b"");
    assert_eq!(stdout, b"", "{arguments}");
    assert!(files(folder) == before, "{arguments}: files have changed");
    (code, stderr)
}

/// Makes a folder with declarations and an object.
pub(crate) fn add_one() -> tempfile::TempDir {
    let folder = folder();
    fs::write(folder.path().join("add_one.ffi"), ADD_ONE).unwrap();
    compile(folder.path(), "kernel", KERNEL, &[]);
    folder
}

#[test]
fn every_form_is_written() {
    let folder = add_one();
    let host_ir = quiet(folder.path(), "emit add_one.ffi --emit ir -o -");
    assert!(String::from_utf8(host_ir.clone()).unwrap().contains("@__tvm_ffi_add_one"));
    let native = quiet(folder.path(), "emit add_one.ffi --emit native -o -");
    assert!(String::from_utf8(native).unwrap().contains("function"));
    let object = quiet(folder.path(), "emit add_one.ffi -o -");
    assert_eq!(inspect(&object).unwrap().kind, "object");
    for linker in ["", "--linker wild", "--linker cc"] {
        let command = "emit add_one.ffi --emit shared --link kernel.o -o";
        let library = quiet(folder.path(), &format!("{command} - {linker}"));
        assert_eq!(inspect(&library).unwrap().functions[0].name, "add_one");
        quiet(folder.path(), &format!("{command} add_one.so {linker}"));
        assert_eq!(fs::read(folder.path().join("add_one.so")).unwrap(), library, "{linker}");
    }
    let piped = run(folder.path(), "emit - --emit ir -o -", ADD_ONE.as_bytes());
    assert_eq!((piped.code, piped.stdout), (0, host_ir));
}

#[test]
fn metadata_can_be_left_out() {
    let folder = add_one();
    let of = |option: &str| {
        let text = quiet(folder.path(), &format!("emit add_one.ffi --emit ir {option} -o -"));
        String::from_utf8(text).unwrap().contains("__tvm_ffi__metadata_add_one")
    };
    assert_eq!((of(""), of("--no-metadata")), (true, false));
}

#[test]
fn entries_and_system_libraries_are_options() {
    let folder = add_one();
    let of = |options: &str| {
        let text = quiet(folder.path(), &format!("emit add_one.ffi --emit ir {options} -o -"));
        let text = String::from_utf8(text).unwrap();
        let has = |line: &str| text.contains(line);
        [
            has("export func @__tvm_ffi_main("),
            has("export func @__tvm_ffi_my_main("),
            has("export func @__tvm_ffi_my_add_one("),
            has("\nconstructor @"),
        ]
    };
    assert_eq!(of(""), [false, false, false, false]);
    assert_eq!(of("--entry add_one"), [true, false, false, false]);
    assert_eq!(of("--system-lib="), [false, false, false, true]);
    assert_eq!(of("--system-lib my_ --entry add_one"), [false, true, true, true]);
    let emit = |options: &str| fails(folder.path(), &format!("emit add_one.ffi {options} -o out"));
    let entry = "error: add_one.ffi: entry: there is no function \"subtract\"\n";
    assert_eq!(emit("--entry subtract"), (1, entry.to_owned()));
    let prefix = "error: add_one.ffi: system library prefix \"1\": it is no identifier that starts with a letter\n";
    assert_eq!(emit("--system-lib 1"), (1, prefix.to_owned()));
    let (code, message) = emit("--emit shared --system-lib my_");
    assert_eq!(code, 2);
    assert!(message.contains("--system-lib is for what is linked into programs"), "{message}");
}

#[test]
fn other_hosts_are_an_option() {
    let folder = add_one();
    let of = |option: &str| {
        let text = quiet(folder.path(), &format!("emit add_one.ffi --emit ir {option} -o -"));
        let text = String::from_utf8(text).unwrap();
        let exported = text.lines().filter_map(|line| line.strip_prefix("export func @"));
        let ours =
            exported.filter(|line| ["xla", "torch", "my_"].iter().any(|word| line.contains(word)));
        let names = ours.map(|line| line.split('(').next().unwrap_or_default().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(of(""), [""; 0]);
    assert_eq!(of("--register xla"), ["xla_add_one", "__tvm_ffi__xla_add_one"]);
    assert_eq!(of("--register xla=my:add_one"), ["my_add_one", "__tvm_ffi__xla_add_one"]);
    assert_eq!(of("--register torch=ours"), ["__tvm_ffi__torch"]);
    let both = ["xla_add_one", "__tvm_ffi__xla_add_one", "__tvm_ffi__torch"];
    assert_eq!(of("--register xla --register torch=ours:add_one"), both);
    let refused = |option: &str| fails(folder.path(), &format!("emit add_one.ffi {option} -o out"));
    let missing = "error: add_one.ffi: handlers: there is no function \"subtract\"\n";
    assert_eq!(refused("--register xla:subtract"), (1, missing.to_owned()));
    let missing = "error: add_one.ffi: torch: there is no function \"subtract\"\n";
    assert_eq!(refused("--register torch=a:subtract"), (1, missing.to_owned()));
    let namespace = "error: add_one.ffi:1:1: add_one: `a.b` cannot be a namespace of PyTorch\n";
    let (code, message) = refused("--register torch=a.b");
    assert_eq!((code, message.lines().next().unwrap()), (1, namespace.trim_end()));
    for wrong in ["xlb", "xla=", "xla:", "xla:a,,b", "torch", "torch=", "torch=a:"] {
        let (code, message) = refused(&format!("--register {wrong}"));
        let expected = format!(
            "no host \"{wrong}\", expected xla, xla=PREFIX or torch=NAMESPACE, and perhaps :NAME,NAME"
        );
        assert!(code == 2 && message.contains(&expected), "{message}");
    }
}

#[test]
fn checks_can_be_left_out() {
    let folder = add_one();
    let emit = |option: &str| {
        String::from_utf8(quiet(
            folder.path(),
            &format!("emit add_one.ffi --emit ir {option} -o -"),
        ))
    };
    let full = emit("").unwrap();
    for groups in ["shape", "strides", "device", "alignment", "shape,strides,device,alignment"] {
        let text = emit(&format!("--unchecked {groups}")).unwrap();
        assert!(text.contains("@__tvm_ffi_add_one(") && text != full, "{groups}");
    }
}

#[test]
fn targets_choose_the_format() {
    let folder = add_one();
    let rows = [
        ("x86_64-unknown-linux-gnu", "ELF x86_64"),
        ("aarch64-unknown-linux-gnu", "ELF aarch64"),
        ("riscv64gc-unknown-linux-gnu", "ELF riscv64"),
        ("aarch64-apple-darwin", "Mach-O aarch64"),
        ("x86_64-pc-windows-msvc", "COFF x86_64"),
    ];
    for (target, machine) in rows {
        let object = quiet(folder.path(), &format!("emit add_one.ffi --target {target} -o -"));
        let found = inspect(&object).unwrap();
        assert_eq!((found.machine.as_str(), found.functions.len()), (machine, 1), "{target}");
        assert_eq!(found.undefined.len(), 1, "{target}: {:?}", found.undefined);
    }
}

#[cfg(unix)]
#[test]
fn permissions_follow_the_umask_or_stay() {
    use std::os::unix::fs::PermissionsExt;
    let folder = add_one();
    fs::write(folder.path().join("plain"), "").unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    quiet(folder.path(), "emit add_one.ffi -o add_one.o");
    quiet(folder.path(), "emit add_one.ffi --emit shared --link kernel.o -o add_one.so");
    assert_eq!(mode("add_one.o"), mode("plain"));
    assert_eq!(mode("add_one.so") & 0o700, 0o700);
    assert_eq!(mode("add_one.so") & 0o666, mode("plain") & 0o666);
    for name in ["add_one.o", "add_one.so"] {
        // Setuid does not stay.
        let private = fs::Permissions::from_mode(0o4640);
        fs::set_permissions(folder.path().join(name), private).unwrap();
    }
    quiet(folder.path(), "emit add_one.ffi -o add_one.o");
    quiet(folder.path(), "emit add_one.ffi --emit shared --link kernel.o -o add_one.so");
    assert_eq!(["add_one.o", "add_one.so"].map(|name| mode(name) & 0o7777), [0o640; 2]);
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_written_to() {
    let folder = add_one();
    std::os::unix::fs::symlink("real.o", folder.path().join("link.o")).unwrap();
    fs::write(folder.path().join("real.o"), "").unwrap();
    quiet(folder.path(), "emit add_one.ffi -o link.o");
    assert!(fs::symlink_metadata(folder.path().join("link.o")).unwrap().is_symlink());
    inspect(&fs::read(folder.path().join("real.o")).unwrap()).unwrap();
    quiet(folder.path(), "emit add_one.ffi -o /dev/null");
}

#[test]
fn headers_are_written() {
    let folder = add_one();
    // A header needs no bytes of images.
    let text = "image i; extern twice(x: Tensor([n], float32, device=cuda)) -> int64
        = { launch i.\"k\"(x.data) grid(n) block(1); return n * 2; };";
    let outcome = run(folder.path(), "emit - --emit header -o -", text.as_bytes());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let header = String::from_utf8(outcome.stdout).unwrap();
    assert!(header.contains("int32_t twice("), "{header}");
    let (code, message) = fails(folder.path(), "emit add_one.ffi --emit header -o add_one.ffi");
    assert_eq!(code, 1);
    assert!(message.contains("it is one of the inputs"), "{message}");
}

#[test]
fn inspect_prints_a_report() {
    let folder = add_one();
    quiet(folder.path(), "emit add_one.ffi --emit shared --link kernel.o -o add_one.so");
    let report = String::from_utf8(quiet(folder.path(), "inspect add_one.so")).unwrap();
    let library = fs::read(folder.path().join("add_one.so")).unwrap();
    assert_eq!(report, inspect(&library).unwrap().to_string());
    let json = quiet(folder.path(), "inspect --json add_one.so");
    assert_eq!(String::from_utf8(json).unwrap(), inspect(&library).unwrap().to_json());
    let piped = run(folder.path(), "inspect -", &library);
    assert_eq!((piped.code, piped.stdout), (0, report.into_bytes()));
}
