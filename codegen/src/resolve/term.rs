//! Expressions that mean something: trees whose names are resolved and whose operands have types.

use abi_spec::Scalar;

use super::ids::{LocalId, OutputId, SymbolId, ValueId};
use super::operator::{Binary, Division, Unary};
pub(crate) use crate::declaration::Kind;
use crate::declaration::Logic;

/// A term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// What it yields.
    pub(crate) kind: Kind,
    /// How.
    pub(crate) node: Node,
}

/// How a term is computed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// An integer, or the word of an element type or device.
    Int(i64),
    /// A float.
    Float(f64),
    /// Text in quotes, before it is known what it is compared with.
    Text(String),
    /// The null pointer.
    Null,
    /// A symbol.
    Symbol(SymbolId),
    /// What the body has given a name.
    Local(LocalId),
    /// A value: a number as arithmetic sees it, the address of anything else.
    Value(ValueId),
    /// The `DLTensor*` of a tensor that is allocated.
    Output(OutputId),
    /// The address of the first element of a tensor that is allocated.
    OutputData(OutputId),
    /// Something about a value; zero where that is not there.
    Property(ValueId, Property),
    /// An operation on one operand.
    Unary(Unary, Box<Term>),
    /// An operation on two.
    Binary(Binary, Box<[Term; 2]>),
    /// An operation on two truths, of which the second is computed only if the first does not decide.
    Logic(Logic, Box<[Term; 2]>),
    /// An operation on two integers that fails if the second is zero.
    Divide(Division, Box<[Term; 2]>, Quote),
    /// A number in an integer type, which it must fit.
    Narrow(Scalar, Box<Term>, String),
    /// A float rounded to a float type.
    Round(Scalar, Box<Term>),
    /// Whether the text or bytes of a value are these.
    SameText(ValueId, String),
    /// The environment's stream of the device of a tensor.
    Stream(ValueId),
    /// That of the device on which a tensor is allocated.
    OutputStream(OutputId),
}

/// What is asked of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    /// Of a tensor.
    Tensor(OfTensor),
    /// Of text, bytes, a shape, or the further arguments.
    Several(OfSeveral),
    /// How many elements a sequence has.
    Length,
    /// The type of a device.
    TypeOfDevice,
    /// The index of a device.
    IndexOfDevice,
    /// Whether an optional value is there.
    IsSome,
}

/// What is asked of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfTensor {
    /// The address of the first element.
    Data,
    /// An extent; `checked` if the rank is not known before.
    Extent { dim: u32, checked: bool },
    /// A stride; likewise.
    Stride { dim: u32, checked: bool },
    /// The rank.
    Ndim,
    /// The element type.
    DType,
    /// The type of the device.
    DeviceType,
    /// Its index.
    DeviceId,
    /// In bytes.
    ByteOffset,
    /// The number of elements.
    Numel,
    /// Whether the strides are compact.
    IsContiguous,
}

/// What is asked of a value that is an address and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfSeveral {
    /// The address.
    Address,
    /// A number of a shape; `checked` if it may have fewer.
    Number { index: u32, checked: bool },
    /// How many numbers a shape has.
    NumberCount,
    /// How many bytes text or bytes have.
    TextSize,
    /// How many further arguments there are, from this one on.
    RestSize { first: u32 },
}

impl Property {
    /// True if it may not be there.
    fn can_fail(self) -> bool {
        matches!(
            self,
            Property::Tensor(
                OfTensor::Extent { checked: true, .. } | OfTensor::Stride { checked: true, .. }
            ) | Property::Several(OfSeveral::Number { checked: true, .. })
        )
    }
}

/// How messages quote an expression, and the values that it depends on.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Quote {
    /// Its text.
    pub(crate) text: String,
    /// What it mentions, in order, without repetition.
    pub(crate) shown: Vec<ShownTerm>,
}

/// A value that a message shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShownTerm {
    /// What it is called.
    pub(crate) text: String,
    /// What it is.
    pub(crate) term: Term,
}

impl Term {
    pub(crate) fn new(kind: Kind, node: Node) -> Term {
        Term { kind, node }
    }

    pub(crate) fn int(value: i64) -> Term {
        Term::new(Kind::Int, Node::Int(value))
    }

    /// The integer that it always is.
    pub(crate) fn constant(&self) -> Option<i64> {
        if let Node::Int(value) = self.node { Some(value) } else { None }
    }

    /// The same as a number, if it is a truth.
    pub(crate) fn into_number(self) -> Term {
        let kind = if self.kind == Kind::Bool { Kind::Int } else { self.kind };
        Term { kind, ..self }
    }

    /// True if it yields a `float64`.
    pub(crate) fn is_float(&self) -> bool {
        self.kind == Kind::Float
    }

    /// The same as a `float64`.
    pub(crate) fn into_float(self) -> Term {
        if self.kind == Kind::Float {
            return self;
        }
        let unsigned = self.kind == Kind::Unsigned;
        let convert = if unsigned { Unary::UnsignedToFloat } else { Unary::ToFloat };
        Term::new(Kind::Float, Node::Unary(convert, Box::new(self)))
    }

    /// The same as arithmetic of integers takes it: what is without a sign wraps.
    pub(crate) fn into_int(self) -> Term {
        let other = matches!(self.kind, Kind::Unsigned | Kind::Bool);
        Term { kind: if other { Kind::Int } else { self.kind }, ..self }
    }

    /// Direct operands, in order.
    pub(crate) fn operands(&self) -> &[Term] {
        match &self.node {
            Node::Unary(_, operand) | Node::Narrow(_, operand, _) | Node::Round(_, operand) => {
                std::slice::from_ref(operand)
            }
            Node::Binary(_, operands) | Node::Logic(_, operands) | Node::Divide(_, operands, _) => {
                &operands[..]
            }
            Node::Int(_)
            | Node::Float(_)
            | Node::Text(_)
            | Node::Null
            | Node::Symbol(_)
            | Node::Local(_)
            | Node::Value(_)
            | Node::Output(_)
            | Node::OutputData(_)
            | Node::Property(..)
            | Node::SameText(..)
            | Node::Stream(_)
            | Node::OutputStream(_) => &[],
        }
    }

    /// True if this node or one below it satisfies `wanted`.
    pub(crate) fn any(&self, wanted: &mut impl FnMut(&Node) -> bool) -> bool {
        wanted(&self.node) || self.operands().iter().any(|operand| operand.any(wanted))
    }

    /// Calls `f` with every occurrence of a symbol.
    pub(crate) fn visit_symbols(&self, f: &mut impl FnMut(SymbolId)) {
        if let Node::Symbol(symbol) = self.node {
            f(symbol);
        }
        self.operands().iter().for_each(|operand| operand.visit_symbols(f));
    }

    /// True if computing it may fail.
    pub(crate) fn can_fail(&self) -> bool {
        self.any(&mut |node| {
            matches!(node, Node::Narrow(..))
                || matches!(node, Node::Divide(_, operands, _) if operands[1].constant().is_none())
                || matches!(node, Node::Property(_, property) if property.can_fail())
        })
    }
}
