//! Places in the user's source: `#line` directives, from which a compiler of C makes debug information. Text of a
//! module whose functions have no place has none of them.

use codegen::ir::{self, SourceLocation, TopicId};

/// The line that ends the directives of a function, until [`number`] writes the number of the next line into it.
const END: &str = "#line 0 \"<tvm-ffi-codegen>\"";

/// The place of each line of a function.
pub(crate) struct Places<'a> {
    files: &'a [String],
    source: &'a ir::Function,
    /// The place of the lines that follow.
    wanted: SourceLocation,
    /// The place that a compiler takes for that of the next line, if a directive has said one.
    counted: Option<SourceLocation>,
}

impl<'a> Places<'a> {
    /// Starts a function; `None` if it has no place in a source.
    pub(crate) fn new(module: &'a ir::Module, source: &'a ir::Function) -> Option<Self> {
        let wanted = source.location()?;
        Some(Places { files: &module.files, source, wanted, counted: None })
    }

    /// Sets the place of the lines that follow to that of a part of the declaration.
    pub(crate) fn go_to(&mut self, topic: TopicId) {
        self.wanted = self.source.location_of(topic).unwrap_or(self.wanted);
    }

    /// Writes a directive where the next line needs one. The line must follow.
    pub(crate) fn line(&mut self, text: &mut String, next: &str) {
        if next.is_empty() || next.starts_with("/*") || next == "} else {" {
            self.counted = None;
            return;
        }
        let SourceLocation { file, line, .. } = self.wanted;
        let is_counted = |at: &SourceLocation| (at.file, at.line) == (file, line);
        if !self.counted.as_ref().is_some_and(is_counted) {
            // `??/` would be another way to write a backslash.
            let file = self.files[file as usize].replace('\\', "\\\\").replace('?', "\\?");
            text.push_str(&format!("#line {line} \"{file}\"\n"));
        }
        self.counted = Some(SourceLocation { line: line + 1, ..self.wanted });
    }

    /// Ends the function.
    pub(crate) fn end(text: &mut String) {
        text.push_str(END);
        text.push('\n');
    }
}

/// Returns true if the text of a module has directives.
pub(crate) fn is_located(source: &ir::Module) -> bool {
    source.functions.iter().any(|function| function.location().is_some())
}

/// Gives the text behind each function that has directives its own numbers of lines.
pub(crate) fn number(text: &str) -> String {
    let numbered = |(index, line): (usize, &str)| match line.trim_end() {
        END => END.replacen('0', &(index + 2).to_string(), 1) + "\n",
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').enumerate().map(numbered).collect()
}
