//! How much of a text messages quote.

use std::borrow::Cow;

use crate::resolve::value::INDEX;

/// At most so many bytes of a signature, expression or name are quoted; the rest is elided.
const MAX_QUOTED: usize = 1024;

/// A text that is too long to be quoted loses its end. What is left of a path does not end within an
/// [index](crate::resolve::value::INDEX).
pub(crate) fn elide(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_QUOTED {
        return text.into();
    }
    let end = (0..=MAX_QUOTED - 3).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}...", text[..end].trim_end_matches(INDEX)).into()
}
