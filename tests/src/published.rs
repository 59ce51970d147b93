//! Tables of measured figures in documents, written from results of the benchmark. `tests/benches/published.json` keeps
//! the figures that documents show: of the newest run all, of earlier ones those that tables ask for by processor.
//!
//! A table stands between `<!-- figures: NAME -->` and `<!-- end -->`; `runs` is the list of runs, `newest run` a line.

mod history;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use tables::{At, Shown, TABLES};

pub use history::history;

/// Documents with tables, from the root of the repository.
const DOCUMENTS: [&str; 3] =
    ["README.md", "codegen/src/guide/numbers.md", "codegen/src/guide/comparison.md"];

const PUBLISHED: &str = "tests/benches/published.json";

/// The plot of README, in the folder of the results and in the repository.
const PLOT: [&str; 2] = ["calls-that-everybody-can-make.svg", "codegen/src/guide/calls.svg"];

const START: &str = "<!-- figures: ";
const END: &str = "<!-- end -->";

/// The reason for a missing figure that the next run prints. Any other is that of a tool that cannot do it.
const UNKNOWN: &str = "?";

/// Lines of the results about the machine and the tools that are published.
const SAID: [&str; 6] = ["processor", "date", "gcc", "LLVM", "rustc", "runtime"];

/// Table, row, column, and a cell's figures by name, or the reason why there are none.
type Cell = (String, String, String, Value);

/// Figures of a run.
#[derive(Debug, Default)]
struct Run {
    machine: Vec<[String; 2]>,
    cells: Vec<Cell>,
}

impl Run {
    /// Reads the results of the benchmark.
    fn of_results(results: &Value) -> Run {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut cells = Vec::new();
        for table in list(&results["sections"]).iter().flat_map(|section| list(&section["tables"]))
        {
            let title = text(&table["title"]);
            for cell in list(&table["cells"]) {
                cells.push((title.clone(), text(&cell["row"]), text(&cell["column"]), cell));
            }
            for absent in list(&table["absent"]) {
                let [row, column] = [0, 1].map(|part| text(&absent[part]));
                cells.push((title.clone(), row, column, absent[2].clone()));
            }
        }
        Run { machine: machine(results), cells }
    }

    /// Reads a published run.
    fn of_published(run: &Value) -> Result<Run, String> {
        let cells = serde_json::from_value(run["cells"].clone());
        let cells = cells.map_err(|error| format!("{PUBLISHED}: {error}"))?;
        Ok(Run { machine: machine(run), cells })
    }

    fn said(&self, name: &str) -> &str {
        self.machine.iter().find(|[key, _]| key == name).map_or("", |[_, value]| value)
    }

    /// Prints the processor, the date and the tools.
    fn line(&self) -> String {
        let said: Vec<String> =
            self.machine.iter().map(|[name, value]| brief(name, value)).collect();
        said.join(", ")
    }

    /// Prints the run, a cell a line.
    fn json(&self) -> String {
        let machine: Vec<String> =
            self.machine.iter().map(|line| json!(line).to_string()).collect();
        let cells: Vec<String> = self.cells.iter().map(|cell| json!(cell).to_string()).collect();
        let [machine, cells] = [machine, cells].map(|lines| lines.join(",\n"));
        format!("{{\"machine\": [\n{machine}\n], \"cells\": [\n{cells}\n]}}")
    }
}

/// Returns what is said about the machine or a tool without what readers do not need: the time of the day, and how
/// vendors and distributions call it.
fn brief(name: &str, value: &str) -> String {
    match (name, value.split_once(" ("), value.split_once(") ")) {
        ("date", ..) => value.split(' ').next().unwrap_or_default().to_owned(),
        ("processor", ..) => value.replace("(R)", "").replace(" Processor", ""),
        ("gcc", Some((tool, _)), Some((_, version))) => format!("{tool} {version}"),
        ("rustc", Some((tool, _)), _) => tool.to_owned(),
        _ => value.to_owned(),
    }
}

fn machine(run: &Value) -> Vec<[String; 2]> {
    serde_json::from_value(run["machine"].clone()).unwrap_or_default()
}

/// Reads the published runs, the newest first.
fn read(root: &Path) -> Result<Vec<Run>, String> {
    let text = fs::read_to_string(root.join(PUBLISHED));
    let text = text.map_err(|error| format!("{PUBLISHED}: {error}"))?;
    let runs: Vec<Value> = serde_json::from_str(&text).map_err(|e| format!("{PUBLISHED}: {e}"))?;
    runs.iter().map(Run::of_published).collect()
}

/// Finds the cell of a figure: the indices of its run and of the cell there, and the name of the figure. The error says
/// what is missing.
fn find(runs: &[Run], at: At) -> Result<(usize, usize, String), String> {
    let [column, figure] = [at.column, at.figure].map(|part| part.replace("{base}", at.base));
    let is_run = |run: &Run| run.said("processor").contains(at.run);
    let nth = runs.iter().position(is_run).ok_or(format!("no run on `{}`", at.run))?;
    let run = &runs[nth];
    let is_cell = |cell: &Cell| cell.0 == at.table && cell.1 == at.row && cell.2 == column;
    let place = format!("table `{}`, row `{}`, column `{column}`", at.table, at.row);
    let missing = |what| format!("{}: no {what} in {place}", run.said("processor"));
    let cell = run.cells.iter().position(is_cell).ok_or_else(|| missing("cell".to_owned()))?;
    if value_of(&run.cells[cell], &figure).is_null() {
        return Err(missing(format!("`{figure}`")));
    }
    Ok((nth, cell, figure))
}

/// Returns a figure of a cell, or the reason why there is none.
fn value_of<'a>((.., value): &'a Cell, figure: &str) -> &'a Value {
    if value.is_string() { value } else { &value[figure] }
}

/// Prints a figure, or a sign for the reason why there is none.
fn print(runs: &[Run], at: At) -> Result<String, String> {
    let (run, cell, figure) = find(runs, at)?;
    let value = value_of(&runs[run].cells[cell], &figure);
    Ok(match value.as_str() {
        Some(why) if why == UNKNOWN => why.to_owned(),
        Some(_) => "—".to_owned(),
        None => number(value),
    })
}

/// Prints a figure with three digits; counts whole.
fn number(value: &Value) -> String {
    match value.as_f64().unwrap_or(f64::NAN) {
        _ if value.is_u64() => value.to_string(),
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Rounds a figure to two digits more than [`number`] prints, so that it is printed as it was.
fn rounded(value: &Value) -> Value {
    let round = |value: f64| format!("{value:.4e}").parse().map_or(Value::Null, |v: f64| v.into());
    if value.is_f64() { value.as_f64().map_or(Value::Null, round) } else { value.clone() }
}

/// Prints a table in Markdown, without rows that are empty.
fn markdown(
    &Shown { all, rows, columns, .. }: &Shown,
    print: impl Fn(At) -> Result<String, String>,
) -> Result<String, String> {
    let labels: Vec<&str> = columns.iter().map(|(label, _)| *label).collect();
    let mut out = format!("| | {} |\n|---|{}\n", labels.join(" | "), "---:|".repeat(labels.len()));
    for (label, row) in rows {
        let cells = columns.iter().map(|(_, column)| print(all.with(row).with(column)));
        let cells = cells.collect::<Result<Vec<_>, _>>()?;
        if cells.iter().any(|cell| !cell.is_empty()) {
            out.push_str(&format!("| {label} | {} |\n", cells.join(" | ")));
        }
    }
    Ok(out)
}

/// Prints the tables with what results have of them.
pub fn summary(results: &Value) -> String {
    let runs = [Run::of_results(results)];
    let table = |shown: &Shown| {
        let table = markdown(shown, |at| Ok(print(&runs, at).unwrap_or_default())).ok()?;
        (table.lines().count() > 2).then(|| format!("\n{}:\n\n{table}", shown.name))
    };
    TABLES.iter().filter_map(table).collect()
}

/// Keeps the figures that tables show.
fn kept(runs: &[Run], tables: &[Shown]) -> Result<Vec<Run>, String> {
    let mut wanted: BTreeMap<(usize, usize), BTreeSet<String>> = BTreeMap::new();
    for Shown { all, rows, columns, .. } in tables {
        for (row, column) in rows.iter().flat_map(|row| columns.iter().map(move |c| (row, c))) {
            let (run, cell, figure) = find(runs, all.with(&row.1).with(&column.1))?;
            wanted.entry((run, cell)).or_default().insert(figure);
        }
    }
    let mut kept: Vec<Run> = Vec::new();
    for (nth, run) in runs.iter().enumerate() {
        let cells = wanted.range((nth, 0)..(nth + 1, 0)).map(|(&(_, cell), names)| {
            let (table, row, column, value) = run.cells[cell].clone();
            let figure = |name: &String| Some((name.clone(), rounded(value.get(name)?)));
            let figures = || names.iter().filter_map(figure).collect::<Map<_, _>>().into();
            (table, row, column, if value.is_string() { value.clone() } else { figures() })
        });
        let machine = run.machine.iter().filter(|[name, _]| SAID.contains(&name.as_str()));
        kept.push(Run { machine: machine.cloned().collect(), cells: cells.collect() });
    }
    kept.retain(|run| !run.cells.is_empty());
    Ok(kept)
}

/// Returns a document with its tables written anew.
fn rewritten(text: &str, runs: &[Run], tables: &[Shown]) -> Result<String, String> {
    let block = |lines: String| format!("\n\n{lines}\n");
    let mut parts = text.split(START);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").ok_or(format!("`{START}` without an end"))?;
        let (_, rest) = rest.split_once(END).ok_or(format!("no `{END}` after `{name}`"))?;
        let shown = tables.iter().find(|shown| shown.name == name);
        let body = match (name, shown) {
            ("newest run", _) => runs.first().map(Run::line).unwrap_or_default(),
            ("runs", _) => block(runs.iter().map(|run| format!("* {}\n", run.line())).collect()),
            (_, Some(shown)) => block(markdown(shown, |at| print(runs, at))?),
            (_, None) => return Err(format!("there is no table `{name}`")),
        };
        out.push_str(&format!("{START}{name} -->{body}{END}{rest}"));
    }
    Ok(out)
}

/// Returns the files that hold published figures, with their new texts.
fn files(
    root: &Path,
    runs: &[Run],
    tables: &[Shown],
) -> Result<Vec<(&'static str, String)>, String> {
    let runs = kept(runs, tables)?;
    let of_document = |path| {
        let text = fs::read_to_string(root.join(path)).map_err(|error| error.to_string());
        let text = text.and_then(|text| rewritten(&text, &runs, tables));
        text.map(|text| (path, text)).map_err(|why| format!("{path}: {why}"))
    };
    let mut files: Vec<_> = DOCUMENTS.into_iter().map(of_document).collect::<Result<_, _>>()?;
    for Shown { name, .. } in tables {
        let start = format!("{START}{name} -->");
        if !files.iter().any(|(_, text)| text.contains(&start)) {
            return Err(format!("no document has the line `{start}`"));
        }
    }
    let all: Vec<String> = runs.iter().map(Run::json).collect();
    files.push((PUBLISHED, format!("[{}]\n", all.join(", "))));
    Ok(files)
}

/// Writes the tables of documents and what is published: from the newest results if there are any, from what was
/// published otherwise. With `is_check` it compares instead.
///
/// # Errors
/// If a figure or the place of a table is missing, the results are not those of a full run, a file cannot be read or
/// written, or one differs.
pub fn publish(root: &Path, results: Option<&Path>, is_check: bool) -> Result<(), String> {
    let mut runs = read(root)?;
    if let Some(path) = results {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let run = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        runs.insert(0, Run::of_results(&run));
        if runs[0].said("mode") != "full" {
            return Err(format!("{}: not a full run", path.display()));
        }
    }
    for (path, text) in files(root, &runs, TABLES)? {
        let at = root.join(path);
        if !is_check {
            fs::write(&at, text).map_err(|error| format!("{path}: {error}"))?;
        } else if fs::read_to_string(&at).ok().as_ref() != Some(&text) {
            return Err(format!(
                "{path}: its figures are not those of {PUBLISHED}; `tests/bench --publish` writes them"
            ));
        }
    }
    let [plot, drawn] = PLOT;
    let plot = results.map(|path| path.with_file_name(plot)).filter(|plot| plot.exists());
    let copied = plot.map(|plot| fs::copy(plot, root.join(drawn)));
    copied.transpose().map(drop).map_err(|error| format!("{drawn}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: At = At { run: "", table: "T", row: "r", column: "", figure: "median", base: "" };
    const ONE: Shown =
        Shown { name: "one", all: AT, rows: &[("row", AT)], columns: &[("a", A), ("b", B)] };
    const A: At = At { column: "a", ..AT };
    const B: At = At { column: "{base}", base: "b", ..AT };
    const TEXT: &str = "Head\n\n<!-- figures: one -->\n<!-- end -->\n\nTail\n";

    fn runs(cells: &str) -> Vec<Run> {
        let text = format!(
            r#"{{"machine": [["processor", "P"]], "sections": [{{"tables": [{{"title": "T", {cells}}}]}}]}}"#
        );
        vec![Run::of_results(&serde_json::from_str(&text).unwrap())]
    }

    fn both() -> Vec<Run> {
        runs(
            r#""cells": [{"row": "r", "column": "a", "median": 6.0, "max": 7}], "absent": [["r", "b", "crashes"]]"#,
        )
    }

    #[test]
    fn documents_have_the_published_figures() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        publish(root, None, true).unwrap_or_else(|why| panic!("{why}"));
    }

    #[test]
    fn rewriting() {
        let once = rewritten(TEXT, &both(), &[ONE]).unwrap();
        let table = "| | a | b |\n|---|---:|---:|\n| row | 6.00 | — |\n";
        let wanted = format!("Head\n\n<!-- figures: one -->\n\n{table}\n<!-- end -->\n\nTail\n");
        assert_eq!(once, wanted);
        assert_eq!(rewritten(&once, &both(), &[ONE]).unwrap(), once);
        let kept = kept(&both(), &[ONE]).unwrap();
        let cells = "[\"T\",\"r\",\"a\",{\"median\":6.0}],\n[\"T\",\"r\",\"b\",\"crashes\"]";
        assert!(kept[0].json().contains(cells), "{}", kept[0].json());
        assert_eq!(rewritten(TEXT, &kept, &[ONE]).unwrap(), once);
    }

    #[test]
    fn machines_are_named_briefly() {
        let rows = [
            (
                "processor",
                "Intel(R) Xeon(R) Processor (family 6), 2 cores",
                "Intel Xeon (family 6), 2 cores",
            ),
            ("date", "2026-11-29 13:41 UTC", "2026-11-29"),
            ("gcc", "gcc (Debian 12.2.0-14+deb12u1) 12.2.0", "gcc 12.2.0"),
            ("rustc", "rustc 1.95.0 (59807616e 2026-04-14)", "rustc 1.95.0"),
            ("LLVM", "LLVM 22.1.8", "LLVM 22.1.8"),
        ];
        for (name, value, wanted) in rows {
            assert_eq!(brief(name, value), wanted);
            assert_eq!(brief(name, wanted), wanted, "what is brief stays");
        }
    }

    #[test]
    fn missing_parts() {
        let without_column = runs(r#""cells": [{"row": "r", "column": "a", "median": 6.0}]"#);
        let without_figure = runs(
            r#""cells": [{"row": "r", "column": "a", "max": 1}, {"row": "r", "column": "b", "median": 1}]"#,
        );
        let one = [ONE];
        let rows: [(&str, &[Run], &str); 6] = [
            (TEXT, &without_column, "P: no cell in table `T`, row `r`, column `b`"),
            (TEXT, &without_figure, "P: no `median` in table `T`, row `r`, column `a`"),
            (TEXT, &[], "no run on ``"),
            ("<!-- figures: two -->\n<!-- end -->", &both(), "there is no table `two`"),
            ("<!-- figures: one -->\n", &both(), "no `<!-- end -->` after `one`"),
            ("<!-- figures: one\n", &both(), "`<!-- figures: ` without an end"),
        ];
        for (text, runs, message) in rows {
            assert_eq!(rewritten(text, runs, &one).unwrap_err(), message);
        }
        assert_eq!(kept(&without_column, &one).unwrap_err(), rows[0].2);
        let nowhere = tempfile::tempdir().unwrap();
        for path in DOCUMENTS {
            let path = nowhere.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "No line for a table.").unwrap();
        }
        let message = files(nowhere.path(), &both(), &one).unwrap_err();
        assert_eq!(message, "no document has the line `<!-- figures: one -->`");
    }
}
