//! `check`: diagnostics of declarations.

use codegen::{Library, Position};
use jit::{Arg, ArrayObject, IntoArg, runtime};

use crate::ffi::{Outcome, global};

/// Returns the errors and warnings about a text.
pub(crate) fn check(text: &str) -> Outcome {
    let found = match Library::parse(text) {
        Err(errors) => {
            let diagnostic =
                |error: codegen::Error| diagnostic("error", &error.to_string(), error.position());
            errors.into_iter().map(diagnostic).collect::<Result<Vec<_>, _>>()?
        }
        Ok(library) => {
            let warnings = library.warnings().into_iter().map(|warning| warning.locate(text));
            let diagnostic = |warning: codegen::Warning| {
                diagnostic("warning", &warning.to_string(), warning.position.as_ref())
            };
            warnings.map(diagnostic).collect::<Result<_, _>>()?
        }
    };
    let found: Vec<Arg<'_>> = found.iter().map(IntoArg::hold).collect();
    Ok(ArrayObject::new(found, runtime())?.into_object().into())
}

/// Makes a diagnostic from its printed form: the position, the message, and below it the line.
fn diagnostic(severity: &str, printed: &str, position: Option<&Position>) -> Outcome {
    let map = global("ffi.Map")?;
    let place = position.map(|at| format!("{}:{}: ", at.line, at.column)).unwrap_or_default();
    let source = position.map(ToString::to_string);
    let message = printed.strip_prefix(&*place).unwrap_or(printed);
    let message = message.strip_suffix(source.as_deref().unwrap_or_default()).unwrap_or(message);
    let (line, column) = (position.map(|at| at.line), position.map(|at| at.column));
    let message = message.trim_end();
    #[rustfmt::skip]
    let entries = (
        "severity", severity, "line", line, "column", column, "message", message, "source", source.as_deref(),
    );
    Ok(map.call(entries)?)
}
