//! Appending the names of types, element types and devices.

use abi_spec::layout::{any, byte_array, object, type_info};
use abi_spec::{DeviceType, TypeCode, TypeIndex, runtime};
use rustc_hash::FxHashMap;

use crate::ir::{Binary, Builder, Cond, Convert, Type, Value};
use crate::lower::explain::codes::Used;
use crate::lower::explain::routines::Routine;

/// A table that maps small numbers to names: two words each, offset in the table and length (0 for a
/// number without a name), then the names, each once.
pub(crate) fn name_table<'n>(names: impl ExactSizeIterator<Item = &'n [u8]>) -> Vec<u8> {
    let (mut head, mut text, start) = (Vec::new(), Vec::new(), 8 * names.len());
    let mut places: FxHashMap<&[u8], usize> = FxHashMap::default();
    for name in names {
        let at = *places.entry(name).or_insert_with(|| {
            text.extend_from_slice(name);
            start + text.len() - name.len()
        });
        head.extend((at as u32).to_le_bytes());
        head.extend((name.len() as u32).to_le_bytes());
    }
    head.extend(text);
    head
}

/// Address and length of a name in a table.
pub(crate) fn name_at(b: &mut Builder<'_>, table: Value, index: Value) -> [Value; 2] {
    let entry = b.element(table, index);
    let (offset, length) = (b.unsigned(entry, 0), b.unsigned(entry, 4));
    [b.ptr_add(table, offset), length]
}

/// If the table names `index`, appends the name and runs `found`, then returns.
fn say_name(
    b: &mut Builder<'_>,
    s: Value,
    index: Value,
    names: &[Option<&str>],
    found: impl FnOnce(&mut Builder<'_>),
) {
    let table = b.table(&name_table(names.iter().map(|name| name.unwrap_or("").as_bytes())));
    let inside = b.compare_const(Cond::Ult, index, names.len() as i64);
    let zero = b.i64(0);
    let readable = b.select(inside, index, zero);
    let [name, length] = name_at(b, table, readable);
    let known = b.compare_const(Cond::Ne, length, 0);
    let known = b.and(inside, known);
    b.if_then(known, |b| {
        b.routine(Routine::Put, &[s, name, length]);
        found(b);
        b.ret(None);
    });
}

/// `(state, any)`: how errors print the type of a received value.
pub(crate) fn put_type(b: &mut Builder<'_>, _: Used) {
    let [s, value] = [0, 1].map(|i| b.param(i));
    let index = b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let index = b.convert(Convert::Sext, index, Type::I64);
    let live = b.load(Type::Ptr, value, any::PAYLOAD.offset);
    let last = TypeIndex::ALL.iter().map(|index| index.0).max().unwrap_or(0);
    let names: Vec<_> = (0..=last).map(|index| TypeIndex(index).received_name()).collect();
    say_name(b, s, index, &names, |_| {});
    // The runtime ends the process when it is asked about an index that it does not know, so it is
    // asked only about one that a live object has.
    let dynamic = b.compare_const(Cond::Sge, index, TypeIndex::DYN_OBJECT_BEGIN.0.into());
    b.if_then(dynamic, |b| {
        let some = b.compare_const(Cond::Ne, live, 0);
        b.if_then(some, |b| {
            let own = b.load(Type::I32, live, object::TYPE_INDEX.offset);
            let wide = b.convert(Convert::Sext, own, Type::I64);
            let same = b.eq(wide, index);
            b.if_then(same, |b| {
                let info = crate::lower::runtime(b.module, &runtime::GET_TYPE_INFO);
                let info = b.call_value(info, &[own]);
                let key = type_info::TYPE_KEY.offset;
                let text = b.load(Type::Ptr, info, key + byte_array::DATA.offset);
                let length = b.load(Type::I64, info, key + byte_array::SIZE.offset);
                b.routine(Routine::Put, &[s, text, length]);
                b.ret(None);
            });
        });
    });
    b.say(s, "type index ");
    b.routine(Routine::PutInt, &[s, index]);
    b.ret(None);
}

/// `(state, word)`: an element type as `DType` displays it.
pub(crate) fn put_dtype(b: &mut Builder<'_>, _: Used) {
    let [s, word] = [0, 1].map(|i| b.param(i));
    let code = b.binary_const(Binary::And, word, 0xff);
    let bits = b.binary_const(Binary::Lshr, word, 8);
    let bits = b.binary_const(Binary::And, bits, 0xff);
    let lanes = b.binary_const(Binary::Lshr, word, 16);
    let lanes = b.binary_const(Binary::And, lanes, 0xffff);
    let void = b.compare_const(Cond::Eq, word, abi_spec::DType::VOID.to_word().into());
    b.if_then(void, |b| {
        b.say(s, "void");
        b.ret(None);
    });
    let usual = usual_bits(b, code);
    let implied = b.compare_const(Cond::Ne, usual, 0);
    let same = b.eq(usual, bits);
    let truth = b.compare_const(Cond::Eq, code, TypeCode::Bool as i64);
    let free = b.not(implied);
    let named = b.or(free, same);
    let named = b.or(named, truth);
    let names: Vec<_> = TypeCode::ALL.iter().map(|code| Some(code.name())).collect();
    b.if_then(named, |b| {
        say_name(b, s, code, &names, |b| {
            let shown = b.not(same);
            b.if_then(shown, |b| {
                b.routine(Routine::PutUnsigned, &[s, bits]);
            });
            put_lanes(b, s, lanes);
        });
    });
    b.say(s, "dtype(");
    b.routine(Routine::PutUnsigned, &[s, code]);
    b.say(s, ", ");
    b.routine(Routine::PutUnsigned, &[s, bits]);
    b.say(s, ", ");
    b.routine(Routine::PutUnsigned, &[s, lanes]);
    b.say(s, ")");
    b.ret(None);
}

/// The bits that the name of a code implies; 0 if it implies none.
fn usual_bits(b: &mut Builder<'_>, code: Value) -> Value {
    let widths: Vec<u8> =
        TypeCode::ALL.iter().map(|code| code.implied_bits().unwrap_or(0)).collect();
    let table = b.table(&widths);
    let inside = b.compare_const(Cond::Ult, code, widths.len() as i64);
    let zero = b.i64(0);
    let readable = b.select(inside, code, zero);
    let at = b.ptr_add(table, readable);
    let width = b.load(Type::I8, at, 0);
    b.convert(Convert::Zext, width, Type::I64)
}

fn put_lanes(b: &mut Builder<'_>, s: Value, lanes: Value) {
    let scalable = b.compare_const(Cond::Uge, lanes, 0x8000);
    b.if_then(scalable, |b| {
        b.say(s, "xvscalex");
        let all = b.i64(0x1_0000);
        let count = b.binary(Binary::Sub, all, lanes);
        b.routine(Routine::PutUnsigned, &[s, count]);
        b.ret(None);
    });
    let several = b.compare_const(Cond::Ne, lanes, 1);
    b.if_then(several, |b| {
        b.say(s, "x");
        b.routine(Routine::PutUnsigned, &[s, lanes]);
    });
}

/// `(state, type, index)`: a device as `Device` displays it.
pub(crate) fn put_device(b: &mut Builder<'_>, _: Used) {
    let [s, ty, index] = [0, 1, 2].map(|i| b.param(i));
    let last = DeviceType::ALL.iter().map(|ty| ty.0).max().unwrap_or(0);
    let names: Vec<_> = (0..=last).map(|ty| DeviceType(ty).name()).collect();
    say_name(b, s, ty, &names, |b| {
        let cpu = b.compare_const(Cond::Eq, ty, DeviceType::CPU.0.into());
        let first = b.compare_const(Cond::Eq, index, 0);
        let plain = b.and(cpu, first);
        let indexed = b.not(plain);
        b.if_then(indexed, |b| {
            b.say(s, ":");
            b.routine(Routine::PutInt, &[s, index]);
        });
    });
    b.say(s, "device(");
    b.routine(Routine::PutInt, &[s, ty]);
    b.say(s, "):");
    b.routine(Routine::PutInt, &[s, index]);
    b.ret(None);
}
