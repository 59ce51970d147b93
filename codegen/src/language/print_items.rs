//! The printer: items and signatures.

use std::fmt::{self, Display, Formatter, Write as _};

use super::reserved::spelled_label;
use crate::declaration::{Constraint, Function, Library, Location, Signature};

/// Prints the images and the functions, separated by empty lines. The other fields have no form in the language, nor
/// have the bytes of images: [`prepare`](Library::prepare), [`imports`](Library::imports), [`entry`](Library::entry),
/// [`system_lib`](Library::system_lib), [`handlers`](Library::handlers), [`torch`](Library::torch) and
/// [`inquiry`](Library::inquiry) are for who makes the library, as options of the command line are.
/// [`fingerprint`](Library::fingerprint) has all of them.
impl Display for Library {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.images.iter().try_for_each(|image| writeln!(f, "{image}"))?;
        for (index, function) in self.functions.iter().enumerate() {
            f.write_str(if index == 0 && self.images.is_empty() { "" } else { "\n" })?;
            writeln!(f, "{function}")?;
        }
        Ok(())
    }
}

/// Prints several lines; the last one ends with `;`. If a parameter has documentation, each is on a line of its own.
impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        put_docs(f, &self.docs, "")?;
        if let Some(location) = &self.location {
            writeln!(f, "{location}")?;
        }
        f.write_str(if self.external { "extern " } else { "" })?;
        let Signature { params, result, constraints, .. } = &self.signature;
        if params.iter().all(|param| param.docs.is_empty()) {
            write!(f, "{} -> {result}", self.signature.header())?;
        } else {
            writeln!(f, "{}(", spelled_label(&self.signature.name))?;
            for (index, param) in params.iter().enumerate() {
                put_docs(f, &param.docs, "    ")?;
                let comma = if index + 1 < params.len() { "," } else { "" };
                writeln!(f, "    {param}{comma}")?;
            }
            write!(f, ") -> {result}")?;
        }
        if !constraints.is_empty() {
            f.write_str("\n    where ")?;
            list(f, constraints)?;
        }
        write!(f, "\n    = {};", self.body)
    }
}

/// Prints documentation, each line on one of its own.
fn put_docs(f: &mut Formatter<'_>, docs: &str, margin: &str) -> fmt::Result {
    if docs.is_empty() {
        return Ok(());
    }
    for line in docs.split('\n') {
        writeln!(f, "{margin}///{}{line}", if line.is_empty() { "" } else { " " })?;
    }
    Ok(())
}

impl Display for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("@")?;
        quote(f, &self.file)?;
        write!(f, ":{}", self.line)?;
        if self.column == 0 { Ok(()) } else { write!(f, ":{}", self.column) }
    }
}

/// Prints one line, without the documentation of parameters.
impl Display for Signature {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.header(), self.result)?;
        if !self.constraints.is_empty() {
            f.write_str(" where ")?;
            list(f, &self.constraints)?;
        }
        Ok(())
    }
}

impl Signature {
    /// Returns the canonical text up to the closing parenthesis, which error messages show.
    pub fn header(&self) -> impl Display {
        Header(self)
    }
}

struct Header<'a>(&'a Signature);

impl Display for Header<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        spelled_label(&self.0.name).fmt(f)?;
        enclosed(f, "(", &self.0.params, ")")
    }
}

/// Prints entries separated by commas.
pub(super) fn list(f: &mut Formatter<'_>, entries: &[impl Display]) -> fmt::Result {
    for (index, entry) in entries.iter().enumerate() {
        write!(f, "{}{entry}", if index == 0 { "" } else { ", " })?;
    }
    Ok(())
}

/// Prints entries separated by commas between two signs.
pub(super) fn enclosed(
    f: &mut Formatter<'_>,
    open: &str,
    entries: &[impl Display],
    close: &str,
) -> fmt::Result {
    f.write_str(open)?;
    list(f, entries)?;
    f.write_str(close)
}

impl Display for Constraint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)?;
        match &self.message {
            Some(message) => {
                f.write_str(" else ")?;
                quote(f, message)
            }
            None => Ok(()),
        }
    }
}

/// Prints a text in quotes.
pub(super) fn quote(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            f.write_str("\\")?;
        }
        f.write_char(c)?;
    }
    f.write_str("\"")
}
