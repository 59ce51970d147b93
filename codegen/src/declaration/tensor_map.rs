//! Tensor maps: how GPU kernels access memory in boxes, or in columns of pixels.

use abi_spec::DType;

use super::Expr;

/// A tensor map: how a GPU kernel accesses memory in boxes, or in columns of pixels. Dims are in the order of the
/// tensor's dims, the outermost first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
pub struct TensorMap {
    /// Tensor whose memory the map describes. Without [`dims`](TensorMap::dims) its rank is 1 to 5.
    pub tensor: Expr,
    /// Extents of the map in elements, 1 to 5 of them; an empty list for those of the tensor.
    pub dims: Vec<Expr>,
    /// Strides of the map in elements, the last one 1. An empty list stands for the tensor's strides or, with
    /// [`dims`](TensorMap::dims), for compact ones, for which the tensor must be declared contiguous.
    pub strides: Vec<Expr>,
    /// Bytes from the first element of the tensor to that of the map; `None` for 0.
    pub offset: Option<Expr>,
    /// Elements that one access brings.
    pub mode: MapMode,
    /// Distances between the elements of a box or between pixels, 1 to 8 each; an empty list for 1 in every dim.
    pub steps: Vec<Expr>,
    /// Interleaving of elements.
    pub interleave: Interleave,
    /// Swizzling of a box over the banks of shared memory.
    pub swizzle: Swizzle,
    /// Bytes that an access brings into the L2 cache.
    pub promotion: Promotion,
    /// Value of elements outside the tensor.
    pub fill: Fill,
    /// Element type; `None` for the one of the tensor. With [`dims`](TensorMap::dims) its size may differ from that of
    /// the tensor's.
    pub dtype: Option<MapType>,
}

/// Mode of a tensor map: the elements that one access brings.
#[derive(Clone, Debug, PartialEq)]
pub enum MapMode {
    /// `box=[64, 64]`: a box. The driver makes the map by `cuTensorMapEncodeTiled`. The extents are 1 to 256 each.
    Tiled(Vec<Expr>),
    /// `im2col(…)`: a column of pixels. The driver makes the map by `cuTensorMapEncodeIm2col`.
    Im2col(Box<Im2col>),
}

/// A column of pixels: the rows of the matrix that a convolution multiplies by its filters. A map of columns has 3 to 5
/// dims: images, then one to three spatial dims (depth, height and width; or the last of them), then channels.
///
/// The pixels are those of a *bounding box* of each image, from one row to the next and from one image to the next. A
/// kernel adds the position in the filter to each of them. So for a filter of extent `r` with padding `p` the lower
/// corner is `-p` and the upper one `p - (r - 1)`; what lies outside the image is filled.
#[derive(Clone, Debug, PartialEq)]
pub struct Im2col {
    /// Offsets from the first pixel of an image to the first one of the bounding box, for each spatial dim: -32768 to
    /// 32767 for one spatial dim, -128 to 127 for two, -16 to 15 for three.
    pub lower: Vec<Expr>,
    /// Offsets from the last pixel of an image to the last one of the bounding box, likewise. The bounding box must
    /// have pixels.
    pub upper: Vec<Expr>,
    /// Channels of a pixel that an access brings, 1 to 256.
    pub channels: Expr,
    /// Pixels that an access brings, 1 to 1024.
    pub pixels: Expr,
}

impl MapMode {
    /// Returns the number of dims of a map.
    pub(crate) fn rank(&self) -> usize {
        match self {
            MapMode::Tiled(extents) => extents.len(),
            MapMode::Im2col(columns) => columns.lower.len() + Im2col::OTHER_DIMS,
        }
    }

    fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let (lists, numbers) = match self {
            MapMode::Tiled(extents) => ([&extents[..], &[]], None),
            MapMode::Im2col(columns) => {
                ([&columns.lower[..], &columns.upper], Some([&columns.channels, &columns.pixels]))
            }
        };
        lists.into_iter().flatten().chain(numbers.into_iter().flatten())
    }
}

impl Im2col {
    /// Number of dims that are not spatial: images and channels.
    pub(crate) const OTHER_DIMS: usize = 2;
}

/// Declares enums of the driver's calls that encode maps. A variant has the driver's name, without prefix and in lower
/// case, and the driver's number.
macro_rules! options {
    ($($(#[$doc:meta])* $name:ident $prefix:literal { $($(#[$variant_doc:meta])* $variant:ident $text:literal $number:literal;)* })*) => {
        $($(#[$doc])*
        #[doc = concat!("`CU_TENSOR_MAP_", $prefix, "_…`")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* #[doc = concat!("`", $text, "`")] $variant = $number,)* }

        impl $name {
            /// Every variant.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// Returns the spelling in the language.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        })*
    };
}

options! {
    /// Interleaving of elements:
    Interleave "INTERLEAVE" { None "none" 0; B16 "16b" 1; B32 "32b" 2; }
    /// Swizzling of a box over banks:
    Swizzle "SWIZZLE" {
        None "none" 0; B32 "32b" 1; B64 "64b" 2; B128 "128b" 3;
        B128Atom32 "128b_atom_32b" 4; B128Atom32Flip8 "128b_atom_32b_flip_8b" 5; B128Atom64 "128b_atom_64b" 6;
    }
    /// Bytes that an access brings into the L2 cache:
    Promotion "L2_PROMOTION" { None "none" 0; B64 "64b" 1; B128 "128b" 2; B256 "256b" 3; }
    /// Value of elements outside the tensor:
    Fill "FLOAT_OOB_FILL" { None "none" 0; Nan "nan_request_zero_fma" 1; }
    /// Element type of a tensor map:
    MapType "DATA_TYPE" {
        Uint8 "uint8" 0; Uint16 "uint16" 1; Uint32 "uint32" 2; Int32 "int32" 3; Uint64 "uint64" 4; Int64 "int64" 5;
        Float16 "float16" 6; Float32 "float32" 7; Float64 "float64" 8; BFloat16 "bfloat16" 9;
        Float32Ftz "float32_ftz" 10; TFloat32 "tfloat32" 11; TFloat32Ftz "tfloat32_ftz" 12;
        U4x16Align8 "16u4_align8b" 13; U4x16Align16 "16u4_align16b" 14; U6x16Align16 "16u6_align16b" 15;
    }
}

/// Tensor map types of element types that have more than one byte.
const MAP_TYPES: [(DType, MapType); 10] = [
    (DType::FLOAT16, MapType::Float16),
    (DType::BFLOAT16, MapType::BFloat16),
    (DType::FLOAT32, MapType::Float32),
    (DType::FLOAT64, MapType::Float64),
    (DType::INT16, MapType::Uint16),
    (DType::UINT16, MapType::Uint16),
    (DType::INT32, MapType::Int32),
    (DType::UINT32, MapType::Uint32),
    (DType::INT64, MapType::Int64),
    (DType::UINT64, MapType::Uint64),
];

impl MapType {
    /// Returns the tensor map type of an element type; `None` if the driver has none.
    ///
    /// ```
    /// use tvm_ffi_codegen::{DType, MapType};
    ///
    /// assert_eq!(MapType::of(DType::BFLOAT16), Some(MapType::BFloat16));
    /// assert_eq!(MapType::of(DType::BOOL), Some(MapType::Uint8));
    /// assert_eq!(MapType::of("complex64".parse().unwrap()), None);
    /// ```
    pub fn of(dtype: DType) -> Option<MapType> {
        let known = MAP_TYPES.into_iter().find(|(of, _)| *of == dtype).map(|(_, ty)| ty);
        let is_byte = u32::from(dtype.bits) * u32::from(dtype.lanes) == 8;
        known.or(is_byte.then_some(MapType::Uint8))
    }

    /// Returns the bits of an element in the memory of the tensor.
    pub(crate) const fn bits(self) -> u32 {
        match self {
            MapType::U4x16Align8 | MapType::U4x16Align16 => 4,
            MapType::U6x16Align16 => 6,
            MapType::Uint8 => 8,
            MapType::Uint16 | MapType::Float16 | MapType::BFloat16 => 16,
            MapType::Uint32
            | MapType::Int32
            | MapType::Float32
            | MapType::Float32Ftz
            | MapType::TFloat32
            | MapType::TFloat32Ftz => 32,
            MapType::Uint64 | MapType::Int64 | MapType::Float64 => 64,
        }
    }

    /// Returns true if elements share bytes.
    pub(crate) const fn is_packed(self) -> bool {
        self.bits() < 8
    }

    /// Returns true if elements share bytes, and have gaps between them in shared memory.
    pub(crate) const fn is_padded(self) -> bool {
        matches!(self, MapType::U4x16Align16 | MapType::U6x16Align16)
    }

    /// Returns true for floating-point types of at least one byte.
    pub(crate) const fn is_float(self) -> bool {
        match self {
            MapType::Float16
            | MapType::Float32
            | MapType::Float64
            | MapType::BFloat16
            | MapType::Float32Ftz
            | MapType::TFloat32
            | MapType::TFloat32Ftz => true,
            MapType::Uint8
            | MapType::Uint16
            | MapType::Uint32
            | MapType::Int32
            | MapType::Uint64
            | MapType::Int64
            | MapType::U4x16Align8
            | MapType::U4x16Align16
            | MapType::U6x16Align16 => false,
        }
    }
}

impl Swizzle {
    /// Returns the bytes within which elements are swizzled; 0 without swizzling.
    pub(crate) const fn span(self) -> u32 {
        match self {
            Swizzle::None => 0,
            Swizzle::B32 => 32,
            Swizzle::B64 => 64,
            Swizzle::B128
            | Swizzle::B128Atom32
            | Swizzle::B128Atom32Flip8
            | Swizzle::B128Atom64 => 128,
        }
    }
}

impl TensorMap {
    /// Returns all expressions, the tensor first.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let numbers = self.dims.iter().chain(&self.strides).chain(&self.offset);
        [&self.tensor].into_iter().chain(numbers).chain(self.mode.exprs()).chain(&self.steps)
    }
}

/// Constructors of tensor maps.
///
/// ```
/// use tvm_ffi_codegen::{DType, DeviceType, Expr, Image, Launch, LaunchArg, Library, MapType};
/// use tvm_ffi_codegen::{Signature, Statement, Tensor, TensorMap, exprs};
///
/// let [n, m] = ["n", "m"].map(Expr::name);
/// let bytes = Tensor::new([&n, &m], DType::UINT8).with_device(DeviceType::CUDA);
/// let map = TensorMap::new("x", [1, 64, 16])
///     .dims(exprs![&n, &m / 128, 64])
///     .strides(exprs![&m / 2, 64, 1])
///     .offset(&n * 16)
///     .dtype(MapType::Uint16);
/// let launch = || Launch::new("code", "tma", [LaunchArg::from("m0")]).grid([1]).block([32]);
/// let function = Signature::new("f").param("x", bytes).body([
///     Statement::let_map("m0", map),
///     launch().into(),
///     launch().into(),
/// ]);
/// let text = "\
/// image code;
///
/// f(x: Tensor([n, m], uint8, device=cuda)) -> None
///     = {
///         let m0 = tensormap(x, dims=[n, m / 128, 64], strides=[m / 2, 64, 1], offset=n * 16, box=[1, 64, 16], dtype=\"uint16\");
///         launch code.\"tma\"(m0) grid(1) block(32);
///         launch code.\"tma\"(m0) grid(1) block(32);
///     };
/// ";
/// let library = Library::new([function]).with_image(Image::new("code"));
/// assert_eq!(library.to_string(), text);
/// assert_eq!(text.parse(), Ok(library));
/// ```
impl TensorMap {
    /// Builds a tensor map without options from a tensor and the extents of a box.
    pub fn new(tensor: impl Into<Expr>, extents: impl IntoIterator<Item: Into<Expr>>) -> TensorMap {
        let extents = extents.into_iter().map(Into::into).collect();
        TensorMap::with_mode(tensor, MapMode::Tiled(extents))
    }

    /// Builds a tensor map without options from a tensor and a column of pixels.
    ///
    /// ```
    /// use tvm_ffi_codegen::{Expr, Im2col, Swizzle, TensorMap, exprs};
    ///
    /// let [pad, last] = ["pad", "last"].map(Expr::name);
    /// let upper = exprs![&pad - &last, &pad - &last];
    /// let columns = Im2col { lower: exprs![-&pad, -&pad], upper, channels: 64.into(), pixels: 128.into() };
    /// let map = TensorMap::im2col("x", columns).steps([1, 2, 2, 1]).swizzle(Swizzle::B128);
    /// let text = "tensormap(x, im2col(lower=[-pad, -pad], upper=[pad - last, pad - last], channels=64, pixels=128), \
    ///     steps=[1, 2, 2, 1], swizzle=\"128b\")";
    /// assert_eq!(map.to_string(), text);
    /// ```
    pub fn im2col(tensor: impl Into<Expr>, columns: Im2col) -> TensorMap {
        TensorMap::with_mode(tensor, MapMode::Im2col(Box::new(columns)))
    }

    fn with_mode(tensor: impl Into<Expr>, mode: MapMode) -> TensorMap {
        TensorMap {
            tensor: tensor.into(),
            dims: Vec::new(),
            strides: Vec::new(),
            offset: None,
            mode,
            steps: Vec::new(),
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            promotion: Promotion::None,
            fill: Fill::None,
            dtype: None,
        }
    }

    /// Sets the extents of the map in elements.
    pub fn dims(mut self, dims: impl IntoIterator<Item: Into<Expr>>) -> TensorMap {
        self.dims = dims.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the strides of the map in elements.
    pub fn strides(mut self, strides: impl IntoIterator<Item: Into<Expr>>) -> TensorMap {
        self.strides = strides.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the bytes from the first element of the tensor to that of the map.
    pub fn offset(mut self, bytes: impl Into<Expr>) -> TensorMap {
        self.offset = Some(bytes.into());
        self
    }

    /// Sets the distances between the elements of a box, or between pixels.
    pub fn steps(mut self, steps: impl IntoIterator<Item: Into<Expr>>) -> TensorMap {
        self.steps = steps.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the interleaving.
    pub fn interleave(self, interleave: Interleave) -> TensorMap {
        TensorMap { interleave, ..self }
    }

    /// Sets the swizzling.
    pub fn swizzle(self, swizzle: Swizzle) -> TensorMap {
        TensorMap { swizzle, ..self }
    }

    /// Sets the bytes that an access brings into the L2 cache.
    pub fn promotion(self, promotion: Promotion) -> TensorMap {
        TensorMap { promotion, ..self }
    }

    /// Sets the value of elements outside the tensor.
    pub fn fill(self, fill: Fill) -> TensorMap {
        TensorMap { fill, ..self }
    }

    /// Sets the element type. Without dims it must have the size of the tensor's.
    pub fn dtype(self, dtype: MapType) -> TensorMap {
        TensorMap { dtype: Some(dtype), ..self }
    }
}
