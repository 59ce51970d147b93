//! Loads of what a closure holds.

use abi_spec::DeviceType;
use abi_spec::layout::{OBJECT, any, byte_array, dl_tensor, seq_cell};

use crate::declaration::Device;
use crate::ir::{Hint, Type, Value};
use crate::lower::checks::{self, Checker};
use crate::lower::emitter::state::OutputState;
use crate::lower::emitter::value::element;
use crate::resolve::captured::Captured;
use crate::resolve::ids::{LocalId, OutputId};
use crate::resolve::step::Step;
use crate::resolve::term::Kind;

/// Loads what a closure holds.
pub(super) fn unpack_held(c: &mut Checker<'_, '_>) {
    if c.e.function.captured.is_empty() {
        return;
    }
    let array = c.e.b.param(0);
    let elements = c.e.b.load(Type::Ptr, array, seq_cell::DATA.in_object());
    unpack_elements(c, elements);
    note_held_device(c);
}

/// Loads what a closure holds at an address.
pub(super) fn unpack_elements(c: &mut Checker<'_, '_>, elements: Value) {
    c.e.b.hint(elements, "held");
    c.e.hold(elements);
    unpack_numbers(c, elements);
    for (index, captured) in c.e.function.captured.iter().enumerate() {
        match captured {
            Captured::Local(_) | Captured::Map(_) => {}
            Captured::Value(_, steps) => checks::unpack_steps(c, steps, true),
            Captured::Output(output) => unpack_output(c, *output, elements, index),
        }
    }
}

/// Notes the device of the first captured tensor, with which those of the parameters are compared.
fn note_held_device(c: &mut Checker<'_, '_>) {
    let mut is_compared = false;
    Step::visit_all(&c.e.function.steps, &mut |step| {
        is_compared |= matches!(step, Step::Header { tensor, device: true, .. }
            if tensor.device != Device::Type(DeviceType::CPU));
    });
    let on_device = |captured: &Captured<'_>| {
        let Captured::Value(value, _) = captured else { return None };
        let declared = &c.e.function.values[*value];
        let device = declared.tensor()?.device;
        let fits = declared.guard.is_none() && device != Device::Type(DeviceType::CPU);
        fits.then_some((*value, device))
    };
    if let Some((value, device)) = c.e.function.captured.iter().find_map(on_device)
        && is_compared
    {
        checks::same_device(c, value, device);
    }
}

/// Loads the numbers and the addresses of maps that a closure holds. A launch copies the bytes of a map, wherever they
/// are; only encoding needs aligned memory.
fn unpack_numbers(c: &mut Checker<'_, '_>, elements: Value) {
    for (index, captured) in c.e.function.captured.iter().enumerate() {
        match captured {
            Captured::Local(local) => unpack_local(c, *local, elements, index),
            Captured::Map(map) => {
                c.e.known.locals_mut().maps[*map] = Some(bytes_at(c, elements, index))
            }
            Captured::Value(..) | Captured::Output(_) => {}
        }
    }
    for (symbol, declared) in c.e.function.symbols.iter() {
        checks::know_symbol(c, symbol, declared.local);
    }
}

fn unpack_local(c: &mut Checker<'_, '_>, local: LocalId, elements: Value, index: usize) {
    let ty = match c.e.function.locals[local].kind {
        Kind::Float => Type::F64,
        Kind::Ptr => Type::Ptr,
        Kind::Int | Kind::Unsigned | Kind::Bool | Kind::DType => Type::I64,
        Kind::Device | Kind::Text | Kind::Several => {
            unreachable!("these are captured as values")
        }
    };
    let value = c.e.b.load(ty, elements, element(index) + any::PAYLOAD.offset);
    let name = c.e.function.locals[local].name;
    let name = c.e.b.name(name);
    c.e.b.hint(value, Hint { name: Some(name), part: "", index: None });
    c.e.known.locals_mut().values[local] = Some(value);
}

fn unpack_output(c: &mut Checker<'_, '_>, output: OutputId, elements: Value, index: usize) {
    let object = c.e.b.load(Type::Ptr, elements, element(index) + any::PAYLOAD.offset);
    let at = OBJECT.size as i32 + dl_tensor::DEVICE_TYPE.offset;
    let device = c.e.b.load(Type::I64, object, at);
    let (extents, dtype) = (Vec::new(), None);
    c.e.known.locals_mut().outputs[output] =
        Some(OutputState { extents, device, dtype, object: Some(object) });
}

/// Loads the address of the first byte of bytes that a closure holds.
pub(in crate::lower) fn bytes_at(c: &mut Checker<'_, '_>, elements: Value, index: usize) -> Value {
    let object = c.e.b.load(Type::Ptr, elements, element(index) + any::PAYLOAD.offset);
    c.e.b.load(Type::Ptr, object, OBJECT.size as i32 + byte_array::DATA.offset)
}
