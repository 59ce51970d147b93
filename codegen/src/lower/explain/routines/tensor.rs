//! Explaining tensors: type, NULL, ndim, dtype, device, extents, strides, data and alignment.

use abi_spec::DeviceType;
use abi_spec::layout::dl_tensor;

use crate::ir::{Binary, Builder, Cond, Type, Value};
use crate::lower::explain::codes::{Used, step};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::state::{DEVICE_SIZE, Field};
use crate::lower::explain::schema::At;
use crate::lower::operators::floor;

/// One tensor while it is checked.
#[derive(Clone, Copy)]
struct Subject {
    s: Value,
    step: At<step::Tensor>,
    /// What messages name first.
    head: Value,
    dl: Value,
}

/// `(state)`: the header.
pub(crate) fn tensor(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Tensor>();
    let head = step.head(b).address(b);
    let head_at = step.head(b);
    let any = b.any_of(s, head_at);
    let [tensor, some] = b.is_tensor(any);
    let both = b.and(tensor, some);
    let wrong = b.not(both);
    b.if_then(wrong, |b| {
        let expected = step.expected(b).address(b);
        let complaint = b.either(tensor, Complaint::TypeNull, Complaint::Type);
        b.complain_of(s, complaint, &[head, expected, any]);
    });
    let dl = b.tensor_in(any);
    b.set_value(s, head_at, dl);
    let t = Subject { s, step, head, dl };
    rank(b, t);
    dtype(b, t);
    device(b, t);
    extents(b, t);
    b.return_code(0);
}

fn rank(b: &mut Builder<'_>, Subject { s, step, head, dl }: Subject) {
    let (found, expected) = (b.ndim(dl), step.rank(b));
    let free = b.compare_const(Cond::Eq, expected, -1);
    let negative = b.compare_const(Cond::Slt, found, 0);
    let negative = b.and(free, negative);
    b.refuse(s, negative, Complaint::RankNegative, &[head, found]);
    let differs = b.compare(Cond::Ne, found, expected);
    let fixed = b.not(free);
    let differs = b.and(fixed, differs);
    b.refuse(s, differs, Complaint::Rank, &[head, expected, found]);
}

fn dtype(b: &mut Builder<'_>, Subject { s, step, head, dl }: Subject) {
    let found = b.unsigned(dl, dl_tensor::DTYPE.offset);
    let count = b.take_word(s);
    let first = b.field(s, Field::Pc);
    b.skip(s, count);
    let none = b.constant(Type::Bool, 0);
    let none = b.truth(none);
    let [accepted] = b.fold(count, [none], |b, at, [accepted]| {
        let at = b.binary_const(Binary::Shl, at, 2);
        let at = b.ptr_add(first, at);
        let dtype = b.unsigned(at, 0);
        let same = b.eq(found, dtype);
        let same = b.truth(same);
        [b.or(accepted, same)]
    });
    let wrong = b.compare_const(Cond::Eq, accepted, 0);
    b.if_then(wrong, |b| {
        let dtypes = step.dtypes(b).address(b);
        b.complain(s, Complaint::Dtype, &[head, dtypes, found]);
    });
}

fn device(b: &mut Builder<'_>, t: Subject) {
    let Subject { s, step, head, dl } = t;
    let device = b.device_of(dl);
    let [ty, _] = b.split_device(device);
    let expected = step.device(b);
    let declared = b.compare_const(Cond::Sgt, expected, 0);
    let differs = b.compare(Cond::Ne, ty, expected);
    let wrong = b.and(declared, differs);
    b.refuse(s, wrong, Complaint::Device, &[head, expected, device]);
    let cpu = b.compare_const(Cond::Ule, ty, DeviceType::CPU.0.into());
    let checked = b.compare_const(Cond::Sge, expected, 0);
    let other = b.not(cpu);
    let other = b.and(checked, other);
    b.if_then(other, |b| same_device(b, t, device));
}

/// Compares with the first device of the same type, or notes this one as the first.
fn same_device(b: &mut Builder<'_>, t: Subject, device: Value) {
    let Subject { s, step, head, .. } = t;
    let [ty, _] = b.split_device(device);
    let (count, devices) = (b.field(s, Field::DeviceCount), b.field(s, Field::Devices));
    let zero = b.i64(0);
    let [known] = b.fold(count, [zero], |b, at, [known]| {
        let at = b.binary_const(Binary::Mul, at, DEVICE_SIZE);
        let entry = b.ptr_add(devices, at);
        let first = b.load(Type::I64, entry, 0);
        let [first_ty, _] = b.split_device(first);
        let same = b.eq(ty, first_ty);
        let apart = b.compare(Cond::Ne, device, first);
        let wrong = b.and(same, apart);
        b.if_then(wrong, |b| {
            let place = b.load(Type::Ptr, entry, 8);
            let named = b.compare_const(Cond::Ne, place, 0);
            b.refuse(s, named, Complaint::OtherDeviceOf, &[head, first, place, device]);
            b.complain(s, Complaint::OtherDevice, &[head, first, device]);
        });
        let same = b.truth(same);
        [b.or(known, same)]
    });
    let new = b.compare_const(Cond::Eq, known, 0);
    let room = b.field(s, Field::DeviceRoom);
    let room = b.compare(Cond::Slt, count, room);
    let new = b.and(new, room);
    b.if_then(new, |b| {
        let at = b.binary_const(Binary::Mul, count, DEVICE_SIZE);
        let entry = b.ptr_add(devices, at);
        b.store(device, entry, 0);
        let (many, null) = (step.many(b), b.null());
        let place = b.select(many, null, head);
        b.store(place, entry, 8);
        let count = b.binary_const(Binary::Add, count, 1);
        b.set_field(s, Field::DeviceCount, count);
    });
}

/// The pointer to the extents; where the rank is free also their signs.
fn extents(b: &mut Builder<'_>, Subject { s, step, head, dl }: Subject) {
    let ndim = b.ndim(dl);
    let shape = b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
    let null = b.compare_const(Cond::Eq, shape, 0);
    let some = b.compare_const(Cond::Ne, ndim, 0);
    let wrong = b.and(null, some);
    b.refuse(s, wrong, Complaint::NoShape, &[head]);
    let rank = step.rank(b);
    let free = b.compare_const(Cond::Eq, rank, -1);
    b.if_then(free, |b| {
        b.count_to(ndim, |b, dim| {
            let extent = b.load_element(shape, dim);
            let negative = b.compare_const(Cond::Slt, extent, 0);
            b.refuse(s, negative, Complaint::NegativeAt, &[head, dim, extent]);
        });
    });
}

/// `(state)`: strides that must be compact.
pub(crate) fn compact(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Compact>();
    let head = step.head(b);
    let dl = b.tensor_of(s, head);
    let head = head.address(b);
    let compact = b.ask(Routine::IsCompact, &[dl]);
    b.return_if(compact, 0);
    let ndim = b.ndim(dl);
    b.count_to(ndim, |b, dim| {
        let [wrong, stride, expected] = b.odd_stride(dl, dim);
        b.refuse(s, wrong, Complaint::Contiguous, &[head, dim, expected, stride]);
    });
    b.return_code(0);
}

/// `(state)`: data pointer and alignment.
pub(crate) fn data(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Data>();
    let head = step.head(b);
    let dl = b.tensor_of(s, head);
    let head = head.address(b);
    let pointer = b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
    let null = b.compare_const(Cond::Eq, pointer, 0);
    b.if_then(null, |b| {
        let elements = b.ask(Routine::NotEmpty, &[dl]);
        b.refuse(s, elements, Complaint::NoData, &[head]);
    });
    let address = b.first_element(dl);
    let address = b.as_word(address);
    let mask = step.mask(b);
    let remainder = b.and(address, mask);
    let wrong = b.compare_const(Cond::Ne, remainder, 0);
    b.if_then(wrong, |b| {
        let align = b.binary_const(Binary::Add, mask, 1);
        b.complain(s, Complaint::Misaligned, &[head, align, remainder]);
    });
    b.return_code(0);
}

/// `(state)`: a symbol that no stride has bound takes its compact value.
pub(crate) fn settle(b: &mut Builder<'_>, _: Used) {
    let (s, step) = b.step::<step::Settle>();
    let coefficient = b.evaluate_or_stop(s);
    let constant = b.evaluate_or_stop(s);
    let symbol = step.symbol(b);
    let origin = b.origin(s, symbol);
    let bound = b.load(Type::I64, origin, 0);
    let free = b.compare_const(Cond::Eq, bound, 0);
    b.if_then(free, |b| {
        let one = b.i64(1);
        b.store(one, origin, 0);
        let (slot, dim) = (step.tensor(b), step.dim(b));
        let dl = b.routine_value(Routine::TensorOf, &[s, slot]);
        let some = b.compare_const(Cond::Ne, dl, 0);
        b.intact(s, some);
        b.has_dim(s, dl, dim);
        let compact = b.routine_value(Routine::CompactAt, &[dl, dim]);
        let difference = b.binary(Binary::Sub, compact, constant);
        let zero = b.compare_const(Cond::Eq, coefficient, 0);
        let divisor = b.select(zero, one, coefficient);
        let (value, _) = floor(b, difference, divisor);
        b.set_slot(s, symbol, value);
    });
    b.return_code(0);
}
