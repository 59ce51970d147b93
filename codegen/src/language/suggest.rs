//! Errors for words and signs of other languages, which say how to write the same here.

use abi_spec::DType;

use super::parser::{Parsed, Parser};
use super::token::Token;
use crate::declaration::ANY_DTYPE;
use crate::declaration::reserved::{Word, classify};
use crate::error::Error;

/// Words that start statements in other languages.
const ELSEWHERE: [(&str, &str); 5] = [
    ("while", "but loops are `for i in a..b { … }`"),
    ("elif", "which is `else if`"),
    ("break", "but a loop ends when its counter does, or by `return`"),
    ("assert", "but conditions stand after `where`, or in `if c { raise ValueError \"…\"; }`"),
    ("continue", "but a turn of a loop ends where its block does: `if c { … }`"),
];

/// Names of scalar and element types in other languages.
const TYPES: [(&str, &str); 7] = [
    ("int", "but integers have a width: `int64`, `int32`, …"),
    ("uint", "but integers have a width: `uint64`, `uint32`, …"),
    ("long", "which is `int64`"),
    ("float", "but floats have a width: `float64`, `float32`, …"),
    ("double", "which is `float64`"),
    ("half", "which is `float16`"),
    ("string", "which is `str`"),
];

/// Names of further types in other languages, which symbols of element types may have.
const OTHERS: [(&str, &str); 7] = [
    ("i64", "which is `int64`"),
    ("i32", "which is `int32`"),
    ("f64", "which is `float64`"),
    ("f32", "which is `float32`"),
    ("list", "which is `Array[…]` or `List[…]`"),
    ("dict", "which is `Map[…]` or `Dict[…]`"),
    ("tuple", "which is `Tuple[…]`"),
];

/// Words before the name of a function in other languages.
const FUNCTIONS: [&str; 5] = ["def", "fn", "fun", "func", "function"];

fn find(table: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    table.iter().find(|(known, _)| *known == word).map(|(_, meant)| *meant)
}

/// Returns true for a word that names an element type, here or in another language, or all of them.
pub(super) fn names_dtype(word: &str) -> bool {
    word == ANY_DTYPE || word.parse::<DType>().is_ok() || find(&TYPES, word).is_some()
}

impl Parser<'_> {
    /// Returns the error for the current token; `meant` says what to write instead.
    #[cold]
    fn instead(&self, expected: &str, meant: &str) -> Box<Error> {
        self.syntax(expected, format!("`{}`, {meant}", self.slice()))
    }

    /// Returns the error for a current token where a type is expected.
    #[cold]
    pub(super) fn no_type(&self, expected: &str) -> Box<Error> {
        let word = Some(self.slice()).filter(|_| self.token == Token::Word);
        let meant = word.and_then(|word| find(&TYPES, word).or_else(|| find(&OTHERS, word)));
        meant.map_or_else(|| self.unexpected(expected), |meant| self.instead(expected, meant))
    }

    /// Checks that no comment of another language and no word of it stands before the name of a function.
    pub(super) fn no_other_function(&self) -> Parsed<()> {
        const EXPECTED: &str = "the name of a function";
        if self.token == Token::Slash
            && [Token::Slash, Token::Star].map(|next| self.next_is(next)) != [false, false]
        {
            return Err(
                self.instead(EXPECTED, "but comments start with `#`, and documentation with `///`")
            );
        }
        let is_word = FUNCTIONS.contains(&self.slice()) && self.next_is(Token::Word);
        if is_word {
            Err(self.instead(EXPECTED, "but functions begin with their name"))
        } else {
            Ok(())
        }
    }

    /// Returns the error for a current token that starts no expression.
    #[cold]
    pub(super) fn no_expression(&self) -> Box<Error> {
        const EXPECTED: &str = "an expression";
        if self.token == Token::At {
            self.instead(
                EXPECTED,
                "but what a function returns is named first: `let a: T = @f(…);`",
            )
        } else if self.token == Token::Slash && self.next_is(Token::Slash) {
            self.instead(EXPECTED, "but comments start with `#`")
        } else {
            self.unexpected(EXPECTED)
        }
    }

    /// Checks that no second `/` follows the operator `/`.
    pub(super) fn no_second_slash(&self) -> Parsed<()> {
        if self.token != Token::Slash {
            return Ok(());
        }
        let meant = "but one `/` divides integers and rounds down, and comments start with `#`";
        Err(self.instead("an expression", meant))
    }

    /// Returns what to say of a current token that cannot stand here, besides which it is: that it follows a type of
    /// another language, called as a conversion.
    #[cold]
    pub(super) fn conversion(&self) -> String {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let before = self.before().trim_end_matches(' ');
        let word = before.trim_end_matches(is_name).len();
        let meant = find(&TYPES, &before[word..]).filter(|_| self.token == Token::OpenParen);
        meant.map_or(String::new(), |meant| format!(" after `{}`, {meant}", &before[word..]))
    }

    /// Checks that the current word starts no statement of another language.
    pub(super) fn no_other_statement(&self, expected: &str) -> Parsed<()> {
        let word = self.peek_word();
        match find(&ELSEWHERE, word).filter(|_| !self.next_is(Token::OpenParen)) {
            Some(meant) => Err(self.instead(expected, meant)),
            None => Ok(()),
        }
    }

    /// Checks that a body without braces starts no statement other than a call.
    pub(super) fn no_bare_statement(&self, expected: &str) -> Parsed<()> {
        let is_statement = self.starts_statement() && !self.next_is(Token::OpenParen);
        if !is_statement && self.token != Token::At {
            return Ok(());
        }
        Err(self.instead(expected, "but statements stand in braces, `= { … };`"))
    }

    /// Checks that a body without braces is no number or word for a value. Text may be the name of a C function.
    pub(super) fn no_bare_literal(&self, expected: &str) -> Parsed<()> {
        let is_number = matches!(self.token, Token::Int | Token::Float);
        let is_word = matches!(classify(self.peek_word()), Word::None | Word::Bool(_));
        if !is_number && !is_word || self.next_is(Token::OpenParen) && is_word {
            return Ok(());
        }
        Err(self.instead(
            expected,
            "but a program returns a value, `= { return 0; };`, and `==` compares",
        ))
    }

    /// Checks that what stands where a call may stand goes on as a call, not as another expression.
    pub(super) fn no_bare_value(&self) -> Parsed<()> {
        let goes_on = self.infix().is_some()
            || matches!(
                self.token,
                Token::OpenBracket | Token::Dot | Token::Semicolon | Token::CloseBrace
            );
        if !goes_on {
            return Ok(());
        }
        let meant = match self.blocks {
            0 => "but a call has parentheses, and a program returns a value, `= { return …; };`",
            _ => {
                "but a call has parentheses, and values are returned, `return …;`, or named without a type, `let a = …;`"
            }
        };
        Err(self.instead("`(`", meant))
    }

    /// Checks that no assignment follows a name at the start of a statement.
    pub(super) fn no_assignment(&self, expected: &str) -> Parsed<()> {
        let signs = [Token::Plus, Token::Minus, Token::Star, Token::Slash, Token::Percent];
        let updates = signs.contains(&self.token) && self.next_is(Token::Assign);
        if !updates && !matches!(self.token, Token::Assign | Token::Colon) {
            return Ok(());
        }
        Err(self.instead(expected, "but a name has one value, which `let` gives it: `let a = 1;`"))
    }

    /// Checks that a loop has a second bound.
    pub(super) fn no_other_loop(&self) -> Parsed<()> {
        if self.token == Token::Range {
            return Ok(());
        }
        Err(self.instead("an operator or `..`", "but a loop counts: `for i in 0..n { … }`"))
    }

    /// Checks that no bracket follows `Tensor`, as it does in other languages.
    pub(super) fn no_bracket(&self) -> Parsed<()> {
        if self.token != Token::OpenBracket {
            return Ok(());
        }
        Err(self.instead("`(`", "but the parts of a tensor are `Tensor([n], float32)`"))
    }

    /// Checks that no block follows the arguments of a call, as in a loop of another language.
    pub(super) fn no_block_after(&self, word: &str, expected: &str) -> Parsed<()> {
        match find(&ELSEWHERE, word).filter(|_| self.token == Token::OpenBrace) {
            Some(meant) => Err(self.syntax(expected, format!("a block after `{word}`, {meant}"))),
            None => Ok(()),
        }
    }
}
