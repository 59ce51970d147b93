//! Elision of long texts in messages.

use std::borrow::Cow;

use crate::resolve::value::INDEX;

/// Largest number of bytes of a signature, expression or name that messages quote.
const MAX_QUOTED: usize = 1024;

/// Replaces the end of a text that is too long to be quoted. A path is not cut within an
/// [index](crate::resolve::value::INDEX).
pub(crate) fn elide(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_QUOTED {
        return text.into();
    }
    let end = (0..=MAX_QUOTED - 3).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}...", text[..end].trim_end_matches(INDEX)).into()
}
