//! Comparison of a file test's expectations with the behaviour of its modules.

use codegen::ir::{Module, ReadError, verify};
use driver::{Form, Request};

use super::call::Call;
use super::directive::{self, Case, Expected, Test, TestKind};
use super::machine;
use super::native::{Native, engines};
use super::value::Value;
use crate::route::{BACKENDS, request};

/// A checked expectation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Line of the expectation, from 1.
    pub line: usize,
    /// Engine and directive.
    pub subject: String,
    /// Success, or the actual behaviour.
    pub outcome: Result<(), String>,
}

/// Checks all expectations of a file in order.
pub fn check(text: &str) -> Vec<Checked> {
    match directive::parse(text) {
        Ok(cases) => cases.iter().flat_map(case).collect(),
        Err(ReadError { line, reason }) => {
            vec![Checked { line, subject: "directives".to_owned(), outcome: Err(reason) }]
        }
    }
}

fn case(case: &Case) -> Vec<Checked> {
    case.tests.iter().flat_map(|test| self::test(&case.text, test)).collect()
}

fn test(text: &str, test: &Test) -> Vec<Checked> {
    let one = |subject: String, outcome| vec![Checked { line: test.line, subject, outcome }];
    let module = text.parse::<Module>().map_err(|error| error.to_string());
    if test.kind == TestKind::Read {
        let outcome = refusal(test.expected.first(), module.err());
        let outcome = outcome.and_then(|()| match test.expected.is_empty() {
            true => as_written(text),
            false => Ok(()),
        });
        return one("read".to_owned(), outcome);
    }
    let module = match module {
        Ok(module) => module,
        Err(error) => return one("read".to_owned(), Err(error)),
    };
    let malformed = verify(&module).err().map(|error| error.reason);
    match test.kind {
        TestKind::Read | TestKind::Verify => {
            one("verify".to_owned(), refusal(test.expected.first(), malformed))
        }
        TestKind::Run | TestKind::Text(_) if malformed.is_some() => {
            one("verify".to_owned(), refusal(None, malformed))
        }
        TestKind::Run => calls(&module, &test.expected),
        TestKind::Text(backend) => vec![native_text(&module, backend, &test.expected)],
    }
}

/// Compares a refusal with the expected one.
fn refusal(expected: Option<&Expected>, found: Option<String>) -> Result<(), String> {
    match (expected.map(|expected| &*expected.text), found) {
        (None, None) => Ok(()),
        (None, Some(found)) => Err(format!("refused: {found}")),
        (Some(_), None) => Err("accepted".to_owned()),
        (Some(expected), Some(found)) if expected == found => Ok(()),
        (Some(_), Some(found)) => Err(format!("refused otherwise: {found}")),
    }
}

/// Checks that a text, apart from comments, prints as it is written.
fn as_written(text: &str) -> Result<(), String> {
    let module: Module = text.parse().map_err(|error: ReadError| error.to_string())?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let (written, printed) = (lines.collect::<Vec<_>>().join("\n"), format!("{module:#}"));
    if written.trim() == printed.trim() { Ok(()) } else { Err(format!("prints as\n{printed}")) }
}

/// An expected call.
struct Run<'t> {
    line: usize,
    /// Text of the directive.
    text: &'t str,
    call: Call,
    end: End<'t>,
}

/// Expected end of a call.
#[derive(PartialEq)]
enum End<'t> {
    /// A result.
    Returns(Value),
    /// A fault with the machine's reason.
    Faults(&'t str),
}

impl<'t> Run<'t> {
    /// Parses `f(1) == 2`, `f(1)` or `f(1) faults: reason`.
    fn parse(module: &Module, expected: &'t Expected) -> Result<Run<'t>, String> {
        let Expected { line, text } = expected;
        let (call, rest) = Call::parse(module, text)?;
        let end = match (rest.strip_prefix("faults:"), rest.strip_prefix("=="), call.result) {
            (Some(reason), ..) => End::Faults(reason.trim()),
            (None, Some(value), Some(ty)) => End::Returns(Value::parse(ty, value.trim())?),
            (None, None, None) if rest.is_empty() => End::Returns(Value::Nothing),
            (None, None, Some(_)) if rest.is_empty() => {
                return Err("expected `==` or `faults:`".to_owned());
            }
            (None, ..) => return Err(format!("`{rest}` means nothing here")),
        };
        Ok(Run { line: *line, text, call, end })
    }

    fn checked(&self, who: &str, outcome: Result<(), String>) -> Checked {
        Checked { line: self.line, subject: format!("{who}: {}", self.text), outcome }
    }

    /// Runs the call in the machine.
    fn in_machine(&self, module: &Module) -> Checked {
        let outcome = match (machine::run(module, &self.call), &self.end) {
            (Ok(found), End::Returns(expected)) if found == *expected => Ok(()),
            (Ok(found), End::Returns(_) | End::Faults(_)) => Err(format!("returns {found}")),
            (Err(finding), End::Faults(reason)) if finding.reason == *reason => Ok(()),
            (Err(finding), End::Returns(_) | End::Faults(_)) => Err(format!("faults: {finding}")),
        };
        self.checked("machine", outcome)
    }
}

/// Runs the calls in the machine, then the calls that return in the code of every backend.
fn calls(module: &Module, expected: &[Expected]) -> Vec<Checked> {
    let (mut runs, mut checked) = (Vec::new(), Vec::new());
    for expected in expected {
        match Run::parse(module, expected) {
            Ok(run) => runs.push(run),
            Err(reason) => checked.push(Checked {
                line: expected.line,
                subject: expected.text.clone(),
                outcome: Err(reason),
            }),
        }
    }
    let in_machine: Vec<Checked> = runs.iter().map(|run| run.in_machine(module)).collect();
    let is_sound = in_machine.iter().all(|checked| checked.outcome.is_ok());
    checked.extend(in_machine);
    // Native code runs only if the machine has found no fault, because undefined behaviour could corrupt this process.
    if is_sound {
        runs.retain(|run| matches!(run.end, End::Returns(_)));
        checked.extend(native(module, &runs));
    }
    checked
}

/// Runs calls in the code of every backend.
fn native(module: &Module, runs: &[Run<'_>]) -> Vec<Checked> {
    let calls: Vec<Call> = runs.iter().map(|run| run.call.clone()).collect();
    let mut checked = Vec::new();
    for engine in engines().filter(|_| !calls.is_empty()) {
        let native = Native::new(module, &calls, engine);
        for (index, run) in runs.iter().enumerate() {
            let found = native.as_ref().map_err(String::clone);
            let outcome = found.and_then(|native| native.run(index)).and_then(|found| {
                let same = run.end == End::Returns(found);
                if same { Ok(()) } else { Err(format!("returns {found}")) }
            });
            checked.push(run.checked(&engine.to_string(), outcome));
        }
    }
    checked
}

/// Searches the text form of a backend for parts of lines, each after the previous one; checks nothing if the build
/// lacks the backend.
fn native_text(module: &Module, backend: &'static str, expected: &[Expected]) -> Checked {
    let line = expected.first().map_or(0, |expected| expected.line);
    if !BACKENDS.contains(&backend) {
        let subject = format!("{backend}, which is no part of this build");
        return Checked { line, subject, outcome: Ok(()) };
    }
    let request = Request {
        // A fixed target makes the text the same on every machine.
        target: "x86_64-unknown-linux-gnu".parse().expect("a known target"),
        ..request(backend, Form::Native)
    };
    let text = request.emit_module(module);
    let outcome = text.map_err(|error| error.to_string()).and_then(|text| {
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines();
        let missing = expected.iter().find(|part| !lines.any(|line| line.contains(&part.text)));
        missing.map_or(Ok(()), |Expected { line, text: part }| {
            Err(format!("line {line}: `{part}` is not where it should be in\n{text}"))
        })
    });
    Checked { line, subject: format!("text of {backend}"), outcome }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the failed expectations of a file.
    fn wrong(text: &str) -> Vec<String> {
        let wrong = check(text).into_iter().filter_map(|checked| {
            let reason = checked.outcome.err()?;
            Some(format!("{}: {}: {reason}", checked.line, checked.subject))
        });
        wrong.collect()
    }

    const TWICE: &str =
        "export func @f(%n: i8) -> i8 {\nentry:\n    %m: i8 = add %n, %n\n    return %m\n}\n";

    #[test]
    fn what_is_otherwise_is_said() {
        let rows = [
            ("# test verify\n", vec![]),
            ("# test verify\n# error: no\n", vec!["1: verify: accepted"]),
            ("# test read\n", vec![]),
            ("# test read\n# error: no\n", vec!["1: read: accepted"]),
            ("# test run\n# run: f(100) == -56\n# run: f(1) == 2\n", vec![]),
            (
                "# test run\n# run: f(1) == 3\n# run: f(1) faults: no\n# run: f(1)\n# run: g() == 1\n",
                vec![
                    "4: f(1): expected `==` or `faults:`",
                    "5: g() == 1: no function `g` is defined",
                    "2: machine: f(1) == 3: returns 2",
                    "3: machine: f(1) faults: no: returns 2",
                ],
            ),
            ("# test cranelift\n# check: iadd\n# check: return\n", vec![]),
        ];
        for (directives, expected) in rows {
            assert_eq!(wrong(&format!("{directives}{TWICE}")), expected, "{directives}");
        }
        let text = "# test cranelift\n# check: return\n# check: iadd\n";
        let found = wrong(&format!("{text}{TWICE}"));
        assert!(found[0].contains("line 3: `iadd` is not where it should be in"), "{found:?}");
        let wrong_text = wrong("# test run\n# run: f()\nexport func @f() {\nentry:\n}\n");
        assert_eq!(wrong_text, ["1: verify: refused: a block has no terminator"]);
        assert_eq!(wrong("# test frob\n"), ["1: directives: there is no test `frob`"]);
    }
}
