//! Tests that parsing inverts printing.

use proptest::prelude::*;

use super::{generate, generate_body};
use crate::declaration::Expr;
use crate::declaration::Signature;
use crate::language::parse_library;
use crate::language::parser::Parser;

proptest! {
    #[test]
    fn library(library in generate::library()) {
        let text = library.to_string();
        prop_assert_eq!(parse_library(&text), Ok(library), "{}", text);
    }

    #[test]
    fn functions_stand_alone(library in generate::library()) {
        for function in library.functions {
            let text = function.to_string();
            prop_assert_eq!(Parser::whole(&text, Parser::function), Ok(function), "{}", text);
        }
    }

    #[test]
    fn signature(signature in generate::signature()) {
        let text = signature.to_string();
        prop_assert!(text.starts_with(&signature.header().to_string()));
        prop_assert_eq!(text.lines().count(), 1);
        prop_assert_eq!(text.parse::<Signature>(), Ok(signature), "{}", text);
    }

    #[test]
    fn expr(expr in generate::expr()) {
        let text = expr.to_string();
        prop_assert_eq!(text.parse::<Expr>(), Ok(expr), "{}", text);
    }

    #[test]
    fn whitespace_and_comments_are_free(signature in generate::signature()) {
        let text = replace_blanks(&signature.to_string(), "\t# \"(é,\r\n\n  ");
        prop_assert_eq!(text.parse::<Signature>(), Ok(signature), "{}", text);
    }

    #[test]
    fn whitespace_and_comments_are_free_in_bodies(body in generate_body::body()) {
        let text = replace_blanks(&format!("{body};"), "\t# \"(é,\r\n\n  ");
        prop_assert_eq!(Parser::whole(&text, Parser::body), Ok(body), "{}", text);
    }
}

/// Replaces the blanks outside of quotes and backticks.
fn replace_blanks(text: &str, with: &str) -> String {
    let (mut out, mut open, mut escaped) = (String::new(), None, false);
    for c in text.chars() {
        match open {
            None if c == ' ' => {
                out.push_str(with);
                continue;
            }
            None if "\"`".contains(c) => open = Some(c),
            Some(mark) if mark == c && !escaped => open = None,
            None | Some(_) => {}
        }
        escaped = open == Some('"') && c == '\\' && !escaped;
        out.push(c);
    }
    out
}
