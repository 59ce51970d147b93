//! Devices of tensors: their indices, the check that they are GPUs, and their attributes.

use abi_spec::layout::dl_tensor;

use crate::declaration::Platform;
use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::checks::terms::exact;
use crate::lower::cuda::{ATTRIBUTE_DEVICE_SHIFT, ATTRIBUTE_KNOWN};
use crate::lower::emitter::output;
use crate::lower::failure::message::Message;
use crate::lower::routines::NO_ATTRIBUTE;
use crate::lower::routines::commands::Commands;
use crate::lower::routines::records::PieceKind;
use crate::lower::value::zeros;
use crate::resolve::ids::{Home, ValueId};

/// Returns the device index of a tensor, `I64`.
pub(in crate::lower) fn device_of(c: &mut Checker<'_, '_>, home: Home) -> Value {
    let index = match home {
        Home::Value(value) => c.e.tensor(value).device_id32(),
        Home::Output(_) => {
            let dl = home_tensor(c, home);
            c.e.b.load(Type::I32, dl, dl_tensor::DEVICE_ID.offset)
        }
    };
    c.e.b.convert(Convert::Sext, index, Type::I64)
}

/// Returns the `DLTensor*` of a tensor.
fn home_tensor(c: &mut Checker<'_, '_>, home: Home) -> Value {
    match home {
        Home::Value(value) => c.e.tensor(value).dl(),
        Home::Output(output) => output::tensor(&mut c.e, output),
    }
}

/// Checks that a tensor is on a GPU or absent. Needed if the declaration allows any device.
pub(in crate::lower) fn require_gpu(c: &mut Checker<'_, '_>, value: ValueId) {
    let dl = c.e.tensor(value).dl();
    let dl = c.e.readable(value, dl, 16);
    let device = c.e.b.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset);
    let ty = c.e.b.convert(Convert::Trunc, device, Type::I32);
    let gpu = c.e.function.platform.device_type();
    let is_gpu = c.e.b.compare_const(Cond::Eq, ty, gpu.0.into());
    let fine = c.e.or_absent(value, is_gpu);
    let path = c.e.function.values[value].path.clone();
    let argument = c.e.function.argument(value);
    let fail = c.failing(|_| {
        let mut message = Message::new("ValueError");
        message.text("Mismatched ").quoted(&path).text(".device").on(argument);
        message.piece(PieceKind::Calling, &[]).text(&format!(", expected {gpu} but got "));
        message.piece(PieceKind::Device, &[device]);
        message
    });
    c.e.b.guard(fine, fail);
}

/// Returns an attribute of the device of a tensor, an `I64`. The driver is asked if the device is another one than
/// the last time.
pub(super) fn device_attribute(
    c: &mut Checker<'_, '_>,
    home: Home,
    unsure: Option<ValueId>,
    id: u32,
) -> Value {
    exact::settle_overflows(c);
    unsure.into_iter().for_each(|value| require_gpu(c, value));
    let device = device_of(c, home);
    let platform = c.e.function.platform;
    let cell = attribute_cell(c, platform, id);
    let word = c.e.b.atomic_load(Type::I64, cell, 0);
    let shift = ATTRIBUTE_DEVICE_SHIFT as i64;
    let found = c.e.b.binary_const(Binary::Lshr, word, shift);
    let wanted = c.e.b.binary_const(Binary::Xor, device, ATTRIBUTE_KNOWN as i64);
    let is_known = c.e.b.compare(Cond::Eq, found, wanted);
    let low = c.e.b.convert(Convert::Trunc, word, Type::I32);
    let known = c.e.b.convert(Convert::Sext, low, Type::I64);
    let (ask, next) = (c.e.b.cold_block("ask"), c.e.b.block("attribute"));
    let value = c.e.b.block_param(next, Type::I64, "attribute");
    c.e.b.branch(is_known, (next, [known]), ask);
    c.e.b.switch_to(ask);
    let (site, number) = (c.exits.here(&mut c.e), c.e.b.i32(id as i32));
    let told = c.e.routine_value(Commands::of(platform).attribute, &[site, cell, device, number]);
    let failed = c.e.b.compare_const(Cond::Eq, told, NO_ATTRIBUTE);
    let raised = c.exits.raised(&mut c.e);
    c.e.b.branch(failed, raised, (next, [told]));
    c.e.b.switch_to(next);
    value
}

/// Returns the index of the driver's current device, an `I64`.
pub(super) fn current_device(c: &mut Checker<'_, '_>) -> Value {
    exact::settle_overflows(c);
    let routine = Commands::of(c.e.function.platform).current;
    let site = c.exits.here(&mut c.e);
    let told = c.e.routine_value(routine, &[site]);
    let failed = c.e.b.compare_const(Cond::Eq, told, NO_ATTRIBUTE);
    let (raised, next) = (c.exits.raised(&mut c.e), c.e.b.block("next"));
    c.e.b.branch(failed, raised, next);
    c.e.b.switch_to(next);
    told
}

/// Returns the address of the cell of an attribute, which all functions of the module share.
pub(in crate::lower) fn attribute_cell(
    c: &mut Checker<'_, '_>,
    platform: Platform,
    id: u32,
) -> Value {
    let (ty, module) = (platform.device_type(), &mut *c.e.b.module);
    let symbol = zeros(module, &format!("tvm_ffi_codegen.attribute.{ty}.{id}"), 8);
    c.e.b.address(symbol)
}
