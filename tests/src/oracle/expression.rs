//! Evaluation of expressions and constraints.

use abi_spec::Scalar;
use codegen::language::spelled;
use codegen::{BinaryOp, Builtin, Comparison, Constraint, Expr, Logic, Member, ParamType};

use super::scalar::in_range;
use super::{Call, Checked, Fault, Found, elided, half, quoted, tensor};

/// An operand of an expression.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Int(i64),
    /// A `uint64`.
    Unsigned(u64),
    Float(f64),
    /// An address: of a tensor's first element, of a tensor, or any other.
    Address {
        null: bool,
        /// Byte offset from the tensor's `data`.
        offset: i64,
    },
}

impl Number {
    /// Creates an operand from a value of an integer type.
    pub(super) fn int(value: i64, scalar: Scalar) -> Number {
        if scalar == Scalar::Uint64 {
            return Number::Unsigned(value.cast_unsigned());
        }
        Number::Int(value)
    }

    /// Returns the exact value of an integer.
    fn integer(self) -> Option<i128> {
        match self {
            Number::Int(value) => Some(value.into()),
            Number::Unsigned(value) => Some(value.into()),
            Number::Float(_) | Number::Address { .. } => None,
        }
    }

    fn float(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Unsigned(value) => value as f64,
            Number::Float(value) => value,
            Number::Address { .. } => unreachable!("addresses are no operands"),
        }
    }
}

/// Returns the path under which the number of a sequence's elements is noted, which a missing sequence has too.
pub(super) fn elements(path: &str) -> String {
    format!("{path}[]")
}

/// Returns the quotient, rounded down, and the remainder.
pub(super) fn floor_divide(a: i64, b: i64) -> (i128, i128) {
    let (a, b) = (i128::from(a), i128::from(b));
    let mut quotient = a / b;
    if quotient * b != a && (a < 0) != (b < 0) {
        quotient -= 1;
    }
    (quotient, a - quotient * b)
}

/// Returns a number as an `int64`, or the error that says that it is none. `text` is the expression that has it.
fn int64(text: &str, exact: i128) -> Checked<i64> {
    i64::try_from(exact).map_err(|_| out_of_range(text, &exact))
}

/// Returns the error for an expression that is no `int64`.
pub(super) fn out_of_range(text: &str, found: &impl std::fmt::Display) -> Fault {
    let rest = format!(", expected int64 but got {found}");
    Fault::value(format!("Out of range {}", elided(text)), rest)
}

impl Call<'_> {
    pub(super) fn evaluate(&self, expr: &Expr) -> Checked<Number> {
        Ok(match expr {
            Expr::Int(value) => Number::Int(*value),
            Expr::Unsigned(value) => Number::Unsigned(*value),
            Expr::Float(value) => Number::Float(*value),
            Expr::Null => Number::Address { null: true, offset: 0 },
            Expr::Text(_) | Expr::DeviceAttribute(..) | Expr::CurrentDevice | Expr::Global(_) => {
                unreachable!("no declaration has `{expr}`")
            }
            Expr::Element(of, index) => self.at(expr, of, index)?,
            Expr::Field(..) => self.spelled("", &expr.to_string()),
            Expr::Name(name) => self.named(name),
            Expr::Member(of, member) => self.member(of, *member)?,
            Expr::Neg(inner) => {
                let value = self.evaluate(inner)?;
                if let Number::Float(value) = value {
                    Number::Float(-value)
                } else {
                    let value = self.operand(inner, value.integer().expect("an integer"))?;
                    Number::Int(int64(&expr.to_string(), -i128::from(value))?)
                }
            }
            Expr::Binary(op, lhs, rhs) => {
                let (lhs, rhs) = self.operands(lhs, rhs)?;
                self.binary(expr, *op, lhs, rhs)?
            }
            Expr::Call(builtin, lhs, rhs) => {
                let (lhs, rhs) = self.operands(lhs, rhs)?;
                self.builtin(expr, *builtin, lhs, rhs)?
            }
            Expr::Stream(_) => Number::Address { null: true, offset: 0 },
            Expr::Cast(scalar, inner) => {
                let value = self.evaluate(inner)?;
                self.cast(expr, *scalar, value)?
            }
            Expr::Bool(_) | Expr::Compare(..) | Expr::Not(_) | Expr::Logic(..) => {
                Number::Int(i64::from(self.truth(expr)?))
            }
            Expr::None | Expr::Array(_) | Expr::Shape(_) | Expr::Function(_) => {
                unreachable!("no declaration has `{expr}`")
            }
        })
    }

    /// Evaluates the operands of arithmetic: `int64`, unless one of them is a float.
    fn operands(&self, lhs: &Expr, rhs: &Expr) -> Checked<(Number, Number)> {
        let first = self.evaluate(lhs)?;
        let narrowed = |expr: &Expr, number: Number| match number.integer() {
            Some(exact) => self.operand(expr, exact).map(Number::Int),
            None => Ok(number),
        };
        match self.evaluate(rhs) {
            Ok(second) if first.integer().is_some() && second.integer().is_some() => {
                Ok((narrowed(lhs, first)?, narrowed(rhs, second)?))
            }
            Ok(second) => Ok((first, second)),
            // The first operand is judged before the second one is evaluated.
            Err(fault) => narrowed(lhs, first).and(Err(fault)),
        }
    }

    /// Evaluates an integer expression.
    pub(super) fn int(&self, expr: &Expr) -> Checked<i64> {
        let number = self.evaluate(expr)?;
        self.operand(expr, number.integer().expect("an integer"))
    }

    /// Evaluates an expression that is linear in a symbol modulo 2^64, where the symbol has some value.
    #[expect(clippy::wildcard_enum_match_arm, reason = "all other expressions are leaves")]
    pub(super) fn modulo(&self, expr: &Expr, (symbol, value): (&str, i64)) -> i64 {
        let of = |expr: &Expr| self.modulo(expr, (symbol, value));
        match expr {
            Expr::Name(name) if name == symbol => value,
            Expr::Neg(inner) => of(inner).wrapping_neg(),
            Expr::Binary(BinaryOp::Add, a, b) => of(a).wrapping_add(of(b)),
            Expr::Binary(BinaryOp::Sub, a, b) => of(a).wrapping_sub(of(b)),
            Expr::Binary(BinaryOp::Mul, a, b) => of(a).wrapping_mul(of(b)),
            Expr::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), a, b) => {
                let (quotient, remainder) = floor_divide(of(a), if of(b) == 0 { 1 } else { of(b) });
                if *op == BinaryOp::Div { quotient as i64 } else { remainder as i64 }
            }
            Expr::Call(Builtin::Min, a, b) => of(a).min(of(b)),
            Expr::Call(Builtin::Max, a, b) => of(a).max(of(b)),
            Expr::Call(Builtin::CeilDiv, a, b) => {
                let (quotient, remainder) = floor_divide(of(a), if of(b) == 0 { 1 } else { of(b) });
                (quotient + i128::from(remainder != 0)) as i64
            }
            _ => match self.evaluate(expr) {
                Ok(Number::Int(value)) => value,
                Ok(Number::Unsigned(value)) => value.cast_signed(),
                Ok(Number::Float(_) | Number::Address { .. }) | Err(_) => 0,
            },
        }
    }

    fn named(&self, path: &str) -> Number {
        self.spelled(path, &spelled(path).to_string())
    }

    /// Returns the number of a name, or of a part of a value, by its path.
    fn spelled(&self, name: &str, path: &str) -> Number {
        if let Some(value) = self.symbols.value(name) {
            let is_unsigned =
                self.function.signature.params.iter().any(|param| {
                    param.name == name && param.ty == ParamType::Scalar(Scalar::Uint64)
                });
            let is_unsigned = is_unsigned && !self.symbols.measures(name);
            return Number::int(value, if is_unsigned { Scalar::Uint64 } else { Scalar::Int64 });
        }
        match self.find(path) {
            Some(Found::Number(number) | Found::Missing(number)) => *number,
            // A symbol that nothing has bound appears in messages only, as 0.
            None if self.symbols.all().any(|symbol| symbol == name) => Number::Int(0),
            Some(Found::Tensor(_) | Found::Several(..) | Found::Text(_) | Found::Other) | None => {
                Number::Address { null: false, offset: 0 }
            }
        }
    }

    /// Evaluates an element of a shape, a tuple or a sequence of integers.
    fn at(&self, expr: &Expr, of: &Expr, index: &Expr) -> Checked<Number> {
        let path = of.to_string();
        let index = self.int(index)?;
        if let Some(Found::Several(size, _)) = self.find(&elements(&path))
            && !(0..*size as i64).contains(&index)
        {
            let rest = format!(", expected an index below {size} but got {index}");
            return Err(Fault::value(format!("Out of range {}", elided(&expr.to_string())), rest));
        }
        match self.find(&path) {
            Some(Found::Several(_, numbers)) if (0..numbers.len() as i64).contains(&index) => {
                Ok(Number::Int(numbers[index as usize]))
            }
            _ => Ok(self.spelled("", &format!("{path}[{index}]"))),
        }
    }

    /// Looks up the elements that an expression names, which comes before its evaluation. Those of an operand that
    /// `and` or `or` may leave out are looked up where they are evaluated.
    pub(super) fn look_up(&self, expr: &Expr) -> Checked<()> {
        if let Expr::Logic(_, lhs, _) = expr {
            return self.look_up(lhs);
        }
        expr.children().try_for_each(|child| self.look_up(child))?;
        let Expr::Element(of, index) = expr else { return Ok(()) };
        self.at(expr, of, index).map(drop)
    }

    fn member(&self, of: &Expr, member: Member) -> Checked<Number> {
        let path = of.to_string();
        let tensor = match (self.find(&path), member) {
            (Some(Found::Tensor(tensor)), _) if member != Member::IsSome => tensor,
            (found, Member::IsSome) => {
                return Ok(Number::Int(i64::from(!matches!(found, Some(Found::Missing(_))))));
            }
            (Some(Found::Several(size, _)), Member::Size) => return Ok(Number::Int(*size as i64)),
            (Some(Found::Text(text)), Member::Size) => return Ok(Number::Int(text.len() as i64)),
            (_, Member::Size) => return Ok(Number::Int(0)),
            _ => unreachable!("`{path}` has no `{member}`"),
        };
        let (rank, index) = (tensor.shape.len() as i64, i64::from(index_of(member)));
        let at = if index < 0 { rank + index } else { index };
        if let Member::Shape(_) | Member::Strides(_) = member
            && !(0..rank).contains(&at)
        {
            let least = if index < 0 { -index } else { index + 1 };
            let expected = format!("at least {least} but got {rank}");
            let (place, argument) =
                (format!("{path}.ndim"), self.argument_of(of).expect("it is nested there"));
            return Err(Fault::at("ValueError", "Mismatched", &place, argument, expected));
        }
        let value = match member {
            Member::Data => {
                let offset = tensor.byte_offset as i64;
                return Ok(Number::Address { null: tensor.data.is_none() && offset == 0, offset });
            }
            Member::Shape(_) => tensor.shape[at as usize],
            Member::Strides(_) => {
                let text = format!("{path}.strides[{index}]");
                let stride = tensor::exact_stride(tensor, at as usize);
                stride.ok_or_else(|| out_of_range(&text, &"more"))?
            }
            Member::Ndim => tensor.ndim().into(),
            Member::DeviceId => tensor.device.id.into(),
            Member::ByteOffset => tensor.byte_offset as i64,
            Member::DeviceType => tensor.device.ty.0.into(),
            Member::Numel => {
                let numel = tensor::product(&tensor.shape);
                numel.ok_or_else(|| out_of_range(&format!("{path}.numel"), &"more"))?
            }
            Member::IsContiguous => i64::from(tensor::is_contiguous(tensor)),
            Member::DType | Member::Object | Member::Size | Member::IsSome => {
                unreachable!("no declaration has `{path}.{member}`")
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
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        let exact = match op {
            BinaryOp::Add => wide_a + wide_b,
            BinaryOp::Sub => wide_a - wide_b,
            BinaryOp::Mul => wide_a * wide_b,
            BinaryOp::Div => self.divide(expr, a, b)?.0,
            BinaryOp::Rem => self.divide(expr, a, b)?.1,
        };
        int64(&expr.to_string(), exact).map(Number::Int)
    }

    fn divide(&self, expr: &Expr, a: i64, b: i64) -> Checked<(i128, i128)> {
        if b == 0 {
            let leaves = self.leaves(&[expr])?;
            let expr = elided(&expr.to_string());
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
                int64(&expr.to_string(), quotient + i128::from(remainder != 0))?
            }
        }))
    }

    fn cast(&self, expr: &Expr, scalar: Scalar, value: Number) -> Checked<Number> {
        if scalar.is_float() {
            return Ok(Number::Float(half::round(value.float(), scalar)));
        }
        let value = match value {
            Number::Int(value) => i128::from(value),
            Number::Unsigned(_) if scalar == Scalar::Uint64 => return Ok(value),
            Number::Unsigned(value) => i128::from(value),
            Number::Float(_) | Number::Address { .. } => unreachable!("{expr} takes an integer"),
        };
        if scalar == Scalar::Bool {
            return Ok(Number::Int(i64::from(value != 0)));
        }
        if in_range(value, scalar) {
            return Ok(Number::int(value as i64, scalar));
        }
        let Expr::Cast(_, operand) = expr else { unreachable!("{expr} is a conversion") };
        let rest = format!(", expected {scalar} but got {value}");
        let fault = Fault::value(format!("Out of range {}", elided(&expr.to_string())), rest);
        Err(self.traced(fault, operand))
    }

    /// Returns an operand of arithmetic as an `int64`.
    fn operand(&self, expr: &Expr, exact: i128) -> Checked<i64> {
        int64(&expr.to_string(), exact).map_err(|fault| self.traced(fault, expr))
    }

    /// Adds to the error about a number that is out of range where the number comes from.
    fn traced(&self, mut fault: Fault, operand: &Expr) -> Fault {
        let argument = self.argument_of(operand);
        fault.subject += &argument.map_or(String::new(), |index| format!(" on argument #{index}"));
        fault.rest += &self.origins(operand);
        fault
    }

    /// Returns the index of the argument that an expression is, or of which it is a part.
    fn argument_of(&self, expr: &Expr) -> Option<usize> {
        let mut root = expr;
        // The numbers that are members are `int64`s, but for an address.
        if let Expr::Cast(Scalar::Int64, of) = root
            && matches!(**of, Expr::Member(_, member) if member != Member::Data)
        {
            root = of;
        }
        while let Expr::Member(of, _) | Expr::Element(of, _) | Expr::Field(of, _) = root {
            root = of;
        }
        let Expr::Name(name) = root else { return None };
        self.function.signature.params.iter().position(|param| param.name == *name)
    }

    /// Returns where the symbols of an expression come from.
    fn origins(&self, expr: &Expr) -> String {
        let (mut names, mut text) = (Vec::new(), String::new());
        collect_names(expr, &mut names);
        // A symbol is an `int64`.
        let mut converted = expr;
        while let Expr::Cast(Scalar::Int64, inner) = converted {
            converted = inner;
        }
        let is_param =
            |name: &str| self.function.signature.params.iter().any(|param| param.name == name);
        for name in names.into_iter().filter(|name| !is_param(name)) {
            let Some((value, origin)) = self.symbols.origin(name) else { continue };
            if !matches!(converted, Expr::Name(_)) {
                text += &format!(", {} = {value}", elided(&spelled(name).to_string()));
            }
            if let Some(origin) = origin {
                text += &format!(" (= {origin})");
            }
        }
        text
    }

    pub(super) fn constraint(&self, constraint: &Constraint) -> Checked<()> {
        if self.truth(&constraint.condition)? {
            return Ok(());
        }
        let leaves = self.leaves(&[&constraint.condition])?;
        let subject = match &constraint.message {
            Some(message) => message.clone(),
            None => format!("Violated {}", elided(&constraint.to_string())),
        };
        Err(Fault::value(subject, leaves))
    }

    /// Returns the text that an expression names.
    fn text(&self, expr: &Expr) -> Option<&[u8]> {
        let found = if let Expr::Text(_) = expr { None } else { self.find(&expr.to_string()) };
        if let Some(Found::Text(text)) = found { Some(text) } else { None }
    }

    /// Evaluates a condition.
    pub(super) fn truth(&self, expr: &Expr) -> Checked<bool> {
        if let Expr::Compare(op, lhs, rhs) = expr
            && let Some(text) = self.text(lhs)
            && let Expr::Text(other) = &**rhs
        {
            return Ok(compare(*op, &text, &other.as_bytes()));
        }
        if let Expr::Compare(op, lhs, rhs) = expr {
            let values = (self.evaluate(lhs)?, self.evaluate(rhs)?);
            return Ok(holds(*op, values));
        }
        if let Expr::Not(inner) = expr {
            return Ok(!self.truth(inner)?);
        }
        if let Expr::Logic(op, lhs, rhs) = expr {
            if self.truth(lhs)? == (*op == Logic::Or) {
                return Ok(*op == Logic::Or);
            }
            return self.truth(rhs);
        }
        if let Expr::Bool(truth) = expr {
            return Ok(*truth);
        }
        Ok(self.evaluate(expr)?.float() != 0.0)
    }

    /// Prints the values of names and members in expressions, each once: `, n = 6, x.shape[0] = 3`.
    fn leaves(&self, exprs: &[&Expr]) -> Checked<String> {
        let mut leaves = Vec::new();
        exprs.iter().for_each(|expr| collect(expr, &mut leaves));
        let mut text = String::new();
        for leaf in leaves {
            if let Some(found) = self.text(leaf) {
                text += &format!(", {} = {}", elided(&leaf.to_string()), quoted(found));
                continue;
            }
            text += &match self.evaluate(leaf)? {
                Number::Int(value) => format!(", {leaf} = {value}"),
                Number::Unsigned(value) => format!(", {leaf} = {value}"),
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
        Expr::Name(_)
        | Expr::Member(..)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::DeviceAttribute(..)
        | Expr::CurrentDevice
        | Expr::Global(_) => {
            if !leaves.contains(&expr) {
                leaves.push(expr);
            }
        }
        Expr::Int(_)
        | Expr::Unsigned(_)
        | Expr::Float(_)
        | Expr::Null
        | Expr::Text(_)
        | Expr::Neg(_)
        | Expr::Binary(..)
        | Expr::Call(..)
        | Expr::Stream(_)
        | Expr::Cast(..)
        | Expr::Bool(_)
        | Expr::None
        | Expr::Compare(..)
        | Expr::Not(_)
        | Expr::Logic(..)
        | Expr::Array(_)
        | Expr::Shape(_)
        | Expr::Function(_) => expr.children().for_each(|child| collect(child, leaves)),
    }
}

/// Compares two numbers, integers by their exact values.
fn holds(op: Comparison, (lhs, rhs): (Number, Number)) -> bool {
    if let (Some(a), Some(b)) = (lhs.integer(), rhs.integer()) {
        return compare(op, &a, &b);
    }
    match (lhs, rhs) {
        (Number::Address { null: a, .. }, Number::Address { null: b, .. }) => compare(op, &a, &b),
        _ => compare(op, &lhs.float(), &rhs.float()),
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

/// Returns the index of a member; 0 without one.
fn index_of(member: Member) -> i32 {
    if let Member::Shape(index) | Member::Strides(index) = member { index } else { 0 }
}

/// Collects the names of an expression, each once.
fn collect_names<'e>(expr: &'e Expr, names: &mut Vec<&'e str>) {
    if let Expr::Name(name) = expr
        && !names.contains(&&name[..])
    {
        names.push(name);
    }
    expr.children().for_each(|child| collect_names(child, names));
}
