//! Launches: the images that hold GPU code, and how a body starts a kernel of one.

use abi_spec::DType;

use super::Expr;

/// GPU code that a library carries: a cubin, a fatbin or PTX, as the header of its bytes says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Image {
    /// Its name; images have a namespace of their own.
    pub name: String,
    /// Its bytes, which are no part of the text. A library resolves only with them.
    pub bytes: Option<Vec<u8>>,
}

/// What an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageKind {
    /// Machine code for one architecture: an ELF file of the machine `EM_CUDA`.
    Cubin,
    /// Code for several architectures.
    Fatbin,
    /// Text that the driver compiles.
    Ptx,
}

/// A launch: `launch axpy."axpy_kernel"(x.data, int32(n)) grid(ceildiv(n, 128)) block(128);`
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Launch {
    /// The name of the image.
    pub image: String,
    /// The name of the kernel in it, mangled as it is there.
    pub kernel: String,
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

impl ImageKind {
    /// What the header of an image says that it is; `None` if it is none that the driver loads.
    ///
    /// ```
    /// use tvm_ffi_codegen::ImageKind;
    ///
    /// assert_eq!(ImageKind::of(b"//\n.version 8.0\n.target sm_90\n"), Some(ImageKind::Ptx));
    /// assert_eq!(ImageKind::of(b"\x7fELF"), None);
    /// ```
    pub fn of(bytes: &[u8]) -> Option<ImageKind> {
        /// `EM_CUDA`, at the offset of `e_machine` in a little-endian ELF file of 64 bits.
        const MACHINE: (usize, [u8; 2]) = (18, 190_u16.to_le_bytes());
        /// The first word of a fatbin.
        const FATBIN: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();
        let machine = bytes.get(MACHINE.0..MACHINE.0 + 2);
        if bytes.starts_with(b"\x7fELF\x02\x01") && machine == Some(&MACHINE.1) {
            return Some(ImageKind::Cubin);
        }
        if bytes.starts_with(&FATBIN) {
            return Some(ImageKind::Fatbin);
        }
        is_ptx(bytes).then_some(ImageKind::Ptx)
    }
}

/// False for bytes that end before the image does: the driver is not told how many there are, and would read on. A cubin
/// reaches to the end of its table of sections at least.
pub(crate) fn is_whole(bytes: &[u8], kind: ImageKind) -> bool {
    let number = |at: usize, size: usize| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes.get(at..at + size)?);
        Some(u64::from_le_bytes(word))
    };
    let end = || match kind {
        // `e_shoff`, `e_shentsize` and `e_shnum` of the header.
        ImageKind::Cubin => number(40, 8)?.checked_add(number(58, 2)? * number(60, 2)?),
        // The size of what follows the header, and that of the header.
        ImageKind::Fatbin => number(8, 8)?.checked_add(number(6, 2)?),
        ImageKind::Ptx => Some(0),
    };
    end().is_some_and(|end| end <= bytes.len() as u64)
}

/// True for text whose first directive, after comments, is `.version`.
fn is_ptx(bytes: &[u8]) -> bool {
    let Ok(mut text) = std::str::from_utf8(bytes.strip_suffix(&[0]).unwrap_or(bytes)) else {
        return false;
    };
    loop {
        text = text.trim_start();
        let comment =
            [("//", "\n"), ("/*", "*/")].into_iter().find(|(start, _)| text.starts_with(start));
        match comment.map(|(start, end)| text[start.len()..].split_once(end)) {
            None => return text.starts_with(".version") && !text.contains('\0'),
            Some(None) => return false,
            Some(Some((_, rest))) => text = rest,
        }
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
