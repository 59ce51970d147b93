//! Tensor types: extents, element types, strides and devices.

use abi_spec::{DType, DeviceType, TypeCode};

use super::Expr;

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

    /// Its extents, as far as they are expressions.
    pub(crate) fn extents(&self) -> impl Iterator<Item = &Expr> {
        let dims = match &self.shape {
            Shape::AnyRank => &[],
            Shape::Dims(dims) => &dims[..],
        };
        dims.iter().filter_map(|dim| match dim {
            Dim::Any => None,
            Dim::Expr(expr) => Some(expr),
        })
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
