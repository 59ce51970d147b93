//! Text in HTML.

/// Returns text as it stands in an element or an attribute. Control characters are shown as their pictures.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' => escaped.push('\t'),
            '\0'..='\x1f' => escaped.extend(char::from_u32(0x2400 + c as u32)),
            '\x7f' => escaped.push('\u{2421}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns the names of topics for an attribute, with spaces between them and none in them.
pub(super) fn topic_list(topics: &[String]) -> String {
    let names: Vec<String> =
        topics.iter().map(|name| escaped(&name.replace(' ', "\u{a0}"))).collect();
    names.join(" ")
}
