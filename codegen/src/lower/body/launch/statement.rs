//! The launch statement. The config (`CUlaunchConfig`), the launch attributes and the kernel's arguments are in one
//! area of the frame, which all launches of a function share.

use crate::declaration::Platform;
use crate::ir::{Cond, Convert, Type, Value};
use crate::lower::body::launch::cuda::{loaded_kernel, start_on_cuda};
use crate::lower::body::launch::hip::{loaded_function, start_on_hip};
use crate::lower::body::launch::{command, images, kept, map};
use crate::lower::body::{allocate, pass};
use crate::lower::checks::{Checker, terms};
use crate::lower::cuda::{self, attribute, config};
use crate::lower::emitter::frame::Slot;
use crate::lower::emitter::output;
use crate::lower::hip;
use crate::lower::routines::Routine;
use crate::resolve::argument::Argument;
use crate::resolve::body::Prepare;
use crate::resolve::launch::{Launch, Packing, Param};

/// Byte offsets in the area of a launch: a `CUlaunchConfig`, attributes, the addresses of the kernel's arguments, and
/// the arguments.
pub(super) struct Layout {
    attributes: u32,
    pub(super) addresses: u32,
    arguments: Vec<u32>,
    size: u32,
}

impl Layout {
    pub(super) fn of(launch: &Launch<'_>) -> Layout {
        let attributes = config::SIZE;
        let addresses = attributes + attribute::SIZE * launch.attributes.len() as u32;
        let mut size = addresses + 8 * launch.params.len() as u32;
        let place = |param: &Param<'_>| {
            let (bytes, align) = match param {
                Param::Packed(packing) => (packing.size, packing.align),
                Param::Scratch(_) => (8, 8),
                Param::TensorMap(_) => (map::AREA, map::AREA_ALIGN),
                Param::Map(_) => (0, 1),
            };
            let at = size.next_multiple_of(align);
            size = at + bytes;
            at
        };
        let arguments = launch.params.iter().map(place).collect();
        Layout { attributes, addresses, arguments, size }
    }

    /// Returns the size in words of 8 bytes.
    pub(super) fn words(&self) -> u32 {
        self.size.div_ceil(8)
    }
}

/// A launch with all that the driver gets.
#[derive(Clone, Copy)]
pub(super) struct Ready<'e> {
    pub(super) subject: Subject,
    /// The `CUkernel`.
    pub(super) function: Value,
    /// Address of the config.
    pub(super) config: Value,
    /// Extents and the size of shared memory, if the config gets them only for an error.
    pub(super) extents: Option<&'e [Field]>,
    pub(super) stream: Value,
    /// Address of the addresses of the kernel's arguments.
    pub(super) addresses: Value,
}

/// The first arguments of all routines of launches.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    /// Address of the record of the function, for errors.
    pub(super) site: Value,
    /// Address of the variable of the GPU kernel.
    pub(super) kernel: Value,
    /// Device index, `I64`.
    pub(super) device: Value,
}

impl Subject {
    pub(super) fn args(self) -> [Value; 3] {
        [self.site, self.kernel, self.device]
    }

    pub(super) fn args_with<const N: usize>(self, more: [Value; N]) -> Vec<Value> {
        self.args().into_iter().chain(more).collect()
    }
}

/// A scalar in a struct: its byte offset and its value.
#[derive(Clone, Copy)]
pub(super) struct Field {
    offset: u32,
    pub(super) value: Value,
}

/// Emits a launch statement; an empty grid launches nothing.
pub(in crate::lower::body) fn launch<'a>(c: &mut Checker<'a, '_>, launch: &'a Launch<'a>) {
    if kept::launch_kept(c, launch) {
        return;
    }
    let extents = fields(c, &launch.extents);
    if launch.is_empty() {
        return;
    }
    let Some(empty) = is_empty(c, launch, &extents) else {
        return c.in_scope(|c| launch_grid(c, launch, &extents));
    };
    let [go, next] = ["launch", "next"].map(|label| c.e.b.block(label));
    c.e.b.branch(empty, next, go);
    c.e.b.switch_to(go);
    c.in_scope(|c| launch_grid(c, launch, &extents));
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
}

/// Returns a `Bool` that is true if an extent of the grid is 0; `None` if all are literals.
pub(super) fn is_empty(
    c: &mut Checker<'_, '_>,
    launch: &Launch<'_>,
    extents: &[Field],
) -> Option<Value> {
    let open = launch.grid().iter().zip(extents);
    let open = open.filter(|((_, extent), _)| extent.constant().is_none());
    open.fold(None, |any, (_, extent)| {
        let zero = c.e.b.compare_const(Cond::Eq, extent.value, 0);
        Some(any.map_or(zero, |any| c.e.b.or(any, zero)))
    })
}

/// Emits the launch of a grid that is not empty.
fn launch_grid<'a>(c: &mut Checker<'a, '_>, launch: &'a Launch<'a>, extents: &[Field]) {
    require_all_gpu(c, launch);
    allocate_scratches(c, launch);
    let layout = Layout::of(launch);
    let area = c.e.slot(Slot::Launch, layout.size);
    // The driver takes a config, or each extent.
    let extents = match c.e.function.platform {
        Platform::Cuda => {
            store_config(c, area, &layout, launch, extents);
            None
        }
        Platform::Hip => Some(extents),
    };
    let site = c.exits.here(&mut c.e);
    for index in 0..launch.params.len() {
        store_param(c, area, &layout, launch, index, site);
    }
    let addresses = c.e.b.ptr_offset(area, layout.addresses.into());
    let (subject, function) = load(c, launch, site, area);
    let stream = command::stream_or(c, launch.stream.as_ref(), subject.device);
    if extents.is_none() {
        c.e.b.store(stream, area, config::STREAM);
    }
    start(c, launch, Ready { subject, function, config: area, extents, stream, addresses });
}

/// Stores the given stream, or the current one of the device in the environment, in the config.
pub(super) fn store_stream<'a>(
    c: &mut Checker<'a, '_>,
    launch: &'a Launch<'a>,
    device: Value,
    area: Value,
) -> Value {
    let stream = command::stream_or(c, launch.stream.as_ref(), device);
    c.e.b.store(stream, area, config::STREAM);
    stream
}

/// Emits the checks that tensors declared for any device are on a GPU.
pub(super) fn require_all_gpu(c: &mut Checker<'_, '_>, launch: &Launch<'_>) {
    launch.unsure.iter().for_each(|&value| terms::require_gpu(c, value));
}

/// Emits the allocation of the scratch memory of a launch.
pub(super) fn allocate_scratches(c: &mut Checker<'_, '_>, launch: &Launch<'_>) {
    for scratch in launch.scratches() {
        allocate::plan(c, &[scratch]);
        allocate::allocate(c, &[scratch]);
    }
}

/// Stores the config without the stream, and the attributes.
pub(super) fn store_config<'a>(
    c: &mut Checker<'a, '_>,
    area: Value,
    layout: &Layout,
    launch: &'a Launch<'a>,
    extents: &[Field],
) {
    store_fields(c, area, 0, extents);
    store_attributes(c, area, layout, launch);
}

/// Stores argument number `index` of the kernel, and its address.
pub(super) fn store_param<'a>(
    c: &mut Checker<'a, '_>,
    area: Value,
    layout: &Layout,
    launch: &'a Launch<'a>,
    index: usize,
    site: Value,
) {
    let param = &launch.params[index];
    let address = store_argument(c, area, layout.arguments[index], param, site);
    c.e.b.store(address, area, (layout.addresses + 8 * index as u32) as i32);
}

/// Returns the `CUkernel` with the permissions that it needs, and what routines need for errors.
pub(super) fn load<'a>(
    c: &mut Checker<'a, '_>,
    launch: &Launch<'a>,
    site: Value,
    area: Value,
) -> (Subject, Value) {
    let (kernel, device) = (kernel_of(c, launch), terms::device_of(c, launch.device));
    let subject = Subject { site, kernel, device };
    let function = match c.e.function.platform {
        Platform::Cuda => loaded_kernel(c, subject),
        Platform::Hip => loaded_function(c, subject),
    };
    if launch.allowed.shared || launch.allowed.cluster {
        let status = c.e.routine_value(Routine::Allow, &subject.args_with([area]));
        c.e.exit_unless_zero(status, "not_launched");
    }
    (subject, function)
}

/// Emits the call of the driver that launches the kernel.
pub(super) fn start<'a>(c: &mut Checker<'a, '_>, launch: &Launch<'a>, ready: Ready<'_>) {
    match c.e.function.platform {
        Platform::Cuda => start_on_cuda(c, ready),
        Platform::Hip => start_on_hip(c, launch, ready),
    }
}

/// Emits the call that finds the current device. Returns a `Bool` that is true if it is the device of the launch, and
/// the status of the call.
pub(super) fn is_current(c: &mut Checker<'_, '_>, subject: Subject) -> (Value, Value) {
    let (signature, at) = match c.e.function.platform {
        Platform::Cuda => (cuda::Entry::CtxGetDevice.signature(), cuda::kernel::GET_DEVICE),
        Platform::Hip => (hip::Entry::GetDevice.signature(), hip::kernel::GET_DEVICE),
    };
    let none = c.e.b.i64(-1);
    let current = c.e.scratch(&[none]);
    let entry = c.e.b.atomic_load(Type::Ptr, subject.kernel, at);
    let status = c.e.b.call_indirect_value(signature, entry, &[current]);
    let found = c.e.b.load(Type::I32, current, 0);
    let found = c.e.b.convert(Convert::Sext, found, Type::I64);
    let is_current = c.e.b.compare(Cond::Eq, found, subject.device);
    let is_fine = c.e.b.compare_const(Cond::Eq, status, 0);
    (c.e.b.and(is_fine, is_current), status)
}

/// Emits the check of the status of a launch, and the call of the routine that raises its error.
pub(super) fn check_launch(
    c: &mut Checker<'_, '_>,
    failed: Routine,
    ready: Ready<'_>,
    status: Value,
) {
    let is_failed = c.e.b.compare_const(Cond::Ne, status, 0);
    let (fail, next) = (c.e.b.cold_block("not_launched"), c.e.b.block("next"));
    c.e.b.branch(is_failed, fail, next);
    c.e.b.switch_to(fail);
    store_fields(c, ready.config, 0, ready.extents.unwrap_or_default());
    c.e.routine(failed, &ready.subject.args_with([ready.config, status]));
    let raised = c.e.b.i32(-1);
    c.e.exit(Some(raised));
    c.e.b.switch_to(next);
}

/// Returns the address of the variable of the kernel of a launch.
pub(super) fn kernel_of<'a>(c: &mut Checker<'a, '_>, launch: &Launch<'a>) -> Value {
    let platform = c.e.function.platform;
    let kernel = images::kernel(c.e.b.module, platform, launch);
    c.e.b.address(kernel)
}

/// Computes the scalars of a struct.
pub(super) fn fields(c: &mut Checker<'_, '_>, packing: &Packing) -> Vec<Field> {
    let field = |(offset, argument): &(u32, Argument)| {
        let values = pass::pass(c, argument);
        values.into_iter().map(|value| Field { offset: *offset, value }).collect::<Vec<_>>()
    };
    packing.parts.iter().flat_map(field).collect()
}

/// Stores scalars in a struct that starts at byte `start` of the area.
pub(super) fn store_fields(c: &mut Checker<'_, '_>, area: Value, start: u32, fields: &[Field]) {
    for field in fields {
        c.e.b.store(field.value, area, (start + field.offset) as i32);
    }
}

/// Stores zeros in the padding of a struct: kernels copy all of its bytes.
fn clear_padding(c: &mut Checker<'_, '_>, area: Value, start: u32, size: u32, fields: &[Field]) {
    let ends = fields.iter().map(|field| field.offset + c.e.b.ty(field.value).bytes());
    let starts = fields.iter().map(|field| field.offset).chain([size]);
    for (mut at, end) in [0].into_iter().chain(ends).zip(starts).collect::<Vec<_>>() {
        while at < end {
            let fits = |ty: &Type| at.is_multiple_of(ty.bytes()) && at + ty.bytes() <= end;
            let ty = [Type::I32, Type::I16].into_iter().find(fits).unwrap_or(Type::I8);
            let zero = c.e.b.constant(ty, 0);
            c.e.b.store(zero, area, (start + at) as i32);
            at += ty.bytes();
        }
    }
}

/// Stores the attributes, and their address and count in the config. A routine clears the attributes first, since
/// LLVM may turn many stores of zero into a call of the C library.
fn store_attributes<'a>(
    c: &mut Checker<'a, '_>,
    area: Value,
    layout: &Layout,
    launch: &'a Launch<'a>,
) {
    let count = launch.attributes.len() as i64;
    let attributes = c.e.b.ptr_offset(area, layout.attributes.into());
    if count > 0 {
        let words = c.e.b.i64(count * i64::from(attribute::WORDS));
        c.e.routine(Routine::Clear, &[attributes, words]);
    }
    for (index, (id, value)) in launch.attributes.iter().enumerate() {
        let start = layout.attributes + attribute::SIZE * index as u32;
        let id = c.e.b.i32(*id as i32);
        c.e.b.store(id, area, start as i32 + attribute::ID);
        let fields = fields(c, value);
        store_fields(c, area, start + attribute::VALUE as u32, &fields);
    }
    let count = c.e.b.i64(count);
    c.e.b.store(attributes, area, config::ATTRIBUTES);
    c.e.b.store(count, area, config::COUNT);
}

/// Stores an argument of the kernel at byte `at` of the area; returns its address.
pub(super) fn store_argument<'a>(
    c: &mut Checker<'a, '_>,
    area: Value,
    at: u32,
    param: &'a Param<'a>,
    site: Value,
) -> Value {
    match param {
        Param::Packed(packing) => {
            let fields = fields(c, packing);
            store_fields(c, area, at, &fields);
            clear_padding(c, area, at, packing.size, &fields);
        }
        Param::Scratch(output) => {
            let data = output::data(&mut c.e, *output);
            c.e.b.store(data, area, at as i32);
        }
        Param::TensorMap(map) => {
            let to = c.e.b.ptr_offset(area, at.into());
            return map::tensor_map(c, map, to, site);
        }
        Param::Map(map) => return c.e.known.map(*map),
    }
    c.e.b.ptr_offset(area, at.into())
}

/// Emits the calls that prepare each kernel, in the function that prepares launches.
pub(in crate::lower::body) fn load_kernels<'a>(c: &mut Checker<'a, '_>, prepare: &'a Prepare<'a>) {
    let device = c.e.known.value(prepare.device).scalar().native;
    let site = c.exits.here(&mut c.e);
    let routine = match prepare.platform {
        Platform::Cuda => Routine::Prepare,
        Platform::Hip => Routine::LoadFunction,
    };
    for launch in &prepare.launches {
        let kernel = images::kernel(c.e.b.module, prepare.platform, launch);
        let kernel = c.e.b.address(kernel);
        let status = c.e.routine_value(routine, &[site, kernel, device]);
        c.e.exit_unless_zero(status, "not_launched");
    }
    command::prepare_commands(c, prepare, device, site);
}
