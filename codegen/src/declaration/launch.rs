//! Launches: statements that start a GPU kernel of an image.

use super::{Expr, Statement, StatementKind, TensorMap};

/// A launch of a GPU kernel: `launch axpy."axpy_kernel"(x.data, int32(n)) grid(ceildiv(n, 128)) block(128);`
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
#[must_use]
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
    /// `tensormap(x, box=[64, 64])`: a `CUtensorMap` of 128 bytes, which the driver makes.
    TensorMap(TensorMap),
    /// `bytes(x, 64)`: a struct whose bytes are the first of a contiguous tensor on the cpu.
    Bytes {
        /// The tensor.
        tensor: Expr,
        /// Number of bytes.
        size: u32,
    },
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
    pub(crate) fn exprs<'a>(&'a self, all: &mut Vec<&'a Expr>) {
        match self {
            LaunchArg::Value(value) => all.push(value),
            LaunchArg::Struct(fields) => fields.iter().for_each(|field| field.exprs(all)),
            LaunchArg::Scratch { bytes, .. } => all.push(bytes),
            LaunchArg::TensorMap(map) => all.extend(map.exprs()),
            LaunchArg::Bytes { tensor, .. } => all.push(tensor),
        }
    }

    /// Returns the nesting depth of structs; 1 for any other argument. It needs little stack whatever the depth.
    pub(crate) fn depth(&self) -> usize {
        let (mut deepest, mut left) = (1, vec![(self, 1)]);
        while let Some((arg, depth)) = left.pop() {
            deepest = deepest.max(depth);
            match arg {
                LaunchArg::Struct(fields) => {
                    left.extend(fields.iter().map(|field| (field, depth + 1)))
                }
                LaunchArg::Value(_)
                | LaunchArg::Scratch { .. }
                | LaunchArg::TensorMap(_)
                | LaunchArg::Bytes { .. } => {}
            }
        }
        deepest
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

    /// Builds `bytes(tensor, size)`.
    pub fn bytes(tensor: impl Into<Expr>, size: u32) -> LaunchArg {
        LaunchArg::Bytes { tensor: tensor.into(), size }
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
