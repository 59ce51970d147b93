//! What the command line shows of its work: resolved declarations, the time of stages, the reasons of forms.

use tvm_ffi_codegen_driver::{Form, Request, lower};

use crate::cli::{ADD_ONE, add_one, quiet, run};

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
