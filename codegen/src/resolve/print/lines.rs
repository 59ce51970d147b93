//! Lines of text at depths, and what each is about.

use std::fmt::Display;

/// Spaces before a line for each depth.
const STEP: usize = 2;

/// Lines so far.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) text: String,
    /// The topic of each line so far.
    pub(super) topics: Vec<Option<String>>,
    /// The topic of the lines that follow.
    topic: Option<String>,
    /// True in a function within the function that the lines are of, whose topics are others.
    is_within: bool,
    depth: usize,
}

impl Lines {
    pub(super) fn line(&mut self, line: impl Display) {
        let line = line.to_string();
        let margin = self.depth * STEP;
        for line in line.lines() {
            self.text += &format!("{:margin$}{line}\n", "");
            self.topics.push(self.topic.clone());
        }
    }

    /// Adds a line, and below it what `body` adds.
    pub(super) fn nested(&mut self, line: impl Display, body: impl FnOnce(&mut Self)) {
        self.line(line);
        self.depth += 1;
        body(self);
        self.depth -= 1;
    }

    /// Adds what `body` adds, as lines about a topic.
    pub(super) fn about(&mut self, topic: String, body: impl FnOnce(&mut Self)) {
        let topic = (!self.is_within).then_some(topic);
        let outside = std::mem::replace(&mut self.topic, topic);
        body(self);
        self.topic = outside;
    }

    /// Adds the lines of a function within the function that all lines are of.
    pub(super) fn within(&mut self, body: impl FnOnce(&mut Self)) {
        let outside = std::mem::replace(&mut self.is_within, true);
        body(self);
        self.is_within = outside;
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
