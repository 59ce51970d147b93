//! Expressions and constraints.

use abi_spec::Scalar;
use codegen::{BinaryOp, Builtin, Comparison, Constraint, Expr, Member};

use super::{Call, Checked, Fault, half, in_range, tensor};

/// A value in arithmetic.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
    /// An address: of a tensor's first element, a tensor, or anything.
    Address {
        null: bool,
        /// From the tensor's `data`.
        offset: i64,
    },
}

impl Number {
    fn float(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
            Number::Address { .. } => unreachable!("addresses are no operands"),
        }
    }
}

/// The quotient rounded down, and what is left.
pub(super) fn floor_divide(a: i64, b: i64) -> (i64, i64) {
    let (wide_a, wide_b) = (i128::from(a), i128::from(b));
    let mut quotient = wide_a / wide_b;
    if quotient * wide_b != wide_a && (wide_a < 0) != (wide_b < 0) {
        quotient -= 1;
    }
    (quotient as i64, (wide_a - quotient * wide_b) as i64)
}

impl Call<'_> {
    pub(super) fn evaluate(&self, expr: &Expr) -> Checked<Number> {
        Ok(match expr {
            Expr::Int(value) => Number::Int(*value),
            Expr::Float(value) => Number::Float(*value),
            Expr::Null => Number::Address { null: true, offset: 0 },
            Expr::Text(_) | Expr::Element(..) | Expr::Field(..) => {
                unreachable!("no declaration has `{expr}`")
            }
            Expr::Name(name) => self.named(name),
            Expr::Member(of, member) => self.member(of, *member)?,
            Expr::Neg(inner) => match self.evaluate(inner)? {
                Number::Int(value) => Number::Int(value.wrapping_neg()),
                value @ (Number::Float(_) | Number::Address { .. }) => {
                    Number::Float(-value.float())
                }
            },
            Expr::Binary(op, lhs, rhs) => {
                let (lhs, rhs) = (self.evaluate(lhs)?, self.evaluate(rhs)?);
                self.binary(expr, *op, lhs, rhs)?
            }
            Expr::Call(builtin, lhs, rhs) => {
                let (lhs, rhs) = (self.evaluate(lhs)?, self.evaluate(rhs)?);
                self.builtin(expr, *builtin, lhs, rhs)?
            }
            Expr::Stream(_) => Number::Address { null: true, offset: 0 },
            Expr::Cast(scalar, inner) => {
                let value = self.evaluate(inner)?;
                self.cast(expr, *scalar, value)?
            }
        })
    }

    /// The value of an integer expression.
    pub(super) fn int(&self, expr: &Expr) -> Checked<i64> {
        match self.evaluate(expr)? {
            Number::Int(value) => Ok(value),
            Number::Float(_) | Number::Address { .. } => unreachable!("{expr} is an integer"),
        }
    }

    fn named(&self, name: &str) -> Number {
        if let Some(value) = self.symbols.value(name) {
            return Number::Int(value);
        }
        let params = &self.function.signature.params;
        let param = params.iter().position(|param| param.name == name);
        match param.and_then(|param| self.scalars[param]) {
            Some(value) => value,
            None => Number::Address { null: false, offset: 0 },
        }
    }

    fn member(&self, of: &Expr, member: Member) -> Checked<Number> {
        let Expr::Name(name) = of else { unreachable!("only tensors have members") };
        let params = &self.function.signature.params;
        let param = params.iter().position(|param| param.name == *name);
        let Some((param, tensor)) = param.and_then(|p| Some((p, self.tensor_argument(p)?))) else {
            unreachable!("{name} is a tensor")
        };
        if let Member::Shape(dim) | Member::Strides(dim) = member
            && dim as usize >= tensor.shape.len()
        {
            let expected = format!("at least {} but got {}", dim + 1, tensor.shape.len());
            let place = format!("{name}.ndim");
            return Err(Fault::at("ValueError", "Mismatched", &place, param, expected));
        }
        let value = match member {
            Member::Data => {
                let offset = tensor.byte_offset as i64;
                return Ok(Number::Address { null: tensor.data.is_none() && offset == 0, offset });
            }
            Member::Shape(dim) => tensor.shape[dim as usize],
            Member::Strides(dim) => tensor::stride(tensor, dim as usize),
            Member::Ndim => tensor.ndim().into(),
            Member::DeviceId => tensor.device.id.into(),
            Member::ByteOffset => tensor.byte_offset as i64,
            Member::DeviceType => tensor.device.ty.0.into(),
            Member::Numel => tensor.shape.iter().fold(1, |all: i64, n| all.wrapping_mul(*n)),
            Member::DType | Member::IsContiguous | Member::Size | Member::IsSome => {
                unreachable!("no declaration has `{name}.{member}`")
            }
        };
        Ok(Number::Int(value))
    }

    fn binary(&self, expr: &Expr, op: BinaryOp, lhs: Number, rhs: Number) -> Checked<Number> {
        let (Number::Int(a), Number::Int(b)) = (lhs, rhs) else {
            let (a, b) = (lhs.float(), rhs.float());
            return Ok(Number::Float(match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::Div => a / b,
                BinaryOp::Rem => unreachable!("% takes integers"),
            }));
        };
        Ok(Number::Int(match op {
            BinaryOp::Add => a.wrapping_add(b),
            BinaryOp::Sub => a.wrapping_sub(b),
            BinaryOp::Mul => a.wrapping_mul(b),
            BinaryOp::Div => self.divide(expr, a, b)?.0,
            BinaryOp::Rem => self.divide(expr, a, b)?.1,
        }))
    }

    fn divide(&self, expr: &Expr, a: i64, b: i64) -> Checked<(i64, i64)> {
        if b == 0 {
            let leaves = self.leaves(&[expr])?;
            return Err(Fault::value(format!("Division by zero in {expr}"), leaves));
        }
        Ok(floor_divide(a, b))
    }

    fn builtin(&self, expr: &Expr, builtin: Builtin, lhs: Number, rhs: Number) -> Checked<Number> {
        let (Number::Int(a), Number::Int(b)) = (lhs, rhs) else {
            let (a, b) = (lhs.float(), rhs.float());
            let first = (a < b) == (builtin == Builtin::Min);
            return Ok(Number::Float(if first { a } else { b }));
        };
        Ok(Number::Int(match builtin {
            Builtin::Min => a.min(b),
            Builtin::Max => a.max(b),
            Builtin::CeilDiv => {
                let (quotient, remainder) = self.divide(expr, a, b)?;
                quotient.wrapping_add(i64::from(remainder != 0))
            }
        }))
    }

    fn cast(&self, expr: &Expr, scalar: Scalar, value: Number) -> Checked<Number> {
        if scalar.is_float() {
            return Ok(Number::Float(half::round(value.float(), scalar)));
        }
        let Number::Int(value) = value else { unreachable!("{expr} takes an integer") };
        if scalar == Scalar::Bool {
            return Ok(Number::Int(i64::from(value != 0)));
        }
        if in_range(value, scalar) {
            return Ok(Number::Int(value));
        }
        let rest = format!(", expected {scalar} but got {value}");
        Err(Fault::value(format!("Out of range {expr}"), rest))
    }

    pub(super) fn constraint(&self, constraint: &Constraint) -> Checked<()> {
        let (lhs, rhs) = (self.evaluate(&constraint.lhs)?, self.evaluate(&constraint.rhs)?);
        let holds = match (lhs, rhs) {
            (Number::Int(a), Number::Int(b)) => compare(constraint.op, &a, &b),
            (Number::Address { null: a, .. }, Number::Address { null: b, .. }) => {
                compare(constraint.op, &a, &b)
            }
            _ => compare(constraint.op, &lhs.float(), &rhs.float()),
        };
        if holds {
            return Ok(());
        }
        let leaves = self.leaves(&[&constraint.lhs, &constraint.rhs])?;
        let subject = match &constraint.message {
            Some(message) => message.clone(),
            None => format!("Violated {constraint}"),
        };
        Err(Fault::value(subject, leaves))
    }

    /// `, n = 6, x.shape[0] = 3`: names and members, each once.
    fn leaves(&self, exprs: &[&Expr]) -> Checked<String> {
        let mut leaves = Vec::new();
        exprs.iter().for_each(|expr| collect(expr, &mut leaves));
        let mut text = String::new();
        for leaf in leaves {
            text += &match self.evaluate(leaf)? {
                Number::Int(value) => format!(", {leaf} = {value}"),
                Number::Float(value) => format!(", {leaf} = {value:?}"),
                Number::Address { null: true, .. } => format!(", {leaf} = NULL"),
                Number::Address { .. } => format!(", {leaf} = a non-NULL pointer"),
            };
        }
        Ok(text)
    }
}

fn collect<'e>(expr: &'e Expr, leaves: &mut Vec<&'e Expr>) {
    match expr {
        Expr::Name(_) | Expr::Member(..) | Expr::Element(..) | Expr::Field(..) => {
            if !leaves.contains(&expr) {
                leaves.push(expr);
            }
        }
        Expr::Int(_)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Text(_)
        | Expr::Neg(_)
        | Expr::Binary(..)
        | Expr::Call(..)
        | Expr::Stream(_)
        | Expr::Cast(..) => expr.children().for_each(|child| collect(child, leaves)),
    }
}

fn compare<T: PartialOrd>(op: Comparison, a: &T, b: &T) -> bool {
    match op {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
    }
}
