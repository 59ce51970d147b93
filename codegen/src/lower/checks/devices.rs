//! Devices of tensors that may be absent or are within a sequence or a union.
//!
//! Tensors on the same type of device, other than the CPU, must be on the same device. If calls differ in the tensors
//! that they have, each tensor is compared with a table in the frame, to which the wrapper adds the first device of
//! each type.

use abi_spec::DeviceType;
use abi_spec::layout::dl_tensor;

use crate::declaration::Device;
use crate::ir::{Binary, Builder, Cond, Convert, Hint, Type, Value};
use crate::lower::checks::checker::Checker;
use crate::lower::emitter::state::Origin;
use crate::lower::routines::records::place;
use crate::resolve::function::Function;
use crate::resolve::ids::ValueId;
use crate::resolve::step::{Place, Step};

/// Capacity of a table, in devices; there are fewer types of devices.
const MAX_DEVICES: i64 = 24;

/// Bytes of a table: a count, then for each device its `DLDevice` and the place of the tensor that is on it.
const TABLE_SIZE: u32 = 8 + ENTRY as u32 * MAX_DEVICES as u32;
const FIRST: i32 = 8;

/// Size of an entry in bytes, and byte offset of its place from the address that [`entry`] returns.
const ENTRY: i64 = 16;
const PLACE: i32 = FIRST + 8;

/// Returns true if calls differ in which tensors of these steps they have.
fn vary(function: &Function<'_>, steps: &[Step<'_>]) -> bool {
    let mut vary = false;
    Step::visit_all(steps, &mut |step| {
        if let Step::Header { value, tensor, device: true } = step
            && tensor.device != Device::Type(DeviceType::CPU)
        {
            let value = &function.values[*value];
            vary |= value.dynamic || value.guard.is_some();
        }
    });
    vary
}

/// Creates an empty table of devices if these steps need one.
pub(in crate::lower) fn device_table(c: &mut Checker<'_, '_>, steps: &[Step<'_>]) {
    c.devices.table = None;
    if vary(c.e.function, steps) {
        let table = c.e.b.stack_slot(TABLE_SIZE, 8);
        let zero = c.e.b.i64(0);
        c.e.b.store(zero, table, 0);
        c.e.b.store(zero, table, FIRST);
        c.devices.table = Some(table);
    }
}

/// Returns the count and the first device of the table, to restore them later.
pub(super) fn noted_devices(c: &mut Checker<'_, '_>) -> Option<[Value; 2]> {
    let table = c.devices.table?;
    Some([0, FIRST].map(|at| c.e.b.load(Type::I64, table, at)))
}

/// Restores the table to what [`noted_devices`] returned.
pub(super) fn forget_devices(c: &mut Checker<'_, '_>, noted: Option<[Value; 2]>) {
    if let (Some(table), Some([count, first])) = (c.devices.table, noted) {
        c.e.b.store(count, table, 0);
        c.e.b.store(first, table, FIRST);
    }
}

/// Checks that the device of a tensor is the device of the same type in the table. Adds the device if the table has
/// none.
pub(super) fn note_device(c: &mut Checker<'_, '_>, value: ValueId) {
    let Some(table) = c.devices.table else { return };
    let dl = c.e.tensor(value).dl();
    let found = c.e.b.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset);
    let first = c.e.b.load(Type::I64, table, FIRST);
    let other = c.e.b.compare(Cond::Ne, found, first);
    let ty = c.e.b.convert(Convert::Trunc, found, Type::I32);
    let indexed = c.e.b.compare_const(Cond::Ugt, ty, DeviceType::CPU.0.into());
    let unknown = c.e.b.and(other, indexed);
    let unknown = c.e.known.mask(value).map_or(unknown, |mask| c.e.b.and(mask, unknown));
    let mask = c.checks.mask.take();
    let next = c.e.b.block("next");
    let unlike = c.e.b.block("unlike");
    c.e.b.branch(unknown, unlike, next);
    c.e.b.switch_to(unlike);
    let is_named = !c.e.function.values[value].dynamic && c.exits.other().is_none();
    let place = if is_named {
        c.exits.subjects.packed_place(Place::Value { value })
    } else {
        place::UNNAMED
    };
    note(c, value, table, found, place);
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
    c.checks.mask = mask;
}

/// A `DLDevice` as an `I64`, and the place of the first tensor on it.
type Noted = [Value; 2];

/// Emits the loop over the table that finds the device of the same type and compares, or adds a new entry.
fn note(c: &mut Checker<'_, '_>, value: ValueId, table: Value, found: Value, place: u64) {
    let labels = ["devices", "device", "same_type", "other", "new", "noted"];
    let [head, body, same, other, new, done] = labels.map(|label| c.e.b.block(label));
    let at = c.e.b.block_param(head, Type::I64, Hint::default());
    let (zero, count) = (c.e.b.i64(0), c.e.b.load(Type::I64, table, 0));
    c.e.b.jump(head, &[zero]);
    c.e.b.switch_to(head);
    let more = c.e.b.compare(Cond::Slt, at, count);
    c.e.b.branch(more, body, new);
    c.e.b.switch_to(body);
    let entry = entry(&mut c.e.b, table, at);
    let known = c.e.b.load(Type::I64, entry, FIRST);
    let [ty, known_type] =
        [found, known].map(|word| c.e.b.convert(Convert::Trunc, word, Type::I32));
    let is_same = c.e.b.eq(known_type, ty);
    c.e.b.branch(is_same, same, other);
    c.e.b.switch_to(same);
    let origin = c.e.b.load(Type::I64, entry, PLACE);
    let fail = c.exits.device(&mut c.e, value, known, Origin::Computed(origin));
    let agrees = c.e.b.eq(known, found);
    c.e.b.branch(agrees, done, fail);
    c.e.b.switch_to(other);
    let next = c.e.b.binary_const(Binary::Add, at, 1);
    c.e.b.jump(head, &[next]);
    c.e.b.switch_to(new);
    let place = c.e.b.i64(place as i64);
    add(&mut c.e.b, table, count, [found, place]);
    c.e.b.jump(done, &[]);
    c.e.b.switch_to(done);
}

/// Adds an entry, if there is room.
fn add(b: &mut Builder<'_>, table: Value, count: Value, [found, place]: Noted) {
    let room = b.compare_const(Cond::Slt, count, MAX_DEVICES);
    b.if_then(room, |b| {
        let entry = entry(b, table, count);
        b.store(found, entry, FIRST);
        b.store(place, entry, PLACE);
        let count = b.binary_const(Binary::Add, count, 1);
        b.store(count, table, 0);
    });
}

/// Returns the address from which the device of entry `at` is [`FIRST`] bytes away.
fn entry(b: &mut Builder<'_>, table: Value, at: Value) -> Value {
    let offset = b.binary_const(Binary::Shl, at, ENTRY.trailing_zeros().into());
    b.ptr_add(table, offset)
}
