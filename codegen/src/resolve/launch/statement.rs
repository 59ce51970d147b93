//! Resolves launch statements: extents, attributes, arguments and the device.

use std::borrow::Cow;

use abi_spec::{DType, DeviceType, Scalar};

use super::platform;
use super::well_formed::ATTRIBUTE_SIZE;
use super::{Allowed, Bytes, Launch, PLAIN_CLUSTER, Packing, Param};
use crate::declaration::{
    self, AttributeKind, AttributeValue, Device, Expr, LaunchArg, LaunchAttribute, Platform, Shape,
    Strides, Tensor,
};
use crate::resolve::Explained;
use crate::resolve::argument::Argument;
use crate::resolve::body::Action;
use crate::resolve::c_type::CType;
use crate::resolve::ids::Home;
use crate::resolve::ids::ValueId;
use crate::resolve::named::Output;
use crate::resolve::prototype::of_value;
use crate::resolve::range::Range;
use crate::resolve::statement::{Block, converted};
use crate::resolve::term::{Node, OfTensor, Property, Term};

/// Names of the extents of grids, blocks and clusters, in order.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Tensors among the arguments of a launch.
#[derive(Default)]
pub(super) struct LaunchTensors {
    /// First tensor that is or may be on a GPU and that is known to be there.
    pub(super) first: Option<Home>,
    /// Tensors declared for any device.
    pub(super) unsure: Vec<ValueId>,
}

impl<'a> Block<'_, 'a> {
    pub(in crate::resolve) fn launch(
        &mut self,
        launch: &'a declaration::Launch,
    ) -> Explained<Action<'a>> {
        self.on_the_device_of(launch.on.as_ref(), |block| block.launch_there(launch))
    }

    fn launch_there(&mut self, launch: &'a declaration::Launch) -> Explained<Action<'a>> {
        let Some(&used) = self.items.images.get(&launch.image[..]) else {
            return Err(format!("there is no image `{}`", launch.image));
        };
        let platform = self.names.platform;
        platform::check(platform, launch, &used)?;
        let extents = self.extents(launch)?;
        let (attributes, cooperative) = match platform {
            Platform::Cuda => (&launch.attributes[..], false),
            Platform::Hip => (&[][..], !launch.attributes.is_empty()),
        };
        let attributes = attributes.iter().map(|attribute| self.attribute(attribute));
        let attributes = attributes.collect::<Explained<Vec<_>>>()?;
        check_clusters(launch, &extents, &attributes)?;
        let mut tensors = LaunchTensors::default();
        let (without, with): (Vec<_>, Vec<_>) =
            launch.args.iter().partition(|arg| arg.globals().is_empty());
        without.into_iter().try_for_each(|arg| self.collect(arg, &mut tensors))?;
        self.names.device = self.names.device.or(tensors.first);
        with.into_iter().try_for_each(|arg| self.collect(arg, &mut tensors))?;
        let device = self.device(launch.on.as_ref(), &mut tensors)?;
        self.names.device = Some(device);
        let stream = launch.stream.as_ref().map(|stream| self.stream(stream)).transpose()?;
        let params = launch.args.iter().map(|arg| self.param(arg, device));
        let params = params.collect::<Explained<Vec<_>>>()?;
        let allowed = match platform {
            Platform::Cuda => allowed(&extents, &attributes),
            Platform::Hip => Allowed { shared: false, cluster: false },
        };
        let (image, gpu_kernel) = (used.name, &*launch.gpu_kernel);
        let unsure = tensors.unsure;
        let launch = Launch {
            image,
            on_load: used.on_load,
            gpu_kernel,
            extents,
            attributes,
            params,
            device,
            stream,
            unsure,
            cooperative,
            allowed,
        };
        Ok(Action::Launch(Box::new(launch)))
    }

    /// Resolves the extents and the shared memory, the first fields of a `CUlaunchConfig`.
    fn extents(&self, launch: &'a declaration::Launch) -> Explained<Packing> {
        let mut fields = Vec::with_capacity(7);
        for (word, extents) in [("grid", &launch.grid), ("block", &launch.block)] {
            fields.extend(self.dims(word, &launch.gpu_kernel, extents)?);
        }
        for (axis, extent) in AXES.into_iter().zip(&fields[AXES.len()..]) {
            check_extent(("block", axis), &launch.gpu_kernel, &extent.parts[0])?;
        }
        let name = format!("shared memory of {}", launch.gpu_kernel);
        fields.push(match &launch.shared {
            Some(bytes) => self.field(bytes, Scalar::Uint32, name)?,
            None => constant(0, Scalar::Uint32),
        });
        Ok(Packing::of(fields))
    }

    /// Resolves three extents; missing ones are 1.
    fn dims(&self, word: &str, gpu_kernel: &str, extents: &[Expr]) -> Explained<Vec<Packing>> {
        let dim = |(at, axis)| match extents.get(at) {
            Some(extent) => {
                self.field(extent, Scalar::Uint32, format!("{word}.{axis} of {gpu_kernel}"))
            }
            None => Ok(constant(1, Scalar::Uint32)),
        };
        AXES.into_iter().enumerate().map(dim).collect()
    }

    /// Resolves a number that must fit a field of the driver's struct; `name` is its name in errors.
    pub(super) fn field(&self, expr: &Expr, scalar: Scalar, name: String) -> Explained<Packing> {
        let term = self.integer(expr)?;
        let bytes = scalar.bits().div_ceil(8);
        let Some(value) = term.constant() else {
            let term = converted(term, scalar, name);
            return Ok(Packing::scalar(Argument::Term(term, scalar), bytes));
        };
        if !Range::of(scalar).has(value) {
            return Err(format!("{name} is {value}, which is no `{scalar}`"));
        }
        Ok(constant(value, scalar))
    }

    fn attribute(&self, attribute: &'a LaunchAttribute) -> Explained<(u32, Packing)> {
        let LaunchAttribute { kind, fields } = attribute;
        let fields = match kind.value() {
            AttributeValue::Flag => vec![constant(1, Scalar::Int32)],
            AttributeValue::Number => {
                vec![self.field(&fields[0], Scalar::Int32, kind.word().to_owned())?]
            }
            AttributeValue::Dims => {
                let name = |at: usize| format!("{}.{}", kind.word(), AXES[at]);
                let given = |at: usize| match fields.get(at) {
                    Some(field) => self.field(field, Scalar::Uint32, name(at)),
                    None => Ok(constant(1, Scalar::Uint32)),
                };
                (0..3).map(given).collect::<Explained<_>>()?
            }
            AttributeValue::Any => {
                fields.iter().map(|field| self.scalar_argument(field)).collect::<Explained<_>>()?
            }
        };
        let value = Packing::of(fields);
        if value.size > ATTRIBUTE_SIZE {
            return Err(format!(
                "the value of `{attribute}` has {} bytes, not up to 64",
                value.size
            ));
        }
        Ok((kind.id(), value))
    }

    /// Resolves an argument that C passes as one scalar.
    fn scalar_argument(&self, expr: &Expr) -> Explained<Packing> {
        let argument = self.names.argument(expr)?;
        let scalar = match &argument {
            Argument::Value(value) => match of_value(self.names, *value)[..] {
                [CType::Scalar(scalar)] => Some(scalar),
                _ => None,
            },
            Argument::Term(term, _) if matches!(term.node, Node::Output(_)) => None,
            Argument::Term(term, _) if term.is_object() => None,
            Argument::Term(_, scalar) => Some(*scalar),
            Argument::Text(_) => None,
        };
        let Some(scalar) = scalar else {
            return Err(format!(
                "`{expr}` is no scalar and no address on the device, as `x.data` is"
            ));
        };
        if let Argument::Term(term, _) = &argument {
            self.check(term)?;
        }
        Ok(Packing::scalar(argument, scalar.bits().div_ceil(8)))
    }

    pub(super) fn param(&mut self, arg: &'a LaunchArg, device: Home) -> Explained<Param<'a>> {
        if let LaunchArg::Value(value) = arg
            && let Some(map) = self.names.map_of(value)
        {
            return Ok(Param::Map(map));
        }
        match arg {
            LaunchArg::Value(_) | LaunchArg::Struct(_) => self.packing(arg).map(Param::Packed),
            LaunchArg::Scratch { bytes, align } => self.scratch(bytes, *align, device),
            LaunchArg::TensorMap(map) => self.tensor_map(map).map(Param::TensorMap),
            LaunchArg::Bytes { tensor, size } => self.bytes(tensor, *size),
        }
    }

    pub(super) fn packing(&self, arg: &LaunchArg) -> Explained<Packing> {
        match arg {
            LaunchArg::Value(value) if self.names.map_of(value).is_some() => {
                Err(format!("the tensor map `{value}` cannot be a field of a struct"))
            }
            LaunchArg::Value(value) => self.scalar_argument(value),
            LaunchArg::Struct(fields) => {
                let fields = fields.iter().map(|field| self.packing(field));
                Ok(Packing::of(fields.collect::<Explained<Vec<_>>>()?))
            }
            LaunchArg::Scratch { .. } | LaunchArg::TensorMap(_) | LaunchArg::Bytes { .. } => {
                Err(format!("`{arg}` cannot be a field of a struct"))
            }
        }
    }

    /// Allocates scratch memory: a tensor of bytes that is released after the launch.
    fn scratch(&mut self, bytes: &Expr, align: u64, home: Home) -> Explained<Param<'a>> {
        let extents = vec![self.integer(bytes)?];
        let tensor = Tensor::new([Expr::Int(0)], DType::UINT8).with_align(align);
        let tensor = tensor.with_device(self.names.platform.device_type());
        let output = Output {
            name: "scratch",
            tensor: Cow::Owned(tensor),
            extents,
            home: Some(home),
            dtype_of: None,
        };
        Ok(Param::Scratch(self.names.outputs.push(output)))
    }
}

/// Resolves bytes of tensors.
impl<'a> Block<'_, 'a> {
    fn bytes(&self, tensor: &Expr, size: u32) -> Explained<Param<'a>> {
        let home = self.home(tensor)?;
        let declared = self.names.tensor_of(home);
        let declared = declared.ok_or_else(|| format!("`{tensor}` is no tensor"))?;
        match self.names.device_of(home) {
            (Device::Type(DeviceType::CPU), _) => {}
            (Device::Type(ty), _) => {
                return Err(format!("`{tensor}` is on {ty}, and its bytes are read on the cpu"));
            }
            (Device::Any, _) => {
                return Err(format!(
                    "`{tensor}` may be on any device: declare it with `device=cpu`"
                ));
            }
        }
        if declared.strides != Strides::Contiguous {
            return Err(format!("`{tensor}` is not declared contiguous"));
        }
        let [dtype] = declared.dtypes[..] else {
            return Err(format!("`{tensor}` may have elements of several types"));
        };
        let bits = u64::from(dtype.bits) * u64::from(dtype.lanes);
        let least = (8 * u64::from(size)).div_ceil(bits) as i64;
        let extents: Option<i64> = match declared.shape {
            Shape::AnyRank | Shape::Trailing { .. } => None,
            Shape::Dims(_) => declared.extents().try_fold(1_i64, |product, extent| {
                if let Expr::Int(extent) = extent { product.checked_mul(*extent) } else { None }
            }),
        };
        if extents.is_some_and(|elements| elements < least) {
            return Err(format!("`{tensor}` has fewer than {size} bytes"));
        }
        let (address, numel) = (self.term(&tensor.data())?, self.integer(&tensor.numel())?);
        let name = tensor.numel().to_string();
        Ok(Param::Bytes(Box::new(Bytes { address, size, numel, least, name })))
    }
}

/// Finds the device of a launch.
impl<'a> Block<'_, 'a> {
    /// Collects the tensors whose data an argument passes.
    pub(super) fn collect(&self, arg: &LaunchArg, tensors: &mut LaunchTensors) -> Explained<()> {
        match arg {
            LaunchArg::Value(value) => self.collect_data(value, tensors),
            LaunchArg::Struct(fields) => {
                fields.iter().try_for_each(|field| self.collect(field, tensors))
            }
            LaunchArg::Scratch { .. } | LaunchArg::Bytes { .. } => Ok(()),
            LaunchArg::TensorMap(map) => self.collect_tensor(self.home(&map.tensor)?, tensors),
        }
    }

    /// Collects the tensors whose addresses a value depends on. Those of a named map have been checked where it was
    /// made.
    pub(super) fn collect_data(&self, value: &Expr, tensors: &mut LaunchTensors) -> Explained<()> {
        if let Some(map) = self.names.map_of(value) {
            let mut checked = LaunchTensors::default();
            self.collect_tensor(self.names.maps[map], &mut checked)?;
            tensors.first = tensors.first.or(checked.first);
            return Ok(());
        }
        let term = self.term(value)?;
        let mut homes = Vec::new();
        term.any(&mut |node| {
            if let Node::Property(value, Property::Tensor(OfTensor::Data)) = node {
                homes.push(Home::Value(*value));
            }
            if let Node::OutputData(output) = node {
                homes.push(Home::Output(*output));
            }
            if let Node::Global(global) = node {
                homes.push(global.home);
            }
            false
        });
        homes.into_iter().try_for_each(|home| self.collect_tensor(home, tensors))
    }

    /// Records a tensor whose data the GPU kernel accesses.
    pub(super) fn collect_tensor(&self, home: Home, tensors: &mut LaunchTensors) -> Explained<()> {
        let platform = self.names.platform;
        match self.names.device_of(home) {
            (Device::Any, origin) => {
                if let Home::Value(value) = origin
                    && !tensors.unsure.contains(&value)
                {
                    tensors.unsure.push(value);
                }
            }
            (Device::Type(ty), _) if ty == platform.device_type() => {}
            (Device::Type(ty), _) if platform.shares(ty) => return Ok(()),
            (Device::Type(ty), _) => {
                return Err(format!(
                    "`{}` is on {ty}, and this statement is for {}",
                    self.name_of(home),
                    platform.device_type()
                ));
            }
        }
        if self.has_tensor(home) {
            tensors.first = tensors.first.or(Some(home));
        }
        Ok(())
    }

    fn name_of(&self, home: Home) -> String {
        match home {
            Home::Value(value) => self.names.values[value].path.clone(),
            Home::Output(output) => self.names.outputs[output].name.to_owned(),
        }
    }

    /// Returns false for a tensor that may be None before the current statement.
    fn has_tensor(&self, home: Home) -> bool {
        match home {
            Home::Value(value) => self.is_there(value),
            Home::Output(_) => true,
        }
    }

    /// Finds the tensor on whose device a launch or a command runs.
    pub(super) fn device(&self, on: Option<&Expr>, tensors: &mut LaunchTensors) -> Explained<Home> {
        let found = self.device_if_known(on, tensors)?;
        found.ok_or_else(|| "no tensor says on which device this runs: `on x`".to_owned())
    }

    /// Finds the tensor on whose device a launch or a command runs, if there is one.
    pub(super) fn device_if_known(
        &self,
        on: Option<&Expr>,
        tensors: &mut LaunchTensors,
    ) -> Explained<Option<Home>> {
        if let Some(on) = on {
            let home = self.home(on)?;
            tensors.first = None;
            self.collect_tensor(home, tensors)?;
            return match tensors.first {
                Some(first) => Ok(Some(first)),
                None => Err(format!("`{on}` is on no device of its own")),
            };
        }
        if tensors.first.is_none()
            && let Some(value) = self.names.gpu_value(&self.facts)
        {
            self.collect_tensor(Home::Value(value), tensors)?;
        }
        Ok(tensors.first)
    }
}

fn constant(value: i64, scalar: Scalar) -> Packing {
    let bytes = scalar.bits().div_ceil(8);
    Packing::scalar(Argument::Term(Term::int(value), scalar), bytes)
}

/// Returns the number that a scalar of a struct is in every call.
fn number((_, argument): &(u32, Argument)) -> Option<i64> {
    match argument {
        Argument::Term(term, _) => term.constant(),
        Argument::Value(_) | Argument::Text(_) => None,
    }
}

/// Checks that an extent of a block or of a cluster is not the constant 0, with which no launch succeeds.
fn check_extent(
    (word, axis): (&str, &str),
    gpu_kernel: &str,
    extent: &(u32, Argument),
) -> Explained<()> {
    if number(extent) == Some(0) {
        let most = u32::MAX;
        return Err(format!("{word}.{axis} of {gpu_kernel} is 0, which is not 1 to {most}"));
    }
    Ok(())
}

/// Checks clusters, as far as they are constants: they divide the grid.
fn check_clusters(
    launch: &declaration::Launch,
    extents: &Packing,
    attributes: &[(u32, Packing)],
) -> Explained<()> {
    let mut given = launch.attributes.iter().zip(attributes);
    let cluster = given.find(|(attribute, _)| attribute.kind == AttributeKind::Cluster);
    let Some((_, (_, cluster))) = cluster else { return Ok(()) };
    let gpu_kernel = &launch.gpu_kernel;
    for ((axis, grid), cluster) in AXES.into_iter().zip(&extents.parts).zip(&cluster.parts) {
        check_extent(("cluster", axis), gpu_kernel, cluster)?;
        if let (Some(grid), Some(cluster)) = (number(grid), number(cluster))
            && grid % cluster != 0
        {
            return Err(format!(
                "grid.{axis} of {gpu_kernel} is {grid}, which is no multiple of the cluster's {cluster}"
            ));
        }
    }
    Ok(())
}

/// Computes the permissions that the GPU kernel needs.
fn allowed(extents: &Packing, attributes: &[(u32, Packing)]) -> Allowed {
    let shared = extents.parts.last().and_then(number);
    let clusters = [AttributeKind::Cluster.id(), AttributeKind::PreferredCluster.id()];
    let mut clusters = attributes.iter().filter(|(id, _)| clusters.contains(id));
    let large = |(_, dims): &(u32, Packing)| {
        let mut blocks = dims.parts.iter().map(number);
        let blocks = blocks.try_fold(1_i64, |blocks, dim| dim?.checked_mul(blocks));
        blocks.is_none_or(|blocks| blocks > PLAIN_CLUSTER)
    };
    Allowed { shared: shared != Some(0), cluster: clusters.any(large) }
}
