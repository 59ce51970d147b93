//! The history of figures, so that a regression has a date: those of documents and the counts of `tests/guard` by the
//! commits that brought them, and the runs of the benchmark on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{PUBLISHED, Run};
use crate::callgrind::Counts;

/// The counts of `tests/guard`.
const BASELINE: &str = "tests/benches/guard/baseline.txt";

/// The growth, in percent, from which on a figure is shown that nobody has named.
const GROWTH: f64 = 3.0;

/// A figure at a time.
#[derive(Debug, PartialEq)]
struct Point {
    /// The day, and the time if it is known.
    date: String,
    /// The commit, or the run of this machine.
    source: String,
    value: f64,
}

/// The points of each figure, the oldest first.
type Figures = BTreeMap<String, Vec<Point>>;

/// A version of a file.
struct Revision {
    commit: String,
    date: String,
    text: String,
}

/// Prints the history of the figures whose names have all `words`, or without a word of those whose last change is a
/// growth of over 3 %. `runs` is the folder in which the benchmark keeps its results; there may be none.
///
/// # Errors
/// If there is no history of git, or a file cannot be read.
pub fn history(root: &Path, runs: &Path, words: &[String]) -> Result<String, String> {
    let mut figures = Figures::new();
    for Revision { commit, text, .. } in revisions(root, PUBLISHED)? {
        let runs: Vec<Value> =
            serde_json::from_str(&text).map_err(|e| format!("{commit}:{PUBLISHED}: {e}"))?;
        if let Some(newest) = runs.first() {
            add_run(&mut figures, &Run::of_published(newest)?, &commit);
        }
    }
    for Revision { commit, date, text } in revisions(root, BASELINE)? {
        for (name, value) in counts(&text) {
            let (date, source) = (date.clone(), commit.clone());
            figures.entry(name).or_default().push(Point { date, source, value });
        }
    }
    for (name, results) in kept(runs)? {
        add_run(&mut figures, &Run::of_results(&results), &name);
    }
    Ok(print(figures, words))
}

/// Returns the versions of a file in git, the oldest first.
fn revisions(root: &Path, path: &str) -> Result<Vec<Revision>, String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output();
        let output = output.map_err(|error| format!("git: {error}"))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).trim_end().to_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let log = git(&["log", "--reverse", "--diff-filter=AM", "--format=%h %cs", "--", path])?;
    let commits = log.lines().filter_map(|line| line.split_once(' '));
    let revision = |(commit, date): (&str, &str)| {
        let text = git(&["show", &format!("{commit}:{path}")])?;
        Ok(Revision { commit: commit.to_owned(), date: date.to_owned(), text })
    };
    commits.map(revision).collect()
}

/// Reads the results in a folder, with the names of their files, in the order of these.
fn kept(folder: &Path) -> Result<Vec<(String, Value)>, String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let results =
            serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, results))
    };
    paths.iter().map(read).collect()
}

/// Adds the figures of a run. Counts are those of every machine; times are compared with those of the same processor.
fn add_run(figures: &mut Figures, run: &Run, source: &str) {
    const COUNTS: [&str; 3] = ["instructions", "branches", "taken"];
    const OTHERS: [&str; 3] = ["min", "max", "rounds"];
    let (date, processor) = (run.said("date"), run.said("processor"));
    for (table, row, column, cell) in &run.cells {
        for (figure, value) in cell.as_object().into_iter().flatten() {
            let Some(value) = value.as_f64().filter(|_| !OTHERS.contains(&&**figure)) else {
                continue;
            };
            let mut name = format!("{table}: {row}: {column}, {figure}");
            if !COUNTS.contains(&&**figure) {
                name.push_str(&format!(", on {processor}"));
            }
            let point = Point { date: date.to_owned(), source: source.to_owned(), value };
            figures.entry(name).or_default().push(point);
        }
    }
}

/// Reads the instructions of each measure of a baseline.
fn counts(text: &str) -> impl Iterator<Item = (String, f64)> {
    text.lines()
        .filter_map(Counts::measure)
        .map(|(name, counts)| (format!("guard: {name}, instructions"), counts.instructions as f64))
}

/// Prints figures, each value that differs from the one before in a line.
fn print(figures: Figures, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut text = String::new();
    for (name, mut points) in figures {
        points.sort_by(|a, b| a.date.cmp(&b.date));
        points.dedup_by(|later, earlier| later.value == earlier.value);
        let lower = name.to_lowercase();
        let is_wanted = match &words[..] {
            [] => points.len() > 1 && growth(&points[points.len() - 2..]) > GROWTH,
            words => words.iter().all(|word| lower.contains(word)),
        };
        if !is_wanted {
            continue;
        }
        text.push_str(&format!("{name}\n"));
        for (index, Point { date, source, value }) in points.iter().enumerate() {
            let change = match index.checked_sub(1) {
                Some(before) => format!(" {:+7.1} %", growth(&points[before..=index])),
                None => String::new(),
            };
            text.push_str(&format!("    {date:20} {source:16} {value:>14}{change}\n"));
        }
    }
    text
}

/// Returns the growth from the first of some points to the last, in percent.
fn growth(points: &[Point]) -> f64 {
    match points {
        [first, .., last] => (last.value / first.value - 1.0) * 100.0,
        [_] | [] => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a commit of published figures and of a baseline.
    fn commit(root: &Path, date: &str, [time, count]: [f64; 2]) {
        let published = format!(
            r#"[{{"machine": [["processor", "P"], ["date", "{date}"]], "cells": [["T", "r", "c", {{"median": {time}}}]]}}]"#
        );
        let baseline = format!("# Head.\nmade with tools 1.0\n\nlower f {count:>12} 7\n");
        for (path, text) in [(PUBLISHED, published), (BASELINE, baseline)] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.arg("-C").arg(root).args(["-c", "user.name=n", "-c", "user.email=e@x"]);
            git.env("GIT_COMMITTER_DATE", format!("{date}T12:00:00Z"));
            let output = git.args(arguments).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        git(&["init", "-q"]);
        git(&["add", "."]);
        git(&["commit", "-q", "-m", "Figures"]);
    }

    /// Replaces commits by a word, since they differ from run to run.
    fn without_commits(text: &str) -> String {
        let of_line = |line: &str| {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            if line.starts_with("    ") && words[1] != "run" {
                words[1] = "commit";
            }
            words.join(" ") + "\n"
        };
        text.lines().map(of_line).collect()
    }

    #[test]
    fn a_figure_has_a_line_for_each_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        commit(root, "2026-01-01", [5.0, 100.0]);
        commit(root, "2026-01-02", [5.0, 110.0]);
        commit(root, "2026-01-03", [5.1, 108.0]);
        let runs = root.join("runs");
        fs::create_dir(&runs).unwrap();
        let run = r#"{"machine": [["processor", "P"], ["date", "2026-01-04 08:00 UTC"]], "sections": [{"tables": [
            {"title": "T", "cells": [{"row": "r", "column": "c", "min": 5, "median": 6.12, "rounds": 9}]}]}]}"#;
        fs::write(runs.join("run.json"), run).unwrap();
        let time = "T: r: c, median, on P\n2026-01-01 commit 5\n2026-01-03 commit 5.1 +2.0 %\n2026-01-04 08:00 UTC run 6.12 +20.0 %\n";
        let count = "guard: lower f, instructions\n2026-01-01 commit 100\n2026-01-02 commit 110 +10.0 %\n2026-01-03 commit 108 -1.8 %\n";
        for (words, expected) in [
            (&[][..], time.to_owned()),
            (&["LOWER"], count.to_owned()),
            (&["t: r", "median"], time.to_owned()),
            (&["nothing"], String::new()),
            (&["c"], time.to_owned() + count),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let text = history(root, &runs, &words).unwrap();
            assert_eq!(
                without_commits(&text).replace("2026-01-04 commit UTC", "2026-01-04 08:00 UTC"),
                expected,
                "{words:?}"
            );
        }
    }

    #[test]
    fn without_git_there_is_no_history() {
        let folder = tempfile::tempdir().unwrap();
        let message = history(folder.path(), folder.path(), &[]).unwrap_err();
        assert!(message.contains("not a git repository"), "{message}");
    }
}
