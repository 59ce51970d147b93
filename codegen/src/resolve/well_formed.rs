//! Checks that declarations are well formed: names, limits and types. Names are not looked up.

mod body;
mod default;
mod signature;

use abi_spec::symbol::{NameError, validate_name};

use crate::declaration::limit::Limit;
use crate::declaration::reserved::name_fault;
use crate::declaration::{
    Body, CLOSURE, DeviceAttribute, Expr, Function, Location, Signature, is_identifier,
};
use crate::error::{Error, Part};

/// Checks function number `index`.
pub(super) fn check(index: usize, function: &Function) -> Result<(), Error> {
    FormChecker { index, function }.function()
}

/// Prefixes that belong to exported functions, the runtime and generated symbols; no C function may start with one.
pub(super) const RESERVED_PREFIXES: [&str; 3] =
    [abi_spec::symbol::PREFIX, "TVMFFI", "tvm_ffi_codegen."];

/// Prefixes that no C function can have: LLVM reserves `llvm.`, and assemblers keep symbols with a leading `.` out of
/// objects.
const TOOL_PREFIXES: [&str; 2] = ["llvm.", "."];

/// Checker of one function.
pub(super) struct FormChecker<'a> {
    index: usize,
    function: &'a Function,
}

impl FormChecker<'_> {
    pub(super) fn invalid(&self, part: Part, reason: impl Into<String>) -> Error {
        Error::invalid(self.index, self.function, part, reason)
    }

    pub(super) fn limit(&self, part: Part, count: usize, limit: Limit) -> Result<(), Error> {
        if count <= limit.max() {
            Ok(())
        } else {
            Err(Error::limit(self.index, self.function, part, limit))
        }
    }

    fn function(&self) -> Result<(), Error> {
        let Function { docs, location, signature, body, external: _, into: _ } = self.function;
        self.function_name(Part::Name, &signature.name)?;
        if signature.is_made && signature.name == CLOSURE {
            let reason = "it has the signature of a function that a body makes (`Signature::closure`): a function of a \
                          library is built with its name, by `Signature::new`";
            return Err(self.invalid(Part::Name, reason));
        }
        self.docs(Part::Docs, docs)?;
        location.as_ref().map_or(Ok(()), |location| self.location(Part::Location, location))?;
        self.signature(signature)?;
        self.body(body)
    }

    fn docs(&self, part: Part, docs: &str) -> Result<(), Error> {
        if docs.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err(self.invalid(part, "documentation must not contain control characters"));
        }
        Ok(())
    }

    fn signature(&self, signature: &Signature) -> Result<(), Error> {
        self.params(&signature.params)?;
        self.limit(Part::Name, signature.constraints.len(), Limit::Constraints)?;
        for (index, constraint) in signature.constraints.iter().enumerate() {
            self.expr(Part::Constraint(index), &constraint.condition)?;
            if let Some(message) = &constraint.message {
                self.message(Part::Constraint(index), message)?;
            }
        }
        self.result()
    }

    /// Checks a function that a body makes, apart from its statements.
    fn closure(&self, part: Part, function: &Function) -> Result<(), Error> {
        if !matches!(part, Part::Statement(_)) {
            return Err(self.invalid(part, "a function is made by a statement"));
        }
        let Function { docs, location, signature, body, external, into: _ } = function;
        let is_plain = docs.is_empty() && location.is_none() && !external;
        if signature.name != CLOSURE || !is_plain || !matches!(body, Body::Block(_)) {
            let reason = "a function that a body makes has the signature of a closure and a block, and nothing else";
            return Err(self.invalid(part, reason));
        }
        if signature.has_self() {
            return Err(self.invalid(part, "a function that a body makes has no `self`"));
        }
        if signature.params.iter().any(|param| !param.docs.is_empty()) {
            let reason = "nobody sees the documentation of a function that a body makes";
            return Err(self.invalid(part, reason));
        }
        let inner = FormChecker { index: self.index, function };
        inner.signature(signature).map_err(|error| error.within(self.index, self.function, part))
    }

    /// Checks a source location, which the backtrace prints without escapes.
    fn location(&self, part: Part, location: &Location) -> Result<(), Error> {
        let Location { file, line, column } = location;
        self.limit(part, file.len(), Limit::File)?;
        if file.is_empty() || file.contains(|c: char| c.is_control() || c == '"') {
            let reason = "the name of a file is not empty, without quotes and control characters";
            return Err(self.invalid(part, reason));
        }
        let most = Location::MAX;
        if *line == 0 || *line > most {
            let reason = format!("there is no line {line}: lines are counted from 1 to {most}");
            return Err(self.invalid(part, reason));
        }
        if *column > most {
            let reason = format!("there is no column {column}: columns are counted to {most}");
            return Err(self.invalid(part, reason));
        }
        Ok(())
    }

    /// Checks a message: one line that is never cut.
    fn message(&self, part: Part, message: &str) -> Result<(), Error> {
        self.limit(part, message.len(), Limit::Message)?;
        if message.is_empty() {
            return Err(self.invalid(part, "the message is empty"));
        }
        if message.contains(char::is_control) {
            return Err(self.invalid(part, "the message contains control characters"));
        }
        Ok(())
    }

    /// Checks the name of a function. Of the symbols that a name could clash with, these are the ones that other
    /// functions of the library, or loaders, have.
    pub(super) fn function_name(&self, part: Part, name: &str) -> Result<(), Error> {
        self.name(part, name)?;
        match validate_name(name) {
            Err(error @ NameError::Reserved { .. }) => Err(self.invalid(part, error.to_string())),
            Err(_) | Ok(()) => Ok(()),
        }
    }

    /// Checks the name of a value or a function: any text that can be spelled.
    pub(super) fn name(&self, part: Part, name: &str) -> Result<(), Error> {
        self.limit(part, name.len(), Limit::Name)?;
        name_fault(name).map_or(Ok(()), |reason| Err(self.invalid(part, reason)))
    }

    /// Checks an identifier, which may be reserved.
    pub(super) fn identifier(&self, part: Part, name: &str) -> Result<(), Error> {
        self.limit(part, name.len(), Limit::Name)?;
        if is_identifier(name) {
            return Ok(());
        }
        Err(self.invalid(part, format!("{name:?} is not an identifier")))
    }

    /// Checks the kind of an error: identifiers with dots between them.
    pub(super) fn error_kind(&self, part: Part, kind: &str) -> Result<(), Error> {
        self.limit(part, kind.len(), Limit::Name)?;
        if kind.split('.').all(is_identifier) {
            return Ok(());
        }
        Err(self.invalid(part, format!("{kind:?} is no kind of error")))
    }

    pub(super) fn expr(&self, part: Part, expr: &Expr) -> Result<(), Error> {
        if deeper_than(expr, Limit::Nesting.max()) {
            return Err(Error::limit(self.index, self.function, part, Limit::Nesting));
        }
        self.nodes(part, expr)
    }

    /// Checks every node of an expression.
    fn nodes(&self, part: Part, expr: &Expr) -> Result<(), Error> {
        if let Expr::Name(name) = expr {
            return self.name(part, name);
        }
        if let Expr::Field(_, name) = expr {
            self.name(part, name)?;
        } else if let Expr::Float(value) = expr {
            self.float(part, *value)?;
        } else if let Expr::Text(text) = expr {
            self.text(part, text)?;
        } else if let Expr::Unsigned(value) = expr
            && i64::try_from(*value).is_ok()
        {
            return Err(self.invalid(part, format!("{value} is an `int64`")));
        } else if let Expr::DeviceAttribute(_, DeviceAttribute::Other(id)) = expr {
            if i32::try_from(*id).is_err() {
                return Err(self.invalid(part, format!("{id} is no attribute of a device")));
            }
        } else if let Expr::Global(global) = expr {
            self.global(part, global)?;
        } else if let Expr::Function(function) = expr {
            self.closure(part, function)?;
        } else if let Expr::Array(entries) = expr {
            self.limit(part, entries.len(), Limit::Arguments)?;
        } else if let Expr::Shape(numbers) = expr {
            self.limit(part, numbers.len(), Limit::Rank)?;
        }
        expr.children().try_for_each(|child| self.nodes(part, child))
    }

    fn float(&self, part: Part, value: f64) -> Result<(), Error> {
        if value.is_finite() {
            return Ok(());
        }
        Err(self.invalid(part, format!("{value} is not a number that can be written")))
    }

    fn text(&self, part: Part, text: &str) -> Result<(), Error> {
        if text.contains('\n') {
            return Err(self.invalid(part, "text in quotes is one line"));
        }
        Ok(())
    }
}

/// Returns true if an expression is higher than `height`.
pub(super) fn deeper_than(expr: &Expr, height: usize) -> bool {
    height == 0 || expr.children().any(|child| deeper_than(child, height - 1))
}
