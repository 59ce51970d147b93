//! MLIR's diagnostics as values.

use std::cell::RefCell;
use std::rc::Rc;

use melior::Context;
use melior::diagnostic::{Diagnostic, DiagnosticSeverity};

/// Runs `action`. Returns its result, or the errors that MLIR has reported if the result is `None`. Nothing reaches
/// stderr.
pub(crate) fn diagnosed<T>(
    context: &Context,
    action: impl FnOnce() -> Option<T>,
) -> Result<T, String> {
    let said = Rc::new(RefCell::new(Vec::new()));
    let heard = Rc::clone(&said);
    let handler = context.attach_diagnostic_handler(move |diagnostic| {
        if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
            heard.borrow_mut().push(describe(&diagnostic));
        }
        true
    });
    let result = action();
    context.detach_diagnostic_handler(handler);
    result.ok_or_else(|| said.borrow().join("; "))
}

/// Returns the message after its location: line and column of a text, or a function.
fn describe(diagnostic: &Diagnostic<'_>) -> String {
    let location = diagnostic.location();
    if location.is_file_line_col_range() {
        let (line, column) = (
            location.file_line_col_range_start_line(),
            location.file_line_col_range_start_column(),
        );
        return format!("{line}:{column}: {diagnostic}");
    }
    let name = location.is_name().then(|| location.name_value());
    match name.as_ref().and_then(|name| name.as_string_ref().as_str().ok().map(str::to_owned)) {
        Some(name) => format!("@{name}: {diagnostic}"),
        None => diagnostic.to_string(),
    }
}
