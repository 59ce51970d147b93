//! The report: tables of figures, in Markdown for people and in JSON for programs.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tvm_ffi_codegen_tests::callgrind::Counts;
use tvm_ffi_codegen_tests::published;

use crate::counts::Counted;
use crate::plot;
use crate::samples::{Samples, Series};

/// Results of a run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Lines about the machine and the versions of tools.
    pub(crate) machine: Vec<[String; 2]>,
    /// Omissions and their reasons.
    pub(crate) left_out: Vec<String>,
    pub(crate) sections: Vec<Section>,
}

/// Results of a part.
#[derive(Debug, Default)]
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) notes: Vec<String>,
    pub(crate) tables: Vec<Table>,
}

/// Figures by row and column.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Title of the table and name of its plot.
    pub(crate) title: String,
    pub(crate) unit: &'static str,
    pub(crate) note: String,
    /// Column that ratios relate to, if ratios make sense.
    pub(crate) base: Option<String>,
    pub(crate) series: Vec<Series>,
    /// Instructions and branches beside the ratios, if they are counted.
    pub(crate) counts: Vec<Counted>,
    /// Row, column, and the reason for a missing figure.
    pub(crate) absent: Vec<[String; 3]>,
    pub(crate) plot: Plot,
}

/// Form of a table's plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Plot {
    #[default]
    None,
    /// A mark for each median, a line from minimum to maximum.
    Marks,
    /// A curve per column; rows are numbers.
    Curves,
}

/// Columns that others are compared with too.
const BASES: [&str; 2] = ["C++ macro, checked", "CuTe DSL"];

/// Names of the counts, in the form that follows ratios.
const COUNTS: &str = ", then instructions / conditional branches / branches taken";

impl Table {
    pub(crate) fn rows(&self) -> Vec<&str> {
        let absent = self.absent.iter().map(|[row, ..]| row.as_str());
        unique(self.series.iter().map(|series| series.row.as_str()).chain(absent))
    }

    pub(crate) fn columns(&self) -> Vec<&str> {
        let absent = self.absent.iter().map(|[_, column, _]| column.as_str());
        unique(self.series.iter().map(|series| series.column.as_str()).chain(absent))
    }

    pub(crate) fn cell(&self, row: &str, column: &str) -> Option<&Samples> {
        let mut all = self.series.iter();
        all.find(|series| series.row == row && series.column == column).map(|found| &found.samples)
    }

    /// Returns the ratio of two columns in a row.
    fn ratio(&self, row: &str, column: &str, base: &str) -> Option<f64> {
        Some(self.cell(row, column)?.ratio(self.cell(row, base)?))
    }

    fn counts_of(&self, row: &str, column: &str) -> Option<Counts> {
        let mut all = self.counts.iter();
        Some(all.find(|counted| counted.row == row && counted.column == column)?.counts)
    }

    /// Returns instructions, branches and taken branches of a cell, if they are counted.
    fn counted(&self, row: &str, column: &str) -> Option<String> {
        let counts = self.counts_of(row, column)?;
        let taken = counts.taken.map(|taken| format!(" / {taken}")).unwrap_or_default();
        Some(format!("{} / {}{taken}", counts.instructions, counts.branches))
    }

    /// Returns the ratio of a cell to the base, and its counts.
    fn compared(&self, row: &str, column: &str, base: &str) -> Option<String> {
        let ratio = self.ratio(row, column, base).map(|ratio| format!("{ratio:.2}×"));
        let parts: Vec<String> = ratio.into_iter().chain(self.counted(row, column)).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    fn why_absent(&self, row: &str, column: &str) -> &str {
        let mut all = self.absent.iter();
        all.find(|[r, c, _]| r == row && c == column).map_or("", |[.., why]| why)
    }

    fn markdown(&self, out: &mut String) {
        writeln!(out, "\n### {}\n", self.title).expect("strings grow");
        if !self.note.is_empty() {
            writeln!(out, "{}\n", self.note).expect("strings grow");
        }
        let once = self.series.iter().all(|series| series.samples.0.len() == 1);
        let figures = if once { "" } else { "Minimum / median / maximum, " };
        if let Some(base) = &self.base {
            let counts = if self.counts.is_empty() { "" } else { COUNTS };
            writeln!(out, "Ratios to {base}, medians of those of each round{counts}:\n")
                .expect("grows");
            self.grid(out, |row, column| self.compared(row, column, base));
            out.push('\n');
        }
        writeln!(out, "{figures}{}:\n", self.unit).expect("strings grow");
        self.grid(out, |row, column| self.cell(row, column).map(spread));
    }

    /// Prints a table of one kind of entry.
    fn grid(&self, out: &mut String, entry: impl Fn(&str, &str) -> Option<String>) {
        let columns = self.columns();
        writeln!(out, "| | {} |", columns.join(" | ")).expect("strings grow");
        writeln!(out, "|---|{}", "---|".repeat(columns.len())).expect("strings grow");
        for row in self.rows() {
            if columns.iter().all(|column| entry(row, column).is_none()) {
                continue;
            }
            let cell = |column: &&str| {
                entry(row, column).unwrap_or_else(|| self.why_absent(row, column).to_owned())
            };
            let cells: Vec<String> = columns.iter().map(cell).collect();
            writeln!(out, "| {row} | {} |", cells.join(" | ")).expect("strings grow");
        }
    }

    fn json(&self) -> Value {
        let cell = |series: &Series| {
            let mut cell = series.samples.json();
            cell["row"] = json!(series.row);
            cell["column"] = json!(series.column);
            for base in self.base.as_deref().into_iter().chain(BASES) {
                let ratio = self.cell(&series.row, base).map(|base| series.samples.ratio(base));
                let why = Some(self.why_absent(&series.row, base)).filter(|why| !why.is_empty());
                cell[format!("ratio to {base}")] = ratio.map_or(json!(why), |ratio| json!(ratio));
            }
            if let Some(found) = self.counts_of(&series.row, &series.column) {
                let Counts { instructions, branches, taken } = found;
                cell["instructions"] = json!(instructions);
                cell["branches"] = json!(branches);
                cell["taken"] = json!(taken);
            }
            cell
        };
        let cells: Vec<Value> = self.series.iter().map(cell).collect();
        let (title, unit, base, absent) = (&self.title, self.unit, &self.base, &self.absent);
        json!({ "title": title, "unit": unit, "base": base, "cells": cells, "absent": absent })
    }
}

impl Report {
    /// Writes `report.md`, `results.json` and the plots into a folder. Results of a full run are also kept in
    /// `history`, by their date.
    pub(crate) fn write(&self, folder: &Path) {
        let mut text = String::from("# Benchmark\n\n");
        self.head(&mut text);
        for section in &self.sections {
            writeln!(text, "\n## {}", section.title).expect("strings grow");
            section.notes.iter().for_each(|note| text.push_str(&format!("\n{note}\n")));
            for table in &section.tables {
                table.markdown(&mut text);
                if let Some(file) = plot::draw(table, folder) {
                    writeln!(text, "\n![{}]({file})", table.title).expect("strings grow");
                }
            }
        }
        fs::write(folder.join("report.md"), text).expect("the folder is writable");
        let results = serde_json::to_string_pretty(&self.json()).expect("plain values");
        fs::write(folder.join("results.json"), &results).expect("the folder is writable");
        if self.said("mode") == "full" {
            let history = folder.join("history");
            fs::create_dir_all(&history).expect("the folder is writable");
            let name = self.said("date").replace([' ', ':'], "-");
            fs::write(history.join(name + ".json"), &results).expect("the folder is writable");
        }
    }

    /// Returns a line about the machine or the run.
    fn said(&self, name: &str) -> &str {
        self.machine.iter().find(|[key, _]| key == name).map_or("", |[_, value]| value)
    }

    fn head(&self, out: &mut String) {
        let processor = self.machine.first().map_or("", |[_, processor]| processor);
        writeln!(out, "On {processor}\n\n| | |\n|---|---|").expect("strings grow");
        self.machine.iter().for_each(|[k, v]| out.push_str(&format!("| {k} | {v} |\n")));
        let summary = published::summary(&self.json());
        writeln!(out, "\n## Summary: what documents show\n{summary}").expect("strings grow");
        if !self.left_out.is_empty() {
            out.push_str("\nLeft out:\n\n");
            self.left_out.iter().for_each(|line| out.push_str(&format!("* {line}\n")));
        }
    }

    fn json(&self) -> Value {
        let section = |section: &Section| {
            let tables: Vec<Value> = section.tables.iter().map(Table::json).collect();
            json!({ "title": section.title, "notes": section.notes, "tables": tables })
        };
        let sections: Vec<Value> = self.sections.iter().map(section).collect();
        let (machine, left_out) = (&self.machine, &self.left_out);
        json!({ "machine": machine, "left_out": left_out, "sections": sections })
    }
}

/// Prints `min / median / max` with about three significant digits; one number if all are the same.
fn spread(samples: &Samples) -> String {
    let [min, median, max] = [samples.min(), samples.median(), samples.max()].map(number);
    if min == max { median } else { format!("{min} / {median} / {max}") }
}

/// Prints a figure with a suitable number of digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        v if v == v.trunc() && v < 1e15 => format!("{value}"),
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn unique<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    all.for_each(|name| {
        if !seen.contains(&name) {
            seen.push(name);
        }
    });
    seen
}
