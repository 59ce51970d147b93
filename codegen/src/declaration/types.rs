//! The types of parameters: which values a parameter accepts, and what is required of them.

use abi_spec::{DType, DeviceType, Scalar, TypeCode};

use super::{Expr, Leaf};

/// Which values a parameter accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamType {
    /// A number or an opaque pointer.
    Scalar(Scalar),
    /// A tensor object or a `DLTensor*`.
    Tensor(Tensor),
    /// A type without parts: text, an element type, anything.
    Leaf(Leaf),
    /// A shape, or an array or list of integers. The dims are what its numbers must be.
    Shape(Shape),
    /// An object of a class.
    Object(ObjectClass),
    /// An array or list of any number of elements of one type.
    Sequence(Sequence, Box<ParamType>),
    /// A map or dict whose keys are of one type, and its values of another.
    Mapping(Mapping, Box<[ParamType; 2]>),
    /// An array of as many elements, each with a type of its own.
    Tuple(Vec<Element>),
    /// None, or a value of the type.
    Optional(Box<ParamType>),
    /// A value of one of several types.
    Union(Vec<ParamType>),
    /// One of several values.
    Literal(Vec<Literal>),
}

/// What is required of a tensor.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tensor {
    /// Its extents.
    pub shape: Shape,
    /// The types that its elements may have; not empty, without repetition.
    pub dtypes: Vec<DType>,
    /// Types of the same storage are accepted too, see [`Tensor::accepted`].
    pub storage: bool,
    /// Its memory layout.
    pub strides: Strides,
    /// Where its elements live.
    pub device: Device,
    /// Required alignment of the first element in bytes, a power of two; `None` for that of one lane.
    pub align: Option<u64>,
}

/// The extents of a tensor, or the numbers of a shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// `[...]`: any rank, any extents.
    AnyRank,
    /// `[n, 64]`: one entry per dim; no entry for a scalar tensor.
    Dims(Vec<Dim>),
}

/// One extent or stride.
#[derive(Clone, Debug, PartialEq)]
pub enum Dim {
    /// `_`: any.
    Any,
    /// An integer, a symbol, or an expression over symbols.
    Expr(Expr),
}

/// The memory layout of a tensor.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Strides {
    /// Compact, row-major.
    #[default]
    Contiguous,
    /// Anything.
    Any,
    /// One entry per dim, in elements.
    List(Vec<Dim>),
}

/// Where the elements of a tensor live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Any type of device.
    Any,
    /// One type of device.
    Type(DeviceType),
}

/// A class of objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectClass {
    /// A function.
    Function,
    /// A module.
    Module,
    /// A tensor of which nothing is required.
    Tensor,
    /// Any object.
    Any,
    /// The class of this type key, and those derived from it.
    Key(String),
}

/// Sequences by their type. Each accepts the other, as the C++ macro does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// Immutable.
    Array,
    /// Mutable.
    List,
}

/// Mappings by their type. Each accepts the other, as the C++ macro does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mapping {
    /// Immutable.
    Map,
    /// Mutable.
    Dict,
}

/// An element of a tuple.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// A name by which expressions and errors call it, instead of its index.
    pub name: Option<String>,
    /// Which values it accepts.
    pub ty: ParamType,
}

/// A value that is written out.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A finite float.
    Float(f64),
    /// Text.
    Str(String),
}

impl Tensor {
    /// The number of dims, if it is fixed.
    pub(crate) fn rank(&self) -> Option<usize> {
        self.shape.rank()
    }

    /// Required alignment in bytes: as declared, or that of one lane of the smallest element type.
    pub(crate) fn alignment(&self) -> u64 {
        self.align.unwrap_or_else(|| self.natural_alignment())
    }

    /// The alignment of one lane of the smallest declared element type, at least 1.
    pub(crate) fn natural_alignment(&self) -> u64 {
        let lane = |dtype: &DType| {
            let bytes = u64::from(dtype.lane_bytes());
            bytes & bytes.wrapping_neg()
        };
        self.dtypes.iter().map(lane).min().unwrap_or(1)
    }

    /// Every element type that is accepted, the declared ones first. With
    /// [`storage`](Tensor::storage) these are also the others of one byte, if one is declared: frameworks
    /// pass `bool`, `uint8`, `int8`, the types `float8_…` and pairs of `float4_e2m1fn` as each other, because
    /// DLPack or they lack the real one.
    pub fn accepted(&self) -> Vec<DType> {
        let mut all = self.dtypes.clone();
        let is_byte = |dtype: &DType| u32::from(dtype.bits) * u32::from(dtype.lanes) == 8;
        if self.storage && all.iter().any(is_byte) {
            let codes = TypeCode::ALL.iter().map(|&code| (code as u8, code.implied_bits()));
            let implied = codes.filter_map(|(code, bits)| (bits == Some(8)).then_some(code));
            let integers = [TypeCode::Int as u8, TypeCode::UInt as u8];
            let bytes = integers.into_iter().chain(implied).map(|code| (code, 8, 1));
            let pair = (TypeCode::Float4E2m1fn as u8, 4, 2);
            for (code, bits, lanes) in bytes.chain([pair]) {
                let dtype = DType { code, bits, lanes };
                if !all.contains(&dtype) {
                    all.push(dtype);
                }
            }
        }
        all
    }
}

impl Shape {
    /// The number of dims, if it is fixed.
    pub(crate) fn rank(&self) -> Option<usize> {
        match self {
            Shape::AnyRank => None,
            Shape::Dims(dims) => Some(dims.len()),
        }
    }
}

impl ParamType {
    /// The type without `Optional` around it, and whether None is one of its values because of that, or
    /// because it is a literal.
    pub fn required(&self) -> (&ParamType, bool) {
        if let ParamType::Optional(inner) = self {
            return (inner, true);
        }
        (self, matches!(self, ParamType::Literal(literals) if literals.contains(&Literal::None)))
    }
}

impl ParamType {
    /// The types that are nested directly in this one.
    fn nested(&self) -> Vec<&ParamType> {
        match self {
            ParamType::Sequence(_, inner) | ParamType::Optional(inner) => vec![inner],
            ParamType::Mapping(_, types) => types.iter().collect(),
            ParamType::Tuple(elements) => elements.iter().map(|element| &element.ty).collect(),
            ParamType::Union(types) => types.iter().collect(),
            ParamType::Scalar(_)
            | ParamType::Tensor(_)
            | ParamType::Leaf(_)
            | ParamType::Shape(_)
            | ParamType::Object(_)
            | ParamType::Literal(_) => Vec::new(),
        }
    }

    /// True if some path from the type to one without nested types has more than `height` of them.
    pub(crate) fn is_deeper_than(&self, height: usize) -> bool {
        height == 0 || self.nested().into_iter().any(|ty| ty.is_deeper_than(height - 1))
    }

    /// Every expression in it: of extents, strides and numbers of shapes.
    pub(crate) fn exprs(&self) -> Vec<&Expr> {
        let strides = if let Some(Tensor { strides: Strides::List(list), .. }) = self.tensor() {
            &list[..]
        } else {
            &[]
        };
        let shape = if let Some(Shape::Dims(dims)) = self.shape() { &dims[..] } else { &[] };
        let own = shape.iter().chain(strides).filter_map(|dim| match dim {
            Dim::Any => None,
            Dim::Expr(expr) => Some(expr),
        });
        own.chain(self.nested().into_iter().flat_map(ParamType::exprs)).collect()
    }

    /// The tensor that it is.
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        if let ParamType::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    /// The shape that a tensor or a shape must have.
    pub(crate) fn shape(&self) -> Option<&Shape> {
        if let ParamType::Shape(shape) = self {
            return Some(shape);
        }
        self.tensor().map(|tensor| &tensor.shape)
    }

    /// The class of an object.
    pub(crate) fn class(&self) -> Option<&ObjectClass> {
        if let ParamType::Object(class) = self { Some(class) } else { None }
    }

    /// The scalar type of a number, also of one that is one of several literals.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        if let ParamType::Literal(literals) = self {
            return literal_scalar(literals);
        }
        if let ParamType::Scalar(scalar) = self { Some(*scalar) } else { None }
    }

    /// True if a literal can be the default of a parameter of this type: if its own type fits. Whether its
    /// value does is checked with every call.
    pub(crate) fn takes(&self, literal: &Literal) -> bool {
        let (ty, optional) = self.required();
        match ty {
            _ if *literal == Literal::None && optional => true,
            ParamType::Scalar(Scalar::Ptr) => *literal == Literal::None,
            ParamType::Scalar(scalar) if scalar.is_float() => {
                matches!(literal, Literal::Float(_) | Literal::Int(_) | Literal::Bool(_))
            }
            ParamType::Scalar(_) => matches!(literal, Literal::Int(_) | Literal::Bool(_)),
            ParamType::Leaf(leaf) => leaf.takes(literal),
            ParamType::Union(types) => types.iter().any(|ty| ty.takes(literal)),
            ParamType::Literal(literals) => literals.contains(literal),
            ParamType::Tensor(_)
            | ParamType::Shape(_)
            | ParamType::Object(_)
            | ParamType::Sequence(..)
            | ParamType::Mapping(..)
            | ParamType::Tuple(_)
            | ParamType::Optional(_) => false,
        }
    }
}

impl ObjectClass {
    /// The type key; `None` for any object.
    pub fn key(&self) -> Option<&str> {
        match self {
            ObjectClass::Function => Some("ffi.Function"),
            ObjectClass::Module => Some("ffi.Module"),
            ObjectClass::Tensor => Some("ffi.Tensor"),
            ObjectClass::Any => None,
            ObjectClass::Key(key) => Some(key),
        }
    }
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
