//! The test table: files of declarations, each followed by rows of calls.
//!
//! ```text
//! # A comment.
//! half(n: int64) -> int64
//!     where n % 2 == 0
//!     = echo_int64(n / 2);
//!   (4) -> 2
//!   (5) -> ValueError: Violated n % 2 == 0 …, n = 5
//!   (1, 2) -> TypeError: Mismatched number of arguments …, expected 1 but got 2
//! ```
//!
//! A row that starts with `count=-1` passes that number of arguments, however long the list is.

use std::fs;
use std::path::Path;

use codegen::{Function, Library};

use crate::argument::{self, Argument};
use crate::outcome::Outcome;

/// A declaration and its calls.
#[derive(Clone, Debug)]
pub struct Case {
    /// The name of the file without its ending.
    pub group: String,
    /// The declaration.
    pub function: Function,
    /// The calls.
    pub rows: Vec<Row>,
}

/// A call and its expected outcome.
#[derive(Clone, Debug)]
pub struct Row {
    /// File and line.
    pub place: String,
    /// The number of arguments that is passed, if it differs from the length of the list.
    pub count: Option<i32>,
    /// Arguments.
    pub arguments: Vec<Argument>,
    /// Expected outcome.
    pub expected: Outcome,
}

/// Reads the whole table, file by file in alphabetical order.
///
/// # Panics
/// If a file does not follow the format.
pub fn table() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let files = fs::read_dir(&folder).expect("the table is there");
    let mut paths: Vec<_> = files.map(|file| file.expect("and can be listed").path()).collect();
    paths.sort();
    paths.iter().flat_map(|path| read(path)).collect()
}

/// Collects the declarations of cases in one library.
pub fn library(cases: &[Case]) -> Library {
    cases.iter().map(|case| case.function.clone()).collect::<Vec<_>>().into()
}

fn read(path: &Path) -> Vec<Case> {
    let group = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).expect("the table can be read");
    let (mut cases, mut declaration) = (Vec::new(), String::new());
    for (index, line) in text.lines().enumerate() {
        let place = format!("{group}:{}", index + 1);
        let fail = |reason: String| -> ! { panic!("{place}: {reason}\n{line}") };
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        if declaration.is_empty() && (trimmed.starts_with('(') || trimmed.starts_with("count=")) {
            let case: &mut Case = cases.last_mut().unwrap_or_else(|| fail("no declaration".into()));
            let row = row(trimmed, place.clone(), &case.function).unwrap_or_else(|e| fail(e));
            case.rows.push(row);
            continue;
        }
        declaration += line;
        declaration.push('\n');
        if trimmed.ends_with(';')
            && declaration.matches('{').count() == declaration.matches('}').count()
        {
            let function =
                declaration.parse().unwrap_or_else(|e: codegen::Error| fail(e.to_string()));
            declaration.clear();
            cases.push(Case { group: group.clone(), function, rows: Vec::new() });
        }
    }
    assert!(declaration.is_empty(), "{group}: unfinished declaration\n{declaration}");
    cases
}

fn row(text: &str, place: String, function: &Function) -> Result<Row, String> {
    let (count, text) = match text.strip_prefix("count=") {
        Some(rest) => {
            let (count, rest) = rest.split_once(' ').ok_or("no arguments")?;
            (Some(count.parse().map_err(|_| format!("`{count}` is no count"))?), rest)
        }
        None => (None, text),
    };
    let (arguments, rest) = argument::parse_list(text)?;
    let expected = rest.trim_start().strip_prefix("->").ok_or("expected `->`")?;
    let expected = Outcome::parse(expected.trim(), &function.signature)?;
    Ok(Row { place, count, arguments, expected })
}
