//! Types of parameters: the values that a parameter accepts.

use abi_spec::{Scalar, TypeIndex};

use super::{Dim, Expr, Leaf, Shape, Tensor};

/// Type of a parameter, a result or a value nested in one.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamType {
    /// A number or an opaque pointer.
    Scalar(Scalar),
    /// A tensor, as a tensor object or a `DLTensor*`.
    Tensor(Tensor),
    /// A type without parts, such as text or an element type.
    Leaf(Leaf),
    /// A shape, or an array or list of integers. The dims constrain its numbers.
    Shape(Shape),
    /// An object of a class.
    Object(ObjectClass),
    /// An array or list of any number of elements of one type.
    Sequence(Sequence, Box<ParamType>),
    /// A map or dict: types of keys and values, in this order.
    Mapping(Mapping, Box<[ParamType; 2]>),
    /// An array with a fixed number of elements, each with a type of its own.
    Tuple(Vec<Element>),
    /// None or a value of the type.
    Optional(Box<ParamType>),
    /// A value of one of several types.
    Union(Vec<ParamType>),
    /// One of several literals.
    Literal(Vec<Literal>),
}

/// A class of objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ObjectClass {
    /// A function.
    Function,
    /// A module.
    Module,
    /// A tensor object without constraints.
    Tensor,
    /// Any object.
    Any,
    /// The class with this type key, and classes derived from it.
    Key(String),
}

/// Class of a sequence. Each accepts the other, like the C++ macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// An immutable array.
    Array,
    /// A mutable list.
    List,
}

/// Class of a mapping. Each accepts the other, like the C++ macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mapping {
    /// An immutable map.
    Map,
    /// A mutable dict.
    Dict,
}

/// An element of a tuple.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Name in expressions and errors; `None` to use the index.
    pub name: Option<String>,
    /// Type of the element.
    pub ty: ParamType,
}

/// A literal, in a type or as a default.
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

impl ParamType {
    /// Returns the type without `Optional`, and true if None is a value of the type because of `Optional` or a
    /// literal `None`.
    pub fn required(&self) -> (&ParamType, bool) {
        if let ParamType::Optional(inner) = self {
            return (inner, true);
        }
        (self, matches!(self, ParamType::Literal(literals) if literals.contains(&Literal::None)))
    }
}

impl ParamType {
    /// Returns the directly nested types.
    pub(crate) fn nested(&self) -> Vec<&ParamType> {
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

    /// Returns true if types nest deeper than `height`.
    pub(crate) fn is_deeper_than(&self, height: usize) -> bool {
        height == 0 || self.nested().into_iter().any(|ty| ty.is_deeper_than(height - 1))
    }

    /// Returns all expressions: extents, strides and numbers of shapes.
    pub(crate) fn exprs(&self) -> Vec<&Expr> {
        let shape = self.shape().map_or(&[][..], Shape::dims);
        let strides = self.tensor().map_or(&[][..], |tensor| tensor.strides.dims());
        let own = shape.iter().chain(strides).filter_map(Dim::expr);
        own.chain(self.nested().into_iter().flat_map(ParamType::exprs)).collect()
    }

    /// Returns all tensors, nested ones included, in source order.
    pub(crate) fn tensors(&self) -> Vec<&Tensor> {
        let nested = self.nested().into_iter().flat_map(ParamType::tensors);
        self.tensor().into_iter().chain(nested).collect()
    }

    /// Returns the tensor if the type is one.
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        if let ParamType::Tensor(tensor) = self { Some(tensor) } else { None }
    }

    /// Returns the shape if the type is a tensor or a shape.
    pub(crate) fn shape(&self) -> Option<&Shape> {
        if let ParamType::Shape(shape) = self {
            return Some(shape);
        }
        self.tensor().map(|tensor| &tensor.shape)
    }

    /// Returns the leaf if the type is one.
    pub(crate) fn leaf(&self) -> Option<Leaf> {
        if let ParamType::Leaf(leaf) = self { Some(*leaf) } else { None }
    }

    /// Returns true if the type accepts every value.
    pub(crate) fn is_any(&self) -> bool {
        self.leaf().is_some_and(Leaf::accepts_all)
    }

    /// Returns the class if the type is an object.
    pub(crate) fn class(&self) -> Option<&ObjectClass> {
        if let ParamType::Object(class) = self { Some(class) } else { None }
    }

    /// Returns the scalar type of a scalar, or of literals that share one.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        if let ParamType::Literal(literals) = self {
            return literal_scalar(literals);
        }
        if let ParamType::Scalar(scalar) = self { Some(*scalar) } else { None }
    }
}

impl ObjectClass {
    /// Returns the type key; `None` for any object, whose key is `ffi.Object`.
    pub fn key(&self) -> Option<&str> {
        match self {
            ObjectClass::Key(key) if TypeIndex::OBJECT.type_key() == Some(key) => None,
            ObjectClass::Function => Some("ffi.Function"),
            ObjectClass::Module => Some("ffi.Module"),
            ObjectClass::Tensor => Some("ffi.Tensor"),
            ObjectClass::Any => None,
            ObjectClass::Key(key) => Some(key),
        }
    }
}

/// Returns the scalar type that all literals other than `None` have.
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

/// Returns true if all literals other than `None` are text, and there is one.
pub(crate) fn is_text(literals: &[Literal]) -> bool {
    let mut some = literals.iter().filter(|literal| **literal != Literal::None).peekable();
    some.peek().is_some() && some.all(|literal| matches!(literal, Literal::Str(_)))
}

impl ObjectClass {
    /// Builds the class with this type key, and classes derived from it.
    pub fn of(key: impl Into<String>) -> ObjectClass {
        ObjectClass::Key(key.into())
    }
}

/// Implements conversions into parameter types.
macro_rules! types {
    ($($from:ident $variant:ident;)*) => {$(
        impl From<$from> for ParamType {
            fn from(part: $from) -> ParamType {
                ParamType::$variant(part)
            }
        }
    )*};
}

types! {
    Scalar Scalar;
    Tensor Tensor;
    Leaf Leaf;
    Shape Shape;
    ObjectClass Object;
}

/// Constructors of types with parts. [`From`] builds the others, from a [`Scalar`], [`Tensor`], [`Leaf`], [`Shape`]
/// or [`ObjectClass`].
///
/// ```
/// use tvm_ffi_codegen::{ObjectClass, Element, Leaf, Literal, ParamType, Scalar};
///
/// let pair = ParamType::tuple([Element::named("n", Scalar::Int64), Element::new(ObjectClass::Function)]);
/// assert_eq!(pair.to_string(), "Tuple[n: int64, Function]");
/// let table = ParamType::map(Leaf::Str, ParamType::array(pair));
/// assert_eq!(table.to_string(), "Map[str, Array[Tuple[n: int64, Function]]]");
/// let streams = ParamType::dict(Scalar::Int64, ParamType::list(ObjectClass::of("my.Stream")));
/// assert_eq!(streams.to_string(), r#"Dict[int64, List[Object["my.Stream"]]]"#);
/// let mode = ParamType::literal(["relu".into(), Literal::None]);
/// let some = ParamType::optional(ParamType::union([ParamType::from(Scalar::Bool), mode]));
/// assert_eq!(some.to_string(), r#"Optional[Union[bool, Literal["relu", None]]]"#);
/// ```
impl ParamType {
    /// Builds `Array[of]`.
    pub fn array(of: impl Into<ParamType>) -> ParamType {
        ParamType::Sequence(Sequence::Array, Box::new(of.into()))
    }

    /// Builds `List[of]`.
    pub fn list(of: impl Into<ParamType>) -> ParamType {
        ParamType::Sequence(Sequence::List, Box::new(of.into()))
    }

    /// Builds `Map[key, value]`.
    pub fn map(key: impl Into<ParamType>, value: impl Into<ParamType>) -> ParamType {
        ParamType::Mapping(Mapping::Map, Box::new([key.into(), value.into()]))
    }

    /// Builds `Dict[key, value]`.
    pub fn dict(key: impl Into<ParamType>, value: impl Into<ParamType>) -> ParamType {
        ParamType::Mapping(Mapping::Dict, Box::new([key.into(), value.into()]))
    }

    /// Builds `Tuple[…]`.
    pub fn tuple(elements: impl IntoIterator<Item: Into<Element>>) -> ParamType {
        ParamType::Tuple(elements.into_iter().map(Into::into).collect())
    }

    /// Builds `Optional[of]`.
    pub fn optional(of: impl Into<ParamType>) -> ParamType {
        ParamType::Optional(Box::new(of.into()))
    }

    /// Builds `Union[…]`.
    pub fn union(types: impl IntoIterator<Item: Into<ParamType>>) -> ParamType {
        ParamType::Union(types.into_iter().map(Into::into).collect())
    }

    /// Builds `Literal[…]`.
    pub fn literal(values: impl IntoIterator<Item: Into<Literal>>) -> ParamType {
        ParamType::Literal(values.into_iter().map(Into::into).collect())
    }
}

impl Element {
    /// Builds an element without a name.
    pub fn new(ty: impl Into<ParamType>) -> Element {
        Element { name: None, ty: ty.into() }
    }

    /// Builds an element with a name.
    pub fn named(name: impl Into<String>, ty: impl Into<ParamType>) -> Element {
        Element { name: Some(name.into()), ty: ty.into() }
    }
}

/// Builds an element without a name.
impl<T: Into<ParamType>> From<T> for Element {
    fn from(ty: T) -> Element {
        Element::new(ty)
    }
}
