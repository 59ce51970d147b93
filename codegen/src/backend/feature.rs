//! Features of processors, as users name them.

use std::fmt;
use std::str::FromStr;

use super::unknown::UnknownWord;

/// A feature of a processor, to be used whether the processor is known to have it or not. Its name is LLVM's.
///
/// ```
/// use tvm_ffi_codegen::backend::Feature;
///
/// let feature: Feature = "-avx512f".parse().unwrap();
/// assert_eq!(feature, Feature { name: "avx512f".into(), enabled: false });
/// assert_eq!(feature.to_string(), "-avx512f");
/// let error = "avx2".parse::<Feature>().unwrap_err();
/// assert_eq!(error.to_string(), "expected `+` or `-` and the name of a feature, found \"avx2\"");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Feature {
    /// The name, without a sign.
    pub name: String,
    /// True if code may use the feature, false if it must not.
    pub enabled: bool,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.enabled { '+' } else { '-' };
        write!(f, "{sign}{}", self.name)
    }
}

impl FromStr for Feature {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Feature, UnknownWord> {
        let (name, enabled) = match text.split_at_checked(1) {
            Some(("+", name)) => (name, true),
            Some(("-", name)) => (name, false),
            Some(_) | None => ("", false),
        };
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || !name.chars().all(is_part) {
            let expected = "expected `+` or `-` and the name of a feature";
            let message = |text: &str, _: &str| format!("{expected}, found {text:?}");
            return Err(UnknownWord::new(text, ["+NAME", "-NAME"], message));
        }
        Ok(Feature { name: name.to_owned(), enabled })
    }
}
