//! Terms: expressions with resolved names and typed operands.

use abi_spec::Scalar;

use super::ids::Home;
use super::ids::{LocalId, OutputId, SymbolId, ValueId};
use super::operator::{Binary, Division, Exact, Unary};
pub(crate) use crate::declaration::Kind;
use crate::declaration::{Comparison, Logic};

/// A term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Term {
    /// Kind of the result.
    pub(crate) kind: Kind,
    pub(crate) node: Node,
}

/// Operation of a term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    /// An integer literal, or the word of an element type or device.
    Int(i64),
    /// A float literal.
    Float(f64),
    /// Text in quotes, whose meaning depends on its use.
    Text(String),
    /// The null pointer.
    Null,
    /// A symbol.
    Symbol(SymbolId),
    /// A local of the body.
    Local(LocalId),
    /// A value: a scalar as a number, anything else as its address.
    Value(ValueId),
    /// The `DLTensor*` of an allocated tensor.
    Output(OutputId),
    /// The address of the first element of an allocated tensor.
    OutputData(OutputId),
    /// The object of an allocated tensor.
    OutputObject(OutputId),
    /// A property of a value; zero if the value is absent.
    Property(ValueId, Property),
    /// A number of a shape by an index that is known at run time; zero if the shape is absent. The text names the
    /// number in errors.
    Number { of: ValueId, index: Box<Term>, text: String },
    /// An operation with one operand.
    Unary(Unary, Box<Term>),
    /// An operation with two operands.
    Binary(Binary, Box<[Term; 2]>),
    /// An operation of integers, which fails if the result is no `int64`; the text names the result in errors.
    Exact(Exact, Box<[Term; 2]>, String),
    /// A comparison of a `uint64` and an `int64`, by their values; either may stand first.
    Mixed(Comparison, Box<[Term; 2]>),
    /// A logical operation, whose second operand is evaluated only if the first does not decide.
    Logic(Logic, Box<[Term; 2]>),
    /// A division of integers, which fails with the quote if the divisor is zero, and as [`Node::Exact`] if the result
    /// is no `int64`. No divisor is the literal -1 unless the remainder is asked for.
    Divide(Division, Box<[Term; 2]>, Quote),
    /// A conversion to an integer type, which fails if the number does not fit; the text names the number in errors.
    Narrow(Scalar, Box<Term>, String),
    /// A rounding to a float type.
    Round(Scalar, Box<Term>),
    /// The address a number of bytes after an address, or before it if true. The sum wraps.
    Offset(bool, Box<[Term; 2]>),
    /// True if the text or bytes of a value equal the literal.
    SameText(ValueId, String),
    /// The environment's stream for the device of a tensor.
    Stream(ValueId),
    /// The environment's stream for the device of an allocated tensor.
    OutputStream(OutputId),
    /// An attribute of the device of a tensor. `unsure` is the tensor whose type the call must find to be cuda.
    DeviceAttribute { home: Home, unsure: Option<ValueId>, id: u32 },
    /// The index of the driver's current device.
    CurrentDevice,
    /// A device variable of an image.
    Global(Box<Global>),
}

/// A device variable of an image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Global {
    /// Name of the image.
    pub(crate) image: String,
    /// Name of the variable.
    pub(crate) name: String,
    /// Name of the function that is called after the image is loaded.
    pub(crate) on_load: Option<String>,
    /// Tensor whose device has the variable.
    pub(crate) home: Home,
    /// Tensor whose type the call must find to be that of a GPU.
    pub(crate) unsure: Option<ValueId>,
    pub(crate) part: OfGlobal,
}

/// A property of a device variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfGlobal {
    /// The address.
    Address,
    /// The number of bytes.
    Size,
}

/// A property of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Property {
    /// A property of a tensor.
    Tensor(OfTensor),
    /// The object that a tensor is.
    Object,
    /// A property of text, bytes, a shape, or a variadic parameter.
    Several(OfSeveral),
    /// The number of elements of a sequence.
    Length,
    /// The type of a device.
    TypeOfDevice,
    /// The index of a device.
    IndexOfDevice,
    /// True if an optional value is not None.
    IsSome,
}

/// A property of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfTensor {
    /// The address of the first element.
    Data,
    /// An extent: of a declared dim, or if `checked` of a dim of the tensor itself, which it may lack. A negative index
    /// counts from the end; that of a declared dim is never negative.
    Extent { dim: i32, checked: bool },
    /// A stride, as for an extent; `shown` is the index in the declaration, which errors name.
    Stride { dim: i32, checked: bool, shown: i32 },
    /// The rank.
    Ndim,
    /// The element type.
    DType,
    /// The type of the device.
    DeviceType,
    /// The index of the device.
    DeviceId,
    /// The offset of the first element in bytes.
    ByteOffset,
    /// The number of elements.
    Numel,
    /// True if the strides are compact.
    IsContiguous,
}

/// A property of a value that is an address and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfSeveral {
    /// The address.
    Address,
    /// A number of a shape. `checked` if the shape may be shorter, so that access may fail.
    Number { index: u32, checked: bool },
    /// The number of integers in a shape.
    NumberCount,
    /// The number of bytes in text or bytes.
    TextSize,
    /// The number of arguments from argument `first` on.
    RestSize { first: u32 },
}

impl Node {
    /// Returns the value that this node is about.
    pub(crate) fn value(&self) -> Option<ValueId> {
        if let Node::Value(value)
        | Node::Property(value, _)
        | Node::SameText(value, _)
        | Node::Stream(value)
        | Node::Number { of: value, .. }
        | Node::DeviceAttribute { home: Home::Value(value), .. } = self
        {
            return Some(*value);
        }
        None
    }
}

impl Property {
    /// Returns true if access may fail.
    pub(super) fn can_fail(self) -> bool {
        matches!(
            self,
            Property::Object
                | Property::Tensor(
                    OfTensor::Extent { checked: true, .. } | OfTensor::Stride { checked: true, .. }
                )
                | Property::Several(OfSeveral::Number { checked: true, .. })
        )
    }
}

/// Text of an expression in an error, with the terms whose values the error shows.
#[derive(Clone, Debug, PartialEq, Default)]
pub(crate) struct Quote {
    /// Text of the expression.
    pub(crate) text: String,
    /// Names and members in the expression, each once, in order.
    pub(crate) shown: Vec<ShownTerm>,
}

/// A term whose value an error shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShownTerm {
    pub(crate) text: String,
    pub(crate) term: Term,
}

impl Term {
    pub(crate) fn new(kind: Kind, node: Node) -> Term {
        Term { kind, node }
    }

    pub(crate) fn int(value: i64) -> Term {
        Term::new(Kind::Int, Node::Int(value))
    }

    /// Returns the value of an integer literal.
    pub(crate) fn constant(&self) -> Option<i64> {
        if let Node::Int(value) = self.node { Some(value) } else { None }
    }

    /// Converts a truth to an integer; leaves other kinds unchanged.
    pub(crate) fn into_number(self) -> Term {
        let kind = if self.kind == Kind::Bool { Kind::Int } else { self.kind };
        Term { kind, ..self }
    }

    /// Returns true for the object of a tensor.
    pub(super) fn is_object(&self) -> bool {
        matches!(self.node, Node::OutputObject(_) | Node::Property(_, Property::Object))
    }

    /// Returns true if the result is a float.
    pub(crate) fn is_float(&self) -> bool {
        self.kind == Kind::Float
    }

    /// Converts a number to a float.
    pub(crate) fn into_float(self) -> Term {
        if self.kind == Kind::Float {
            return self;
        }
        let unsigned = self.kind == Kind::Unsigned;
        let convert = if unsigned { Unary::UnsignedToFloat } else { Unary::ToFloat };
        Term::new(Kind::Float, Node::Unary(convert, Box::new(self)))
    }

    /// Takes the word of a truth or a `uint64` for an integer, bit for bit; leaves other kinds unchanged.
    pub(crate) fn into_int(self) -> Term {
        let other = matches!(self.kind, Kind::Unsigned | Kind::Bool);
        Term { kind: if other { Kind::Int } else { self.kind }, ..self }
    }

    /// Returns the direct operands, in order.
    pub(crate) fn operands(&self) -> &[Term] {
        match &self.node {
            Node::Unary(_, operand)
            | Node::Number { index: operand, .. }
            | Node::Narrow(_, operand, _)
            | Node::Round(_, operand) => std::slice::from_ref(operand),
            Node::Binary(_, operands)
            | Node::Exact(_, operands, _)
            | Node::Mixed(_, operands)
            | Node::Logic(_, operands)
            | Node::Divide(_, operands, _)
            | Node::Offset(_, operands) => &operands[..],
            Node::Int(_)
            | Node::Float(_)
            | Node::Text(_)
            | Node::Null
            | Node::Symbol(_)
            | Node::Local(_)
            | Node::Value(_)
            | Node::Output(_)
            | Node::OutputData(_)
            | Node::OutputObject(_)
            | Node::Property(..)
            | Node::SameText(..)
            | Node::Stream(_)
            | Node::OutputStream(_)
            | Node::DeviceAttribute { .. }
            | Node::CurrentDevice
            | Node::Global(_) => &[],
        }
    }

    /// Returns true if this node or one below it satisfies a predicate.
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

    /// Returns true if an integer on the way to the value may be no `int64`, whatever ranges are known.
    pub(crate) fn may_overflow(&self) -> bool {
        self.any(&mut |node| {
            let is_product = |of| matches!(of, OfTensor::Numel | OfTensor::Stride { .. });
            matches!(node, Node::Exact(..) | Node::Divide(..))
                || matches!(node, Node::Property(_, Property::Tensor(of)) if is_product(*of))
        })
    }

    /// Returns true if evaluation may fail for another reason than that an integer is no `int64`.
    pub(crate) fn can_fail(&self) -> bool {
        self.any(&mut |node| {
            let asks = matches!(
                node,
                Node::DeviceAttribute { .. } | Node::CurrentDevice | Node::Global(_)
            );
            asks || matches!(node, Node::Narrow(..) | Node::Number { .. })
                || matches!(node, Node::Divide(_, operands, _) if operands[1].constant().is_none())
                || matches!(node, Node::Property(_, property) if property.can_fail())
        })
    }
}
