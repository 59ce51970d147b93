//! Tensor types: extents, element types, strides and devices.

use std::fmt::{self, Display, Formatter};

use abi_spec::{DType, DeviceType, TypeCode};

use super::{Access, Expr};

/// Type of a tensor.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct Tensor {
    /// Extents.
    pub shape: Shape,
    /// Accepted element types, each once; none if [all](Tensor::any_dtype) are, or if an earlier tensor binds
    /// [`dtype_symbol`](Tensor::dtype_symbol).
    pub dtypes: Vec<DType>,
    /// True if every element type is accepted, registered with DLPack or not: `any`.
    pub any_dtype: bool,
    /// Name of the element type, a symbol. The tensor with [`dtypes`](Tensor::dtypes), or with
    /// [`any_dtype`](Tensor::any_dtype), binds it to the element type that it receives. In tensors without them it stands
    /// for that element type.
    pub dtype_symbol: Option<String>,
    /// True if element types of the same storage are accepted too, see [`Tensor::accepted`].
    pub storage: bool,
    /// Memory layout.
    pub strides: Strides,
    /// Device of the elements.
    pub device: Device,
    /// Alignment of the first element in bytes, a power of two; `None` for the alignment of one lane, or for 1 if every
    /// element type is accepted.
    pub align: Option<u64>,
    /// Access to the elements of a tensor that a function is given.
    pub access: Access,
}

/// Extents of a tensor, or numbers of a shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// `[...]`: any rank, any extents.
    AnyRank,
    /// `[n, 64]`: one entry per dim; no entry for a scalar tensor.
    Dims(Vec<Dim>),
    /// `[..., m, k]` and `[outer..., m, k]`: any rank that leaves room for the last dims. Only tensors have this shape.
    Trailing {
        /// True if the first entry of `dims` is the product of all leading extents, 1 if there are none. The leading
        /// dims must then be one dim in memory too.
        folds: bool,
        /// At least one entry. The first one is a plain name if `folds` is true.
        dims: Vec<Dim>,
    },
}

/// Place of a declared dim among the dims of the tensor itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnDim {
    /// The dim at this index from the start.
    FromStart(usize),
    /// The dim at this count from the end, at least 1.
    FromEnd(usize),
    /// All dims but this many at the end.
    Leading(usize),
}

/// Prints the index as errors show it: `0`, `-1`, `:-1`, or `:` for all dims.
impl Display for OwnDim {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            OwnDim::FromStart(index) => index.fmt(f),
            OwnDim::FromEnd(count) => write!(f, "-{count}"),
            OwnDim::Leading(0) => f.write_str(":"),
            OwnDim::Leading(after) => write!(f, ":-{after}"),
        }
    }
}

impl OwnDim {
    /// Returns the index of the dim in the language: negative if it counts from the end. Leading dims have the index of
    /// the last of them.
    pub(crate) fn index(self) -> i32 {
        match self {
            OwnDim::FromStart(at) => at as i32,
            OwnDim::FromEnd(count) => -(count as i32),
            OwnDim::Leading(after) => -(after as i32) - 1,
        }
    }
}

/// One extent or stride.
#[derive(Clone, Debug, PartialEq)]
pub enum Dim {
    /// `_`: any number.
    Any,
    /// An integer, a symbol, or an expression over symbols.
    Expr(Expr),
}

/// Memory layout of a tensor.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Strides {
    /// Compact, row-major.
    #[default]
    Contiguous,
    /// Any layout.
    Any,
    /// One stride per declared dim, in elements. The strides of the leading dims of `[..., m, k]` are free, and the
    /// list is `[..., s, 1]` as text. The first stride of `[outer..., m, k]` is that of its innermost leading dim whose
    /// extent is above 1.
    List(Vec<Dim>),
}

/// Device of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// Any type of device.
    Any,
    /// One type of device.
    Type(DeviceType),
}

impl Tensor {
    /// Returns the rank; `None` if it is not fixed.
    pub(crate) fn rank(&self) -> Option<usize> {
        self.shape.rank()
    }

    /// Returns true if the leading dims must be one dim in memory and nothing else implies that they are.
    pub(crate) fn checks_fold(&self) -> bool {
        self.shape.folds() && self.strides != Strides::Contiguous
    }

    /// Returns true if the declaration says which element types are accepted: some, or all.
    pub(crate) fn has_dtypes(&self) -> bool {
        self.any_dtype || !self.dtypes.is_empty()
    }

    /// Returns the text of the element types that are declared: `float16|float32`, `any`, or nothing.
    pub(crate) fn dtypes_text(&self) -> String {
        if self.any_dtype {
            return ANY_DTYPE.to_owned();
        }
        if let [dtype] = self.dtypes[..] {
            return dtype.to_string();
        }
        let names: Vec<String> = self.dtypes.iter().map(DType::to_string).collect();
        names.join("|")
    }

    /// Returns the alignment of one lane of the smallest element type, at least 1; `None` if the declaration does not
    /// say which element types are accepted.
    pub(crate) fn natural_alignment(&self) -> Option<u64> {
        if self.any_dtype { Some(1) } else { self.dtypes.iter().map(lane_alignment).min() }
    }

    /// Returns the alignment of one lane of the largest element type, at least 1: memory that is aligned to it suits
    /// every accepted element type.
    pub(crate) fn largest_alignment(&self) -> u64 {
        if self.any_dtype {
            return LARGEST_LANE;
        }
        self.accepted().iter().map(lane_alignment).max().unwrap_or(1)
    }

    /// Returns the symbol whose element type the tensor has, if an earlier tensor binds it.
    pub(crate) fn used_symbol(&self) -> Option<&str> {
        self.dtype_symbol.as_deref().filter(|_| !self.has_dtypes())
    }

    /// Returns the symbol that the tensor binds to its element type.
    pub(crate) fn bound_symbol(&self) -> Option<&str> {
        self.dtype_symbol.as_deref().filter(|_| self.has_dtypes())
    }

    /// Returns the accepted element types, the declared ones first. With [`storage`](Tensor::storage), and if a
    /// declared type has one byte, all other types of one byte follow: frameworks pass `bool`, `uint8`, `int8`, the
    /// `float8_…` types and pairs of `float4_e2m1fn` as each other where DLPack or the framework lacks the real type.
    /// There are none if all are accepted, or if an earlier tensor binds the element type.
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

    /// Returns the extents that are expressions.
    pub(crate) fn extents(&self) -> impl Iterator<Item = &Expr> {
        self.shape.dims().iter().filter_map(Dim::expr)
    }
}

/// Word of the language for every element type.
pub(crate) const ANY_DTYPE: &str = "any";

/// The largest alignment of one lane in bytes: that of `complex128`.
const LARGEST_LANE: u64 = 16;

/// Returns the alignment of one lane in bytes, at least 1.
fn lane_alignment(dtype: &DType) -> u64 {
    let bytes = u64::from(dtype.lane_bytes());
    bytes & bytes.wrapping_neg()
}

impl Dim {
    /// Returns the expression; `None` for any number.
    pub(crate) fn expr(&self) -> Option<&Expr> {
        if let Dim::Expr(expr) = self { Some(expr) } else { None }
    }
}

impl Strides {
    /// Builds `[s, 1]`: a stride for each declared dim, in elements.
    pub fn of(strides: impl IntoIterator<Item: Into<Dim>>) -> Strides {
        Strides::List(strides.into_iter().map(Into::into).collect())
    }

    /// Returns the declared strides; none if the layout is compact or arbitrary.
    pub(crate) fn dims(&self) -> &[Dim] {
        if let Strides::List(dims) = self { dims } else { &[] }
    }
}

impl Shape {
    /// Builds `[n, 64]` from anything that yields dims; arrays, slices and vectors of them convert by themselves.
    ///
    /// ```
    /// use tvm_ffi_codegen::{DType, Shape, Tensor};
    ///
    /// let names: Vec<String> = (0..3).map(|dim| format!("n{dim}")).collect();
    /// assert_eq!(Tensor::new(&names, DType::FLOAT32), Tensor::new(Shape::of(["n0", "n1", "n2"]), DType::FLOAT32));
    /// assert_eq!(Shape::of([16_usize, 32].iter().map(|extent| 2 * extent)).to_string(), "[32, 64]");
    /// ```
    pub fn of(dims: impl IntoIterator<Item: Into<Dim>>) -> Shape {
        Shape::Dims(dims.into_iter().map(Into::into).collect())
    }

    /// Builds `[..., m, k]`: the last dims of a tensor of any rank.
    ///
    /// ```
    /// use tvm_ffi_codegen::{DType, Shape, Strides, Tensor, exprs};
    ///
    /// let strides = Strides::of(exprs!["s", 1]);
    /// let rows = Tensor::new(Shape::trailing(["m", "k"]), DType::BFLOAT16).with_strides(strides);
    /// assert_eq!(rows.to_string(), "Tensor([..., m, k], bfloat16, strides=[..., s, 1])");
    /// ```
    pub fn trailing<D: Into<Dim>>(dims: impl IntoIterator<Item = D>) -> Shape {
        Shape::Trailing { folds: false, dims: dims.into_iter().map(Into::into).collect() }
    }

    /// Builds `[outer..., m, k]`: the product of the leading extents, and the last dims.
    ///
    /// ```
    /// use tvm_ffi_codegen::{DType, Dim, Shape, Strides, Tensor, exprs};
    ///
    /// let strides = Strides::of(exprs!["s", 1]);
    /// let rows = Tensor::new(Shape::folded("outer", ["k"]), DType::FLOAT32).with_strides(strides);
    /// assert_eq!(rows.to_string(), "Tensor([outer..., k], float32, strides=[s, 1])");
    /// assert_eq!(Shape::folded("n", [Dim::Any; 0]).to_string(), "[n...]");
    /// ```
    pub fn folded<D: Into<Dim>>(outer: &str, dims: impl IntoIterator<Item = D>) -> Shape {
        let outer = Dim::Expr(Expr::name(outer));
        let dims = std::iter::once(outer).chain(dims.into_iter().map(Into::into)).collect();
        Shape::Trailing { folds: true, dims }
    }

    /// Returns the declared extents or numbers; none for `[...]`.
    pub(crate) fn dims(&self) -> &[Dim] {
        match self {
            Shape::AnyRank => &[],
            Shape::Dims(dims) | Shape::Trailing { dims, .. } => dims,
        }
    }

    /// Returns the number of dims; `None` if it is not fixed.
    pub(crate) fn rank(&self) -> Option<usize> {
        match self {
            Shape::AnyRank | Shape::Trailing { .. } => None,
            Shape::Dims(dims) => Some(dims.len()),
        }
    }

    /// Returns the smallest number of dims.
    pub(crate) fn least_rank(&self) -> usize {
        match self {
            Shape::AnyRank => 0,
            Shape::Dims(dims) => dims.len(),
            Shape::Trailing { folds, dims } => dims.len() - usize::from(*folds),
        }
    }

    /// Returns true if the declared dims are the last ones of a tensor of any rank.
    pub(crate) fn is_trailing(&self) -> bool {
        matches!(self, Shape::Trailing { .. })
    }

    /// Returns true if the first declared dim is all leading dims.
    pub(crate) fn folds(&self) -> bool {
        matches!(self, Shape::Trailing { folds: true, .. })
    }

    /// Returns the place of a declared dim among the dims of the tensor itself.
    pub(crate) fn own_dim(&self, dim: usize) -> OwnDim {
        match self {
            Shape::AnyRank | Shape::Dims(_) => OwnDim::FromStart(dim),
            Shape::Trailing { folds: true, dims } if dim == 0 => OwnDim::Leading(dims.len() - 1),
            Shape::Trailing { dims, .. } => OwnDim::FromEnd(dims.len() - dim),
        }
    }

    /// Returns the declared dim at an index of the tensor itself, from the end if the index is negative; `None` if no
    /// declared dim is always there.
    pub(crate) fn declared_dim(&self, index: i32) -> Option<usize> {
        let at = i64::from(index);
        let dims = self.dims().len() as i64;
        let first = match self {
            Shape::AnyRank => return None,
            Shape::Dims(_) if at >= 0 => return (at < dims).then_some(at as usize),
            Shape::Dims(_) | Shape::Trailing { folds: false, .. } => 0,
            Shape::Trailing { folds: true, .. } => 1,
        };
        (at < 0 && dims + at >= first).then_some((dims + at) as usize)
    }
}

impl From<DeviceType> for Device {
    fn from(ty: DeviceType) -> Device {
        Device::Type(ty)
    }
}

impl Tensor {
    /// Builds a compact cpu tensor with natural alignment.
    ///
    /// ```
    /// use tvm_ffi_codegen::{DType, DeviceType, Dim, Shape, Strides, Tensor, exprs};
    ///
    /// let rows = Tensor::new(exprs!["n", 64], DType::FLOAT32)
    ///     .with_dtype(DType::FLOAT64)
    ///     .with_strides(Strides::of(exprs!["s", 1]))
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
        Tensor { dtypes: vec![dtype], dtype_symbol: None, ..Tensor::of_symbol(shape, "") }
    }

    /// Builds a compact cpu tensor whose element type an earlier tensor binds to a symbol.
    ///
    /// ```
    /// use tvm_ffi_codegen::{DType, Tensor};
    ///
    /// let x = Tensor::new(["n"], DType::FLOAT16).with_dtype(DType::BFLOAT16).with_dtype_symbol("T");
    /// assert_eq!(x.to_string(), "Tensor([n], T: float16|bfloat16)");
    /// assert_eq!(Tensor::of_symbol(["n"], "T").to_string(), "Tensor([n], T)");
    /// ```
    pub fn of_symbol(shape: impl Into<Shape>, symbol: impl Into<String>) -> Tensor {
        Tensor {
            shape: shape.into(),
            dtypes: Vec::new(),
            any_dtype: false,
            dtype_symbol: Some(symbol.into()),
            storage: false,
            strides: Strides::Contiguous,
            device: Device::Type(DeviceType::CPU),
            align: None,
            access: Access::Update,
        }
    }

    /// Builds a compact cpu tensor of any element type.
    ///
    /// ```
    /// use tvm_ffi_codegen::Tensor;
    ///
    /// assert_eq!(Tensor::of_any(["n"]).to_string(), "Tensor([n], any)");
    /// assert_eq!(Tensor::of_any(["n"]).with_dtype_symbol("T").to_string(), "Tensor([n], T: any)");
    /// ```
    pub fn of_any(shape: impl Into<Shape>) -> Tensor {
        Tensor { any_dtype: true, dtype_symbol: None, ..Tensor::of_symbol(shape, "") }
    }

    /// Sets the accepted element types: one, or several of which a call passes any.
    ///
    /// ```
    /// use tvm_ffi_codegen::{DType, Tensor};
    ///
    /// let x = Tensor::of_symbol(["n"], "T").with_dtypes([DType::FLOAT16, DType::BFLOAT16]);
    /// assert_eq!(x.to_string(), "Tensor([n], T: float16|bfloat16)");
    /// ```
    pub fn with_dtypes(mut self, dtypes: impl IntoIterator<Item = DType>) -> Tensor {
        (self.dtypes, self.any_dtype) = (dtypes.into_iter().collect(), false);
        self
    }

    /// Appends an accepted element type.
    pub fn with_dtype(mut self, dtype: DType) -> Tensor {
        self.dtypes.push(dtype);
        self
    }

    /// Binds a symbol to the element type that is received.
    pub fn with_dtype_symbol(mut self, symbol: impl Into<String>) -> Tensor {
        self.dtype_symbol = Some(symbol.into());
        self
    }

    /// Accepts element types of [the same storage](Tensor::storage) too.
    pub fn with_storage(mut self) -> Tensor {
        self.storage = true;
        self
    }

    /// Sets the memory layout.
    pub fn with_strides(mut self, strides: Strides) -> Tensor {
        self.strides = strides;
        self
    }

    /// Sets the device.
    pub fn with_device(mut self, device: impl Into<Device>) -> Tensor {
        self.device = device.into();
        self
    }

    /// Sets the alignment in bytes, a power of two.
    pub fn with_align(mut self, bytes: u64) -> Tensor {
        self.align = Some(bytes);
        self
    }
}
