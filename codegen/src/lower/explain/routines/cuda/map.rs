//! Tensor maps: what the driver makes of a tensor, whose dims it wants from the inside.

use abi_spec::layout::dl_tensor;

use crate::declaration::{Interleave, Swizzle};
use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::cuda::{Entry, map};
use crate::lower::explain::codes::Used;
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;

/// Dims that a map has at most.
const RANK: u32 = 5;

/// What the driver documents of `cuTensorMapEncodeTiled`.
const MOST_EXTENT: i64 = 1 << 32;
const MOST_STRIDE: i64 = 1 << 40;
const MOST_BOX: i64 = 256;
const MOST_STEP: i64 = 8;
const UNIT: i64 = 16;
const INTERLEAVED_UNIT: i64 = 32;

/// Where a map is made: what is said of it, and what it is made of.
struct Map {
    descriptor: Value,
    site: Value,
    how: Value,
    name: [Value; 2],
    rank: Value,
    /// What addresses and strides are multiples of.
    unit: Value,
}

impl Map {
    /// Raises that a number is not what it must be, and returns, unless it is.
    fn require(&self, b: &mut Builder<'_>, fine: Value, complaint: Complaint, values: &[Value]) {
        let values = [&self.name[..], values].concat();
        b.unless(fine, |b| b.fail_with(self.descriptor, self.site, complaint, &values));
    }

    fn field(&self, b: &mut Builder<'_>, field: i32) -> Value {
        b.load(Type::I64, self.how, field)
    }
}

/// `(descriptor, site, how, tensor, numbers, to)`: makes a map; 0, or -1 once it has raised.
pub(crate) fn encode(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, how, dl, numbers, to] = [0, 1, 2, 3, 4, 5].map(|i| b.param(i));
    b.try_routine(Routine::OpenDriver, &[descriptor, site]);
    let name = b.ptr_offset(how, map::NAME.into());
    let (size, rank) = (b.load(Type::I64, how, map::NAME_SIZE), b.load(Type::I64, how, map::RANK));
    let interleave = b.load(Type::I64, how, map::INTERLEAVE);
    let wide = b.compare_const(Cond::Eq, interleave, Interleave::B32 as i64);
    let (usual, other) = (b.i64(UNIT), b.i64(INTERLEAVED_UNIT));
    let unit = b.select(wide, other, usual);
    let m = Map { descriptor, site, how, name: [name, size], rank, unit };
    let address = address(b, &m, dl);
    let [extents, strides] = [0, 1].map(|_| b.stack_slot(8 * RANK, 8));
    let [boxes, steps] = [0, 1].map(|_| b.stack_slot(4 * RANK, 4));
    dims(b, &m, dl, [extents, strides]);
    box_extents(b, &m, numbers, boxes);
    box_steps(b, &m, numbers, steps);
    let fields = [map::DTYPE, map::RANK, map::INTERLEAVE, map::SWIZZLE, map::PROMOTION, map::FILL];
    let [dtype, rank, interleave, swizzle, promotion, fill] = fields.map(|field| {
        let word = m.field(b, field);
        b.convert(Convert::Trunc, word, Type::I32)
    });
    let status = b.driver(
        Entry::TensorMapEncodeTiled,
        &[
            to, dtype, rank, address, extents, strides, boxes, steps, interleave, swizzle,
            promotion, fill,
        ],
    );
    b.check_driver(descriptor, site, Entry::TensorMapEncodeTiled, status);
    b.return_code(0);
}

/// The address of the first element.
fn address(b: &mut Builder<'_>, m: &Map, dl: Value) -> Value {
    let data = b.load(Type::Ptr, dl, dl_tensor::DATA.offset);
    let offset = b.load(Type::I64, dl, dl_tensor::BYTE_OFFSET.offset);
    let address = b.ptr_add(data, offset);
    let number = b.as_word(address);
    let mask = b.binary_const(Binary::Sub, m.unit, 1);
    let rest = b.binary(Binary::And, number, mask);
    let aligned = b.compare_const(Cond::Eq, rest, 0);
    m.require(b, aligned, Complaint::MapAddress, &[m.unit, rest]);
    address
}

/// Dim `at` of the driver's is this one of the tensor's.
fn dim(b: &mut Builder<'_>, m: &Map, at: Value) -> Value {
    let left = b.binary(Binary::Sub, m.rank, at);
    b.binary_const(Binary::Sub, left, 1)
}

/// Extents, and the strides of all but the innermost dim in bytes.
fn dims(b: &mut Builder<'_>, m: &Map, dl: Value, [extents, strides]: [Value; 2]) {
    let shape = b.load(Type::Ptr, dl, dl_tensor::SHAPE.offset);
    let bytes = m.field(b, map::BYTES);
    b.fold(m.rank, [], |b, at, []| {
        let dim = dim(b, m, at);
        let extent = b.load_element(shape, dim);
        let below = b.binary_const(Binary::Sub, extent, 1);
        let fine = b.compare_const(Cond::Ult, below, MOST_EXTENT);
        let most = b.i64(MOST_EXTENT);
        m.require(b, fine, Complaint::MapExtent, &[dim, most, extent]);
        let to = b.element(extents, at);
        b.store(extent, to, 0);
        let stride = b.routine_value(Routine::StrideAt, &[dl, dim]);
        let inner = b.compare_const(Cond::Eq, at, 0);
        let (one, alone) =
            (b.compare_const(Cond::Eq, stride, 1), b.compare_const(Cond::Eq, extent, 1));
        let compact = b.or(one, alone);
        let outer = b.not(inner);
        let fine = b.or(compact, outer);
        m.require(b, fine, Complaint::MapInner, &[dim, stride]);
        b.if_then(outer, |b| {
            // Nothing steps over a dim of one element, whose stride may be anything.
            let near = b.compare_const(Cond::Ult, stride, MOST_STRIDE);
            let near = b.or(near, alone);
            let stride = b.binary(Binary::Mul, stride, bytes);
            let stride = b.select(alone, m.unit, stride);
            let fine = is_unit(b, m, stride);
            let fine = b.and(near, fine);
            let most = b.i64(MOST_STRIDE);
            m.require(b, fine, Complaint::MapStride, &[dim, m.unit, most, stride]);
            let before = b.binary_const(Binary::Sub, at, 1);
            let to = b.element(strides, before);
            b.store(stride, to, 0);
        });
        []
    });
}

fn is_unit(b: &mut Builder<'_>, m: &Map, stride: Value) -> Value {
    let mask = b.binary_const(Binary::Sub, m.unit, 1);
    let rest = b.binary(Binary::And, stride, mask);
    let whole = b.compare_const(Cond::Eq, rest, 0);
    let near = b.compare_const(Cond::Ult, stride, MOST_STRIDE);
    b.and(whole, near)
}

/// The box, whose innermost row is whole units and no wider than what it is swizzled over.
fn box_extents(b: &mut Builder<'_>, m: &Map, numbers: Value, boxes: Value) {
    b.fold(m.rank, [], |b, at, []| {
        let dim = dim(b, m, at);
        let extent = b.load_element(numbers, dim);
        let below = b.binary_const(Binary::Sub, extent, 1);
        let fine = b.compare_const(Cond::Ult, below, MOST_BOX);
        let most = b.i64(MOST_BOX);
        m.require(b, fine, Complaint::MapBox, &[dim, most, extent]);
        store32(b, boxes, at, extent);
        []
    });
    let plain = m.field(b, map::PLAIN);
    let interleave = m.field(b, map::INTERLEAVE);
    let checked = b.compare_const(Cond::Ne, plain, 0);
    let linear = b.compare_const(Cond::Eq, interleave, Interleave::None as i64);
    let checked = b.and(checked, linear);
    b.if_then(checked, |b| {
        let row = b.unsigned(boxes, 0);
        let bytes = m.field(b, map::BYTES);
        let row = b.binary(Binary::Mul, row, bytes);
        let rest = b.binary_const(Binary::And, row, UNIT - 1);
        let whole = b.compare_const(Cond::Eq, rest, 0);
        let most = widest_row(b, m);
        let fits = b.compare(Cond::Sle, row, most);
        let fine = b.and(whole, fits);
        m.require(b, fine, Complaint::MapRow, &[most, row]);
    });
}

/// Bytes of a row of a box: those of the swizzle, if there is one.
fn widest_row(b: &mut Builder<'_>, m: &Map) -> Value {
    let swizzle = m.field(b, map::SWIZZLE);
    let most = b.i64(MOST_BOX * 8);
    let widths = [(Swizzle::B32, 32), (Swizzle::B64, 64)];
    let some = b.compare_const(Cond::Ne, swizzle, Swizzle::None as i64);
    let wide = b.i64(128);
    let start = b.select(some, wide, most);
    widths.into_iter().fold(start, |most, (code, width)| {
        let same = b.compare_const(Cond::Eq, swizzle, code as i64);
        let width = b.i64(width);
        b.select(same, width, most)
    })
}

/// The steps, 1 where none are given.
fn box_steps(b: &mut Builder<'_>, m: &Map, numbers: Value, steps: Value) {
    let given = m.field(b, map::STEPS);
    let given = b.compare_const(Cond::Ne, given, 0);
    b.fold(m.rank, [], |b, at, []| {
        let dim = dim(b, m, at);
        let one = b.i64(1);
        let step = |b: &mut Builder<'_>| {
            let place = b.binary(Binary::Add, m.rank, dim);
            b.load_element(numbers, place)
        };
        let step = b.if_else(given, Type::I64, step, |_| one);
        let below = b.binary_const(Binary::Sub, step, 1);
        let fine = b.compare_const(Cond::Ult, below, MOST_STEP);
        let most = b.i64(MOST_STEP);
        m.require(b, fine, Complaint::MapStep, &[dim, most, step]);
        store32(b, steps, at, step);
        []
    });
}

fn store32(b: &mut Builder<'_>, base: Value, at: Value, value: Value) {
    let offset = b.binary_const(Binary::Shl, at, 2);
    let to = b.ptr_add(base, offset);
    let value = b.convert(Convert::Trunc, value, Type::I32);
    b.store(value, to, 0);
}
