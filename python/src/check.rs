//! `check`: diagnostics of declarations.

use abi_spec::TypeIndex;
use codegen::{Library, Position, Warning, WarningKind};
use jit::{Arg, ArrayObject, IntoArg, Returned, runtime};

use crate::fault::Fault;
use crate::ffi::{Outcome, global};
use crate::options;

/// Returns the errors and warnings about a text; no warnings whose names are in `allow`, an array or None.
pub(crate) fn check(text: &str, allow: &Returned) -> Outcome {
    let allow = if allow.ty() == TypeIndex::NONE { Vec::new() } else { kinds(allow)? };
    let found = match Library::parse(text) {
        Err(errors) => {
            let diagnostic = |error: codegen::Error| {
                diagnostic("error", &error.to_string(), error.position(), None)
            };
            errors.into_iter().map(diagnostic).collect::<Result<Vec<_>, _>>()?
        }
        Ok(library) => {
            let mut warnings = library.warnings();
            warnings.retain(|warning| !allow.contains(&warning.kind));
            let warnings = Warning::locate_all(warnings, text).into_iter();
            let diagnostic = |warning: codegen::Warning| {
                let (position, name) = (warning.position.as_ref(), warning.kind.name());
                diagnostic("warning", &warning.to_string(), position, Some(name))
            };
            warnings.map(diagnostic).collect::<Result<_, _>>()?
        }
    };
    let found: Vec<Arg<'_>> = found.iter().map(IntoArg::hold).collect();
    Ok(ArrayObject::new(found, runtime())?.into_object().into())
}

/// Returns the kinds of warnings that an array names.
fn kinds(names: &Returned) -> Result<Vec<WarningKind>, Fault> {
    let array = names.array().map_err(|_| Fault::ty("allow is no Array".to_owned()))?;
    let kind = |(index, name): (usize, Returned)| {
        let what = format!("allow[{index}]");
        let name = options::text(&what, &name)?.to_owned();
        name.parse().map_err(|reason| Fault::value(format!("{what}: {reason}")))
    };
    array.iter().enumerate().map(kind).collect()
}

/// Makes a diagnostic from its printed form: the position, the message, and below it the line.
fn diagnostic(
    severity: &str,
    printed: &str,
    position: Option<&Position>,
    name: Option<&str>,
) -> Outcome {
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
        "name", name,
    );
    Ok(map.call(entries)?)
}
