//! Types of parameters and results.

use abi_spec::{DType, DeviceType, Scalar};

use crate::declaration::{
    Device, Dim, Element, Expr, Leaf, Literal, Mapping, ObjectClass, Output, ParamType, ResultType,
    Sequence, Shape, Strides, Tensor,
};

/// A number, a symbol or an expression over symbols.
impl<E: Into<Expr>> From<E> for Dim {
    fn from(expr: E) -> Dim {
        Dim::Expr(expr.into())
    }
}

impl<D: Into<Dim>, const N: usize> From<[D; N]> for Shape {
    fn from(dims: [D; N]) -> Shape {
        Shape::Dims(dims.into_iter().map(Into::into).collect())
    }
}

impl<D: Into<Dim>> From<Vec<D>> for Shape {
    fn from(dims: Vec<D>) -> Shape {
        Shape::Dims(dims.into_iter().map(Into::into).collect())
    }
}

impl From<DeviceType> for Device {
    fn from(ty: DeviceType) -> Device {
        Device::Type(ty)
    }
}

impl Tensor {
    /// A compact cpu tensor at the natural alignment.
    ///
    /// ```
    /// use tvm_ffi_codegen::{DType, DeviceType, Dim, Shape, Strides, Tensor, exprs};
    ///
    /// let rows = Tensor::new(exprs!["n", 64], DType::FLOAT32)
    ///     .with_dtype(DType::FLOAT64)
    ///     .with_strides(Strides::List(vec!["s".into(), 1.into()]))
    ///     .with_device(DeviceType::CUDA)
    ///     .with_align(16);
    /// let text = "Tensor([n, 64], float32|float64, strides=[s, 1], device=cuda, align=16)";
    /// assert_eq!(rows.to_string(), text);
    /// let any = Tensor::new([Dim::Any], DType::INT8).with_storage();
    /// assert_eq!(any.to_string(), "Tensor([_], int8, dtypes=storage)");
    /// let any = Tensor::new(Shape::AnyRank, DType::INT8);
    /// assert_eq!(any.to_string(), "Tensor([...], int8)");
    /// ```
    pub fn new(shape: impl Into<Shape>, dtype: DType) -> Tensor {
        let device = Device::Type(DeviceType::CPU);
        let (shape, strides) = (shape.into(), Strides::Contiguous);
        Tensor { shape, dtypes: vec![dtype], storage: false, strides, device, align: None }
    }

    /// Elements of this type too.
    pub fn with_dtype(mut self, dtype: DType) -> Tensor {
        self.dtypes.push(dtype);
        self
    }

    /// Elements of [the same storage](Tensor::storage) too.
    pub fn with_storage(mut self) -> Tensor {
        self.storage = true;
        self
    }

    /// Another layout than the compact one.
    pub fn with_strides(mut self, strides: Strides) -> Tensor {
        self.strides = strides;
        self
    }

    /// On another device than the cpu.
    pub fn with_device(mut self, device: impl Into<Device>) -> Tensor {
        self.device = device.into();
        self
    }

    /// Aligned to this many bytes, a power of two.
    pub fn with_align(mut self, bytes: u64) -> Tensor {
        self.align = Some(bytes);
        self
    }
}

/// Conversions into types of parameters.
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

/// Types with parts. Those without are made [`from`](From) a [`Scalar`], [`Tensor`], [`Leaf`], [`Shape`] or [`ObjectClass`].
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
    /// `Array[of]`
    pub fn array(of: impl Into<ParamType>) -> ParamType {
        ParamType::Sequence(Sequence::Array, Box::new(of.into()))
    }

    /// `List[of]`
    pub fn list(of: impl Into<ParamType>) -> ParamType {
        ParamType::Sequence(Sequence::List, Box::new(of.into()))
    }

    /// `Map[key, value]`
    pub fn map(key: impl Into<ParamType>, value: impl Into<ParamType>) -> ParamType {
        ParamType::Mapping(Mapping::Map, Box::new([key.into(), value.into()]))
    }

    /// `Dict[key, value]`
    pub fn dict(key: impl Into<ParamType>, value: impl Into<ParamType>) -> ParamType {
        ParamType::Mapping(Mapping::Dict, Box::new([key.into(), value.into()]))
    }

    /// `Tuple[…]`
    pub fn tuple(elements: impl IntoIterator<Item: Into<Element>>) -> ParamType {
        ParamType::Tuple(elements.into_iter().map(Into::into).collect())
    }

    /// `Optional[of]`
    pub fn optional(of: impl Into<ParamType>) -> ParamType {
        ParamType::Optional(Box::new(of.into()))
    }

    /// `Union[…]`
    pub fn union(types: impl IntoIterator<Item: Into<ParamType>>) -> ParamType {
        ParamType::Union(types.into_iter().map(Into::into).collect())
    }

    /// `Literal[…]`
    pub fn literal(values: impl IntoIterator<Item: Into<Literal>>) -> ParamType {
        ParamType::Literal(values.into_iter().map(Into::into).collect())
    }
}

impl Element {
    /// One that is called by its index.
    pub fn new(ty: impl Into<ParamType>) -> Element {
        Element { name: None, ty: ty.into() }
    }

    /// One that is called by its name.
    pub fn named(name: impl Into<String>, ty: impl Into<ParamType>) -> Element {
        Element { name: Some(name.into()), ty: ty.into() }
    }
}

/// One that is called by its index.
impl<T: Into<ParamType>> From<T> for Element {
    fn from(ty: T) -> Element {
        Element::new(ty)
    }
}

/// Conversions into values that are written out.
macro_rules! literals {
    ($($from:ty => $variant:ident;)*) => {$(
        impl From<$from> for Literal {
            fn from(value: $from) -> Literal {
                Literal::$variant(value.into())
            }
        }
    )*};
}

literals! {
    bool => Bool;
    i64 => Int;
    f64 => Float;
    &str => Str;
}

/// A value.
impl<T: Into<ParamType>> From<T> for ResultType {
    fn from(ty: T) -> ResultType {
        ResultType::Value(ty.into())
    }
}

/// One tensor that is allocated.
impl From<Output> for ResultType {
    fn from(output: Output) -> ResultType {
        ResultType::Allocated(vec![output])
    }
}

/// Tensors that are allocated.
impl From<Vec<Output>> for ResultType {
    fn from(outputs: Vec<Output>) -> ResultType {
        ResultType::Allocated(outputs)
    }
}

impl Output {
    /// A tensor that is allocated, and its name.
    pub fn new(name: impl Into<String>, tensor: Tensor) -> Output {
        Output { name: name.into(), tensor }
    }
}
