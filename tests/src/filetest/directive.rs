//! Directives: lines of a file test that state expectations of a module.

use codegen::ir::ReadError;
use driver::BackendName;

/// A module of a file and its tests.
#[derive(Debug)]
pub(super) struct Case {
    /// Text of the module, preceded by empty lines so that line numbers are those of the file.
    pub(super) text: String,
    /// Tests of the module; at least one.
    pub(super) tests: Vec<Test>,
}

/// A test of a module.
#[derive(Debug)]
pub(super) struct Test {
    /// Line of the directive `# test`, from 1.
    pub(super) line: usize,
    /// Subject of the test.
    pub(super) kind: TestKind,
    /// Expectations.
    pub(super) expected: Vec<Expected>,
}

/// A directive of a test, without its first word.
#[derive(Debug)]
pub(super) struct Expected {
    /// Line of the directive, from 1.
    pub(super) line: usize,
    /// Text of the directive.
    pub(super) text: String,
}

/// Subject of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TestKind {
    /// Text form of the module.
    Read,
    /// Verdict of the verifier.
    Verify,
    /// Results of calls.
    Run,
    /// Text form of a backend.
    Text(&'static str),
}

impl TestKind {
    /// Parses the word after `# test`.
    fn of(word: &str) -> Option<TestKind> {
        match word {
            "read" => Some(TestKind::Read),
            "verify" => Some(TestKind::Verify),
            "run" => Some(TestKind::Run),
            _ => word.parse().ok().map(|backend: BackendName| TestKind::Text(backend.name())),
        }
    }

    /// Returns the first word of the directives that belong to the test.
    fn directive(self) -> &'static str {
        match self {
            TestKind::Read | TestKind::Verify => "error",
            TestKind::Run => "run",
            TestKind::Text(_) => "check",
        }
    }

    /// Returns the minimal and maximal number of directives.
    fn counts(self) -> (usize, usize) {
        match self {
            TestKind::Read | TestKind::Verify => (0, 1),
            TestKind::Run | TestKind::Text(_) => (1, usize::MAX),
        }
    }
}

/// Parses the modules of a file.
pub(super) fn parse(text: &str) -> Result<Vec<Case>, ReadError> {
    let mut cases: Vec<Case> = Vec::new();
    let mut has_text = true;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let fault = |reason: String| ReadError { line: number, reason };
        match line.trim_start().strip_prefix('#') {
            Some(comment) if comment.starts_with('#') => {}
            Some(comment) => {
                let is_test = comment.trim_start().starts_with("test");
                if is_test && std::mem::take(&mut has_text) {
                    cases.push(Case { text: "\n".repeat(index), tests: Vec::new() });
                }
                let case = cases.last_mut().ok_or_else(|| fault(NO_TEST.into()))?;
                directive(case, number, comment.trim()).map_err(fault)?;
            }
            None => has_text |= !line.trim().is_empty(),
        }
        match cases.last_mut() {
            Some(case) => case.text.extend([line, "\n"]),
            None if line.trim().is_empty() || line.starts_with("##") => {}
            None => return Err(fault(NO_TEST.into())),
        }
    }
    complete(&cases)?;
    Ok(cases)
}

/// Error of a file without `# test`, or with text before the first one.
const NO_TEST: &str = "expected `# test`";

/// Adds a directive to a module.
fn directive(case: &mut Case, line: usize, text: &str) -> Result<(), String> {
    if let Some(word) = text.strip_prefix("test ") {
        let kind = TestKind::of(word.trim()).ok_or_else(|| format!("there is no test `{word}`"))?;
        case.tests.push(Test { line, kind, expected: Vec::new() });
        return Ok(());
    }
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    let test = case.tests.last_mut().ok_or(NO_TEST)?;
    let known = test.kind.directive();
    if word != known {
        return Err(format!("`{word}` is not `{known}:`, which is what the test before it takes"));
    }
    test.expected.push(Expected { line, text: rest.trim().to_owned() });
    Ok(())
}

/// Checks that every module has a test and every test its directives.
fn complete(cases: &[Case]) -> Result<(), ReadError> {
    if cases.is_empty() {
        return Err(ReadError { line: 1, reason: NO_TEST.to_owned() });
    }
    for test in cases.iter().flat_map(|case| &case.tests) {
        let (least, most) = test.kind.counts();
        let word = test.kind.directive();
        let reason = match test.expected.len() {
            count if count < least => format!("the test has no `# {word}:`"),
            count if count > most => format!("the test has {count} times `# {word}:`"),
            _ => continue,
        };
        return Err(ReadError { line: test.line, reason });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_begins_where_a_test_follows_text() {
        let text = "## For readers.\n# test verify\n# test run\n# run: f()\na\n# run: g()\n\n# test read\n# error: e\nb\n";
        let cases = parse(text).unwrap();
        let kinds: Vec<Vec<TestKind>> =
            cases.iter().map(|case| case.tests.iter().map(|test| test.kind).collect()).collect();
        assert_eq!(kinds, [vec![TestKind::Verify, TestKind::Run], vec![TestKind::Read]]);
        let lines: Vec<usize> = cases[0].tests[1].expected.iter().map(|run| run.line).collect();
        assert_eq!(lines, [4, 6]);
        assert_eq!(cases[1].text.lines().nth(9), Some("b"));
        assert_eq!(cases[1].text.trim(), "# test read\n# error: e\nb");
    }

    #[test]
    fn what_nobody_would_run_is_refused() {
        let rows = [
            ("", "line 1: expected `# test`"),
            ("a\n# test verify\n", "line 1: expected `# test`"),
            ("# run: f()\n", "line 1: expected `# test`"),
            ("# test frob\n", "line 1: there is no test `frob`"),
            (
                "# test verify\n# eror: e\n",
                "line 2: `eror` is not `error:`, which is what the test before it takes",
            ),
            (
                "# test verify\n# run: f()\n",
                "line 2: `run` is not `error:`, which is what the test before it takes",
            ),
            ("# test verify\n# error: a\n# error: b\n", "line 1: the test has 2 times `# error:`"),
            ("# test run\n", "line 1: the test has no `# run:`"),
            ("# test llvm\na\n", "line 1: the test has no `# check:`"),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text).unwrap_err().to_string(), expected, "{text}");
        }
    }
}
