//! From expressions to terms: what names stand for, what operators mean, and what is no expression at all.

use abi_spec::Scalar;

use super::function::Output;
use super::ids::{OutputId, ValueId};
use super::names::{Meaning, Names};
use super::operator::{self, Arithmetic, Unary};
use super::term::{Leaf, Node, OfSeveral, OfTensor, Property, Quote, Term};
use super::value::Source;
use crate::declaration::{
    BinaryOp, Builtin, Expr, Kind, Member, ParamType, Tensor, is_text, literal_scalar,
};

impl Names<'_> {
    /// What an expression means, or why it means nothing.
    pub(super) fn term(&self, expr: &Expr) -> Result<Term, String> {
        match expr {
            Expr::Int(value) => Ok(Term::int(*value)),
            Expr::Unsigned(value) => Ok(Term::new(Kind::Unsigned, Node::Int(value.cast_signed()))),
            Expr::Float(value) if value.is_finite() => {
                Ok(Term::new(Kind::Float, Node::Float(*value)))
            }
            Expr::Float(value) => Err(format!("{value} is not a finite number")),
            Expr::Text(text) => Ok(Term::new(Kind::Text, Node::Text(text.clone()))),
            Expr::Null => Ok(Term::new(Kind::Ptr, Node::Null)),
            Expr::Name(name) => match self.meaning(name) {
                Some(Meaning::Symbol(symbol)) => {
                    let value = self.symbols[symbol].value;
                    let kind = value.map_or(Kind::Int, |value| self.kind_of_value(value));
                    Ok(Term::new(kind, Node::Symbol(symbol)))
                }
                Some(Meaning::Value(value)) => Ok(self.whole(value)),
                Some(Meaning::Output(output)) => Ok(Term::new(Kind::Ptr, Node::Output(output))),
                Some(Meaning::Local(local)) => {
                    Ok(Term::new(self.locals[local].kind, Node::Local(local)))
                }
                None => Err(format!("nothing determines the symbol `{name}`")),
            },
            Expr::Member(of, member) => self.member(of, *member),
            Expr::Element(of, _) | Expr::Field(of, _) => self.element_term(expr, of),
            Expr::Neg(inner) => self.negation(inner),
            Expr::Binary(op, lhs, rhs) => self.binary(expr, *op, lhs, rhs),
            Expr::Call(builtin, lhs, rhs) => self.call(expr, *builtin, lhs, rhs),
            Expr::Stream(of) => self.stream(of),
            Expr::Cast(scalar, inner) => self.cast(expr, *scalar, inner),
            Expr::Bool(truth) => Ok(Term::new(Kind::Bool, Node::Int(i64::from(*truth)))),
            Expr::Compare(op, lhs, rhs) => self.comparison(*op, lhs, rhs),
            Expr::Not(inner) => {
                let node = Node::Unary(Unary::Not, self.truth(inner)?.into());
                Ok(Term::new(Kind::Bool, node))
            }
            Expr::Logic(op, lhs, rhs) => {
                let operands = [self.truth(lhs)?, self.truth(rhs)?];
                Ok(Term::new(Kind::Bool, Node::Logic(*op, operands.into())))
            }
            Expr::None | Expr::Array(_) | Expr::Shape(_) => {
                Err(format!("`{expr}` is an argument of a function of the FFI only"))
            }
        }
    }

    /// A value as one term.
    fn whole(&self, value: ValueId) -> Term {
        Term::new(self.kind_of_value(value), Node::Value(value))
    }

    fn kind_of_value(&self, value: ValueId) -> Kind {
        if let Source::Rest(_) = self.values[value].source {
            return Kind::Several;
        }
        match self.values[value].ty {
            ParamType::Scalar(scalar) => kind_of_scalar(*scalar),
            ParamType::Leaf(leaf) => leaf.facts().kind,
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
            | ParamType::Union(_) => Kind::Ptr,
        }
    }

    fn element_term(&self, expr: &Expr, of: &Expr) -> Result<Term, String> {
        if let Some(value) = self.value_of(expr) {
            return Ok(self.whole(value));
        }
        match (self.value_of(of).map(|value| (value, self.values[value].ty)), expr) {
            (Some((value, ParamType::Shape(shape))), Expr::Element(_, index)) => {
                let checked = match shape.rank() {
                    Some(rank) if *index as usize >= rank => {
                        let reason = "numbers, which leaves no number";
                        return Err(format!("`{of}` has {rank} {reason} {index}"));
                    }
                    Some(_) => false,
                    None => true,
                };
                Ok(property(
                    Kind::Int,
                    value,
                    Property::Several(OfSeveral::Number { index: *index, checked }),
                ))
            }
            (Some((_, ParamType::Tuple(_))), _) => {
                Err(format!("the tuple `{of}` has no element `{expr}`"))
            }
            (Some(_) | None, _) => Err(format!("`{of}` has no elements that can be named")),
        }
    }

    fn member(&self, of: &Expr, member: Member) -> Result<Term, String> {
        if let Some(output) = self.output_of(of) {
            return self.output_member(output, member);
        }
        let Some(id) = self.value_of(of) else {
            return Err(format!("`{of}` is not a tensor and has no members"));
        };
        let value = &self.values[id];
        if member == Member::IsSome {
            let always = || format!("`{of}` is not optional: it is always there");
            let term = || property(Kind::Bool, id, Property::IsSome);
            return value.optional.then(term).ok_or_else(always);
        }
        let rest = if let Source::Rest(first) = value.source { Some(first as u32) } else { None };
        let found = match (value.ty, rest, member) {
            (ParamType::Tensor(tensor), ..) => {
                let (kind, found) = tensor_member(of, tensor, member)?;
                Some((kind, Property::Tensor(found)))
            }
            (_, Some(first), Member::Size) => {
                Some((Kind::Int, Property::Several(OfSeveral::RestSize { first })))
            }
            (_, Some(_), Member::Data) => Some((Kind::Ptr, Property::Several(OfSeveral::Address))),
            (_, Some(_), _) => None,
            (ty, None, member) => value_member(of, ty, member)?,
        };
        let found = found.map(|(kind, found)| property(kind, id, found));
        found.ok_or_else(|| format!("`{of}` has no member `{member}`"))
    }

    fn output_member(&self, output: OutputId, member: Member) -> Result<Term, String> {
        let Output { name, tensor, .. } = self.outputs[output];
        match (member, known_member(tensor, member)) {
            (Member::Data, _) => Ok(Term::new(Kind::Ptr, Node::OutputData(output))),
            (_, Some(expr)) => self.term(&expr),
            (Member::Shape(dim) | Member::Strides(dim), None) => {
                let rank = tensor.extents().count();
                Err(format!("`{name}` has rank {rank}, which leaves no dim {dim}"))
            }
            (member, None) => {
                Err(format!("`{name}.{member}` is not known before `{name}` is allocated"))
            }
        }
    }

    /// An operand of arithmetic.
    pub(super) fn number(&self, expr: &Expr) -> Result<Term, String> {
        let term = self.term(expr)?;
        let what = match term.kind {
            Kind::Unsigned if term.constant().is_some() => "above int64",
            Kind::Int | Kind::Unsigned | Kind::Float => return Ok(term),
            Kind::Bool => return Ok(term.into_number()),
            Kind::Ptr => "an address",
            Kind::DType => "an element type",
            Kind::Device => "a device",
            Kind::Text => "text",
            Kind::Several => "several values",
        };
        if term.kind == Kind::Unsigned {
            return Err(format!("`{expr}` is {what}: only a `uint64` compares with it"));
        }
        Err(format!("`{expr}` is {what}, not a number"))
    }

    /// A condition, or an operand of logic.
    pub(super) fn truth(&self, expr: &Expr) -> Result<Term, String> {
        let term = self.term(expr)?;
        let what = match term.kind {
            Kind::Bool => return Ok(term),
            Kind::Int | Kind::Unsigned => "an integer",
            Kind::Float => "a float",
            Kind::Ptr => "an address",
            Kind::DType => "an element type",
            Kind::Device => "a device",
            Kind::Text => "text",
            Kind::Several => "several values",
        };
        Err(format!("`{expr}` is {what}, not a truth"))
    }

    /// Two operands of one kind, and whether they are floats.
    fn both(&self, lhs: &Expr, rhs: &Expr) -> Result<([Term; 2], bool), String> {
        let operands = [self.number(lhs)?, self.number(rhs)?];
        let float = operands.iter().any(Term::is_float);
        Ok((operands.map(if float { Term::into_float } else { Term::into_int }), float))
    }

    fn negation(&self, inner: &Expr) -> Result<Term, String> {
        let term = self.number(inner)?.into_int();
        Ok(match (term.constant(), term.kind) {
            (Some(value), _) => Term::int(value.wrapping_neg()),
            (None, Kind::Float) => Term::new(Kind::Float, Node::Unary(Unary::Fneg, term.into())),
            (None, kind) => Term::new(kind, Node::Unary(Unary::Neg, term.into())),
        })
    }

    fn binary(&self, expr: &Expr, op: BinaryOp, lhs: &Expr, rhs: &Expr) -> Result<Term, String> {
        let (operands, float) = self.both(lhs, rhs)?;
        let meaning = operator::arithmetic(op, float);
        let meaning = meaning.ok_or_else(|| format!("`{}` takes integers", op.text()))?;
        self.operation(expr, meaning, operands, rhs)
    }

    fn call(&self, expr: &Expr, callee: Builtin, lhs: &Expr, rhs: &Expr) -> Result<Term, String> {
        let (operands, float) = self.both(lhs, rhs)?;
        let meaning = operator::builtin(callee, float);
        let meaning = meaning.ok_or_else(|| format!("`{}` takes integers", callee.text()))?;
        self.operation(expr, meaning, operands, rhs)
    }

    fn operation(
        &self,
        expr: &Expr,
        op: Arithmetic,
        operands: [Term; 2],
        rhs: &Expr,
    ) -> Result<Term, String> {
        let kind = operands[0].kind;
        let constants = (operands[0].constant(), operands[1].constant());
        match op {
            Arithmetic::Total(op) => {
                if let (Some(a), Some(b)) = constants {
                    return Ok(Term::int(op.fold(a, b)));
                }
                Ok(Term::new(kind, Node::Binary(op, operands.into())))
            }
            Arithmetic::Division(_) if constants.1 == Some(0) => {
                Err(format!("division by `{rhs}`, which is zero"))
            }
            Arithmetic::Division(op) => {
                if let (Some(a), Some(b)) = constants {
                    return Ok(Term::int(op.fold(a, b)));
                }
                let quote = self.quote(expr.to_string(), &[expr])?;
                Ok(Term::new(kind, Node::Divide(op, operands.into(), quote)))
            }
        }
    }

    fn stream(&self, of: &Expr) -> Result<Term, String> {
        let tensor = self.value_of(of).filter(|&value| self.values[value].tensor().is_some());
        match (tensor, self.output_of(of)) {
            (Some(value), _) => Ok(Term::new(Kind::Ptr, Node::Stream(value))),
            (None, Some(output)) => Ok(Term::new(Kind::Ptr, Node::OutputStream(output))),
            (None, None) => Err(format!("stream takes a tensor, not `{of}`")),
        }
    }

    fn cast(&self, expr: &Expr, scalar: Scalar, inner: &Expr) -> Result<Term, String> {
        let term = self.number(inner)?;
        if scalar == Scalar::Ptr {
            return Err("nothing converts to `ptr`".to_owned());
        }
        if scalar == Scalar::Float64 {
            return Ok(term.into_float());
        }
        if scalar.is_float() {
            return Ok(Term::new(Kind::Float, Node::Round(scalar, term.into_float().into())));
        }
        if term.is_float() {
            return Err(format!("`{scalar}` takes an integer, not the float `{inner}`"));
        }
        let same = if term.kind == Kind::Unsigned { Scalar::Uint64 } else { Scalar::Int64 };
        if scalar == same {
            return Ok(term);
        }
        let node = if scalar == Scalar::Bool {
            Node::Unary(Unary::Truth, term.into())
        } else {
            Node::Narrow(scalar, term.into(), expr.to_string())
        };
        Ok(Term::new(kind_of_scalar(scalar), node))
    }

    /// A text with the values that it depends on.
    pub(super) fn quote(&self, text: String, exprs: &[&Expr]) -> Result<Quote, String> {
        let mut found: Vec<&Expr> = Vec::new();
        exprs.iter().for_each(|expr| collect_leaves(expr, &mut found));
        let leaf = |expr: &&Expr| Ok(Leaf { text: expr.to_string(), term: self.term(expr)? });
        Ok(Quote { text, leaves: found.iter().map(leaf).collect::<Result<_, String>>()? })
    }
}

fn property(kind: Kind, of: ValueId, property: Property) -> Term {
    Term::new(kind, Node::Property(of, property))
}

pub(super) fn kind_of_scalar(scalar: Scalar) -> Kind {
    if scalar == Scalar::Ptr {
        Kind::Ptr
    } else if scalar == Scalar::Bool {
        Kind::Bool
    } else if scalar == Scalar::Uint64 {
        Kind::Unsigned
    } else if scalar.is_float() {
        Kind::Float
    } else {
        Kind::Int
    }
}

fn tensor_member(of: &Expr, tensor: &Tensor, member: Member) -> Result<(Kind, OfTensor), String> {
    let checked = |dim: u32| match tensor.rank() {
        Some(rank) if dim as usize >= rank => {
            Err(format!("`{of}` has rank {rank}, which leaves no dim {dim}"))
        }
        Some(_) => Ok(false),
        None => Ok(true),
    };
    Ok(match member {
        Member::Data => (Kind::Ptr, OfTensor::Data),
        Member::DType => (Kind::DType, OfTensor::DType),
        Member::Shape(dim) => (Kind::Int, OfTensor::Extent { dim, checked: checked(dim)? }),
        Member::Strides(dim) => (Kind::Int, OfTensor::Stride { dim, checked: checked(dim)? }),
        Member::Ndim => (Kind::Int, OfTensor::Ndim),
        Member::DeviceType => (Kind::Int, OfTensor::DeviceType),
        Member::DeviceId => (Kind::Int, OfTensor::DeviceId),
        Member::ByteOffset => (Kind::Int, OfTensor::ByteOffset),
        Member::Numel => (Kind::Int, OfTensor::Numel),
        Member::IsContiguous => (Kind::Bool, OfTensor::IsContiguous),
        Member::Size | Member::IsSome => {
            return Err(format!("the tensor `{of}` has no member `{member}`"));
        }
    })
}

/// A member of what is neither a tensor nor the further arguments; `None` if there is no such member.
fn value_member(
    of: &Expr,
    ty: &ParamType,
    member: Member,
) -> Result<Option<(Kind, Property)>, String> {
    let when = |wanted, kind, found| (member == wanted).then_some((kind, found));
    let pair = |count| {
        let address = when(Member::Data, Kind::Ptr, Property::Several(OfSeveral::Address));
        address.or(when(Member::Size, Kind::Int, Property::Several(count)))
    };
    Ok(match ty {
        ParamType::Leaf(leaf) if leaf.facts().kind == Kind::Text => pair(OfSeveral::TextSize),
        ParamType::Shape(_) => pair(OfSeveral::NumberCount),
        ParamType::Literal(literals) if is_text(literals) => pair(OfSeveral::TextSize),
        ParamType::Sequence(..) => when(Member::Size, Kind::Int, Property::Length),
        ParamType::Leaf(leaf) if leaf.facts().kind == Kind::Device => {
            let ty = when(Member::DeviceType, Kind::Int, Property::TypeOfDevice);
            ty.or(when(Member::DeviceId, Kind::Int, Property::IndexOfDevice))
        }
        ParamType::Scalar(_)
        | ParamType::Tensor(_)
        | ParamType::Leaf(_)
        | ParamType::Object(_)
        | ParamType::Mapping(..)
        | ParamType::Tuple(_)
        | ParamType::Optional(_)
        | ParamType::Union(_)
        | ParamType::Literal(_) => {
            return Err(format!("`{of}` is not a tensor and has no members"));
        }
    })
}

/// A number about a tensor that is known before it is allocated.
fn known_member(tensor: &Tensor, member: Member) -> Option<Expr> {
    let extents: Vec<&Expr> = tensor.extents().collect();
    let product = |extents: &[&Expr]| {
        let all = extents.iter().map(|extent| (*extent).clone());
        all.reduce(|product, extent| product.binary(BinaryOp::Mul, extent)).unwrap_or(Expr::Int(1))
    };
    match member {
        Member::Shape(dim) => extents.get(dim as usize).map(|extent| (*extent).clone()),
        Member::Strides(dim) => extents.get(dim as usize + 1..).map(product),
        Member::Ndim => Some(Expr::Int(extents.len() as i64)),
        Member::Numel => Some(product(&extents)),
        Member::IsContiguous => Some(Expr::Bool(true)),
        Member::Data
        | Member::DeviceType
        | Member::DeviceId
        | Member::ByteOffset
        | Member::DType
        | Member::Size
        | Member::IsSome => None,
    }
}

/// The names and members of an expression, in order, without repetition.
fn collect_leaves<'e>(expr: &'e Expr, leaves: &mut Vec<&'e Expr>) {
    let is_leaf =
        matches!(expr, Expr::Name(_) | Expr::Member(..) | Expr::Element(..) | Expr::Field(..));
    if is_leaf {
        if !leaves.contains(&expr) {
            leaves.push(expr);
        }
        return;
    }
    expr.children().for_each(|child| collect_leaves(child, leaves));
}
