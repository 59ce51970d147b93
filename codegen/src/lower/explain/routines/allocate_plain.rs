//! Tensors where the host has set no allocator: memory of the C library, on the cpu.
//!
//! A tensor is one block: a `DLManagedTensorVersioned`, extents, strides, and aligned to a cache line the
//! elements. What frees it is `free` itself, so that it may outlive this library.

use abi_spec::layout::{
    DL_MANAGED_TENSOR_VERSIONED as MANAGED, dl_managed_tensor_versioned as managed,
    dl_pack_version, dl_tensor,
};
use abi_spec::{DeviceType, TypeIndex, runtime};

use crate::ir::{Binary, Builder, Cond, Linkage, Signature, Symbol, SymbolKind, Type, Value};
use crate::lower::explain::codes::{Output, Used};
use crate::lower::explain::complaints::Complaint;
use crate::lower::explain::routines::Routine;
use crate::lower::explain::schema::At;
use crate::lower::value::write_any;
use crate::resolve::prototype;

/// What the elements are aligned to at least, as frameworks and vector instructions like it.
const ALIGN: i64 = 64;

/// The version of DLPack that knows every element type of the ABI.
const VERSION: [i32; 2] = [1, 1];

/// No tensor is larger, in bytes.
pub(super) const MAX_SIZE: i64 = 1 << 62;

/// No tensor has more elements, of which some are smaller than a byte.
const MAX_ELEMENTS: i64 = i64::MAX;

/// `(descriptor, site, output, prototype, tensor)`: an owned value; -1 once it has raised.
pub(crate) fn allocate(b: &mut Builder<'_>, _: Used) {
    let [descriptor, site, entry, prototype, tensor] = [0, 1, 2, 3, 4].map(|i| b.param(i));
    let output = At::<Output>::new(entry);
    let name = output.name(b).address(b);
    let device = b.unsigned(prototype, dl_tensor::DEVICE_TYPE.offset);
    let here = b.compare_const(Cond::Eq, device, DeviceType::CPU.0.into());
    b.unless(here, |b| {
        let device = b.load(Type::I64, prototype, dl_tensor::DEVICE_TYPE.offset);
        b.fail_with(descriptor, site, Complaint::NoAllocator, &[device, name]);
    });
    let extents = b.load(Type::Ptr, prototype, dl_tensor::SHAPE.offset);
    let size = b.routine_value(Routine::DataSize, &[entry, extents]);
    let align = alignment(b, output);
    let block = room(b, output, size, align);
    let some = b.compare_const(Cond::Ne, block, 0);
    b.unless(some, |b| {
        b.fail_with(descriptor, site, Complaint::OutOfMemory, &[name, size]);
    });
    fill(b, block, output, prototype, align);
    hand_over(b, [descriptor, site], block, tensor);
    b.return_code(0);
}

/// What the elements are aligned to.
fn alignment(b: &mut Builder<'_>, output: At<Output>) -> Value {
    let (align, least) = (output.align(b), b.i64(ALIGN));
    let more = b.compare(Cond::Ugt, align, least);
    b.select(more, align, least)
}

/// A block for elements of a size, or NULL.
fn room(b: &mut Builder<'_>, output: At<Output>, size: Value, align: Value) -> Value {
    let rank = output.rank(b);
    let dims = b.binary_const(Binary::Shl, rank, 4);
    let head = b.binary_const(Binary::Add, dims, MANAGED.size.into());
    let head = b.binary(Binary::Add, head, align);
    let bytes = b.binary(Binary::Add, head, size);
    let malloc = c_function(b, prototype::malloc());
    let possible = b.compare_const(Cond::Sge, size, 0);
    let null = b.null();
    b.if_else(possible, Type::Ptr, |b| b.call_value(malloc, &[bytes]), |_| null)
}

/// Writes all but the elements.
fn fill(b: &mut Builder<'_>, block: Value, output: At<Output>, prototype: Value, align: Value) {
    let [major, minor] = VERSION.map(|number| b.i32(number));
    let (null, zero, version) = (b.null(), b.i64(0), managed::VERSION.offset);
    b.store(major, block, version + dl_pack_version::MAJOR.offset);
    b.store(minor, block, version + dl_pack_version::MINOR.offset);
    b.store(null, block, managed::MANAGER_CTX.offset);
    let free = c_function(b, prototype::free());
    let free = b.address(free);
    b.store(free, block, managed::DELETER.offset);
    b.store(zero, block, managed::FLAGS.offset);
    let rank = output.rank(b);
    let dims = b.ptr_offset(block, MANAGED.size.into());
    let strides = b.element(dims, rank);
    let from = b.load(Type::Ptr, prototype, dl_tensor::SHAPE.offset);
    dimensions(b, rank, from, [dims, strides]);
    let end = b.element(strides, rank);
    let data = aligned(b, end, align);
    let at = managed::DL_TENSOR.offset;
    // Device, and rank with element type.
    for word in [dl_tensor::DEVICE_TYPE.offset, dl_tensor::NDIM.offset] {
        let value = b.load(Type::I64, prototype, word);
        b.store(value, block, at + word);
    }
    b.store(data, block, at + dl_tensor::DATA.offset);
    b.store(dims, block, at + dl_tensor::SHAPE.offset);
    b.store(strides, block, at + dl_tensor::STRIDES.offset);
    b.store(zero, block, at + dl_tensor::BYTE_OFFSET.offset);
}

/// Extents and compact strides, from the last dim to the first.
fn dimensions(b: &mut Builder<'_>, rank: Value, from: Value, [dims, strides]: [Value; 2]) {
    let one = b.i64(1);
    b.fold(rank, [one], |b, at, [stride]| {
        let left = b.binary(Binary::Sub, rank, at);
        let dim = b.binary_const(Binary::Sub, left, 1);
        let extent = b.load_element(from, dim);
        for (value, to) in [(extent, dims), (stride, strides)] {
            let to = b.element(to, dim);
            b.store(value, to, 0);
        }
        [b.binary(Binary::Mul, stride, extent)]
    });
}

/// The next address that is a multiple of a power of two.
fn aligned(b: &mut Builder<'_>, address: Value, align: Value) -> Value {
    let zero = b.i64(0);
    let number = b.as_word(address);
    let missing = b.binary(Binary::Sub, zero, number);
    let mask = b.binary_const(Binary::Sub, align, 1);
    let missing = b.binary(Binary::And, missing, mask);
    b.ptr_add(address, missing)
}

/// Makes a block a tensor, or frees it, raises and returns -1.
fn hand_over(b: &mut Builder<'_>, at: [Value; 2], block: Value, tensor: Value) {
    let (null, zero, created) = (b.null(), b.i32(0), b.stack_slot(8, 8));
    b.store(null, created, 0);
    let make = &runtime::TENSOR_FROM_DL_PACK_VERSIONED;
    let status = b.runtime(make, &[block, zero, zero, created]);
    let failed = b.compare_const(Cond::Ne, status, 0);
    b.if_then(failed, |b| {
        let free = c_function(b, prototype::free());
        b.call(free, &[block]);
        let name = b.text(make.name);
        b.fail_call(at, name, status);
        b.return_code(-1);
    });
    let object = b.load(Type::Ptr, created, 0);
    write_any(b, tensor, TypeIndex::TENSOR, object);
}

/// A function of the C library.
fn c_function(b: &mut Builder<'_>, (name, signature): (&str, Signature)) -> Symbol {
    b.module.declare(name, Linkage::Import, SymbolKind::Function(signature))
}

/// `(output, extents)`: the bytes of so many elements, the last one in full; -1 for more than [`MAX_SIZE`], or
/// more elements than [`MAX_ELEMENTS`]. No extent is negative.
pub(crate) fn data_size(b: &mut Builder<'_>, _: Used) {
    let (output, extents) = (At::<Output>::new(b.param(0)), b.param(1));
    let (rank, one) = (output.rank(b), b.i64(1));
    let [count] = b.fold(rank, [one], |b, dim, [count]| {
        let extent = b.load_element(extents, dim);
        [elements(b, count, extent)]
    });
    let none = b.i64(-1);
    let many = b.compare_const(Cond::Ugt, count, MAX_ELEMENTS);
    b.if_then(many, |b| b.ret(Some(none)));
    let bits = element_bits(b, output);
    // Eights of elements are whole bytes, whatever the bits of one.
    let eights = b.binary_const(Binary::Lshr, count, 3);
    let most = b.i64(MAX_SIZE);
    let most = b.binary(Binary::Udiv, most, bits);
    let large = b.compare(Cond::Ugt, eights, most);
    b.if_then(large, |b| b.ret(Some(none)));
    let rest = b.binary_const(Binary::And, count, 7);
    let whole = b.binary(Binary::Mul, eights, bits);
    let rest = b.binary(Binary::Mul, rest, bits);
    let rest = b.binary_const(Binary::Add, rest, 7);
    let rest = b.binary_const(Binary::Lshr, rest, 3);
    let size = b.binary(Binary::Add, whole, rest);
    let large = b.compare_const(Cond::Ugt, size, MAX_SIZE);
    let size = b.select(large, none, size);
    b.ret(Some(size));
}

/// So many times as many elements; one more than [`MAX_ELEMENTS`], without a sign, for all that are more. An extent of 0
/// leaves none, wherever it stands.
fn elements(b: &mut Builder<'_>, count: Value, extent: Value) -> Value {
    let (one, most, more) = (b.i64(1), b.i64(MAX_ELEMENTS), b.i64(i64::MIN));
    let empty = b.compare_const(Cond::Eq, extent, 0);
    let divisor = b.select(empty, one, extent);
    let room = b.binary(Binary::Udiv, most, divisor);
    let product = b.binary(Binary::Mul, count, extent);
    let many = b.compare(Cond::Ugt, count, room);
    let many_of_some = b.select(empty, product, more);
    b.select(many, many_of_some, product)
}

/// Bits of an element.
pub(super) fn element_bits(b: &mut Builder<'_>, output: At<Output>) -> Value {
    let dtype = output.dtype(b);
    let bits = b.binary_const(Binary::Lshr, dtype, 8);
    let bits = b.binary_const(Binary::And, bits, 0xff);
    let lanes = b.binary_const(Binary::Lshr, dtype, 16);
    b.binary(Binary::Mul, bits, lanes)
}
