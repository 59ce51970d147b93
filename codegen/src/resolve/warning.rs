//! What is valid and may not be what was meant.

use std::fmt;

use abi_spec::{error_kind, module_attribute};

use crate::declaration::{Action, Body, Call, Function, KernelCall, Library};
use crate::error::{Error, Part, Position, Site};

/// Something in a valid declaration that may not be what was meant. `Display` prints it as an [`Error`] prints.
///
/// ```
/// let text = r#"f() -> None = try k() errors { 1: DeviceError "lost" };"#;
/// let library: tvm_ffi_codegen::Library = text.parse()?;
/// let warning = library.warnings().remove(0).locate(text).to_string();
/// assert!(warning.starts_with("1:32: f: error 0: Python has no exception for `DeviceError`"));
/// # Ok::<(), tvm_ffi_codegen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// The part that it is about.
    pub site: Site,
    /// What about it.
    pub reason: String,
    /// Where it is, once that is known.
    pub position: Option<Position>,
}

impl Warning {
    /// The same with its position in the text from which the library was parsed.
    pub fn locate(self, text: &str) -> Warning {
        let Warning { site, reason, .. } = self;
        let error = Error::Invalid { site: site.clone(), reason: reason.clone(), position: None };
        let position = crate::language::locate(text, error).position().cloned();
        Warning { site, reason, position }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Warning { site, reason, position } = self;
        match position {
            Some(at) => write!(f, "{}:{}: {site}: {reason}\n{at}", at.line, at.column),
            None => write!(f, "{site}: {reason}"),
        }
    }
}

impl Library {
    /// What is valid and may not be what was meant, in the order in which it is written: functions that are no
    /// attributes of a module in Python, and kinds of errors of which Python knows nothing.
    pub fn warnings(&self) -> Vec<Warning> {
        let of_function = |(index, function): (usize, &Function)| {
            let warn = |(part, kind): (Part, &str)| unknown_kind(index, function, part, kind);
            let kinds = kinds(function).into_iter().filter_map(warn);
            hidden(index, function).into_iter().chain(kinds).collect::<Vec<_>>()
        };
        self.functions.iter().enumerate().flat_map(of_function).collect()
    }
}

/// A function whose name means something else as an attribute of a module.
fn hidden(index: usize, function: &Function) -> Option<Warning> {
    let name = &function.signature.name;
    if !module_attribute::PYTHON.contains(&name.as_str()) {
        return None;
    }
    let reason = format!(
        "in Python every module has an attribute `{name}`, which is not this function: `module[\"{name}\"]` is"
    );
    Some(Warning { site: Site::new(index, function, Part::Name), reason, position: None })
}

/// The kinds of errors that a function says, and where.
fn kinds(function: &Function) -> Vec<(Part, &str)> {
    fn of_call(call: &KernelCall, first: Part) -> impl Iterator<Item = (Part, &str)> {
        let errors = call.status.iter().flatten().enumerate();
        errors.map(move |(index, error)| (first.number(index), &*error.kind))
    }
    if let Body::Call(call) = &function.body {
        return of_call(call, Part::Status(0)).collect();
    }
    let mut found = Vec::new();
    for (index, statement) in function.body.statements().enumerate() {
        let part = Part::Statement(index);
        match &statement.action {
            Action::Raise { kind, .. } => found.push((part, &**kind)),
            Action::Call { call: Call::Kernel(call), .. } => found.extend(of_call(call, part)),
            Action::Call { call: Call::Function { .. }, .. }
            | Action::Let { .. }
            | Action::Alloc { .. }
            | Action::Launch(_)
            | Action::If { .. }
            | Action::For { .. }
            | Action::Return(_) => {}
        }
    }
    found
}

fn unknown_kind(index: usize, function: &Function, part: Part, kind: &str) -> Option<Warning> {
    if error_kind::PYTHON.contains(&kind) {
        return None;
    }
    let known = error_kind::PYTHON.join(", ");
    let reason = format!(
        "Python has no exception for `{kind}`, which becomes RuntimeError unless it is registered with \
         tvm_ffi.register_error; known are {known}"
    );
    Some(Warning { site: Site::new(index, function, part), reason, position: None })
}
