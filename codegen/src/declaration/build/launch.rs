//! Images and launches.

use crate::declaration::{
    AttributeKind, Expr, Fill, Image, Interleave, Launch, LaunchArg, LaunchAttribute, MapType,
    Promotion, Statement, StatementKind, Swizzle, TensorMap,
};

impl Image {
    /// An image whose bytes are not known yet: `image name;`.
    pub fn new(name: impl Into<String>) -> Image {
        Image { name: name.into(), bytes: None }
    }

    /// With its bytes.
    pub fn with_bytes(mut self, bytes: impl Into<Vec<u8>>) -> Image {
        self.bytes = Some(bytes.into());
        self
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
        kernel: impl Into<String>,
        args: impl IntoIterator<Item: Into<LaunchArg>>,
    ) -> Launch {
        let args = args.into_iter().map(Into::into).collect();
        let (image, kernel, grid, block) = (image.into(), kernel.into(), Vec::new(), Vec::new());
        Launch { image, kernel, args, grid, block, shared: None, attributes: Vec::new(), on: None }
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
