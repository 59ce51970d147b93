//! Lines of text at depths.

use std::fmt::Display;

/// Spaces before a line for each depth.
const STEP: usize = 2;

/// Lines so far.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) text: String,
    depth: usize,
}

impl Lines {
    pub(super) fn line(&mut self, line: impl Display) {
        let line = line.to_string();
        let margin = self.depth * STEP;
        for line in line.lines() {
            self.text += &format!("{:margin$}{line}\n", "");
        }
    }

    /// Adds a line, and below it what `body` adds.
    pub(super) fn nested(&mut self, line: impl Display, body: impl FnOnce(&mut Self)) {
        self.line(line);
        self.depth += 1;
        body(self);
        self.depth -= 1;
    }

    /// Adds a heading and lines below it, if there are any.
    pub(super) fn section(&mut self, heading: &str, lines: impl IntoIterator<Item = String>) {
        self.section_of(heading, lines, |all, line| all.line(line));
    }

    /// Adds a heading and below it what `body` adds for each entry, if there are any.
    pub(super) fn section_of<T>(
        &mut self,
        heading: &str,
        entries: impl IntoIterator<Item = T>,
        mut body: impl FnMut(&mut Self, T),
    ) {
        let mut entries = entries.into_iter().peekable();
        if entries.peek().is_some() {
            self.nested(heading, |lines| entries.for_each(|entry| body(lines, entry)));
        }
    }
}
