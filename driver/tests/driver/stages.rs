//! Views of the command line into its work: resolved declarations, the time of stages, the reasons of forms.

use tvm_ffi_codegen_driver::{Form, Request, lower};

#[cfg(feature = "log")]
use crate::cli::run_with;
use crate::cli::{ADD_ONE, add_one, quiet, run};
#[cfg(feature = "log")]
use crate::support::folder;

/// Variable that names the level of the lines on what the library chooses.
#[cfg(feature = "log")]
const LOG: &str = "TVM_FFI_CODEGEN_LOG";

#[test]
fn resolved_declarations_are_printed() {
    let folder = add_one();
    let text = String::from_utf8(quiet(folder.path(), "emit add_one.ffi --emit resolved -o -"));
    let library: codegen::Library = ADD_ONE.parse().unwrap();
    assert_eq!(text.unwrap(), library.resolve().unwrap().to_string());
    let module = lower(&library, &codegen::Options::default()).unwrap();
    let error = Request::new(Form::Resolved).emit_module(&module).unwrap_err();
    let message = "option form resolved is made from declarations, not from host IR";
    assert_eq!(error.to_string(), message);
}

/// The times of stages go to standard error, a line for each stage that runs, also before an error.
#[test]
fn stages_are_timed_on_request() {
    let folder = add_one();
    let rows = [
        ("check add_one.ffi", 0, "read parse warn"),
        ("emit add_one.ffi --emit resolved -o out", 0, "read parse resolve"),
        ("emit add_one.ffi --emit ir -o out", 0, "read parse resolve lower"),
        ("emit add_one.ffi -o out", 0, "read parse resolve lower compile"),
        (
            "emit add_one.ffi --emit shared --link kernel.o -o out",
            0,
            "read parse resolve lower compile link",
        ),
        (
            "emit add_one.ffi --emit shared -o out",
            1,
            "read parse resolve lower compile link error:",
        ),
        ("emit none.ffi -o out", 1, "read error:"),
    ];
    for (arguments, code, stages) in rows {
        let outcome = run(folder.path(), &format!("{arguments} --time-stages"), b"");
        let lines: Vec<Vec<&str>> =
            outcome.stderr.lines().map(|line| line.split_whitespace().collect()).collect();
        let first: Vec<&str> = lines.iter().map(|words| words[0]).collect();
        assert_eq!((outcome.code, first.join(" ").as_str()), (code, stages), "{arguments}");
        for words in lines.iter().filter(|words| words[0] != "error:") {
            let [_, number, "ms"] = words[..] else { panic!("{arguments}: {words:?}") };
            assert!(number.parse::<f64>().unwrap() > 0.0, "{arguments}: {words:?}");
        }
    }
    assert_eq!(run(folder.path(), "check add_one.ffi", b"").stderr, "");
}

/// With the variable the library says what it chooses, and dependencies say nothing; without it there is no line.
#[cfg(feature = "log")]
#[test]
fn choices_are_explained_on_request() {
    let folder = folder();
    let params: Vec<String> = (0..12).map(|at| format!("x{at}: Tensor([n], float32)")).collect();
    let text = format!("f({}, m: int32) -> None = k(n, m * 4);", params.join(", "));
    let emit = |arguments: &str, variables: &[(&str, &str)]| {
        let arguments = format!("emit - -o out.o {arguments}");
        run_with(folder.path(), &arguments, text.as_bytes(), variables).stderr
    };
    assert_eq!(emit("", &[]), "");
    assert_eq!(emit("", &[(LOG, "info")]), "");
    let expected = "\
debug: f: a loop checks 11 tensors from x1 on, which are declared like the one before
debug: f: the sign of x1.shape[0] is not checked: n is not negative
debug: f: `m * 4` has no flag: it is in the range -8589934592 to 8589934588
";
    assert_eq!(emit("", &[(LOG, "debug")]), expected);
    let unchecked = emit("--unchecked shape", &[(LOG, "debug")]);
    let line = "debug: x1.shape[0] is not compared: its group is unchecked\n";
    assert!(unchecked.contains(line), "{unchecked}");
    let unknown = emit("", &[(LOG, "loud")]);
    let warning = "warning: TVM_FFI_CODEGEN_LOG is \"loud\", which is none of off, error, ";
    assert!(unknown.starts_with(warning), "{unknown}");
}
