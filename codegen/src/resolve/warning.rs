//! Warnings about valid declarations that may be mistakes.

mod constant;
mod contradiction;
mod unreached;
mod unused;

use std::fmt;
use std::str::FromStr;

use abi_spec::{error_kind, module_attribute};

use crate::backend::UnknownWord;
use crate::declaration::{Body, Call, Function, KernelCall, Library, StatementKind};
use crate::error::{Error, Errors, Part, Position, Site};
use WarningKind as Kind;
use unreached::Unreached;

/// A warning about a valid declaration. `Display` prints it like an [`Error`].
///
/// ```
/// let text = r#"f() -> None = try k() errors { 1: DeviceError "lost" };"#;
/// let library: tvm_ffi_codegen::Library = text.parse()?;
/// let warning = library.warnings().remove(0).locate(text).to_string();
/// assert!(warning.starts_with("1:32: f: error 0: Python has no exception for `DeviceError`"));
/// assert!(warning.contains("[unknown-exception]\n"));
/// # Ok::<(), tvm_ffi_codegen::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Warning {
    /// Kind, by whose name it can be left out.
    pub kind: WarningKind,
    /// Subject.
    pub subject: Subject,
    /// Reason.
    pub reason: String,
    /// Position; `None` until [`Warning::locate`] sets it.
    pub position: Option<Position>,
}

/// Declares the kinds of warnings: the enum and its names.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal;)*) => {
        /// Kind of a [`Warning`]. Its text is a name.
        ///
        /// ```
        /// use tvm_ffi_codegen::WarningKind;
        ///
        /// assert_eq!("unused-parameter".parse(), Ok(WarningKind::UnusedParameter));
        /// assert_eq!(WarningKind::UnusedImage.to_string(), "unused-image");
        /// let error = "unused".parse::<WarningKind>().unwrap_err().to_string();
        /// assert!(error.starts_with("`unused` is no warning; there are "));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum WarningKind {
            $($(#[$doc])* $kind,)*
        }

        impl WarningKind {
            /// All kinds.
            pub const ALL: &'static [WarningKind] = &[$(WarningKind::$kind),*];

            /// Returns the name.
            pub fn name(self) -> &'static str {
                match self {
                    $(WarningKind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A parameter that nothing uses, whose name does not start with `_`.
    UnusedParameter "unused-parameter";
    /// An image from which nothing is launched.
    UnusedImage "unused-image";
    /// A function with the name of an attribute of every module in Python.
    ModuleAttribute "module-attribute";
    /// A condition for which the types leave no value.
    Contradiction "contradiction";
    /// A type of a union whose values an earlier one takes.
    UnreachedType "unreached-type";
    /// A condition that names no value.
    ConstantCondition "constant-condition";
    /// A kind of error for which Python has no exception.
    UnknownException "unknown-exception";
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error lists the names.
impl FromStr for WarningKind {
    type Err = UnknownWord;

    fn from_str(name: &str) -> Result<WarningKind, UnknownWord> {
        let found = WarningKind::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| {
            let names = WarningKind::ALL.iter().map(|kind| kind.name());
            UnknownWord::new(name, names, |name, names| {
                format!("`{name}` is no warning; there are {names}")
            })
        })
    }
}

/// Subject of a [`Warning`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A part of a function.
    Part(Site),
    /// An image.
    Image {
        /// Index of the image in the library.
        index: usize,
        /// Name of the image.
        name: String,
    },
}

impl Warning {
    fn new(kind: WarningKind, subject: Subject, reason: impl Into<String>) -> Warning {
        Warning { kind, subject, reason: reason.into(), position: None }
    }

    /// Returns the warning with its position in the text from which the library was parsed.
    #[must_use]
    pub fn locate(self, text: &str) -> Warning {
        let position = self.error().locate(text).position().cloned();
        Warning { position, ..self }
    }

    /// Returns warnings with their positions in the text from which the library was parsed, which is parsed once more
    /// for all of them.
    pub fn locate_all(warnings: Vec<Warning>, text: &str) -> Vec<Warning> {
        if warnings.is_empty() {
            return warnings;
        }
        let errors = Errors::new(warnings.iter().map(Warning::error).collect());
        let located = errors.locate(text).into_iter();
        let at = |(warning, error): (Warning, Error)| Warning {
            position: error.position().cloned(),
            ..warning
        };
        warnings.into_iter().zip(located).map(at).collect()
    }

    /// Returns an error that prints the same.
    fn error(&self) -> Error {
        let reason = format!("{} [{}]", self.reason, self.kind);
        let position = self.position.clone().map(Box::new);
        match self.subject.clone() {
            Subject::Part(site) => Error::Invalid { site, reason, position },
            Subject::Image { index, name } => Error::Image { index, name, reason, position },
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error().fmt(f)
    }
}

impl Library {
    /// Returns the warnings about a library. [`WarningKind`] lists what they are about.
    ///
    /// Those about images come first, then those of each function, in the order of declaration. To leave out the
    /// warnings of a kind, filter by [`Warning::kind`]:
    ///
    /// ```
    /// use tvm_ffi_codegen::{Library, WarningKind};
    ///
    /// let library: Library = "f(n: int64, m: int64) -> None where 1 == 1 = k(n);".parse()?;
    /// let mut warnings = library.warnings();
    /// assert_eq!(warnings.len(), 2);
    /// warnings.retain(|warning| warning.kind != WarningKind::UnusedParameter);
    /// assert_eq!(warnings[0].kind, WarningKind::ConstantCondition);
    /// # Ok::<(), tvm_ffi_codegen::Error>(())
    /// ```
    ///
    /// A library with errors may have warnings, too, but one whose [form](Library::check_form) is wrong has none.
    pub fn warnings(&self) -> Vec<Warning> {
        if self.check_form().is_err() {
            return Vec::new();
        }
        let images = unused::images(self).map(|(index, image)| {
            let subject = Subject::Image { index, name: image.name.clone() };
            Warning::new(Kind::UnusedImage, subject, "nothing uses it, and it is left out")
        });
        let has_conditions = self.functions.iter().any(|f| !f.signature.constraints.is_empty());
        let resolved = if has_conditions { self.resolve_declarations().ok() } else { None };
        let meaning = |index| resolved.as_ref().and_then(|resolved| resolved.functions.get(index));
        let functions = self.functions.iter().enumerate();
        let of_functions = functions.flat_map(|(index, function): (usize, &Function)| {
            let at = |part| Subject::Part(Site::new(index, function, part));
            let hidden = hidden(function)
                .map(|reason| Warning::new(Kind::ModuleAttribute, at(Part::Name), reason));
            let unused = unused::params(function).into_iter();
            let unused = unused
                .map(|param| Warning::new(Kind::UnusedParameter, at(Part::Param(param)), UNUSED));
            let unreached = unreached::types(function).into_iter();
            let unreached = unreached.map(|(part, Unreached { ty, earlier })| {
                let reason = if ty == earlier {
                    format!("`{ty}` is in the union twice")
                } else {
                    format!("no value reaches `{ty}`: `{earlier}`, which is before it, takes them")
                };
                Warning::new(Kind::UnreachedType, at(part), reason)
            });
            let never = meaning(index).and_then(contradiction::find).map(|constraint| {
                let condition = &function.signature.constraints[constraint].condition;
                let reason = format!(
                    "`{condition}` never holds: the types leave no value for which it does"
                );
                Warning::new(Kind::Contradiction, at(Part::Constraint(constraint)), reason)
            });
            let constant = constant::conditions(function).into_iter();
            let constant = constant.map(|(part, condition)| {
                let reason = format!("`{condition}` is the same in every call: it names no value");
                Warning::new(Kind::ConstantCondition, at(part), reason)
            });
            let first = never.as_ref().map(|warning| warning.subject.clone());
            let constant = constant.filter(move |warning| Some(&warning.subject) != first.as_ref());
            let kinds = kinds(function).into_iter();
            let kinds = kinds.filter_map(|(part, kind)| {
                Some(Warning::new(Kind::UnknownException, at(part), unknown(kind)?))
            });
            hidden
                .into_iter()
                .chain(unused)
                .chain(unreached)
                .chain(never)
                .chain(constant)
                .chain(kinds)
                .collect::<Vec<_>>()
        });
        images.chain(of_functions).collect()
    }
}

/// Reason of the warning about an unused parameter.
const UNUSED: &str = "it is checked, and nothing else is done with it";

/// Returns the warning about a function whose name is an attribute of every module in Python.
fn hidden(function: &Function) -> Option<String> {
    let name = &function.signature.name;
    module_attribute::PYTHON.contains(&name.as_str()).then(|| {
        format!("in Python every module has an attribute `{name}`, which is not this function: `module[\"{name}\"]` is")
    })
}

/// Returns the kinds of errors that a function raises, with their parts.
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
        if let StatementKind::Raise { kind, .. } = &statement.kind {
            found.push((part, &**kind));
        } else if let StatementKind::Call { call: Call::Kernel(call), .. } = &statement.kind {
            found.extend(of_call(call, part));
        }
    }
    found
}

/// Returns the warning about a kind of error that Python does not know.
fn unknown(kind: &str) -> Option<String> {
    if error_kind::PYTHON.contains(&kind) {
        return None;
    }
    let known = error_kind::PYTHON.join(", ");
    Some(format!(
        "Python has no exception for `{kind}`, which becomes RuntimeError unless it is registered with \
         tvm_ffi.register_error; known are {known}"
    ))
}
