//! Launches: statements that start a GPU kernel of an image.

use abi_spec::DType;

use super::{Expr, Statement, StatementKind};

/// A launch of a GPU kernel: `launch axpy."axpy_kernel"(x.data, int32(n)) grid(ceildiv(n, 128)) block(128);`
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Launch {
    /// Name of the image.
    pub image: String,
    /// Name of the GPU kernel in the image, mangled.
    pub gpu_kernel: String,
    /// Arguments, one for each parameter of the GPU kernel.
    pub args: Vec<LaunchArg>,
    /// Extents of the grid in blocks: one to three, x first; missing ones are 1. An extent of 0 launches nothing.
    pub grid: Vec<Expr>,
    /// Extents of a block in threads, in the same form.
    pub block: Vec<Expr>,
    /// Bytes of dynamic shared memory; `None` for 0.
    pub shared: Option<Expr>,
    /// Launch attributes, each at most once.
    pub attributes: Vec<LaunchAttribute>,
    /// Tensor on whose device the GPU kernel runs. `None` selects the first tensor among the arguments, else the
    /// first tensor parameter that is not on the cpu.
    pub on: Option<Expr>,
    /// Stream; `None` for the environment's stream of the device.
    pub stream: Option<Expr>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum LaunchArg {
    /// A value in the C type in which a C function gets it.
    Value(Expr),
    /// `struct(a, b)`: a struct with C layout.
    Struct(Vec<LaunchArg>),
    /// `scratch(bytes, align)`: the address of device memory that is released after the launch.
    Scratch {
        /// Size in bytes.
        bytes: Expr,
        /// Alignment of the address in bytes, a power of two.
        align: u64,
    },
    /// `tensormap(x, box=[64, 64])`: a `CUtensorMap` of 128 bytes, made by `cuTensorMapEncodeTiled`.
    TensorMap(TensorMap),
}

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

/// A launch attribute.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaunchAttribute {
    /// Kind of attribute.
    pub kind: AttributeKind,
    /// Value: as many numbers as the kind takes.
    pub fields: Vec<Expr>,
}

/// Declares attributes by keyword, `CUlaunchAttributeID` and type of value.
macro_rules! attributes {
    ($($(#[$doc:meta])* $name:ident $word:literal $id:literal $fields:ident;)*) => {
        /// Kind of a launch attribute.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AttributeKind {
            $($(#[$doc])* $name,)*
            /// `attribute(id, fields…)`: an attribute by its number. The value is a struct of the fields with C
            /// layout.
            Other(u32),
        }

        impl AttributeKind {
            /// Every kind that has a keyword of its own.
            pub const ALL: &[AttributeKind] = &[$(AttributeKind::$name),*];

            /// Returns the keyword.
            pub const fn word(self) -> &'static str {
                match self { $(AttributeKind::$name => $word,)* AttributeKind::Other(_) => "attribute" }
            }

            /// Returns the `CUlaunchAttributeID`.
            pub const fn id(self) -> u32 {
                match self { $(AttributeKind::$name => $id,)* AttributeKind::Other(id) => id }
            }

            /// Returns the type of the value.
            pub(crate) const fn value(self) -> AttributeValue {
                match self {
                    $(AttributeKind::$name => AttributeValue::$fields,)*
                    AttributeKind::Other(_) => AttributeValue::Any,
                }
            }
        }
    };
}

/// Type of the value of a launch attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeValue {
    /// No fields: the attribute is set to 1.
    Flag,
    /// One `int32`.
    Number,
    /// One to three `uint32`; missing ones are 1.
    Dims,
    /// Any fields.
    Any,
}

attributes! {
    /// Extents of a cluster in blocks; the extents of the grid are multiples of them.
    Cluster "cluster" 4 Dims;
    /// Extents of the preferred cluster, used where it fits on the device.
    PreferredCluster "preferred_cluster" 11 Dims;
    /// Cooperative launch: all blocks run at once and may wait for each other.
    Cooperative "cooperative" 2 Flag;
    /// Programmatic dependent launch: the GPU kernel may start before its predecessor in the stream ends.
    Pdl "pdl" 6 Flag;
    /// Priority of the blocks.
    Priority "priority" 8 Number;
    /// Domain of memory fences.
    MemSyncDomain "mem_sync_domain" 10 Number;
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

impl Launch {
    /// Returns all expressions: arguments first, then grid, block, shared memory, attributes, `on` and the stream.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let mut all = Vec::new();
        self.args.iter().for_each(|arg| arg.exprs(&mut all));
        all.extend(self.grid.iter().chain(&self.block).chain(&self.shared));
        all.extend(self.attributes.iter().flat_map(|attribute| &attribute.fields));
        all.extend(self.on.iter().chain(&self.stream));
        all.into_iter()
    }
}

impl LaunchArg {
    pub(super) fn exprs<'a>(&'a self, all: &mut Vec<&'a Expr>) {
        match self {
            LaunchArg::Value(value) => all.push(value),
            LaunchArg::Struct(fields) => fields.iter().for_each(|field| field.exprs(all)),
            LaunchArg::Scratch { bytes, .. } => all.push(bytes),
            LaunchArg::TensorMap(map) => all.extend(map.exprs()),
        }
    }

    /// Returns the nesting depth of structs; 1 for any other argument.
    pub(crate) fn depth(&self) -> usize {
        match self {
            LaunchArg::Struct(fields) => 1 + fields.iter().map(LaunchArg::depth).max().unwrap_or(0),
            LaunchArg::Value(_) | LaunchArg::Scratch { .. } | LaunchArg::TensorMap(_) => 1,
        }
    }
}

impl TensorMap {
    /// Returns all expressions, the tensor first.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let numbers = self.dims.iter().chain(&self.strides).chain(&self.offset);
        [&self.tensor].into_iter().chain(numbers).chain(&self.extents).chain(&self.steps)
    }
}

/// Constructors of launches.
///
/// ```
/// use tvm_ffi_codegen::{AttributeKind, DType, DeviceType, Expr, Image, Launch, LaunchArg, Library};
/// use tvm_ffi_codegen::{Scalar, Signature, Tensor, TensorMap, exprs};
///
/// let [x, n, a] = ["x", "n", "a"].map(Expr::name);
/// let floats = Tensor::new([&n], DType::FLOAT32).with_device(DeviceType::CUDA);
/// let axpy = Signature::new("axpy").param("x", floats).param("a", Scalar::Float32).body([
///     Launch::new("code", "axpy_kernel", exprs![x.data(), n.clone().cast(Scalar::Int32), a])
///         .grid([n.clone().ceildiv(128)])
///         .block([128])
///         .shared(1024)
///         .attribute(AttributeKind::Cluster, [2])
///         .into(),
///     Launch::new("code", "copy", [LaunchArg::from(TensorMap::new("x", [128])), LaunchArg::scratch(&n * 4, 16)])
///         .grid([1])
///         .block([32])
///         .into(),
/// ]);
/// let library = Library::new([axpy]).with_image(Image::new("code"));
/// let text = "\
/// image code;
///
/// axpy(x: Tensor([n], float32, device=cuda), a: float32) -> None
///     = {
///         launch code.\"axpy_kernel\"(x.data, int32(n), a) grid(ceildiv(n, 128)) block(128) smem(1024) cluster(2);
///         launch code.\"copy\"(tensormap(x, box=[128]), scratch(n * 4, 16)) grid(1) block(32);
///     };
/// ";
/// assert_eq!(library.to_string(), text);
/// assert_eq!(text.parse(), Ok(library));
/// ```
impl Launch {
    /// Builds a launch. It needs a grid and a block to be valid.
    pub fn new(
        image: impl Into<String>,
        gpu_kernel: impl Into<String>,
        args: impl IntoIterator<Item: Into<LaunchArg>>,
    ) -> Launch {
        let args = args.into_iter().map(Into::into).collect();
        Launch {
            image: image.into(),
            gpu_kernel: gpu_kernel.into(),
            args,
            grid: Vec::new(),
            block: Vec::new(),
            shared: None,
            attributes: Vec::new(),
            on: None,
            stream: None,
        }
    }

    /// Sets the extents of the grid in blocks.
    pub fn grid(mut self, extents: impl IntoIterator<Item: Into<Expr>>) -> Launch {
        self.grid = extents.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the extents of a block in threads.
    pub fn block(mut self, extents: impl IntoIterator<Item: Into<Expr>>) -> Launch {
        self.block = extents.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the bytes of dynamic shared memory.
    pub fn shared(mut self, bytes: impl Into<Expr>) -> Launch {
        self.shared = Some(bytes.into());
        self
    }

    /// Appends an attribute.
    pub fn attribute(
        mut self,
        kind: AttributeKind,
        fields: impl IntoIterator<Item: Into<Expr>>,
    ) -> Launch {
        let fields = fields.into_iter().map(Into::into).collect();
        self.attributes.push(LaunchAttribute { kind, fields });
        self
    }

    /// Sets the tensor on whose device the GPU kernel runs.
    pub fn on(mut self, tensor: impl Into<Expr>) -> Launch {
        self.on = Some(tensor.into());
        self
    }

    /// Sets the stream.
    pub fn stream(mut self, stream: impl Into<Expr>) -> Launch {
        self.stream = Some(stream.into());
        self
    }
}

impl From<Launch> for Statement {
    fn from(launch: Launch) -> Statement {
        StatementKind::Launch(Box::new(launch)).into()
    }
}

impl LaunchArg {
    /// Builds `struct(fields…)`.
    pub fn structure(fields: impl IntoIterator<Item: Into<LaunchArg>>) -> LaunchArg {
        LaunchArg::Struct(fields.into_iter().map(Into::into).collect())
    }

    /// Builds `scratch(bytes, align)`.
    pub fn scratch(bytes: impl Into<Expr>, align: u64) -> LaunchArg {
        LaunchArg::Scratch { bytes: bytes.into(), align }
    }
}

impl<E: Into<Expr>> From<E> for LaunchArg {
    fn from(value: E) -> LaunchArg {
        LaunchArg::Value(value.into())
    }
}

impl From<TensorMap> for LaunchArg {
    fn from(map: TensorMap) -> LaunchArg {
        LaunchArg::TensorMap(map)
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
