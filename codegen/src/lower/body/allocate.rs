//! Tensors that a body allocates: results, workspaces, scratches of launches. First the extents and devices of tensors
//! are computed, then the tensors are allocated together.

use abi_spec::DeviceType;
use abi_spec::layout::{ANY, any, dl_tensor};

use crate::declaration::Device;
use crate::ir::typed::Struct;
use crate::ir::{Cond, Type, Value};
use crate::language::spelled;
use crate::lower::checks::{Checker, terms};
use crate::lower::emitter::known::before_use;
use crate::lower::emitter::output;
use crate::lower::emitter::state::OutputState;
use crate::lower::failure::records;
use crate::lower::routines::Routine;
use crate::lower::routines::records::{OutputRecord, Outputs};
use crate::lower::routines::schema::FieldType;
use crate::resolve::ids::{Home, OutputId};
use crate::resolve::named::Output;

/// Computes the extents and the devices of tensors.
pub(super) fn plan(c: &mut Checker<'_, '_>, outputs: &[OutputId]) {
    for &id in outputs {
        let output = &c.e.function.outputs[id];
        let extents = output.extents.iter().map(|extent| terms::eval(c, extent)).collect();
        let device = output_device(c, output);
        let dtype = output.dtype_of.map(|tensor| c.e.tensor(tensor).dtype32());
        c.e.known.locals_mut().outputs[id] =
            Some(OutputState { extents, device, dtype, object: None });
    }
}

/// Returns the device of a tensor: the 8 bytes of a `DLDevice` as an `I64`.
fn output_device(c: &mut Checker<'_, '_>, output: &Output<'_>) -> Value {
    let dl = match (output.home, output.tensor.device) {
        (Some(Home::Value(value)), _) => c.e.tensor(value).dl(),
        (Some(Home::Output(output)), _) => output::tensor(&mut c.e, output),
        (None, Device::Any) => return c.e.b.i64(DeviceType::CPU.0.into()),
        (None, Device::Type(ty)) => return c.e.b.i64(ty.0.into()),
    };
    c.e.b.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset)
}

/// Emits the allocation of tensors after [`plan`]. From then on the frame owns them.
pub(super) fn allocate(c: &mut Checker<'_, '_>, outputs: &[OutputId]) {
    let Planned { dtypes, extents, devices } = planned(c, outputs);
    let count = outputs.len() as u32;
    let tensors = c.e.own(count);
    let site = c.exits.here(&mut c.e);
    let record = outputs_record(c, outputs, &dtypes);
    let args = [site, record, extents, devices, tensors];
    let status = c.e.routine_value(Routine::Allocate, &args);
    let failed = c.e.b.compare_const(Cond::Ne, status, 0);
    let next = c.e.b.enter_cold_if(failed, "not_allocated");
    c.e.frame.disown(count);
    c.e.exit(Some(status));
    c.e.own(count);
    c.e.b.switch_to(next);
    for (index, &output) in outputs.iter().enumerate() {
        let at = (index as u32 * ANY.size) as i32 + any::PAYLOAD.offset;
        let object = c.e.b.load(Type::Ptr, tensors, at);
        if let Some(state) = &mut c.e.known.locals_mut().outputs[output] {
            state.object = Some(object);
        }
    }
}

/// Emits the allocation of all results by PyTorch, in the array that the result of the function is, and the return.
pub(super) fn lend(c: &mut Checker<'_, '_>) {
    let outputs: Vec<OutputId> = c.e.function.results().map(|(output, _)| output).collect();
    plan(c, &outputs);
    let Planned { dtypes, extents, devices } = planned(c, &outputs);
    let (site, tensors) = (c.exits.here(&mut c.e), before_use(c.e.interface.result));
    let record = outputs_record(c, &outputs, &dtypes);
    let args = [site, record, extents, devices, tensors];
    let status = c.e.routine_value(Routine::TorchAllocate, &args);
    c.e.release_beyond(0);
    c.e.b.ret(Some(status));
}

/// Values for the routines that allocate: element types that are known at run time only, and addresses of the extents
/// of all tensors in a row and of their devices.
struct Planned {
    dtypes: Vec<Option<Value>>,
    extents: Value,
    devices: Value,
}

/// Stores what [`plan`] has computed.
fn planned(c: &mut Checker<'_, '_>, outputs: &[OutputId]) -> Planned {
    let planned = outputs.iter().filter_map(|&output| c.e.known.locals().outputs[output].clone());
    let planned: Vec<OutputState> = planned.collect();
    let extents: Vec<Value> =
        planned.iter().flat_map(|output| output.extents.iter().copied()).collect();
    let devices: Vec<Value> = planned.iter().map(|output| output.device).collect();
    let words: Vec<Value> = devices.iter().chain(&extents).copied().collect();
    let devices_at = c.e.scratch(&words);
    let extents_at = c.e.b.ptr_offset(devices_at, 8 * devices.len() as i64);
    let dtypes = planned.iter().map(|output| output.dtype).collect();
    Planned { dtypes, extents: extents_at, devices: devices_at }
}

/// Returns the address of the record of tensors that are allocated together. It is a constant unless an element
/// type is known at run time only.
fn outputs_record(
    c: &mut Checker<'_, '_>,
    outputs: &[OutputId],
    dtypes: &[Option<Value>],
) -> Value {
    let mut words = Vec::new();
    for &output in outputs {
        output_record(c, output).encode(&mut words);
    }
    let head = Outputs { count: outputs.len() as u32 };
    if dtypes.iter().all(Option::is_none) {
        let record = c.exits.subjects.records.shared(head, &words);
        return records::address(&mut c.e.b, record);
    }
    let mut all = Vec::new();
    head.encode(&mut all);
    all.append(&mut words);
    let at = c.e.b.stack_slot(4 * all.len() as u32, 8);
    for (nth, word) in all.into_iter().enumerate() {
        let word = c.e.b.i32(word.cast_signed());
        c.e.b.store(word, at, 4 * nth as i32);
    }
    let first = 4 * Outputs::WORDS as i32 + OutputRecord::FIELDS.dtype.offset();
    for (nth, dtype) in dtypes.iter().enumerate() {
        if let Some(dtype) = dtype {
            c.e.b.store(*dtype, at, first + (4 * OutputRecord::WORDS as usize * nth) as i32);
        }
    }
    at
}

/// Returns the record of a tensor. An element type that is known at run time only is 0. Its elements are aligned
/// for the largest one that it may be.
fn output_record(c: &mut Checker<'_, '_>, output: OutputId) -> OutputRecord {
    let output = &c.e.function.outputs[output];
    let listing = output.dtype_of.and_then(|tensor| c.e.function.listing(tensor));
    let align = output.tensor.align;
    let align = align.unwrap_or_else(|| listing.unwrap_or(&output.tensor).largest_alignment());
    let dtype = output.tensor.dtypes.first().map_or(0, |dtype| dtype.to_word());
    let name = c.exits.subjects.records.quoted(&spelled(output.name).to_string());
    OutputRecord { rank: output.extents.len() as u32, dtype, align, name }
}
