//! Fuzz tests: no text makes the parser panic, and every error prints.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::generate;
use crate::declaration::Library;
use crate::language::parse_library;

/// Parses a text and checks the result, which may be an error.
fn check(text: &str) -> Result<(), TestCaseError> {
    match text.parse::<Library>() {
        Ok(library) => prop_assert_eq!(library.to_string().parse::<Library>(), Ok(library)),
        Err(error) => {
            let shown = error.to_string();
            let lines: Vec<&str> = shown.split('\n').collect();
            prop_assert_eq!(lines.len(), 3, "{}", shown);
            prop_assert!(lines[2].chars().count() <= "  | ".len() + 103, "{}", shown);
            let caret = lines[2].chars().position(|c| c == '^').unwrap();
            prop_assert!(caret <= lines[1].chars().count(), "{}", shown);
            let position = error.position().unwrap();
            let line = text.split('\n').nth(position.line - 1);
            prop_assert!(position.column <= line.unwrap().chars().count() + 1, "{}", shown);
        }
    }
    Ok(())
}

const TOKENS: &[&str] = &[
    "f",
    "x",
    "`x`",
    "`min`",
    "`",
    "self",
    "_",
    "where",
    "try",
    "else",
    "errors",
    "let",
    "if",
    "for i in",
    "return",
    "raise",
    "alloc",
    "on",
    "extern",
    "and",
    "or",
    "not",
    "True",
    "Shape",
    "None",
    "null",
    "min",
    "stream",
    "Tensor",
    "Tuple[",
    "Optional[",
    "str",
    "Any",
    "float32",
    "int8",
    "ptr",
    "float32x4",
    "strides",
    "device",
    "align",
    "access",
    "read",
    "any",
    "cuda",
    "0",
    "16",
    "18446744073709551616",
    "1.5",
    "\"k\"",
    "\"\\n\"",
    "\"",
    "@",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ",",
    ":",
    ";",
    ".",
    "..",
    "...",
    "->",
    "=",
    "==",
    "<=",
    ">",
    "+",
    "-",
    "*",
    "/",
    "%",
    "///",
    "/// docs\n",
    "#",
    "\n",
    " ",
    "\t",
    "\0",
    "é",
    "f(",
    "x: ",
    "Tensor([",
    "], float32)",
    ") -> None = k(",
    ") -> None = {",
    "let v: int64 = ",
    ");",
];

proptest! {
    #[test]
    fn characters(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn bytes(bytes in vec(any::<u8>(), 0..200)) {
        check(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn tokens(tokens in vec(select(TOKENS), 0..60), glue in select(&["", " "])) {
        check(&tokens.join(glue))?;
    }

    /// Replaces one part of a correct text by a token.
    #[test]
    fn mutations(
        library in generate::library(),
        token in select(TOKENS),
        from in any::<Index>(),
        length in 0..9usize,
    ) {
        let mut chars: Vec<char> = library.to_string().chars().collect();
        let from = from.index(chars.len() + 1);
        let to = (from + length).min(chars.len());
        chars.splice(from..to, token.chars());
        let text: String = chars.into_iter().collect();
        check(&text)?;
        if let Ok(library) = parse_library(&text) {
            prop_assert_eq!(parse_library(&library.to_string()), Ok(library), "{}", text);
        }
    }
}
