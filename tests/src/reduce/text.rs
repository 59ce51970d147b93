//! Texts that do not parse: paragraphs, then lines, then words.

use super::{Changes, Pass, Subject};

/// A text of any language.
#[derive(Clone, Debug)]
pub(super) struct Text(pub(super) String);

impl Subject for Text {
    const PASSES: &'static [Pass<Text>] =
        &[("paragraphs", Text::paragraphs), ("lines", Text::lines), ("words", Text::words)];

    fn read(text: &str) -> Result<Text, String> {
        Ok(Text(text.to_owned()))
    }

    fn text(&self) -> String {
        self.0.clone()
    }

    fn is_valid(&self) -> bool {
        false
    }
}

impl Text {
    /// Functions and data, as the printers separate them.
    fn paragraphs(&mut self, changes: &mut Changes) {
        let kept = self.0.split_inclusive("\n\n").filter(|_| !changes.makes_next());
        self.0 = kept.collect();
    }

    fn lines(&mut self, changes: &mut Changes) {
        let kept = self.0.split_inclusive('\n').filter(|_| !changes.makes_next());
        self.0 = kept.collect();
    }

    /// Words, and every other character.
    fn words(&mut self, changes: &mut Changes) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (mut kept, mut rest) = (String::new(), &*self.0);
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (token, after) =
                rest.split_at(if is_word(first) { word } else { first.len_utf8() });
            kept.push_str(if changes.makes_next() { "" } else { token });
            rest = after;
        }
        self.0 = kept;
    }
}
