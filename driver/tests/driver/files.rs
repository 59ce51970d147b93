//! Files of the command line: how far they are read, and which stay unchanged.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cli::{fails, quiet, run, run_with};
use crate::support::{compile, folder};

const TWICE: &str = "twice(n: int32) -> int32 = twice_kernel(n);\n";

/// Makes a folder with a declaration and its kernel.
fn twice() -> tempfile::TempDir {
    let folder = folder();
    fs::write(folder.path().join("twice.ffi"), TWICE).unwrap();
    compile(folder.path(), "kernel", "int twice_kernel(int n) { return 2 * n; }", &[]);
    folder
}

#[test]
fn what_is_read_is_not_overwritten() {
    let folder = twice();
    let path = folder.path();
    fs::write(path.join("weights"), "w").unwrap();
    fs::write(path.join("tree.toml"), "[[module]]\nkind = \"a\"\nfile = \"weights\"\n").unwrap();
    let ar = Command::new("ar").args(["rcs", "libkernel.a", "kernel.o"]).current_dir(path).status();
    assert!(ar.unwrap().success());
    #[cfg(unix)]
    std::os::unix::fs::symlink("twice.ffi", path.join("link")).unwrap();
    let shared = "emit twice.ffi --emit shared --link kernel.o";
    let rows = [
        ("emit twice.ffi".to_owned(), "./twice.ffi"),
        ("emit twice.ffi".to_owned(), "link"),
        (shared.to_owned(), "kernel.o"),
        (format!("{shared} --import a=weights"), "weights"),
        (format!("{shared} --import-tree tree.toml"), "tree.toml"),
        ("emit twice.ffi --emit shared -L . -l kernel".to_owned(), "libkernel.a"),
    ];
    for (arguments, output) in rows {
        let message = format!("error: cannot write {output}: it is one of the inputs\n");
        assert_eq!(fails(path, &format!("{arguments} -o {output}")), (1, message));
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let folder = folder();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("marked.ffi", &format!("\u{feff}{TWICE}"));
    write("weights", "w");
    write("tree.toml", "\u{feff}[[module]]\nkind = \"a\"\nfile = \"weights\"\n");
    quiet(folder.path(), "check marked.ffi");
    quiet(folder.path(), "emit marked.ffi --import-tree tree.toml -o out.o");
    write("bad.ffi", "\u{feff}f() -> None = 1;\n");
    let (_, message) = fails(folder.path(), "check bad.ffi");
    assert!(message.starts_with("error: bad.ffi:1:15: "), "{message}");
}

#[test]
fn kinds_of_modules_are_printable() {
    let folder = twice();
    fs::write(folder.path().join("weights"), "w").unwrap();
    let outcome = fails(folder.path(), "emit twice.ffi --import a\u{1b}[2J=weights -o out.o");
    let message = "weights: the kind \"a\\u{1b}[2J\" holds a control character";
    assert_eq!(outcome, (1, format!("error: {message}\n")));
}

/// A closed or full standard output is an error: no output is lost in silence.
#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_an_error() {
    let folder = twice();
    let commands = [
        "emit twice.ffi -o -",
        "emit twice.ffi --emit ir -o -",
        "emit twice.ffi --emit header -o -",
        "inspect kernel.o",
        "inspect kernel.o --json",
    ];
    let outputs = [
        (">&-", 1, "error: cannot write -: standard output is closed\n"),
        ("> /dev/full", 1, "error: cannot write -: No space left on device (os error 28)\n"),
        ("> /dev/null", 0, ""),
        // Some programs open `/dev/null` as the output of others, and so does Rust in the place of a closed one.
        ("1<> /dev/null", 0, ""),
    ];
    for (output, code, message) in outputs {
        for command in commands {
            let line =
                format!("exec '{}' {command} {output}", env!("CARGO_BIN_EXE_tvm-ffi-codegen"));
            let mut shell = Command::new("sh");
            let ran = shell.args(["-c", &line]).current_dir(folder.path()).output().unwrap();
            let said = String::from_utf8(ran.stderr).unwrap();
            assert_eq!((ran.status.code(), said.as_str()), (Some(code), message), "{line}");
        }
    }
}

/// A reader that has what it wanted is no fault: nothing is said, and the code is that of a program that SIGPIPE ends.
#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_has_gone_is_no_error() {
    let folder = twice();
    for command in ["emit twice.ffi --emit ir -o -", "inspect kernel.o"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut program = Command::new(env!("CARGO_BIN_EXE_tvm-ffi-codegen"));
        program.args(command.split_whitespace()).current_dir(folder.path()).stdout(writer);
        let ran = program.output().unwrap();
        let said = String::from_utf8(ran.stderr).unwrap();
        assert_eq!((ran.status.code(), said.as_str()), (Some(141), ""), "{command}");
    }
}

#[test]
fn declarations_of_nothing_are_noted() {
    let folder = twice();
    fs::write(folder.path().join("empty.ffi"), "# Nothing.\n").unwrap();
    let note = "note: empty.ffi declares no function\n";
    for (arguments, said) in [
        ("check empty.ffi", note),
        ("emit empty.ffi -o empty.o", note),
        ("emit empty.ffi --emit shared --link kernel.o -o empty.so", ""),
        ("emit empty.ffi --emit shared --import w=kernel.o -o empty.so", ""),
    ] {
        assert_eq!(run_for(folder.path(), arguments), (0, said.to_owned()), "{arguments}");
    }
}

#[test]
fn a_missing_folder_of_temporary_files_is_named() {
    let folder = twice();
    let arguments = "emit twice.ffi --emit shared --link kernel.o --linker cc -o twice.so";
    let outcome = run_with(folder.path(), arguments, b"", &[("TMPDIR", "/does/not")]);
    let message = "error: linker cc: cannot write to the temporary folder /does/not: \
                   No such file or directory (os error 2)\n";
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, message));
}

/// A file of dependencies has all files that were read, also those that other files name.
#[cfg(unix)]
#[test]
fn dependencies_are_written_for_build_systems() {
    let folder = twice();
    let path = folder.path();
    let odd = "a #b/c$d";
    fs::create_dir(path.join("a #b")).unwrap();
    fs::rename(path.join("kernel.o"), path.join(odd)).unwrap();
    fs::write(path.join("libk.so"), "INPUT(libl.a)").unwrap();
    compile(path, "other", "int other(void) { return 1; }", &[]);
    let ar = Command::new("ar").args(["rcs", "libl.a", "other.o"]).current_dir(path).status();
    assert!(ar.unwrap().success());
    fs::write(path.join("we ights"), "w").unwrap();
    let tree = "[[module]]\nkind = \"a\"\nfile = \"we ights\"\n";
    fs::write(path.join("tree.toml"), tree).unwrap();
    let emit = |arguments: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_tvm-ffi-codegen"));
        let program = program.args(["emit", "twice.ffi", "--emit", "shared", "--link", odd]);
        let ran = program.args(arguments).current_dir(path).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    let files = ["-L", ".", "-l", "k", "--import-tree", "tree.toml", "--depfile", "out.d"];
    assert_eq!(emit(&[&files, ["-o", "o ut.so"].as_slice()].concat()), (Some(0), String::new()));
    let expected = "o\\ ut.so: \\\n  a\\ \\#b/c$$d \\\n  ./libk.so \\\n  ./libl.a \\\n  twice.ffi \\\n  \
                    tree.toml \\\n  ./we\\ ights\n";
    assert_eq!(fs::read_to_string(path.join("out.d")).unwrap(), expected);
    std::os::unix::fs::symlink("later", path.join("link")).unwrap();
    for (arguments, code, message) in [
        (
            ["--depfile", "out.d", "-o", "-"],
            2,
            "error: --depfile is for an output that is a file\n",
        ),
        (
            ["--depfile", odd, "-o", "x"],
            1,
            "error: cannot write a #b/c$d: it is one of the inputs\n",
        ),
        (["--depfile", "a\nb/..", "-o", "a\nb"], 1, "for which Make has no word\n"),
        (["--depfile", "none/x.d", "-o", "old"], 1, "error: cannot write none/x.d: "),
        (["--depfile", "./old", "-o", "old"], 1, "error: cannot write ./old: it is the output\n"),
        // A link leads to it, and it is no file yet.
        (["--depfile", "later", "-o", "link"], 1, "error: cannot write later: it is the output\n"),
        (["--depfile", "./new", "-o", "new"], 1, "error: cannot write ./new: it is the output\n"),
    ] {
        fs::write(path.join("old"), "old").unwrap();
        let (found, said) = emit(&arguments);
        assert!(found == Some(code) && said.contains(message), "{found:?} {said}");
        assert_eq!(fs::read_to_string(path.join("old")).unwrap(), "old");
    }
}

/// A large sparse file is read only where its headers point to.
#[cfg(target_os = "linux")]
#[test]
fn objects_are_inspected_without_reading_all_of_them() {
    let folder = twice();
    let inspected = || quiet(folder.path(), "inspect kernel.o");
    let report = inspected();
    let object = File::options().append(true).open(folder.path().join("kernel.o")).unwrap();
    object.set_len(64 << 30).unwrap();
    let start = Instant::now();
    assert_eq!(inspected(), report);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// Huge and endless files are refused at once, without memory for their contents.
#[cfg(target_os = "linux")]
#[test]
fn endless_and_empty_files_are_refused_at_once() {
    let folder = twice();
    let path = folder.path();
    File::create(path.join("sparse")).unwrap().set_len(64 << 30).unwrap();
    let mut text = File::create(path.join("blank.ffi")).unwrap();
    text.write_all(b" ").unwrap();
    text.set_len(64 << 30).unwrap();
    let start = Instant::now();
    for file in ["sparse", "/dev/zero"] {
        let unknown = (1, format!("error: {file}: not an object file\n"));
        assert_eq!(run_for(path, &format!("inspect {file}")), unknown);
        let emit = format!("emit twice.ffi --emit shared --link {file} -o out.so");
        assert_eq!(run_for(path, &emit), unknown);
        let long = format!("error: {file}: more than 16777216 bytes of text (MAX_TEXT)\n");
        assert_eq!(run_for(path, &format!("check {file}")), (1, long));
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

fn run_for(folder: &std::path::Path, arguments: &str) -> (i32, String) {
    let outcome = run(folder, arguments, b"");
    (outcome.code, outcome.stderr)
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_grow_leaves_nothing_behind() {
    let folder = twice();
    let command = format!(
        "ulimit -f 1; exec '{}' emit twice.ffi --emit shared --link kernel.o -o out.so",
        env!("CARGO_BIN_EXE_tvm-ffi-codegen")
    );
    let before = fs::read_dir(folder.path()).unwrap().count();
    let shell = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).output();
    let output = shell.unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(message, "error: cannot write out.so: File too large (os error 27)\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
}

/// Variables of the linker's own neither run programs nor write files.
#[test]
fn variables_of_the_linker_are_refused() {
    let folder = twice();
    let path = folder.path();
    let shared = "emit twice.ffi --emit shared --link kernel.o -o out.so";
    let rows = [
        ("WILD_REFERENCE_LINKER", "touch"),
        ("WILD_SAVE_BASE", "saved"),
        ("WILD_SAVE_DIR", "saved"),
        ("WILD_PERFETTO_OUT", "saved"),
        ("WILD_SAVE_PLUGIN_OUTPUTS", "saved"),
        ("WILD_WRITE_LAYOUT", "1"),
        ("WILD_WRITE_TRACE", "1"),
    ];
    let files = || fs::read_dir(path).unwrap().count();
    let before = files();
    for (name, value) in rows {
        let outcome = run_with(path, shared, b"", &[(name, value)]);
        let reason =
            format!("{name} is set, which changes what it does: unset it, or take linker cc");
        let message = format!("error: linker wild: {reason}\n");
        assert_eq!((outcome.code, outcome.stderr), (1, message));
        assert_eq!(files(), before, "{name}");
        // An object by itself is not linked.
        assert_eq!(run_with(path, "emit twice.ffi -o -", b"", &[(name, value)]).code, 0);
    }
}

#[cfg(unix)]
#[test]
fn the_compiler_may_have_several_words() {
    use std::os::unix::fs::PermissionsExt;
    let folder = twice();
    let path = folder.path();
    let link = |compiler: &str| {
        let shared = "emit twice.ffi --emit shared --link kernel.o --linker cc -o out.so";
        let outcome = run_with(path, shared, b"", &[("CC", compiler)]);
        (outcome.code, outcome.stderr)
    };
    fs::create_dir(path.join("env cc")).unwrap();
    for compiler in ["env FIRST=1 cc -O1", "env 'FIRST=1 2' cc", "env cc", "", "  "] {
        assert_eq!(link(compiler), (0, String::new()), "{compiler:?}");
    }
    // A program whose name has a blank is no two words.
    let named = path.join("my cc");
    fs::write(&named, "#!/bin/sh\nexec cc \"$@\"\n").unwrap();
    fs::set_permissions(&named, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(link(named.to_str().unwrap()), (0, String::new()));
    let (code, message) = link("no-such-program cc");
    let expected = "error: linker no-such-program cc: No such file or directory (os error 2)\n";
    assert_eq!((code, message.as_str()), (1, expected));
}

/// Each extent waits for two symbols that later parameters determine.
#[test]
fn extents_that_wait_are_looked_at_once() {
    let folder = folder();
    let symbols = 1000;
    let extent =
        |at: usize| format!("s{} + s{} * s{}", at % symbols, at * 7 % symbols, at * 11 % symbols);
    let tensor =
        |name: String, dims: Vec<String>| format!("{name}: Tensor([{}], int8)", dims.join(", "));
    let waiting =
        (0..600).map(|i| tensor(format!("x{i}"), (0..64).map(|j| extent(64 * i + j)).collect()));
    let known = (0..symbols).step_by(50);
    let known =
        known.map(|i| tensor(format!("y{i}"), (i..i + 50).map(|at| format!("s{at}")).collect()));
    let params: Vec<String> = waiting.chain(known).collect();
    let text = format!("f({}) -> None = k();", params.join(", "));
    fs::write(folder.path().join("wait.ffi"), text).unwrap();
    let start = Instant::now();
    quiet(folder.path(), "check wait.ffi");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
