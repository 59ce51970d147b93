//! Faults of declarations and options: messages, to the letter, and exit codes.

use std::fs;
use std::process::Command;

use super::{ADD_ONE, add_one, fails, quiet, run};
use crate::support::folder;

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
    // A value that cannot be received leaves what is known as it was.
    let text = "f() -> None = { k(a); k(1); k(b); };\ng() -> int64 = { };
h(x: Tensor([m], int8)) -> None = { if m > 2 { let z: Tensor([1.5], int8) = @other(); } k(m + c); };";
    let outcome = run(folder.path(), "check -", text.as_bytes());
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    let lines: Vec<&str> =
        outcome.stderr.lines().filter(|line| line.starts_with("error")).collect();
    let expected = [
        "error: -:1:17: f: statement 0: nothing determines the symbol `a`",
        "error: -:1:29: f: statement 2: nothing determines the symbol `b`",
        "error: -:2:8: g: result: a path ends here without `return` or `raise`",
        "error: -:3:48: h: statement 1: `1.5` is no expression over symbols",
        "error: -:3:89: h: statement 2: nothing determines the symbol `c`",
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
            "backend cranelift: no processor `x86-64-v3`: llvm and mlir can be told one".into(),
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
        ("--emit bitcode", "backend cranelift: it has no bitcode; llvm and mlir do".to_owned()),
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
        (
            "emit add_one.ffi --emit shared --soname= -o a.so",
            "--soname must have characters, and no control characters",
        ),
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
