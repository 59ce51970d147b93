//! Whether the statements of a program are well formed.

use super::form::Checker;
use crate::declaration::limit::Limit;
use crate::declaration::{Call, Expr, FunctionRef, Local, Statement, StatementKind};
use crate::error::{Error, Part};

impl Checker<'_> {
    /// All statements of a body, blocks in blocks included.
    pub(crate) fn statements(&self, statements: &[Statement]) -> Result<(), Error> {
        let mut left: Vec<(&Statement, usize)> =
            statements.iter().rev().map(|statement| (statement, 1)).collect();
        let mut index = 0;
        while let Some((statement, depth)) = left.pop() {
            let part = Part::Statement(index);
            index += 1;
            self.limit(part, index, Limit::Statements)?;
            self.limit(part, depth, Limit::Nesting)?;
            if let Some(location) = &statement.location {
                self.location(part, location)?;
            }
            self.action(part, &statement.kind)?;
            let blocks = statement.kind.blocks();
            let inner = blocks.iter().rev().flat_map(|block| block.iter().rev());
            left.extend(inner.map(|statement| (statement, depth + 1)));
        }
        Ok(())
    }

    fn action(&self, part: Part, action: &StatementKind) -> Result<(), Error> {
        match action {
            StatementKind::Let { name, value } => {
                self.identifier(part, name)?;
                self.expr(part, value)
            }
            StatementKind::Call { result, call } => self.call(part, result.as_ref(), call),
            StatementKind::Alloc { name, tensor, on } => {
                self.identifier(part, name)?;
                self.allocated(part, tensor)?;
                on.as_ref().map_or(Ok(()), |on| self.expr(part, on))
            }
            StatementKind::If { condition, .. } => self.expr(part, condition),
            StatementKind::For { name, start, end, .. } => {
                self.identifier(part, name)?;
                self.expr(part, start)?;
                self.expr(part, end)
            }
            StatementKind::Launch(launch) => self.launch(part, launch),
            StatementKind::Return(value) => {
                value.as_ref().map_or(Ok(()), |value| self.expr(part, value))
            }
            StatementKind::Raise { kind, message } => {
                self.identifier(part, kind)?;
                self.limit(part, message.len(), Limit::Arguments)?;
                message.iter().try_for_each(|piece| self.expr(part, piece))
            }
        }
    }

    fn call(&self, part: Part, result: Option<&Local>, call: &Call) -> Result<(), Error> {
        if let Some(Local { name, ty }) = result {
            self.identifier(part, name)?;
            self.type_of(part, ty)?;
        }
        match call {
            Call::Kernel(call) => self.kernel(call, [part; 3]),
            Call::Function { callee, args } => {
                self.callee(part, callee)?;
                self.limit(part, args.len(), Limit::Arguments)?;
                args.iter().try_for_each(|arg: &Expr| self.expr(part, arg))
            }
        }
    }

    fn callee(&self, part: Part, callee: &FunctionRef) -> Result<(), Error> {
        match callee {
            FunctionRef::Symbol(name) => self.identifier(part, name),
            FunctionRef::Name(name) => {
                self.limit(part, name.len(), Limit::Name)?;
                if name.is_empty() || name.contains(char::is_control) {
                    return Err(self.invalid(part, format!("{name:?} names no function")));
                }
                Ok(())
            }
            FunctionRef::Value(expr) => self.expr(part, expr),
        }
    }
}
