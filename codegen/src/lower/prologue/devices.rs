//! Devices of tensors that may be absent or are within a sequence or a union.
//!
//! Tensors on the same type of device, other than the CPU, must be on the same device. If calls differ in the tensors
//! that they have, each tensor is compared with a table in the frame, to which the wrapper adds the first device of
//! each type.

use abi_spec::DeviceType;
use abi_spec::layout::dl_tensor;

use crate::declaration::Device;
use crate::ir::{Binary, Builder, Cond, Convert, Hint, Type, Value};
use crate::lower::emitter::state::Origin;
use crate::lower::routines::records::place;
use crate::lower::wrapper::Wrapper;
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

impl Wrapper<'_, '_> {
    /// Creates an empty table of devices if these steps need one.
    pub(crate) fn device_table(&mut self, steps: &[Step<'_>]) {
        self.devices.table = None;
        if vary(self.function, steps) {
            let table = self.b.stack_slot(TABLE_SIZE, 8);
            let zero = self.b.i64(0);
            self.b.store(zero, table, 0);
            self.b.store(zero, table, FIRST);
            self.devices.table = Some(table);
        }
    }

    /// Returns the count and the first device of the table, to restore them later.
    pub(crate) fn noted_devices(&mut self) -> Option<[Value; 2]> {
        let table = self.devices.table?;
        Some([0, FIRST].map(|at| self.b.load(Type::I64, table, at)))
    }

    /// Restores the table to what [`noted_devices`](Self::noted_devices) returned.
    pub(crate) fn forget_devices(&mut self, noted: Option<[Value; 2]>) {
        if let (Some(table), Some([count, first])) = (self.devices.table, noted) {
            self.b.store(count, table, 0);
            self.b.store(first, table, FIRST);
        }
    }

    /// Checks that the device of a tensor is the device of the same type in the table. Adds the device if the table has
    /// none.
    pub(crate) fn note_device(&mut self, value: ValueId) {
        let Some(table) = self.devices.table else { return };
        let dl = self.dl(value);
        let found = self.b.load(Type::I64, dl, dl_tensor::DEVICE_TYPE.offset);
        let first = self.b.load(Type::I64, table, FIRST);
        let other = self.b.compare(Cond::Ne, found, first);
        let ty = self.b.convert(Convert::Trunc, found, Type::I32);
        let indexed = self.b.compare_const(Cond::Ugt, ty, DeviceType::CPU.0.into());
        let unknown = self.b.and(other, indexed);
        let unknown = self.mask(value).map_or(unknown, |mask| self.b.and(mask, unknown));
        let mask = self.checks.mask.take();
        let next = self.b.block("next");
        let unlike = self.b.block("unlike");
        self.b.branch(unknown, unlike, next);
        self.b.switch_to(unlike);
        let is_named = !self.function.values[value].dynamic && self.exits.other.is_none();
        let place =
            if is_named { self.packed_place(Place::Value { value }) } else { place::UNNAMED };
        self.note(value, table, found, place);
        self.b.jump(next, &[]);
        self.b.switch_to(next);
        self.checks.mask = mask;
    }
}

/// A `DLDevice` as an `I64`, and the place of the first tensor on it.
type Noted = [Value; 2];

impl Wrapper<'_, '_> {
    /// Emits the loop over the table that finds the device of the same type and compares, or adds a new entry.
    fn note(&mut self, value: ValueId, table: Value, found: Value, place: u64) {
        let labels = ["devices", "device", "same_type", "other", "new", "noted"];
        let [head, body, same, other, new, done] = labels.map(|label| self.b.block(label));
        let at = self.b.block_param(head, Type::I64, Hint::default());
        let (zero, count) = (self.b.i64(0), self.b.load(Type::I64, table, 0));
        self.b.jump(head, &[zero]);
        self.b.switch_to(head);
        let more = self.b.compare(Cond::Slt, at, count);
        self.b.branch(more, body, new);
        self.b.switch_to(body);
        let entry = entry(&mut self.b, table, at);
        let known = self.b.load(Type::I64, entry, FIRST);
        let [ty, known_type] =
            [found, known].map(|word| self.b.convert(Convert::Trunc, word, Type::I32));
        let is_same = self.b.eq(known_type, ty);
        self.b.branch(is_same, same, other);
        self.b.switch_to(same);
        let origin = self.b.load(Type::I64, entry, PLACE);
        let fail = self.device_exit(value, known, Origin::Told(origin));
        let agrees = self.b.eq(known, found);
        self.b.branch(agrees, done, fail);
        self.b.switch_to(other);
        let next = self.b.binary_const(Binary::Add, at, 1);
        self.b.jump(head, &[next]);
        self.b.switch_to(new);
        let place = self.b.i64(place as i64);
        add(&mut self.b, table, count, [found, place]);
        self.b.jump(done, &[]);
        self.b.switch_to(done);
    }
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
