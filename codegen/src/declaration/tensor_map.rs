//! Tensor maps: how GPU kernels access memory in boxes.

use abi_spec::DType;

use super::Expr;

/// A tensor map: how a GPU kernel accesses memory in boxes. Dims are in the order of the tensor's dims, the outermost
/// first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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
    /// Extents of a box, 1 to 256 each.
    pub extents: Vec<Expr>,
    /// Distances between the elements of a box, 1 to 8 each; an empty list for 1 in every dim.
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

/// Declares enums of `cuTensorMapEncodeTiled`. A variant has the driver's name, without prefix and in lower case, and
/// the driver's number.
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
}

impl TensorMap {
    /// Returns all expressions, the tensor first.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let numbers = self.dims.iter().chain(&self.strides).chain(&self.offset);
        [&self.tensor].into_iter().chain(numbers).chain(&self.extents).chain(&self.steps)
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
        TensorMap {
            tensor: tensor.into(),
            dims: Vec::new(),
            strides: Vec::new(),
            offset: None,
            extents: extents.into_iter().map(Into::into).collect(),
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

    /// Sets the distances between the elements of a box.
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
