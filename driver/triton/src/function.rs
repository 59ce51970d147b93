//! Declaration of the function that launches a kernel.

use abi_spec::Scalar;
use codegen::{
    Access, AttributeKind, DType, Expr, Function as Declared, Launch, LaunchArg, Leaf, Member,
    Shape, Signature, Statement, Strides, Tensor,
};

use crate::Error;
use crate::metadata::{Metadata, Scratch};
use crate::signature::{Grid, Hint, KernelSignature, Kind, Parameter};

/// Declaration under construction.
pub(crate) struct Function<'a> {
    /// Name of the function and of the image.
    pub(crate) name: String,
    /// Sizes of the kernel's parameters in bytes.
    pub(crate) params: Vec<u32>,
    pub(crate) metadata: &'a Metadata,
    signature: Signature,
    args: Vec<LaunchArg>,
    /// Blocks in each direction.
    grid: Vec<Expr>,
    /// True if a launcher calls the function, which has looked at the arguments: nothing is checked.
    pub(crate) bare: bool,
}

/// Names of what a launcher passes behind the arguments of the kernel. No parameter of Python has such a name.
const DEVICE: &str = "launch.device";
const STREAM: &str = "launch.stream";
const GRID: [&str; 3] = ["launch.x", "launch.y", "launch.z"];

/// Bytes of a pointer.
pub(crate) const POINTER: u32 = 8;

/// Alignment of addresses for specialised kernels and tensor maps, in bytes.
pub(crate) const ALIGN: u64 = 16;

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE`.
const SCHEDULING: AttributeKind = AttributeKind::Other(5);
/// `CU_CLUSTER_SCHEDULING_POLICY_SPREAD`.
const SPREAD: i64 = 1;

impl<'a> Function<'a> {
    pub(crate) fn new(
        metadata: &'a Metadata,
        kernel: &KernelSignature,
        grid: Grid,
    ) -> Result<Function<'a>, Error> {
        let name = kernel.name.as_deref().unwrap_or(&metadata.name).to_owned();
        let signature = Signature::new(&name);
        let (programs, bare) = match grid {
            Grid::Programs(programs) => (programs, false),
            Grid::Given => (GRID.map(Expr::name).to_vec(), true),
        };
        let grid = blocks(metadata.ctas, programs);
        let (params, args) = (Vec::new(), Vec::new());
        let mut function = Function { name, params, metadata, signature, args, grid, bare };
        let mut descriptors = metadata.descriptors.iter();
        for parameter in &kernel.parameters {
            let strided = kernel.parameters.iter().filter_map(|other| other.given.as_ref());
            let strided = strided.into_iter().any(|given| asks_strides(given, &parameter.name));
            let added = match &parameter.kind {
                Kind::Pointer { dtype, access } => {
                    function.pointer(parameter, *dtype, *access, strided)
                }
                Kind::Scalar(scalar) => function.scalar(parameter, *scalar),
                Kind::Descriptor(described) => {
                    function.descriptor(parameter, described, descriptors.next())
                }
            };
            let text = || parameter.text.clone();
            added.map_err(|reason| Error::Parameter { text: text(), reason: reason.to_owned() })?;
        }
        for scratch in &metadata.scratch {
            let hidden = function.scratch(scratch);
            function.give(hidden, POINTER);
        }
        if bare {
            function.launcher_params();
        }
        Ok(function)
    }

    /// Returns the declaration, with the launch as its body.
    pub(crate) fn build(self) -> Declared {
        let Metadata { name, threads, ctas, shared, pdl, cooperative, .. } = self.metadata;
        let mut launch = Launch::new(&self.name, name, self.args).grid(self.grid).block([*threads]);
        if *shared > 0 {
            launch = launch.shared(*shared);
        }
        if self.bare {
            launch = launch.on(Expr::name(DEVICE)).stream(Expr::name(STREAM));
        }
        let none: [Expr; 0] = [];
        if *pdl {
            launch = launch.attribute(AttributeKind::Pdl, none.clone());
        }
        if *cooperative {
            launch = launch.attribute(AttributeKind::Cooperative, none);
        }
        if *ctas > 1 {
            launch = launch.attribute(AttributeKind::Cluster, [*ctas]);
            launch = launch.attribute(SCHEDULING, [Expr::Int(SPREAD).cast(Scalar::Int32)]);
        }
        self.signature.body([Statement::from(launch)])
    }

    /// Adds the parameters that only a launcher passes.
    fn launcher_params(&mut self) {
        let device = self.of_any();
        self.add(|signature| signature.param(DEVICE, device).param(STREAM, Leaf::Stream));
        for name in GRID {
            self.add(|signature| signature.param(name, Scalar::Int64));
        }
    }

    /// Adds an argument of the kernel, of a size in bytes.
    pub(crate) fn give(&mut self, arg: impl Into<LaunchArg>, bytes: u32) {
        self.args.push(arg.into());
        self.params.push(bytes);
    }

    pub(crate) fn add(&mut self, change: impl FnOnce(Signature) -> Signature) {
        let signature = std::mem::replace(&mut self.signature, Signature::new(""));
        self.signature = change(signature);
    }

    fn pointer(
        &mut self,
        parameter: &Parameter,
        dtype: DType,
        access: Access,
        strided: bool,
    ) -> Result<(), &'static str> {
        let Parameter { name, shape, hint, small, given, .. } = parameter;
        if *hint == Some(Hint::One) {
            return Err("only an integer can be 1");
        }
        if let Some(given) = given {
            if hint.is_some() || shape.is_some() || *small {
                return Err("only a tensor has a shape and is checked for its alignment");
            }
            self.give(given.clone(), POINTER);
            return Ok(());
        }
        if self.bare {
            self.add(|signature| signature.param(name, Scalar::Ptr));
            self.give(Expr::name(name), POINTER);
            return Ok(());
        }
        let shape = shape.clone().unwrap_or(Shape::AnyRank);
        let small = small.then(|| within_2_gib(name, &shape, dtype, strided)).transpose()?;
        let mut tensor = self.on_device(shape, dtype).with_access(access);
        if strided {
            tensor = tensor.with_strides(Strides::Any);
        }
        if hint.is_some() {
            tensor = tensor.with_align(ALIGN);
        }
        self.add(|signature| signature.param(name, tensor));
        if let Some(small) = small {
            self.require(small);
        }
        self.give(Expr::name(name).data(), POINTER);
        Ok(())
    }

    fn scalar(&mut self, parameter: &Parameter, scalar: Scalar) -> Result<(), &'static str> {
        let Parameter { name, shape, hint, small, given, .. } = parameter;
        if shape.is_some() || *small {
            return Err("only a tensor has a shape and a size in bytes");
        }
        if hint.is_some() && !scalar.is_int() {
            return Err("only integers and pointers are specialised");
        }
        if given.is_none() {
            self.add(|signature| signature.param(name, scalar));
        }
        let value = given.clone().unwrap_or_else(|| Expr::name(name));
        match hint.filter(|_| !self.bare) {
            Some(Hint::Divisible) => self.require((&value % 16).equal(0)),
            Some(Hint::One) => self.require(value.clone().equal(1)),
            None => {}
        }
        if *hint != Some(Hint::One) {
            let value = if given.is_some() { value.cast(scalar) } else { value };
            self.give(value, scalar.bits().div_ceil(8));
        }
        Ok(())
    }

    pub(crate) fn on_device(&self, shape: Shape, dtype: DType) -> Tensor {
        Tensor::new(shape, dtype).with_device(self.metadata.platform.device_type())
    }

    /// Returns any tensor on the device.
    pub(crate) fn of_any(&self) -> Tensor {
        let tensor = Tensor::of_any(Shape::AnyRank).with_strides(Strides::Any);
        tensor.with_device(self.metadata.platform.device_type())
    }

    fn require(&mut self, condition: Expr) {
        self.add(|signature| signature.require(condition));
    }

    /// Returns the argument of a hidden parameter: scratch memory for all blocks.
    fn scratch(&self, scratch: &Scratch) -> LaunchArg {
        if scratch.size == 0 {
            return Expr::Null.into();
        }
        let blocks = self.grid.iter().cloned().reduce(|all, extent| all * extent);
        let blocks = blocks.unwrap_or(Expr::Int(1));
        LaunchArg::scratch(blocks * scratch.size, scratch.align)
    }
}

/// Returns the grid in blocks: each program has `ctas` of them, all in the first direction.
fn blocks(ctas: i64, programs: Vec<Expr>) -> Vec<Expr> {
    let mut grid = programs;
    if ctas > 1 {
        grid[0] = ctas * grid[0].clone();
    }
    grid
}

/// Builds the condition that a kernel can reach all bytes of a tensor by signed 32-bit offsets.
fn within_2_gib(
    name: &str,
    shape: &Shape,
    dtype: DType,
    strided: bool,
) -> Result<Expr, &'static str> {
    let tensor = Expr::name(name);
    let most = i64::from(i32::MAX) / i64::from(dtype.bits.div_ceil(8));
    if !strided {
        return Ok(tensor.numel().less(most + 1));
    }
    let Shape::Dims(dims) = shape else {
        return Err("the size of a tensor with any strides is that of its shape: give it one");
    };
    let dims = (0..dims.len() as i32).map(|dim| (tensor.shape(dim) - 1) * tensor.strides(dim));
    let last = dims.reduce(|sum, dim| sum + dim).unwrap_or(Expr::Int(0));
    Ok(last.less(most))
}

/// Returns whether an expression contains `name.strides`.
fn asks_strides(expr: &Expr, name: &str) -> bool {
    let asks = matches!(expr, Expr::Member(of, Member::Strides(_)) if **of == Expr::name(name));
    asks || expr.children().any(|child| asks_strides(child, name))
}
