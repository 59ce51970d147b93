//! The error for a word that is none of those that are known.

use std::error::Error;
use std::fmt;

/// The error of `parse` for names that users write in options: a word that is none of those that are known. `Display`
/// lists these.
///
/// ```
/// use tvm_ffi_codegen::{UnknownWord, WarningKind, backend::Optimize};
///
/// let error: UnknownWord = "4".parse::<Optimize>().unwrap_err();
/// assert_eq!((error.word(), error.known()), ("4", &["0", "1", "2", "3"].map(String::from)[..]));
/// assert_eq!(error.to_string(), "expected 0, 1, 2 or 3");
///
/// let error = "unused".parse::<WarningKind>().unwrap_err();
/// assert!(error.known().contains(&"unused-image".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    word: String,
    known: Vec<String>,
    message: String,
}

impl UnknownWord {
    /// Makes the error for a word. `message` gets it and the known ones, with commas in between, and returns the text.
    pub fn new(
        word: impl Into<String>,
        known: impl IntoIterator<Item: Into<String>>,
        message: impl FnOnce(&str, &str) -> String,
    ) -> UnknownWord {
        let (word, known) = (word.into(), known.into_iter().map(Into::into).collect::<Vec<_>>());
        let message = message(&word, &known.join(", "));
        UnknownWord { word, known, message }
    }

    /// Returns the word.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Returns the words that are known, or how they are formed: `+NAME`.
    pub fn known(&self) -> &[String] {
        &self.known
    }
}

impl Error for UnknownWord {}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
