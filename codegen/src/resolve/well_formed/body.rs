//! Checks that bodies are well formed: statements, calls and symbols of C functions.

use rustc_hash::FxHashSet;

use super::{FormChecker, RESERVED_PREFIXES, TOOL_PREFIXES};
use crate::declaration::limit::Limit;
use crate::declaration::reserved::is_callee;
use crate::declaration::{
    Arm, Body, Branch, Call, Expr, FunctionCall, FunctionRef, KernelCall, KernelRef, Local,
    Statement, StatementKind, StatusError,
};
use crate::error::{Error, Part};

/// Parts that errors about a call of a C function are about.
#[derive(Clone, Copy)]
struct CallParts {
    callee: Part,
    /// First argument.
    argument: Part,
    /// First entry of the `errors` clause.
    status: Part,
}

impl FormChecker<'_> {
    pub(super) fn body(&self, body: &Body) -> Result<(), Error> {
        match body {
            Body::Call(call) => {
                let (argument, status) = (Part::Argument(0), Part::Status(0));
                self.kernel(call, CallParts { callee: Part::Callee, argument, status })
            }
            Body::Block(statements) => self.statements(statements),
        }
    }

    /// Checks all statements of a body, nested ones included. The statements of a function within expressions are as
    /// deep as these and the statement that makes it.
    pub(super) fn statements(&self, statements: &[Statement]) -> Result<(), Error> {
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
            if let StatementKind::Match { arms, .. } = &statement.kind {
                self.arms(index - 1, arms)?;
            }
            if let StatementKind::If { branches, .. } = &statement.kind {
                self.branches(index - 1, branches)?;
            }
            for (block, around) in statement.kind.nested_blocks().into_iter().rev() {
                let inner = block.iter().rev();
                left.extend(inner.map(|statement| (statement, depth + around + 1)));
            }
        }
        Ok(())
    }

    fn action(&self, part: Part, action: &StatementKind) -> Result<(), Error> {
        match action {
            StatementKind::Let { name, value } => {
                self.name(part, name)?;
                self.expr(part, value)
            }
            StatementKind::Call { result, call } => self.call(part, result.as_ref(), call),
            StatementKind::Alloc { name, tensor, on } => {
                self.name(part, name)?;
                self.allocated(part, tensor)?;
                on.as_ref().map_or(Ok(()), |on| self.expr(part, on))
            }
            StatementKind::TensorMap { name, map } => {
                self.name(part, name)?;
                self.map(part, map)?;
                map.exprs().try_for_each(|expr| self.expr(part, expr))
            }
            StatementKind::If { branches, .. } if branches.is_empty() => {
                Err(self.invalid(part, "an `if` has a condition"))
            }
            StatementKind::If { .. } => Ok(()),
            StatementKind::Match { value, .. } => self.expr(part, value),
            StatementKind::For { name, start, end, .. } => {
                self.name(part, name)?;
                self.expr(part, start)?;
                self.expr(part, end)
            }
            StatementKind::Launch(launch) => self.launch(part, launch),
            StatementKind::Upload(upload) => self.upload(part, upload),
            StatementKind::Fill(fill) => self.command(part, fill.exprs()),
            StatementKind::Copy(copy) => self.command(part, copy.exprs()),
            StatementKind::Wait(wait) => self.command(part, wait.exprs()),
            StatementKind::Return(value) => {
                value.as_ref().map_or(Ok(()), |value| self.expr(part, value))
            }
            StatementKind::Raise { kind, message } => {
                self.error_kind(part, kind)?;
                self.limit(part, message.len(), Limit::Arguments)?;
                message.iter().try_for_each(|piece| self.expr(part, piece))
            }
        }
    }

    /// Checks the branches of statement number `index`.
    fn branches(&self, index: usize, branches: &[Branch]) -> Result<(), Error> {
        self.limit(Part::Statement(index), branches.len(), Limit::Branches)?;
        for (number, Branch { condition, .. }) in branches.iter().enumerate() {
            self.expr(Part::branch(index, number), condition)?;
        }
        Ok(())
    }

    /// Checks the arms of statement number `index`.
    fn arms(&self, index: usize, arms: &[Arm]) -> Result<(), Error> {
        for (number, Arm { name, ty, .. }) in arms.iter().enumerate() {
            let part = Part::Arm(index, number);
            self.limit(part, number, Limit::Types)?;
            name.as_ref().map_or(Ok(()), |name| self.name(part, name))?;
            ty.as_ref().map_or(Ok(()), |ty| self.type_of(part, ty))?;
            if ty.is_none() && name.is_some() {
                return Err(self.invalid(part, "the arm of None has no name"));
            }
        }
        Ok(())
    }

    fn call(&self, part: Part, result: Option<&Local>, call: &Call) -> Result<(), Error> {
        if let Some(Local { name, ty, .. }) = result {
            self.name(part, name)?;
            ty.as_ref().map_or(Ok(()), |ty| self.type_of(part, ty))?;
        }
        match call {
            Call::Kernel(call) => {
                self.kernel(call, CallParts { callee: part, argument: part, status: part })
            }
            Call::Function(FunctionCall { callee, args, into, keys }) => {
                self.limit(part, keys.len(), Limit::Keys)?;
                keys.iter().try_for_each(|key| self.expr(part, key))?;
                self.callee(part, callee)?;
                self.limit(part, args.len() + into.len(), Limit::Arguments)?;
                args.iter().chain(into).try_for_each(|arg: &Expr| self.expr(part, arg))
            }
        }
    }

    fn callee(&self, part: Part, callee: &FunctionRef) -> Result<(), Error> {
        match callee {
            FunctionRef::Symbol(name) => self.function_name(part, name),
            FunctionRef::Name(name) => {
                self.limit(part, name.len(), Limit::Name)?;
                if !is_callee(name) {
                    return Err(self.invalid(part, format!("{name:?} names no function")));
                }
                Ok(())
            }
            FunctionRef::Value(expr) => self.expr(part, expr),
        }
    }

    /// Checks a call of a C function.
    fn kernel(&self, call: &KernelCall, parts: CallParts) -> Result<(), Error> {
        let CallParts { callee, argument, .. } = parts;
        match &call.callee {
            KernelRef::Symbol(symbol) => self.symbol(callee, symbol)?,
            KernelRef::Address(address) => self.expr(callee, address)?,
        }
        self.limit(callee, call.args.len(), Limit::Arguments)?;
        let mut args = call.args.iter().enumerate();
        args.try_for_each(|(index, arg)| self.expr(argument.number(index), arg))?;
        call.status.as_ref().map_or(Ok(()), |errors| self.errors(parts, errors))
    }

    fn symbol(&self, part: Part, symbol: &str) -> Result<(), Error> {
        self.limit(part, symbol.len(), Limit::Symbol)?;
        if symbol.is_empty() {
            return Err(self.invalid(part, "the symbol is empty"));
        }
        if symbol.contains(char::is_control) {
            return Err(self.invalid(part, "the symbol contains control characters"));
        }
        if RESERVED_PREFIXES.iter().any(|prefix| symbol.starts_with(prefix)) {
            let reason = format!("the symbol `{symbol}` is reserved for the runtime");
            return Err(self.invalid(part, reason));
        }
        if TOOL_PREFIXES.iter().any(|prefix| symbol.starts_with(prefix)) {
            let reason = format!("the symbol `{symbol}` is no function's for LLVM or an assembler");
            return Err(self.invalid(part, reason));
        }
        Ok(())
    }

    /// Checks an `errors` clause, in which every status has one entry.
    fn errors(&self, parts: CallParts, errors: &[StatusError]) -> Result<(), Error> {
        self.limit(parts.callee, errors.len(), Limit::Errors)?;
        let mut known = FxHashSet::default();
        for (index, StatusError { status, kind, message }) in errors.iter().enumerate() {
            let part = parts.status.number(index);
            if *status == Some(0) {
                return Err(self.invalid(part, "the status 0 is no error"));
            }
            if !known.insert(*status) {
                let status = status.map_or("_".to_owned(), |status| status.to_string());
                return Err(self.invalid(part, format!("an earlier entry is about `{status}`")));
            }
            self.error_kind(part, kind)?;
            self.message(part, message)?;
        }
        Ok(())
    }
}
