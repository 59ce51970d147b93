//! Errors of invalid declarations.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::Instant;

use codegen::Library;

/// Returns the error of a text.
fn error(text: &str) -> String {
    match text.parse::<Library>() {
        Ok(library) => format!("no error\n{library}"),
        Err(error) => error.to_string(),
    }
}

/// The entries of `declarations.txt` and their errors. `INSTA_UPDATE=always` rewrites the file.
#[test]
fn errors_say_what_and_where() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("declarations.txt");
    let written = fs::read_to_string(&path).expect("the file can be read");
    let (mut found, mut entry) = (String::new(), String::new());
    for line in written.lines().chain([""]) {
        if line.starts_with('#') {
            writeln!(found, "{line}").expect("strings grow");
        } else if line.is_empty() {
            let text = entry.trim_end_matches('\n');
            if !text.is_empty() {
                let marked = error(text).replace('\n', "\n! ");
                writeln!(found, "{text}\n! {marked}").expect("strings grow");
            }
            found.push('\n');
            entry.clear();
        } else if !line.starts_with("! ") {
            entry += line;
            entry.push('\n');
        }
    }
    let found = format!("{}\n", found.trim_end());
    assert!(!found.contains("! no error"), "{found}");
    if std::env::var("INSTA_UPDATE").is_ok_and(|mode| mode == "always") {
        return fs::write(&path, &found).expect("the file can be written");
    }
    let lines = found.lines().zip(written.lines()).enumerate();
    for (index, (found, written)) in lines {
        assert_eq!(found, written, "declarations.txt:{}", index + 1);
    }
    assert_eq!(found.len(), written.len());
}

/// Invalid texts of a few megabytes must be refused about as fast as they are read.
#[test]
fn no_text_is_too_long_or_too_deep() {
    let repeat = |text: &str| text.repeat(1_000_000);
    let rows = [
        (repeat(" ") + &repeat("                "), "more than 16777216 bytes of text (MAX_TEXT)"),
        (
            format!("f() -> None = k({}", repeat("(")),
            "levels of nesting or operators in a row (MAX_NESTING)",
        ),
        (
            format!("f() -> None = k({}n", repeat("- ")),
            "levels of nesting or operators in a row (MAX_NESTING)",
        ),
        (
            format!("f() -> None = k(n{}", repeat(" + n")),
            "levels of nesting or operators in a row (MAX_NESTING)",
        ),
        (
            format!("f() -> None = k({}", repeat("min(1, ")),
            "levels of nesting or operators in a row (MAX_NESTING)",
        ),
        (format!("f() -> None = k({});", repeat("n, ")), "arguments (MAX_ARGUMENTS)"),
        (format!("f({}) -> None = k();", repeat("a: int8, ")), "parameters (MAX_PARAMS)"),
        (format!("f(x: Tensor([{}], int8))", repeat("n, ")), "dims (MAX_RANK)"),
        (format!("f() -> None where {}", repeat("1 < 2, ")), "constraints (MAX_CONSTRAINTS)"),
        (format!("{}() -> None = k();", repeat("f")), "bytes in a name (MAX_NAME)"),
        (format!("f() -> None = {}();", repeat("k")), "bytes in a symbol (MAX_SYMBOL)"),
        ("f() -> None = k();".repeat(50_000), "an earlier function has this name"),
        (repeat("///\n"), "expected the name of a function, found the end of the text"),
        (repeat("\""), "expected the name of a function"),
        (repeat("\0"), "expected the name of a function"),
    ];
    for (text, reason) in rows {
        let start = Instant::now();
        let error = error(&text);
        let head = &error[..error.len().min(200)];
        assert!(error.contains(reason), "{reason}: {head}");
        assert!(error.len() < 1000, "{reason}: {} bytes", error.len());
        assert!(start.elapsed().as_secs() < 20, "{reason}: {:?}", start.elapsed());
    }
}
