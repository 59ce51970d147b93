//! Tensor maps. A map whose inputs are those of the last map of its site is copied from the [cache] of the site;
//! otherwise the driver encodes it in the frame.

use crate::declaration::MapMode;
use crate::ir::{Binary, Cond, Convert, Symbol, Type, Value};
use crate::lower::checks::{Checker, terms};
use crate::lower::cuda::{
    GIVEN_DIMS, GIVEN_OFFSET, GIVEN_PACKED, GIVEN_STRIDES, MAP_ALIGN, MAP_WORDS, cache, map,
};
use crate::lower::images;
use crate::lower::quote::elide;
use crate::lower::routines::Routine;
use crate::resolve::ids::{MapId, ValueId};
use crate::resolve::launch::{MAP_SIZE, TensorMap};

/// Bytes of an area of the frame in which a map is aligned, since maps have a larger alignment than the frame.
pub(super) const AREA: u32 = MAP_SIZE + MAP_ALIGN - AREA_ALIGN;

/// Alignment of an area in bytes.
pub(super) const AREA_ALIGN: u32 = 16;

/// The addresses that the encoding of a map needs.
struct Made {
    /// The record of the function, for errors.
    site: Value,
    cache: Value,
    /// The map.
    to: Value,
}

/// Emits `let m = tensormap(…);`: a map in an area of its own.
pub(in crate::lower::body) fn named_map<'a>(
    c: &mut Checker<'a, '_>,
    id: MapId,
    made: &'a TensorMap<'a>,
    unsure: &[ValueId],
) {
    unsure.iter().for_each(|&value| terms::require_gpu(c, value));
    let area = c.e.b.stack_slot(AREA, AREA_ALIGN);
    let site = c.exits.here(&mut c.e);
    let map = tensor_map(c, made, area, site);
    c.e.known.locals_mut().maps[id] = Some(map);
}

/// Emits code that copies a map to byte `at` of an area.
pub(super) fn copy_map(c: &mut Checker<'_, '_>, map: Value, to: Value, at: u32) {
    for word in 0..MAP_WORDS {
        let loaded = c.e.b.load(Type::I64, map, 8 * word as i32);
        c.e.b.store(loaded, to, (at + 8 * word) as i32);
    }
}

/// Emits the code that makes a map in an area of the frame; returns the address of the map.
pub(super) fn tensor_map<'a>(
    c: &mut Checker<'a, '_>,
    declared: &'a TensorMap<'a>,
    area: Value,
    site: Value,
) -> Value {
    let to = map_address(c, area);
    let input = |term| {
        let value = terms::eval(c, term);
        c.e.b.as_word(value)
    };
    let inputs: Vec<Value> = declared.inputs.iter().map(input).collect();
    let name = elide(&declared.name);
    let (how, cache) = images::map(c.e.b.module, &words(declared, &name), &name);
    let cache = c.e.b.address(cache);
    let is_other = copy_cached(c, cache, &inputs, to);
    let next = c.e.b.enter_cold_if(is_other, "encode");
    c.without_dominating(|c| encode_map(c, declared, how, &inputs, &Made { site, cache, to }));
    c.e.b.jump(next, &[]);
    c.e.b.switch_to(next);
    to
}

/// Copies the map of a cache. Returns a `Bool`: true if what was copied is not the map of these inputs.
fn copy_cached(c: &mut Checker<'_, '_>, cache: Value, inputs: &[Value], to: Value) -> Value {
    let counter = c.e.b.atomic_load(Type::I64, cache, cache::COUNTER);
    let holds = c.e.b.binary_const(Binary::And, counter, 1);
    // The first word is a difference, since LLVM takes the `or` of nothing but `xor`s apart into a branch for each.
    let mut other = c.e.b.binary_const(Binary::Sub, holds, 1);
    for (at, &input) in inputs.iter().enumerate() {
        other = compared(c, cache, cache::INPUTS + 8 * at as i32, input, other);
    }
    for at in 0..MAP_WORDS as i32 {
        let word = c.e.b.atomic_load(Type::I64, cache, cache::MAP + 8 * at);
        c.e.b.store(word, to, 8 * at);
    }
    let other = compared(c, cache, cache::COUNTER, counter, other);
    c.e.b.compare_const(Cond::Ne, other, 0)
}

/// Returns a word that is 0 if `other` is and a word of the cache equals `expected`.
fn compared(
    c: &mut Checker<'_, '_>,
    cache: Value,
    at: i32,
    expected: Value,
    other: Value,
) -> Value {
    let found = c.e.b.atomic_load(Type::I64, cache, at);
    let bits = c.e.b.binary(Binary::Xor, found, expected);
    c.e.b.binary(Binary::Or, other, bits)
}

/// Emits the call that encodes a map and keeps it in the cache.
fn encode_map<'a>(
    c: &mut Checker<'a, '_>,
    declared: &'a TensorMap<'a>,
    how: Symbol,
    inputs: &[Value],
    made: &Made,
) {
    let mut words: Vec<Value> = declared.numbers.iter().map(|term| terms::eval(c, term)).collect();
    words.extend(inputs);
    let mut address = terms::eval(c, &declared.address);
    if let Some(offset) = &declared.offset {
        let offset = terms::eval(c, offset);
        address = c.e.b.ptr_add(address, offset);
    }
    let words = c.e.scratch(&words);
    let how = c.e.b.address(how);
    let args = [made.site, how, address, words, made.to, made.cache];
    let routine = match declared.declared.mode {
        MapMode::Tiled(_) => Routine::TensorMap,
        MapMode::Im2col(_) => Routine::Im2colMap,
    };
    let status = c.e.routine_value(routine, &args);
    c.e.exit_unless_zero(status, "not_launched");
}

/// Returns the first address in an area that has the alignment of maps.
pub(super) fn map_address(c: &mut Checker<'_, '_>, area: Value) -> Value {
    let number = c.e.b.convert(Convert::PtrToInt, area, Type::I64);
    let zero = c.e.b.i64(0);
    let missing = c.e.b.binary(Binary::Sub, zero, number);
    let missing = c.e.b.binary_const(Binary::And, missing, i64::from(MAP_ALIGN) - 1);
    c.e.b.ptr_add(area, missing)
}

/// Returns the fields of [`map`], which describe to the routine how to encode a map.
fn words(declared: &TensorMap<'_>, name: &str) -> [u64; map::SIZE as usize / 8] {
    let (options, element) = (declared.declared, declared.element);
    let given = [
        (!options.dims.is_empty(), GIVEN_DIMS),
        (!options.strides.is_empty(), GIVEN_STRIDES),
        (options.offset.is_some(), GIVEN_OFFSET),
        (options.dtype.is_some_and(|dtype| dtype.is_packed()), GIVEN_PACKED),
    ];
    let given =
        given.into_iter().filter(|(is_given, _)| *is_given).fold(0, |all, (_, bit)| all | bit);
    let mut words = [0; map::SIZE as usize / 8];
    let fields = [
        (map::RANK, options.mode.rank() as u64),
        (map::DTYPE, element.ty as u64),
        (map::BITS, element.bits.into()),
        (map::INTERLEAVE, options.interleave as u64),
        (map::SWIZZLE, options.swizzle as u64),
        (map::PROMOTION, options.promotion as u64),
        (map::FILL, options.fill as u64),
        (map::UNIT, declared.unit.into()),
        (map::GIVEN, given),
        (map::INPUTS, declared.inputs.len() as u64),
        (map::NAME_SIZE, name.len() as u64),
    ];
    for (field, value) in fields {
        words[field as usize / 8] = value;
    }
    words
}
