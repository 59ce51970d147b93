//! Escaping of control characters in untrusted text, which a terminal would obey.

use std::fmt::{self, Write};

/// Returns a character, or the escape sequence of a control character.
pub fn printable(c: char) -> impl Iterator<Item = char> {
    let escaped = c.is_control().then(|| c.escape_default());
    let plain = escaped.is_none().then_some(c);
    escaped.into_iter().flatten().chain(plain)
}

/// Writer that escapes control characters, except the ends of lines.
#[expect(missing_debug_implementations, reason = "it holds a formatter, which has none")]
pub struct Printable<'f, 'b>(pub &'f mut fmt::Formatter<'b>);

impl Write for Printable<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 {
                self.0.write_char('\n')?;
            }
            if line.contains(char::is_control) {
                line.chars().flat_map(printable).try_for_each(|c| self.0.write_char(c))?;
            } else {
                self.0.write_str(line)?;
            }
        }
        Ok(())
    }
}
