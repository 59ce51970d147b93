//! Parts of a launch: its config, attributes, arguments, scratch memory and kernel.

use crate::declaration::Platform;
use crate::ir::{Cond, Value};
use crate::lower::body::allocate;
use crate::lower::body::launch::area::{self, Field, Layout, Ready, Subject, Word};
use crate::lower::body::launch::cuda::{loaded_kernel, start_on_cuda};
use crate::lower::body::launch::hip::{loaded_function, start_on_hip};
use crate::lower::body::launch::map;
use crate::lower::checks::Checker;
use crate::lower::checks::terms::{self, Loaded};
use crate::lower::cuda::{attribute, config};
use crate::lower::emitter::output;
use crate::lower::failure::message::Message;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::resolve::launch::{Bytes, Launch, Param};

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
    area::store_fields(c, area, 0, extents);
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
    let (kernel, device) = (area::kernel_of(c, launch), terms::device_of(c, launch.device));
    let subject = Subject { site, kernel, device: Word::Known(device) };
    let function = match c.e.function.platform {
        Platform::Cuda => loaded_kernel(c, subject),
        Platform::Hip => loaded_function(c, subject),
    };
    if let Some(function) = launch.on_load {
        terms::run_hook(c, Loaded { kernel, device }, launch.image, function);
    }
    if launch.allowed.shared || launch.allowed.cluster {
        let args = subject.args_with(c, [area]);
        let status = c.e.routine_value(Routine::Allow, &args);
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
        let fields = area::fields(c, value);
        area::store_fields(c, area, start + attribute::VALUE as u32, &fields);
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
            let fields = area::fields(c, packing);
            area::store_fields(c, area, at, &fields);
            area::clear_padding(c, area, at, packing.size, &fields);
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
        Param::Bytes(bytes) => return bytes_of(c, bytes),
    }
    c.e.b.ptr_offset(area, at.into())
}

/// Checks that a tensor has the bytes that the driver reads; returns their address.
fn bytes_of(c: &mut Checker<'_, '_>, bytes: &Bytes) -> Value {
    let numel = terms::eval(c, &bytes.numel);
    let is_enough = c.e.b.compare_const(Cond::Sge, numel, bytes.least);
    let least = c.e.b.i64(bytes.least);
    let fail = c
        .failing(|_| Message::of(Complaint::FewElements, &bytes.name).with_values(&[least, numel]));
    c.e.b.guard(is_enough, fail);
    terms::eval(c, &bytes.address)
}
