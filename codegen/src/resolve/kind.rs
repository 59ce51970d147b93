//! What expressions yield, and which of them mean something.

use abi_spec::{DType, Scalar};

use crate::declaration::{BinaryOp, Builtin, Expr, Member};
use crate::declaration::{Comparison, Constraint, Literal, ParamType, Shape, Tensor};
use crate::resolve::scope::{Meaning, Scope};
use crate::resolve::values::{Source, Value};

/// What an expression yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An `int64`; also bools.
    Int,
    /// A `float64`.
    Float,
    /// An address.
    Ptr,
    /// An element type, as its 32 bits.
    DType,
    /// A device: type and index.
    Device,
    /// Text or bytes: address and size.
    Text,
    /// Several numbers or values.
    Several,
}

impl Scope<'_> {
    /// What an expression yields, or why it yields nothing.
    pub(crate) fn kind(&self, expr: &Expr) -> Result<Kind, String> {
        match expr {
            Expr::Int(_) => Ok(Kind::Int),
            Expr::Float(value) if value.is_finite() => Ok(Kind::Float),
            Expr::Float(value) => Err(format!("{value} is not a finite number")),
            Expr::Text(_) => Ok(Kind::Text),
            Expr::Null => Ok(Kind::Ptr),
            Expr::Name(name) => match self.meaning(name) {
                Some(Meaning::Symbol(_)) => Ok(Kind::Int),
                Some(Meaning::Value(value)) => Ok(self.kind_of_value(value)),
                Some(Meaning::Output(_)) => Ok(Kind::Ptr),
                None => Err(format!("nothing determines the symbol `{name}`")),
            },
            Expr::Member(of, member) => self.member(of, *member),
            Expr::Element(of, _) | Expr::Field(of, _) => self.element_kind(expr, of),
            Expr::Neg(inner) => self.number(inner),
            Expr::Binary(op, lhs, rhs) => self.binary(*op, lhs, rhs),
            Expr::Call(builtin, lhs, rhs) => self.builtin(*builtin, lhs, rhs),
            Expr::Stream(of) => match (self.tensor(of), self.output_of(of)) {
                (Some(_), _) | (_, Some(_)) => Ok(Kind::Ptr),
                (None, None) => Err(format!("stream takes a tensor, not `{of}`")),
            },
            Expr::Cast(scalar, inner) => self.cast(*scalar, inner),
        }
    }

    fn kind_of_value(&self, value: usize) -> Kind {
        if let Source::Rest(_) = self.values[value].source {
            return Kind::Several;
        }
        match self.values[value].ty {
            ParamType::Scalar(scalar) => kind_of_scalar(*scalar),
            ParamType::Str | ParamType::Bytes => Kind::Text,
            ParamType::DType => Kind::DType,
            ParamType::Device => Kind::Device,
            ParamType::Shape(_) | ParamType::Tuple(_) => Kind::Several,
            ParamType::Literal(literals) => match literal_scalar(literals) {
                Some(scalar) => kind_of_scalar(scalar),
                None if is_text(literals) => Kind::Text,
                None => Kind::Ptr,
            },
            ParamType::Tensor(_)
            | ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Optional(_)
            | ParamType::Union(_)
            | ParamType::Any
            | ParamType::Stream => Kind::Ptr,
        }
    }

    fn element_kind(&self, expr: &Expr, of: &Expr) -> Result<Kind, String> {
        if let Some(value) = self.value_of(expr) {
            return Ok(self.kind_of_value(value));
        }
        if let Some((value, index)) = self.number_of_shape(expr)
            && let ParamType::Shape(shape) = self.values[value].ty
        {
            return match shape.rank() {
                Some(rank) if index as usize >= rank => {
                    Err(format!("`{of}` has {rank} numbers, which leaves no number {index}"))
                }
                Some(_) | None => Ok(Kind::Int),
            };
        }
        match self.value_of(of).map(|value| self.values[value].ty) {
            Some(ParamType::Tuple(_)) => Err(format!("the tuple `{of}` has no element `{expr}`")),
            Some(_) | None => Err(format!("`{of}` has no elements that can be named")),
        }
    }

    fn member(&self, of: &Expr, member: Member) -> Result<Kind, String> {
        if let Some(output) = self.output_of(of) {
            return self.output_member(output, member);
        }
        let Some(value) = self.value_of(of) else {
            return Err(format!("`{of}` is not a tensor and has no members"));
        };
        let Value { ty, optional, ref source, .. } = self.values[value];
        if member == Member::IsSome {
            let always = || format!("`{of}` is not optional: it is always there");
            return optional.then_some(Kind::Int).ok_or_else(always);
        }
        let kind = match ty {
            ParamType::Tensor(tensor) => return tensor_member(of, tensor, member),
            _ if matches!(source, Source::Rest(_)) => pair_member(member),
            ParamType::Str | ParamType::Bytes | ParamType::Shape(_) => pair_member(member),
            ParamType::Literal(literals) if is_text(literals) => pair_member(member),
            ParamType::Sequence(..) => (member == Member::Size).then_some(Kind::Int),
            ParamType::Device => {
                let is_number = matches!(member, Member::DeviceType | Member::DeviceId);
                is_number.then_some(Kind::Int)
            }
            ParamType::Scalar(_)
            | ParamType::DType
            | ParamType::Object(_)
            | ParamType::Mapping(..)
            | ParamType::Tuple(_)
            | ParamType::Optional(_)
            | ParamType::Union(_)
            | ParamType::Literal(_)
            | ParamType::Any
            | ParamType::Stream => {
                return Err(format!("`{of}` is not a tensor and has no members"));
            }
        };
        kind.ok_or_else(|| format!("`{of}` has no member `{member}`"))
    }

    /// The kind of an operand of arithmetic.
    fn number(&self, expr: &Expr) -> Result<Kind, String> {
        let what = match self.kind(expr)? {
            kind @ (Kind::Int | Kind::Float) => return Ok(kind),
            Kind::Ptr => "an address",
            Kind::DType => "an element type",
            Kind::Device => "a device",
            Kind::Text => "text",
            Kind::Several => "several values",
        };
        Err(format!("`{expr}` is {what}, not a number"))
    }

    fn both(&self, lhs: &Expr, rhs: &Expr) -> Result<Kind, String> {
        Ok(match (self.number(lhs)?, self.number(rhs)?) {
            (Kind::Int, Kind::Int) => Kind::Int,
            _ => Kind::Float,
        })
    }

    fn binary(&self, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Result<Kind, String> {
        let kind = self.both(lhs, rhs)?;
        match (op, kind) {
            (BinaryOp::Rem, Kind::Float) => Err("`%` takes integers".to_owned()),
            (BinaryOp::Div | BinaryOp::Rem, Kind::Int) => divisor(rhs).map(|()| kind),
            _ => Ok(kind),
        }
    }

    fn builtin(&self, builtin: Builtin, lhs: &Expr, rhs: &Expr) -> Result<Kind, String> {
        let kind = self.both(lhs, rhs)?;
        match (builtin, kind) {
            (Builtin::CeilDiv, Kind::Int) => divisor(rhs).map(|()| kind),
            (Builtin::CeilDiv, _) => Err("`ceildiv` takes integers".to_owned()),
            (Builtin::Min | Builtin::Max, _) => Ok(kind),
        }
    }

    fn cast(&self, scalar: Scalar, inner: &Expr) -> Result<Kind, String> {
        let kind = self.number(inner)?;
        if scalar == Scalar::Ptr {
            return Err("nothing converts to `ptr`".to_owned());
        }
        if scalar.is_float() {
            return Ok(Kind::Float);
        }
        let float = || format!("`{scalar}` takes an integer, not the float `{inner}`");
        (kind == Kind::Int).then_some(Kind::Int).ok_or_else(float)
    }

    /// Dims are integer expressions over symbols.
    pub(crate) fn check_dim(&self, expr: &Expr) -> Result<(), String> {
        match expr {
            Expr::Int(_) | Expr::Name(_) | Expr::Neg(_) | Expr::Binary(..) | Expr::Call(..) => {}
            Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Member(..)
            | Expr::Element(..)
            | Expr::Field(..)
            | Expr::Stream(_)
            | Expr::Cast(..) => {
                return Err(format!("`{expr}` is no expression over symbols"));
            }
        }
        expr.children().try_for_each(|child| self.check_dim(child))?;
        self.kind(expr).map(|_| ())
    }

    /// Numbers compare with numbers; everything else for equality with its own kind. Text in quotes stands
    /// for an element type or a device where it is compared with one.
    pub(crate) fn check_constraint(&self, constraint: &Constraint) -> Result<(), String> {
        let Constraint { lhs, op, rhs, .. } = constraint;
        self.no_output(lhs)?;
        self.no_output(rhs)?;
        if mentions_stream(lhs) || mentions_stream(rhs) {
            return Err("a stream is not known before the call".to_owned());
        }
        if let Some(text) = [lhs, rhs].into_iter().find(|expr| self.is_address_of_text(expr)) {
            return Err(format!("`{text}` is for the call only"));
        }
        let what = match (self.kind(lhs)?, self.kind(rhs)?) {
            (Kind::Int | Kind::Float, Kind::Int | Kind::Float) => return Ok(()),
            (Kind::Ptr, Kind::Ptr) => "addresses",
            (Kind::DType, Kind::DType) => "element types",
            (Kind::Device, Kind::Device) => "devices",
            (Kind::DType, Kind::Text) => named::<DType>(rhs, "element types")?,
            (Kind::Text, Kind::DType) => named::<DType>(lhs, "element types")?,
            (Kind::Device, Kind::Text) => named::<abi_spec::Device>(rhs, "devices")?,
            (Kind::Text, Kind::Device) => named::<abi_spec::Device>(lhs, "devices")?,
            (Kind::Text, Kind::Text) => match (lhs, rhs) {
                (Expr::Text(_), Expr::Text(_)) => return Err("this never changes".to_owned()),
                (Expr::Text(_), _) | (_, Expr::Text(_)) => "texts",
                _ => return Err("text compares with text in quotes".to_owned()),
            },
            _ => return Err(format!("`{lhs}` and `{rhs}` cannot be compared")),
        };
        match op {
            Comparison::Eq | Comparison::Ne => Ok(()),
            Comparison::Lt | Comparison::Le | Comparison::Gt | Comparison::Ge => {
                Err(format!("{what} compare with == and != only"))
            }
        }
    }

    /// True for the addresses of what is no tensor.
    fn is_address_of_text(&self, expr: &Expr) -> bool {
        matches!(expr, Expr::Member(of, Member::Data) if self.tensor(of).is_none())
    }

    /// Everything that has a value can be passed on, but for text in quotes.
    pub(crate) fn check_argument(&self, expr: &Expr) -> Result<(), String> {
        self.kind(expr)?;
        let is_text = matches!(expr, Expr::Text(_));
        if is_text { Err("text in quotes is for comparisons".to_owned()) } else { Ok(()) }
    }

    /// True if computing the expression may raise.
    pub(crate) fn can_fail(&self, expr: &Expr) -> bool {
        let here = match expr {
            Expr::Binary(BinaryOp::Div | BinaryOp::Rem, lhs, rhs) => {
                self.both(lhs, rhs) == Ok(Kind::Int) && constant(rhs).is_none()
            }
            Expr::Call(Builtin::CeilDiv, _, rhs) => constant(rhs).is_none(),
            Expr::Cast(scalar, _) => scalar.is_int() && *scalar != Scalar::Int64,
            Expr::Member(of, Member::Shape(_) | Member::Strides(_)) => {
                self.tensor(of).is_some_and(|(_, tensor)| tensor.rank().is_none())
            }
            Expr::Element(..) => self.number_of_shape(expr).is_some_and(|(value, _)| {
                matches!(self.values[value].ty, ParamType::Shape(Shape::AnyRank))
            }),
            Expr::Int(_)
            | Expr::Float(_)
            | Expr::Text(_)
            | Expr::Null
            | Expr::Name(_)
            | Expr::Member(..)
            | Expr::Field(..)
            | Expr::Neg(_)
            | Expr::Binary(..)
            | Expr::Call(..)
            | Expr::Stream(_) => false,
        };
        here || expr.children().any(|child| self.can_fail(child))
    }
}

fn kind_of_scalar(scalar: Scalar) -> Kind {
    match scalar {
        Scalar::Ptr => Kind::Ptr,
        Scalar::Float16 | Scalar::BFloat16 | Scalar::Float32 | Scalar::Float64 => Kind::Float,
        Scalar::Bool
        | Scalar::Int8
        | Scalar::Int16
        | Scalar::Int32
        | Scalar::Int64
        | Scalar::Uint8
        | Scalar::Uint16
        | Scalar::Uint32
        | Scalar::Uint64 => Kind::Int,
    }
}

fn tensor_member(of: &Expr, tensor: &Tensor, member: Member) -> Result<Kind, String> {
    match member {
        Member::Data => Ok(Kind::Ptr),
        Member::DType => Ok(Kind::DType),
        Member::Shape(index) | Member::Strides(index) => match tensor.rank() {
            Some(rank) if index as usize >= rank => {
                Err(format!("`{of}` has rank {rank}, which leaves no dim {index}"))
            }
            Some(_) | None => Ok(Kind::Int),
        },
        Member::Ndim
        | Member::DeviceType
        | Member::DeviceId
        | Member::ByteOffset
        | Member::Numel
        | Member::IsContiguous => Ok(Kind::Int),
        Member::Size | Member::IsSome => Err(format!("the tensor `{of}` has no member `{member}`")),
    }
}

/// What is passed as an address and a size.
fn pair_member(member: Member) -> Option<Kind> {
    let data = (member == Member::Data).then_some(Kind::Ptr);
    data.or((member == Member::Size).then_some(Kind::Int))
}

/// The scalar type that all literals have, `None` aside.
pub(crate) fn literal_scalar(literals: &[Literal]) -> Option<Scalar> {
    let mut types = literals.iter().filter_map(|literal| match literal {
        Literal::None => None,
        Literal::Bool(_) => Some(Some(Scalar::Bool)),
        Literal::Int(_) => Some(Some(Scalar::Int64)),
        Literal::Float(_) | Literal::Str(_) => Some(None),
    });
    let first = types.next()??;
    types.all(|ty| ty == Some(first)).then_some(first)
}

/// True if all literals are text, `None` aside.
pub(crate) fn is_text(literals: &[Literal]) -> bool {
    let mut some = literals.iter().filter(|literal| **literal != Literal::None).peekable();
    some.peek().is_some() && some.all(|literal| matches!(literal, Literal::Str(_)))
}

/// Requires text in quotes that names a `T`; yields `what`.
fn named<T: std::str::FromStr>(expr: &Expr, what: &'static str) -> Result<&'static str, String> {
    let names = matches!(expr, Expr::Text(text) if text.parse::<T>().is_ok());
    if names { Ok(what) } else { Err(format!("`{expr}` names none of the {what}")) }
}

fn mentions_stream(expr: &Expr) -> bool {
    matches!(expr, Expr::Stream(_)) || expr.children().any(mentions_stream)
}

fn divisor(expr: &Expr) -> Result<(), String> {
    match constant(expr) {
        Some(0) => Err(format!("division by `{expr}`, which is zero")),
        Some(_) | None => Ok(()),
    }
}

/// The value of an integer expression without names; `None` where there is none.
pub(crate) fn constant(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Int(value) => Some(*value),
        Expr::Neg(inner) => constant(inner).map(i64::wrapping_neg),
        Expr::Binary(op, lhs, rhs) => {
            let (a, b) = (constant(lhs)?, constant(rhs)?);
            match op {
                BinaryOp::Add => Some(a.wrapping_add(b)),
                BinaryOp::Sub => Some(a.wrapping_sub(b)),
                BinaryOp::Mul => Some(a.wrapping_mul(b)),
                BinaryOp::Div => floor_div(a, b),
                BinaryOp::Rem => Some(a.wrapping_sub(floor_div(a, b)?.wrapping_mul(b))),
            }
        }
        Expr::Call(builtin, lhs, rhs) => {
            let (a, b) = (constant(lhs)?, constant(rhs)?);
            match builtin {
                Builtin::Min => Some(a.min(b)),
                Builtin::Max => Some(a.max(b)),
                Builtin::CeilDiv => floor_div(a, b).map(|quotient| {
                    let inexact = quotient.wrapping_mul(b) != a;
                    quotient.wrapping_add(i64::from(inexact))
                }),
            }
        }
        Expr::Float(_)
        | Expr::Text(_)
        | Expr::Null
        | Expr::Name(_)
        | Expr::Member(..)
        | Expr::Element(..)
        | Expr::Field(..)
        | Expr::Stream(_)
        | Expr::Cast(..) => None,
    }
}

/// Floor division, wrapping; `None` for a zero divisor.
pub(crate) fn floor_div(a: i64, b: i64) -> Option<i64> {
    if b == 0 {
        return None;
    }
    let (quotient, remainder) = (a.wrapping_div(b), a.wrapping_rem(b));
    Some(if remainder != 0 && (remainder < 0) != (b < 0) { quotient - 1 } else { quotient })
}
