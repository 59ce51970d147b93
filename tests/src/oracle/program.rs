//! Meaning of bodies: statements, in the order in which they run.

use std::borrow::Cow;

use abi_spec::Scalar;
use codegen::{
    Arm, Body, Branch, Call as Callee, Dim, Expr, Function, FunctionCall, FunctionRef, KernelCall,
    Leaf, ParamType, ResultType, Shape, Statement, StatementKind, Tensor as Declared,
};

use super::expression::{Number, elements};
use super::{Call, Checked, Fault, Found, Received};
use crate::argument::{Argument, Tensor};
use crate::outcome::{End, Value};

/// Continuation after a statement.
pub(super) enum Flow {
    /// The next statement.
    Next,
    /// The end of the function, with a result.
    Return(Value),
    /// The end of the function, with the error of a `raise`.
    Raise(End),
}

impl<'a> Call<'a> {
    /// Runs the body of the function, or of one that it makes and calls.
    pub(super) fn body(&mut self, function: &'a Function) -> Checked<End> {
        let flow = match &function.body {
            Body::Call(call) => {
                exprs_of(call).into_iter().try_for_each(|expr| self.look_up(expr))?;
                self.kernel(call)?;
                Flow::Next
            }
            Body::Block(statements) => self.block(statements, &function.signature.result)?,
        };
        Ok(match flow {
            Flow::Next => End::Result(Value::None),
            Flow::Return(value) => End::Result(value),
            Flow::Raise(end) => end,
        })
    }

    fn block(&mut self, statements: &'a [Statement], result: &ResultType) -> Checked<Flow> {
        let outside = self.found.len();
        for statement in statements {
            let flow = self.statement(&statement.kind, result)?;
            if !matches!(flow, Flow::Next) {
                return Ok(flow);
            }
        }
        self.found.truncate(outside);
        Ok(Flow::Next)
    }

    fn statement(&mut self, kind: &'a StatementKind, result: &ResultType) -> Checked<Flow> {
        exprs(kind).into_iter().try_for_each(|expr| self.look_up(expr))?;
        match kind {
            StatementKind::Let { name, value } => {
                let number = self.evaluate(value)?;
                self.found.push((name.clone(), Found::Number(number)));
            }
            StatementKind::Call { result: local, call: Callee::Kernel(call) } => {
                let returned = self.kernel(call)?;
                if let (Some(local), Some(number)) = (local, returned) {
                    self.found.push((local.name.clone(), Found::Number(number)));
                }
            }
            StatementKind::Call {
                result: Some(local),
                call: Callee::Function(FunctionCall { callee, args, .. }),
            } => {
                let values: Vec<i64> =
                    args.iter().map(|arg| self.int(arg)).collect::<Checked<_>>()?;
                let ty = local.ty.as_ref().expect("random programs write types");
                self.array(&local.name, ty, callee, &values)?;
            }
            StatementKind::Alloc { name, tensor, .. } => self.workspace(name, tensor)?,
            StatementKind::If { branches, otherwise } => {
                for (number, Branch { condition, body }) in branches.iter().enumerate() {
                    if number > 0 {
                        self.look_up(condition)?;
                    }
                    if self.truth(condition)? {
                        return self.block(body, result);
                    }
                }
                return self.block(otherwise, result);
            }
            StatementKind::For { name, start, end, body } => {
                let (start, end) = (self.int(start)?, self.int(end)?);
                let outside = self.found.len();
                for turn in start..end {
                    self.found.push((name.clone(), Found::Number(Number::Int(turn))));
                    let flow = self.block(body, result)?;
                    if !matches!(flow, Flow::Next) {
                        return Ok(flow);
                    }
                    self.found.truncate(outside);
                }
            }
            StatementKind::Match { value, arms } => return self.alternatives(value, arms, result),
            StatementKind::Return(value) => {
                return Ok(Flow::Return(match value {
                    Some(value) => self.result(value, result)?,
                    None => Value::None,
                }));
            }
            StatementKind::Raise { kind, message } => {
                let pieces = message.iter().map(|piece| self.piece(piece));
                let message = pieces.collect::<Checked<Vec<String>>>()?.concat();
                let message = super::cut(message);
                return Ok(Flow::Raise(End::Error { kind: kind.clone(), message }));
            }
            StatementKind::Call { result: None, call: Callee::Function { .. } }
            | StatementKind::TensorMap { .. }
            | StatementKind::Launch(_)
            | StatementKind::Upload(_)
            | StatementKind::Fill(_)
            | StatementKind::Copy(_)
            | StatementKind::Wait(_) => unreachable!("no program has {kind:?}"),
        }
        Ok(Flow::Next)
    }

    /// Calls a C function: one that returns its argument, or one that notes.
    fn kernel(&mut self, call: &KernelCall) -> Checked<Option<Number>> {
        let values: Vec<Number> =
            call.args.iter().map(|arg| self.evaluate(arg)).collect::<Checked<_>>()?;
        match call.symbol().unwrap_or_default() {
            "record_property" => self.notes = vec![self.recorded(&values)],
            "note_1" => self.notes.push(self.recorded(&values)),
            _ => return Ok(Some(values[0])),
        }
        Ok(None)
    }

    /// Notes the result of `ffi.Array`, which is checked as an argument is.
    fn array(
        &mut self,
        name: &str,
        ty: &ParamType,
        callee: &FunctionRef,
        values: &[i64],
    ) -> Checked<()> {
        let path = format!("result of {callee}");
        let scalar = |index: usize| {
            if let ParamType::Sequence(_, element) = ty {
                element.as_ref().clone()
            } else if let ParamType::Tuple(elements) = ty {
                elements[index].ty.clone()
            } else {
                ParamType::Leaf(Leaf::Any)
            }
        };
        for path in [name.to_owned(), elements(name)] {
            self.found.push((path, Found::Several(values.len(), Vec::new())));
        }
        for (index, value) in values.iter().enumerate() {
            if let ParamType::Scalar(scalar) = scalar(index)
                && !super::scalar::in_range((*value).into(), scalar)
            {
                let rest = format!(", expected {scalar} but got {value}");
                return Err(Fault::value(format!("Out of range {path}[{index}]"), rest));
            }
            let number = Found::Number(Number::Int(*value));
            self.found.push((format!("{name}[{index}]"), number));
        }
        Ok(())
    }

    fn workspace(&mut self, name: &str, declared: &Declared) -> Checked<()> {
        let Shape::Dims(dims) = &declared.shape else { unreachable!("{name} has a rank") };
        let mut shape = Vec::new();
        for dim in dims {
            let Dim::Expr(extent) = dim else { unreachable!("{name} has extents") };
            shape.push(self.int(extent)?);
        }
        if let Some(dim) = shape.iter().position(|&extent| extent < 0) {
            let rest = format!(", expected a non-negative extent but got {}", shape[dim]);
            return Err(Fault::value(format!("Mismatched {name}.shape[{dim}]"), rest));
        }
        let tensor = Tensor::new(abi_spec::DType::FLOAT32, &shape);
        self.found.push((name.to_owned(), Found::Tensor(Cow::Owned(tensor))));
        Ok(())
    }

    fn alternatives(
        &mut self,
        value: &'a Expr,
        arms: &'a [Arm],
        result: &ResultType,
    ) -> Checked<Flow> {
        let path = value.to_string();
        let params = &self.function.signature.params;
        let at = params
            .iter()
            .position(|param| codegen::language::spelled(&param.name).to_string() == path);
        let at = at.expect("a parameter");
        let given = super::borrowed(&self.arguments[at]);
        let outside = self.found.len();
        // Text is text where the union has it, and names an element type or a device where it does not.
        let has_text = arms.iter().any(|arm| arm.ty == Some(ParamType::Leaf(Leaf::Str)));
        let is_text = has_text && super::value::is_string(given);
        for arm in arms {
            if is_text && !matches!(arm.ty, Some(ParamType::Leaf(Leaf::Str))) {
                continue;
            }
            let (Some(name), Some(ty)) = (&arm.name, &arm.ty) else {
                return self.block(&arm.body, result);
            };
            let is_optional = matches!(arms.last(), Some(Arm { ty: None, .. }));
            if is_optional && matches!(given, Argument::None) {
                continue;
            }
            let param = Received::param(self.function, at, &self.arguments[at]);
            let received = Received { path: name.clone(), ty, optional: false, ..param };
            if self.value(received).is_ok() {
                let flow = self.block(&arm.body, result)?;
                self.found.truncate(outside);
                return Ok(flow);
            }
            self.found.truncate(outside);
        }
        unreachable!("no arm of {path}")
    }

    fn result(&mut self, value: &Expr, result: &ResultType) -> Checked<Value> {
        let is_truth = matches!(result, ResultType::Value(ParamType::Scalar(Scalar::Bool)));
        Ok(match self.evaluate(value)? {
            Number::Int(number) if is_truth => Value::Bool(number != 0),
            Number::Float(number) => Value::float(number),
            Number::Int(_) | Number::Unsigned(_) => Value::Int(self.int(value)?),
            Number::Address { .. } => unreachable!("no program returns an address"),
        })
    }

    /// Prints a piece of the message of a `raise`.
    fn piece(&self, piece: &Expr) -> Checked<String> {
        if let Expr::Text(text) = piece {
            return Ok(text.clone());
        }
        Ok(match self.evaluate(piece)? {
            Number::Int(value) if is_truth(piece) => {
                (if value != 0 { "True" } else { "False" }).to_owned()
            }
            Number::Int(value) => value.to_string(),
            Number::Unsigned(value) => value.to_string(),
            Number::Float(value) => format!("{value:?}"),
            Number::Address { null: true, .. } => "NULL".to_owned(),
            Number::Address { .. } => "a non-NULL pointer".to_owned(),
        })
    }
}

/// Returns the expressions of a call of a C function.
fn exprs_of(call: &KernelCall) -> Vec<&Expr> {
    call.address().into_iter().chain(&call.args).collect()
}

/// Returns the expressions that a statement evaluates before its blocks.
fn exprs(kind: &StatementKind) -> Vec<&Expr> {
    match kind {
        StatementKind::Let { value, .. } => vec![value],
        StatementKind::Call { call: Callee::Kernel(call), .. } => exprs_of(call),
        StatementKind::Call { call: Callee::Function(call), .. } => call.args.iter().collect(),
        StatementKind::If { branches, .. } => {
            branches.first().map(|branch| &branch.condition).into_iter().collect()
        }
        StatementKind::For { start, end, .. } => vec![start, end],
        StatementKind::Return(value) => value.iter().collect(),
        StatementKind::Raise { message, .. } => message.iter().collect(),
        // Extents name no elements, and random programs have no other statements.
        StatementKind::Alloc { .. }
        | StatementKind::TensorMap { .. }
        | StatementKind::Match { .. }
        | StatementKind::Launch(_)
        | StatementKind::Upload(_)
        | StatementKind::Fill(_)
        | StatementKind::Copy(_)
        | StatementKind::Wait(_) => Vec::new(),
    }
}

/// Returns true for an expression whose type is `bool`.
fn is_truth(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Bool(_)
            | Expr::Compare(..)
            | Expr::Not(_)
            | Expr::Logic(..)
            | Expr::Cast(Scalar::Bool, _)
    )
}
