//! Launches: the images that hold GPU code, and how a body starts a kernel of one.

use abi_spec::DType;

use super::{Expr, Statement, StatementKind};

/// A launch: `launch axpy."axpy_kernel"(x.data, int32(n)) grid(ceildiv(n, 128)) block(128);`
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Launch {
    /// The name of the image.
    pub image: String,
    /// The name of the kernel in it, mangled as it is there.
    pub gpu_kernel: String,
    /// What the kernel is given, in the order of its parameters.
    pub args: Vec<LaunchArg>,
    /// One to three extents, x first; those that are left out are 1. Nothing is launched if one is 0.
    pub grid: Vec<Expr>,
    /// Likewise the threads of a block.
    pub block: Vec<Expr>,
    /// Bytes of dynamic shared memory; none if it is left out.
    pub shared: Option<Expr>,
    /// Each at most once.
    pub attributes: Vec<LaunchAttribute>,
    /// A tensor on whose device the kernel runs. Without one it is that of the first tensor among the arguments,
    /// else of the first tensor parameter that is not on the cpu.
    pub on: Option<Expr>,
}

/// What a parameter of a kernel is given.
#[derive(Clone, Debug, PartialEq)]
pub enum LaunchArg {
    /// A value in its C type, as a C function gets it.
    Value(Expr),
    /// `struct(a, b)`: values as C lays them out.
    Struct(Vec<LaunchArg>),
    /// `scratch(bytes, align)`: the address of memory on the device, which is released after the launch.
    Scratch {
        /// How many bytes.
        bytes: Expr,
        /// What the address is a multiple of: a power of two.
        align: u64,
    },
    /// `tensormap(x, box=[64, 64])`: what `cuTensorMapEncodeTiled` makes of a tensor, 128 bytes.
    TensorMap(TensorMap),
}

/// How a tensor is read and written by boxes. The dims are in the order of the tensor's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TensorMap {
    /// A tensor of rank 1 to 5.
    pub tensor: Expr,
    /// The extents of a box, 1 to 256 each.
    pub extents: Vec<Expr>,
    /// The steps between elements of a box, 1 to 8 each; all 1 if there are none.
    pub steps: Vec<Expr>,
    /// How elements are interleaved.
    pub interleave: Interleave,
    /// How a box is spread over the banks of shared memory.
    pub swizzle: Swizzle,
    /// What is brought into the level 2 cache with it.
    pub promotion: Promotion,
    /// What is read outside of the tensor.
    pub fill: Fill,
    /// The type of the elements; `None` for that of the tensor.
    pub dtype: Option<MapType>,
}

/// Declares options of the driver's call: names as the driver has them after its prefix, in lower case, and numbers.
macro_rules! options {
    ($($(#[$doc:meta])* $name:ident $prefix:literal { $($(#[$variant_doc:meta])* $variant:ident $text:literal $number:literal;)* })*) => {
        $($(#[$doc])*
        #[doc = concat!("`CU_TENSOR_MAP_", $prefix, "_…`")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_doc])* #[doc = concat!("`", $text, "`")] $variant = $number,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// As it is written.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        })*
    };
}

options! {
    /// How elements are interleaved:
    Interleave "INTERLEAVE" { None "none" 0; B16 "16b" 1; B32 "32b" 2; }
    /// How a box is spread over banks:
    Swizzle "SWIZZLE" {
        None "none" 0; B32 "32b" 1; B64 "64b" 2; B128 "128b" 3;
        B128Atom32 "128b_atom_32b" 4; B128Atom32Flip8 "128b_atom_32b_flip_8b" 5; B128Atom64 "128b_atom_64b" 6;
    }
    /// What the level 2 cache fetches:
    Promotion "L2_PROMOTION" { None "none" 0; B64 "64b" 1; B128 "128b" 2; B256 "256b" 3; }
    /// What is read outside:
    Fill "FLOAT_OOB_FILL" { None "none" 0; Nan "nan_request_zero_fma" 1; }
    /// The type of elements:
    MapType "DATA_TYPE" {
        Uint8 "uint8" 0; Uint16 "uint16" 1; Uint32 "uint32" 2; Int32 "int32" 3; Uint64 "uint64" 4; Int64 "int64" 5;
        Float16 "float16" 6; Float32 "float32" 7; Float64 "float64" 8; BFloat16 "bfloat16" 9;
        Float32Ftz "float32_ftz" 10; TFloat32 "tfloat32" 11; TFloat32Ftz "tfloat32_ftz" 12;
        U4x16Align8 "16u4_align8b" 13; U4x16Align16 "16u4_align16b" 14; U6x16Align16 "16u6_align16b" 15;
    }
}

/// How a kernel is launched, beyond its extents.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LaunchAttribute {
    /// Which one.
    pub kind: AttributeKind,
    /// Its value: as many numbers as the kind has.
    pub fields: Vec<Expr>,
}

/// Declares attributes: the word, the driver's number, and what the value is.
macro_rules! attributes {
    ($($(#[$doc:meta])* $name:ident $word:literal $id:literal $fields:ident;)*) => {
        /// Which attribute of a launch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AttributeKind {
            $($(#[$doc])* $name,)*
            /// `attribute(id, fields…)`: any other, its value laid out as C lays out a struct of the fields.
            Other(u32),
        }

        impl AttributeKind {
            /// Those that have words.
            pub const ALL: &[AttributeKind] = &[$(AttributeKind::$name),*];

            /// Its word.
            pub const fn word(self) -> &'static str {
                match self { $(AttributeKind::$name => $word,)* AttributeKind::Other(_) => "attribute" }
            }

            /// The number of `CUlaunchAttributeID`.
            pub const fn id(self) -> u32 {
                match self { $(AttributeKind::$name => $id,)* AttributeKind::Other(id) => id }
            }

            /// What its value is.
            pub(crate) const fn value(self) -> AttributeValue {
                match self {
                    $(AttributeKind::$name => AttributeValue::$fields,)*
                    AttributeKind::Other(_) => AttributeValue::Any,
                }
            }
        }
    };
}

/// What the value of an attribute is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttributeValue {
    /// It is set.
    Flag,
    /// An `int32`.
    Number,
    /// One to three `uint32`; those that are left out are 1.
    Dims,
    /// Any fields.
    Any,
}

attributes! {
    /// Blocks that run together, of which the grid is a multiple.
    Cluster "cluster" 4 Dims;
    /// The cluster that is taken where there is room for it.
    PreferredCluster "preferred_cluster" 11 Dims;
    /// All blocks run at once and may wait for each other.
    Cooperative "cooperative" 2 Flag;
    /// The kernel may start before the one before it in the stream has ended.
    Pdl "pdl" 6 Flag;
    /// The priority of its blocks.
    Priority "priority" 8 Number;
    /// The domain of its memory fences.
    MemSyncDomain "mem_sync_domain" 10 Number;
}

/// The driver's types of elements, beyond those of one byte.
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
    /// That of a tensor's elements where none is given; `None` if the driver has none for them.
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

    /// Bytes of an element; `None` where several share bytes.
    pub(crate) const fn bytes(self) -> Option<u32> {
        Some(match self {
            MapType::Uint8 => 1,
            MapType::Uint16 | MapType::Float16 | MapType::BFloat16 => 2,
            MapType::Uint32
            | MapType::Int32
            | MapType::Float32
            | MapType::Float32Ftz
            | MapType::TFloat32
            | MapType::TFloat32Ftz => 4,
            MapType::Uint64 | MapType::Int64 | MapType::Float64 => 8,
            MapType::U4x16Align8 | MapType::U4x16Align16 | MapType::U6x16Align16 => return None,
        })
    }
}

impl Launch {
    /// Every expression in it, in the order in which they are written.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let mut all = Vec::new();
        self.args.iter().for_each(|arg| arg.exprs(&mut all));
        all.extend(self.grid.iter().chain(&self.block).chain(&self.shared));
        all.extend(self.attributes.iter().flat_map(|attribute| &attribute.fields));
        all.extend(&self.on);
        all.into_iter()
    }
}

impl LaunchArg {
    fn exprs<'a>(&'a self, all: &mut Vec<&'a Expr>) {
        match self {
            LaunchArg::Value(value) => all.push(value),
            LaunchArg::Struct(fields) => fields.iter().for_each(|field| field.exprs(all)),
            LaunchArg::Scratch { bytes, .. } => all.push(bytes),
            LaunchArg::TensorMap(map) => {
                all.extend([&map.tensor].into_iter().chain(&map.extents).chain(&map.steps));
            }
        }
    }

    /// How deep structs nest; 1 for a value.
    pub(crate) fn depth(&self) -> usize {
        match self {
            LaunchArg::Struct(fields) => 1 + fields.iter().map(LaunchArg::depth).max().unwrap_or(0),
            LaunchArg::Value(_) | LaunchArg::Scratch { .. } | LaunchArg::TensorMap(_) => 1,
        }
    }
}

/// Launches.
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
    /// A kernel of an image, with what it is given. It needs a grid and a block.
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
        }
    }

    /// With so many blocks.
    pub fn grid(mut self, extents: impl IntoIterator<Item: Into<Expr>>) -> Launch {
        self.grid = extents.into_iter().map(Into::into).collect();
        self
    }

    /// With so many threads in a block.
    pub fn block(mut self, extents: impl IntoIterator<Item: Into<Expr>>) -> Launch {
        self.block = extents.into_iter().map(Into::into).collect();
        self
    }

    /// With so many bytes of dynamic shared memory.
    pub fn shared(mut self, bytes: impl Into<Expr>) -> Launch {
        self.shared = Some(bytes.into());
        self
    }

    /// With an attribute after those that it has.
    pub fn attribute(
        mut self,
        kind: AttributeKind,
        fields: impl IntoIterator<Item: Into<Expr>>,
    ) -> Launch {
        let fields = fields.into_iter().map(Into::into).collect();
        self.attributes.push(LaunchAttribute { kind, fields });
        self
    }

    /// On the device of a tensor.
    pub fn on(mut self, tensor: impl Into<Expr>) -> Launch {
        self.on = Some(tensor.into());
        self
    }
}

impl From<Launch> for Statement {
    fn from(launch: Launch) -> Statement {
        StatementKind::Launch(Box::new(launch)).into()
    }
}

impl LaunchArg {
    /// `struct(fields…)`
    pub fn structure(fields: impl IntoIterator<Item: Into<LaunchArg>>) -> LaunchArg {
        LaunchArg::Struct(fields.into_iter().map(Into::into).collect())
    }

    /// `scratch(bytes, align)`
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

impl TensorMap {
    /// Boxes of a tensor, without any option.
    pub fn new(tensor: impl Into<Expr>, extents: impl IntoIterator<Item: Into<Expr>>) -> TensorMap {
        TensorMap {
            tensor: tensor.into(),
            extents: extents.into_iter().map(Into::into).collect(),
            steps: Vec::new(),
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            promotion: Promotion::None,
            fill: Fill::None,
            dtype: None,
        }
    }

    /// With steps between the elements of a box.
    pub fn steps(mut self, steps: impl IntoIterator<Item: Into<Expr>>) -> TensorMap {
        self.steps = steps.into_iter().map(Into::into).collect();
        self
    }

    /// With interleaved elements.
    pub fn interleave(self, interleave: Interleave) -> TensorMap {
        TensorMap { interleave, ..self }
    }

    /// Spread over banks.
    pub fn swizzle(self, swizzle: Swizzle) -> TensorMap {
        TensorMap { swizzle, ..self }
    }

    /// With what the level 2 cache fetches.
    pub fn promotion(self, promotion: Promotion) -> TensorMap {
        TensorMap { promotion, ..self }
    }

    /// With what is read outside of the tensor.
    pub fn fill(self, fill: Fill) -> TensorMap {
        TensorMap { fill, ..self }
    }

    /// With elements of another type of the same size.
    pub fn dtype(self, dtype: MapType) -> TensorMap {
        TensorMap { dtype: Some(dtype), ..self }
    }
}
