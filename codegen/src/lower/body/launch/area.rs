//! The area of a launch in the frame, the values that stand in it, and what both platforms ask before a launch.

use abi_spec::runtime;

use crate::declaration::Platform;
use crate::ir::{Block, Cond, Convert, Type, Value};
use crate::lower::body::launch::map;
use crate::lower::body::pass;
use crate::lower::checks::{Checker, terms};
use crate::lower::cuda::{self, attribute, config};
use crate::lower::dynamic::Entries;
use crate::lower::hip;
use crate::lower::images;
use crate::lower::routines::Routine;
use crate::resolve::argument::Argument;
use crate::resolve::launch::{Launch, Packing, Param};
use crate::resolve::term::Term;
/// Byte offsets in the area of a launch: a `CUlaunchConfig`, attributes, the addresses of the kernel's arguments, and
/// the arguments.
pub(super) struct Layout {
    pub(super) attributes: u32,
    pub(super) addresses: u32,
    pub(super) arguments: Vec<u32>,
    pub(super) size: u32,
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
                Param::Map(_) | Param::Bytes(_) => (0, 1),
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
    pub(super) function: Word,
    /// Address of the config.
    pub(super) config: Value,
    /// Extents and the size of shared memory, if the config gets them only for an error.
    pub(super) extents: Option<&'e [Field]>,
    pub(super) stream: Word,
    /// Address from which the table of the addresses of the kernel's arguments is so many bytes away.
    pub(super) addresses: (Value, i64),
}

/// The first arguments of all routines of launches.
#[derive(Clone, Copy)]
pub(super) struct Subject {
    /// Address of the record of the function, for errors.
    pub(super) site: Value,
    /// Address of the variable of the GPU kernel.
    pub(super) kernel: Value,
    /// The index of the device, `I64`.
    pub(super) device: Word,
}

/// A word that a launch needs.
#[derive(Clone, Copy)]
pub(super) enum Word {
    /// A value.
    Known(Value),
    /// A word of this type at this byte offset from an address, which each use loads: a value would stay in a register
    /// across calls of the driver.
    At(Type, Value, i32),
}

impl Word {
    /// Returns the value, which is loaded here if it is not known.
    pub(super) fn value(self, c: &mut Checker<'_, '_>) -> Value {
        match self {
            Word::Known(value) => value,
            Word::At(ty, address, offset) => c.e.b.load(ty, address, offset),
        }
    }
}

impl Ready<'_> {
    /// Returns the address of the addresses of the kernel's arguments.
    pub(super) fn addresses(&self, c: &mut Checker<'_, '_>) -> Value {
        let (base, offset) = self.addresses;
        c.e.b.ptr_offset(base, offset)
    }
}

impl Subject {
    pub(super) fn args(self, c: &mut Checker<'_, '_>) -> [Value; 3] {
        [self.site, self.kernel, self.device.value(c)]
    }

    pub(super) fn args_with<const N: usize>(
        self,
        c: &mut Checker<'_, '_>,
        more: [Value; N],
    ) -> Vec<Value> {
        self.args(c).into_iter().chain(more).collect()
    }
}

/// A scalar in a struct: its byte offset and its value.
#[derive(Clone, Copy)]
pub(super) struct Field {
    offset: u32,
    pub(super) value: Value,
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

/// Emits the call that finds the current device, and a branch to `here` if it is the device of the launch. Goes on
/// where it is not, or the call has failed; returns the status of the call.
pub(super) fn branch_if_current(c: &mut Checker<'_, '_>, subject: Subject, here: Block) -> Value {
    let (signature, at) = match c.e.function.platform {
        Platform::Cuda => (cuda::Entry::CtxGetDevice.signature(), cuda::kernel::GET_DEVICE),
        Platform::Hip => (hip::Entry::GetDevice.signature(), hip::kernel::GET_DEVICE),
    };
    let (known, there) = (c.e.b.block("current_device"), c.e.b.cold_block("other_device"));
    let none = c.e.b.i64(-1);
    let current = c.e.scratch(&[none]);
    let entry = c.e.b.atomic_load(Type::Ptr, subject.kernel, at);
    let status = c.e.b.call_indirect_value(signature, entry, &[current]);
    let is_fine = c.e.b.compare_const(Cond::Eq, status, 0);
    c.e.b.branch(is_fine, known, there);
    c.e.b.switch_to(known);
    let found = c.e.b.load(Type::I32, current, 0);
    let found = c.e.b.convert(Convert::Sext, found, Type::I64);
    let device = subject.device.value(c);
    let is_current = c.e.b.compare(Cond::Eq, found, device);
    c.e.b.branch(is_current, here, there);
    c.e.b.switch_to(there);
    status
}

/// Emits the check of the status of a launch, and the call of the routine that raises its error.
pub(super) fn check_launch(
    c: &mut Checker<'_, '_>,
    failed: Routine,
    ready: Ready<'_>,
    status: Value,
) {
    let is_failed = c.e.b.compare_const(Cond::Ne, status, 0);
    let next = c.e.b.enter_cold_if(is_failed, "not_launched");
    store_fields(c, ready.config, 0, ready.extents.unwrap_or_default());
    let args = ready.subject.args_with(c, [ready.config, status]);
    c.e.routine(failed, &args);
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
pub(super) fn clear_padding(
    c: &mut Checker<'_, '_>,
    area: Value,
    start: u32,
    size: u32,
    fields: &[Field],
) {
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

/// Returns a given stream, or the environment's stream of a device.
pub(super) fn stream_or(c: &mut Checker<'_, '_>, stream: Option<&Term>, device: Value) -> Value {
    if let Some(stream) = stream {
        return terms::eval(c, stream);
    }
    let number = c.e.b.convert(Convert::Trunc, device, Type::I32);
    let ty = c.e.function.platform.device_type();
    let ty = c.e.b.i32(ty.0);
    let get = crate::lower::runtime(c.e.b.module, &runtime::ENV_GET_STREAM);
    c.e.b.call_value(get, &[ty, number])
}
