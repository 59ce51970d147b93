//! The command line: output, messages and exit codes, to the letter.

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
fn check_says_where() {
    let folder = add_one();
    assert_eq!(quiet(folder.path(), "check add_one.ffi"), b"");
    fs::write(folder.path().join("bad.ffi"), "f(n: int64) -> None\n    = k(n / 0);\n").unwrap();
    let (code, message) = fails(folder.path(), "check bad.ffi");
    assert_eq!(code, 1);
    let mut lines = message.lines();
    assert!(lines.next().unwrap().starts_with("error: bad.ffi:2:"), "{message}");
    assert_eq!(lines.next(), Some("  |     = k(n / 0);"));
    assert!(lines.next().unwrap().ends_with('^'), "{message}");
    assert_eq!(lines.next(), None);
    let text = "f(x: float31) -> None = k(x);";
    let piped = run(folder.path(), "check -", text.as_bytes());
    let error = text.parse::<codegen::Library>().unwrap_err();
    assert_eq!((piped.code, piped.stderr), (1, format!("error: -:{error}\n")));
}

#[test]
fn check_warns() {
    let folder = add_one();
    let text = "f() -> None =\n    try k() errors { 1: DeviceError \"lost\" };";
    let outcome = run(folder.path(), "check -", text.as_bytes());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let warning = "warning: -:2:22: f: error 0: Python has no exception for `DeviceError`";
    assert!(outcome.stderr.starts_with(warning), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("[unknown-exception]\n"), "{}", outcome.stderr);
    let outcome = run(folder.path(), "check - --allow unknown-exception", text.as_bytes());
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""));
    let outcome = run(folder.path(), "check - --allow unknown", text.as_bytes());
    assert_eq!(outcome.code, 2, "{}", outcome.stderr);
    let known = "`unknown` is no warning; there are unused-parameter, unused-image, ";
    assert!(outcome.stderr.contains(known), "{}", outcome.stderr);
}

#[test]
fn check_reports_all_errors() {
    let folder = add_one();
    let text = "f() -> None = { k(a); k(1); k(b); };\ng() -> int64 = { };";
    let outcome = run(folder.path(), "check -", text.as_bytes());
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let lines: Vec<&str> = outcome.stderr.lines().filter(|line| line.contains(": ")).collect();
    let expected = [
        "error: -:1:17: f: statement 0: nothing determines the symbol `a`",
        "error: -:1:29: f: statement 2: nothing determines the symbol `b`",
        "error: -:2:8: g: result: a path ends here without `return` or `raise`",
    ];
    assert_eq!(lines, expected);
}

/// A message that cannot be written is no panic, and a lost warning is no success.
#[cfg(target_os = "linux")]
#[test]
fn standard_error_may_be_full() {
    let folder = add_one();
    fs::write(folder.path().join("warned.ffi"), "kind() -> None = { };").unwrap();
    fs::write(folder.path().join("wrong.ffi"), "f() -> None = 1;").unwrap();
    let rows = [("add_one.ffi", 0), ("warned.ffi", 1), ("wrong.ffi", 1), ("none.ffi", 1)];
    for (file, code) in rows {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut check = Command::new(env!("CARGO_BIN_EXE_tvm-ffi-codegen"));
        let status = check.args(["check", file]).current_dir(folder.path()).stderr(full).status();
        assert_eq!(status.unwrap().code(), Some(code), "{file}");
    }
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
fn wrong_input_is_exit_code_1() {
    let folder = add_one();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    write("latin.ffi", b"# caf\xe9\n");
    write("twice.ffi", format!("{ADD_ONE}{ADD_ONE}").as_bytes());
    write("closure.ffi", b"f(self: ptr) -> None = k(self);");
    write("garbage.o", b"\0\x01\x02");
    write("out.so", b"before");
    write("empty", b"");
    fs::copy(folder.path().join("kernel.o"), folder.path().join("again.o")).unwrap();
    let missing = "No such file or directory (os error 2)";
    let rows = [
        ("check none.ffi", format!("cannot read none.ffi: {missing}")),
        ("check latin.ffi", "cannot read latin.ffi: line 1, column 6: the byte 0xe9 is no UTF-8".into()),
        ("emit none.ffi -o out.so", format!("cannot read none.ffi: {missing}")),
        (
            "emit closure.ffi -o out.so",
            "closure.ffi:1:3: f: self: `self` is the context of a closure, which exists in process only
  | f(self: ptr) -> None = k(self);
  |   ^"
                .into(),
        ),
        (
            "emit add_one.ffi --target pdp11 -o out.so",
            "unknown target `pdp11`: Unrecognized architecture: pdp11".into(),
        ),
        (
            "emit add_one.ffi --target i686-unknown-linux-gnu -o out.so",
            "backend cranelift: unsupported target i686-unknown-linux-gnu: not a known machine".into(),
        ),
        (
            "emit add_one.ffi --cpu x86-64-v3 -o out.so",
            "backend cranelift: no processor `x86-64-v3`: only llvm and mlir can be told one".into(),
        ),
        (
            "emit add_one.ffi --emit shared -o out.so",
            "`add_one_kernel` is called by a declaration and defined by no linked file".into(),
        ),
        ("emit add_one.ffi --emit shared --link none.o -o out.so", format!("cannot read none.o: {missing}")),
        ("emit add_one.ffi --emit shared --link garbage.o -o out.so", "garbage.o: not an object file".into()),
        (
            "emit add_one.ffi --emit shared --link kernel.o --link again.o -o out.so",
            "`add_one_kernel` is defined by kernel.o and again by again.o".into(),
        ),
        (
            "emit add_one.ffi --emit shared --link kernel.o --target aarch64-unknown-linux-gnu -o out.so",
            "kernel.o: expected an object for ELF aarch64 but got one for ELF x86_64".into(),
        ),
        (
            "emit add_one.ffi --emit shared --link kernel.o --target aarch64-apple-ios -o out.so",
            "cannot link for aarch64-apple-ios: only x86-64, aarch64 and riscv64 are linked for in ELF, and x86-64 and \
             aarch64 for Windows and macOS"
                .into(),
        ),
        ("emit add_one.ffi -o none/out.o", format!("cannot write none/out.o: {missing}")),
        ("emit add_one.ffi -o .", "cannot write .: Is a directory (os error 21)".into()),
        #[cfg(target_os = "linux")]
        ("emit add_one.ffi -o /proc/x.o", format!("cannot write /proc/x.o: {missing}")),
        ("emit add_one.ffi --emit shared --link empty -o out.so", "empty: not an object file".into()),
        ("inspect garbage.o", "garbage.o: not an object file".into()),
        ("inspect .", "cannot read .: Is a directory (os error 21)".into()),
    ];
    for (arguments, message) in rows {
        let expected = (1, format!("error: {message}\n"));
        assert_eq!(fails(folder.path(), arguments), expected, "{arguments}");
    }
    let (code, message) = fails(folder.path(), "emit twice.ffi -o out.so");
    assert!(code == 1 && message.starts_with("error: twice.ffi:3:1: add_one: "), "{message}");
}

#[cfg(not(feature = "llvm"))]
#[test]
fn backends_left_out_name_their_feature() {
    let folder = add_one();
    for name in ["llvm", "mlir"] {
        let outcome = fails(folder.path(), &format!("emit add_one.ffi --backend {name} -o out.so"));
        let message = format!(
            "error: backend {name} is not part of this build: enable the cargo feature `{name}`, in \
             Python `TVM_FFI_CODEGEN_FEATURES={name} pip install --no-binary tvm-ffi-codegen \
             tvm-ffi-codegen`, where LLVM 22 and Rust are installed\n"
        );
        assert_eq!(outcome, (1, message));
    }
}

#[test]
fn kernels_in_ir_need_a_backend_that_takes_them() {
    let folder = add_one();
    fs::write(folder.path().join("kernel.ll"), "define void @add_one_kernel() { ret void }")
        .unwrap();
    fs::write(folder.path().join("kernel.bc"), b"BC\xc0\xde").unwrap();
    let text = "text, not an object file; LLVM IR and MLIR are for --backend llvm and mlir";
    let bitcode = "LLVM bitcode: take --backend llvm, or compile it without -flto";
    let rows = [
        ("--link kernel.ll", format!("kernel.ll: {text}")),
        ("--link kernel.bc", format!("kernel.bc: {bitcode}")),
        ("--emit bitcode", "backend cranelift: bitcode is a form of llvm and mlir".to_owned()),
    ];
    for (arguments, message) in rows {
        let command = format!("emit add_one.ffi {arguments} -o out.o");
        let expected = (1, format!("error: {message}\n"));
        assert_eq!(fails(folder.path(), &command), expected);
    }
}

#[test]
fn wrong_usage_is_exit_code_2() {
    let folder = add_one();
    let rows = [
        ("", "Usage:"),
        ("emit add_one.ffi", "-o <OUT>"),
        ("emit add_one.ffi --backend gcc -o a.o", "[possible values: cranelift, "),
        (
            "emit add_one.ffi --emit exe -o a.o",
            "[possible values: resolved, ir, native, bitcode, object, shared, header, html]",
        ),
        (
            "emit add_one.ffi --emit ir --link kernel.o -o a.o",
            "--link is for forms object and shared",
        ),
        (
            "emit add_one.ffi --emit ir --linker cc -o a.o",
            "--linker is for forms object and shared",
        ),
        ("emit add_one.ffi --emit ir -l m -o a.o", "-l is for forms object and shared"),
        ("emit add_one.ffi --emit ir -L . -o a.o", "-L is for forms object and shared"),
        (
            "emit add_one.ffi -L . -o a.o",
            "-L is for form shared, and for form object with something to link",
        ),
        (
            "emit add_one.ffi --linker cc -o a.o",
            "--linker is for form shared, and for form object with something to link",
        ),
        ("emit add_one.ffi --rpath /a -o a.o", "--rpath is for form shared"),
        ("emit add_one.ffi --emit ir --cpu nope -o a.o", "--cpu is for forms native, bitcode, "),
        ("emit add_one.ffi --emit html --features +avx2 -o a", "--features is for forms native, "),
        ("emit add_one.ffi --register xla --register xla=a -o a.o", "--register names xla twice"),
        (
            "emit add_one.ffi --register torch=a --register torch=b -o a.o",
            "--register names torch twice",
        ),
        ("emit add_one.ffi --no-runtime-dependency -o a.o", "--no-runtime-dependency is for form"),
        ("emit add_one.ffi -O4 -o a.o", "[possible values: 0, 1, 2, 3]"),
        ("inspect", "<FILE>"),
        ("run add_one.ffi", "unrecognized subcommand"),
    ];
    for (arguments, part) in rows {
        let (code, message) = fails(folder.path(), arguments);
        assert!(code == 2 && message.contains(part), "{arguments}: {code}: {message}");
    }
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

/// An image needs bytes if something uses it, and has them once.
#[test]
fn images_have_bytes_once_if_they_are_used() {
    let folder = folder();
    fs::write(folder.path().join("a.ffi"), "image code; f() -> None = k();").unwrap();
    quiet(folder.path(), "emit a.ffi -o a.o");
    let twice = fails(folder.path(), "emit a.ffi --image code=a.o --image code=a.o -o b.o");
    assert!(
        twice.0 == 2 && twice.1.starts_with("error: --image has `code` twice\n"),
        "{}",
        twice.1
    );
    let text = "image code;\nf(x: Tensor([n], float32, device=cuda)) -> None = { launch code.\"k\"(x.data) grid(n) block(1); };";
    fs::write(folder.path().join("b.ffi"), text).unwrap();
    let expected = "error: b.ffi:1:1: image \"code\": its bytes are not given, by `--image NAME=FILE`, by \
                    `images=` in Python, or by `Image::bytes`\n  | image code;\n  | ^\n";
    assert_eq!(fails(folder.path(), "emit b.ffi -o b.o"), (1, expected.to_owned()));
}

/// The text of C is for a file of its own, or for one with the headers of the runtime.
#[test]
fn headers_are_of_the_text_in_c() {
    let folder = folder();
    fs::write(folder.path().join("a.ffi"), ADD_ONE).unwrap();
    let text = |headers: &str| {
        let arguments = format!("emit a.ffi --backend c --emit native {headers} -o -");
        String::from_utf8(quiet(folder.path(), &arguments)).unwrap()
    };
    assert_eq!(text(""), text("--headers own"));
    assert!(text("").starts_with("#include <stdint.h>\n"));
    let included = text("--headers include");
    assert!(
        included.starts_with("#include <tvm/ffi/c_api.h>\n")
            && !included.contains("void add_one_kernel(")
    );
    for arguments in ["--backend c --emit object", "--backend c --emit header", "--emit native"] {
        let arguments = format!("emit a.ffi {arguments} --headers include -o bad");
        let (code, message) = fails(folder.path(), &arguments);
        assert_eq!(code, 2, "{arguments}");
        assert!(
            message.starts_with("error: --headers is for form native of backend c\n"),
            "{message}"
        );
    }
    let (_, message) = fails(folder.path(), "emit a.ffi --headers both -o bad");
    assert!(message.contains("[possible values: own, include]"), "{message}");
}
