//! Text with brackets: parts outside and inside of them.

/// Returns whether a character is part of a word. A dot is: in `x.BLOCK` no constant `BLOCK` is replaced.
pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '.'
}

/// Splits `name(list)`; a text without a name is all list.
pub(crate) fn called(text: &str) -> (Option<&str>, &str) {
    let inner = text.trim().strip_suffix(')').and_then(|text| text.split_once('('));
    match inner {
        Some((name, list)) if !name.contains(':') => (Some(name.trim()), list),
        _ => (None, text),
    }
}

/// Splits a text at commas outside brackets. A blank text has no parts, and a comma at the end adds none.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(|c| {
        depth = nested(depth, c).unwrap_or(0);
        c == ',' && depth == 0
    });
    let mut parts: Vec<&str> = parts.map(str::trim).collect();
    parts.pop_if(|last| last.is_empty());
    parts
}

/// Finds a character outside brackets.
pub(crate) fn outside(text: &str, wanted: char) -> Option<usize> {
    let mut depth = 0_usize;
    text.find(|c| {
        depth = nested(depth, c).unwrap_or(0);
        c == wanted && depth == 0
    })
}

/// Finds the end of the bracket that encloses the beginning of a text.
pub(crate) fn closing(text: &str) -> Option<usize> {
    let mut depth = Some(0);
    text.find(|c| {
        depth = depth.and_then(|depth| nested(depth, c));
        depth.is_none()
    })
}

/// Returns the depth of brackets after a character; `None` if it closes one that is not open.
fn nested(depth: usize, c: char) -> Option<usize> {
    match c {
        '(' | '[' | '<' | '{' => Some(depth + 1),
        ')' | ']' | '>' | '}' => depth.checked_sub(1),
        _ => Some(depth),
    }
}

/// Splits a tuple, which may be in parentheses. `(a,)` is a tuple of one element, `(a)` an expression.
pub(crate) fn tuple(text: &str) -> Vec<&str> {
    let text = text.trim();
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    match inner.filter(|_| split(text).len() == 1) {
        Some(inner) if inner.trim_end().ends_with(',') || split(inner).len() > 1 => split(inner),
        _ => split(text),
    }
}

/// Splits a text that starts with brackets into their contents and the rest.
pub(crate) fn bracketed(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('[')?;
    let end = closing(inner)?;
    Some((inner[..end].trim(), inner[end + 1..].trim()))
}
