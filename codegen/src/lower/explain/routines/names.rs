//! Appending the names of types, element types and devices.

use abi_spec::layout::{any, byte_array, object, type_info};
use abi_spec::{DeviceType, TypeCode, TypeIndex, runtime};

use crate::ir::{Binary, Cond, Convert, Type, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::explain::routines::code::Code;

/// A table that maps small numbers to names: two words each, offset in the table and length (0 for a
/// number without a name), then the names.
fn name_table(names: &[Option<&str>]) -> Vec<u8> {
    let (mut head, mut text) = (Vec::new(), Vec::new());
    for name in names {
        let name = name.unwrap_or("").as_bytes();
        let offset = 8 * names.len() + text.len();
        head.extend((offset as u32).to_le_bytes());
        head.extend((name.len() as u32).to_le_bytes());
        text.extend_from_slice(name);
    }
    head.extend(text);
    head
}

impl Code<'_> {
    /// If the table names `index`, appends the name and runs `found`, then returns.
    fn say_name(
        &mut self,
        state: Value,
        index: Value,
        names: &[Option<&str>],
        found: impl FnOnce(&mut Self),
    ) {
        let table = self.table(&name_table(names));
        let inside = self.b.compare_const(Cond::Ult, index, names.len() as i64);
        self.when(inside, |c| {
            let entry = c.element(table, index);
            let length = c.word(entry, 1);
            let known = c.b.compare_const(Cond::Ne, length, 0);
            c.when(known, |c| {
                let offset = c.word(entry, 0);
                let name = c.b.ptr_add(table, offset);
                c.call(Routine::Put, &[state, name, length]);
                found(c);
                c.b.ret(None);
            });
        });
    }
}

/// `(state, any)`: how errors print the type of a received value.
pub(crate) fn put_type(c: &mut Code<'_>) {
    let [s, value] = [0, 1].map(|i| c.b.param(i));
    let index = c.b.load(Type::I32, value, any::TYPE_INDEX.offset);
    let index = c.b.convert(Convert::Sext, index, Type::I64);
    let live = c.b.load(Type::Ptr, value, any::PAYLOAD.offset);
    let last = TypeIndex::ALL.iter().map(|index| index.0).max().unwrap_or(0);
    let names: Vec<_> = (0..=last).map(|index| TypeIndex(index).received_name()).collect();
    c.say_name(s, index, &names, |_| {});
    // The runtime ends the process when it is asked about an index that it does not know, so it is
    // asked only about one that a live object has.
    let dynamic = c.b.compare_const(Cond::Sge, index, TypeIndex::DYN_OBJECT_BEGIN.0.into());
    c.when(dynamic, |c| {
        let some = c.b.compare_const(Cond::Ne, live, 0);
        c.when(some, |c| {
            let own = c.b.load(Type::I32, live, object::TYPE_INDEX.offset);
            let wide = c.b.convert(Convert::Sext, own, Type::I64);
            let same = c.b.eq(wide, index);
            c.when(same, |c| {
                let info = crate::lower::runtime(c.b.module, &runtime::GET_TYPE_INFO);
                let info = c.b.call_value(info, &[own]);
                let key = type_info::TYPE_KEY.offset;
                let text = c.b.load(Type::Ptr, info, key + byte_array::DATA.offset);
                let length = c.b.load(Type::I64, info, key + byte_array::SIZE.offset);
                c.call(Routine::Put, &[s, text, length]);
                c.b.ret(None);
            });
        });
    });
    c.say(s, "type index ");
    c.call(Routine::PutInt, &[s, index]);
    c.b.ret(None);
}

/// `(state, word)`: an element type as `DType` displays it.
pub(crate) fn put_dtype(c: &mut Code<'_>) {
    let [s, word] = [0, 1].map(|i| c.b.param(i));
    let code = c.b.binary_const(Binary::And, word, 0xff);
    let bits = c.b.binary_const(Binary::Lshr, word, 8);
    let bits = c.b.binary_const(Binary::And, bits, 0xff);
    let lanes = c.b.binary_const(Binary::Lshr, word, 16);
    let lanes = c.b.binary_const(Binary::And, lanes, 0xffff);
    let void = c.b.compare_const(Cond::Eq, word, abi_spec::DType::VOID.to_word().into());
    c.when(void, |c| {
        c.say(s, "void");
        c.b.ret(None);
    });
    let names: Vec<_> = TypeCode::ALL.iter().map(|code| Some(code.name())).collect();
    c.say_name(s, code, &names, |c| {
        put_bits(c, s, code, bits);
        put_lanes(c, s, lanes);
    });
    c.say(s, "dtype(");
    c.call(Routine::PutUnsigned, &[s, code]);
    c.say(s, ", ");
    c.call(Routine::PutUnsigned, &[s, bits]);
    c.say(s, ", ");
    c.call(Routine::PutUnsigned, &[s, lanes]);
    c.say(s, ")");
    c.b.ret(None);
}

/// The width, unless the code implies it; that of `bool` is 8.
fn put_bits(c: &mut Code<'_>, s: Value, code: Value, bits: Value) {
    let implied = TypeCode::ALL.iter().filter_map(|code| Some((*code, code.implied_bits()?)));
    let mut shown = c.b.constant(Type::Bool, 1);
    for (name, width) in implied {
        let mut hidden = c.b.compare_const(Cond::Eq, code, (name as u8).into());
        if name == TypeCode::Bool {
            let usual = c.b.compare_const(Cond::Eq, bits, width.into());
            hidden = c.b.and(hidden, usual);
        }
        let other = c.b.not(hidden);
        shown = c.b.and(shown, other);
    }
    c.when(shown, |c| {
        c.call(Routine::PutUnsigned, &[s, bits]);
    });
}

fn put_lanes(c: &mut Code<'_>, s: Value, lanes: Value) {
    let scalable = c.b.compare_const(Cond::Uge, lanes, 0x8000);
    c.when(scalable, |c| {
        c.say(s, "xvscalex");
        let all = c.b.i64(0x1_0000);
        let count = c.b.binary(Binary::Sub, all, lanes);
        c.call(Routine::PutUnsigned, &[s, count]);
        c.b.ret(None);
    });
    let several = c.b.compare_const(Cond::Ne, lanes, 1);
    c.when(several, |c| {
        c.say(s, "x");
        c.call(Routine::PutUnsigned, &[s, lanes]);
    });
}

/// `(state, type, index)`: a device as `Device` displays it.
pub(crate) fn put_device(c: &mut Code<'_>) {
    let [s, ty, index] = [0, 1, 2].map(|i| c.b.param(i));
    let last = DeviceType::ALL.iter().map(|ty| ty.0).max().unwrap_or(0);
    let names: Vec<_> = (0..=last).map(|ty| DeviceType(ty).name()).collect();
    c.say_name(s, ty, &names, |c| {
        let cpu = c.b.compare_const(Cond::Eq, ty, DeviceType::CPU.0.into());
        let first = c.b.compare_const(Cond::Eq, index, 0);
        let plain = c.b.and(cpu, first);
        let indexed = c.b.not(plain);
        c.when(indexed, |c| {
            c.say(s, ":");
            c.call(Routine::PutInt, &[s, index]);
        });
    });
    c.say(s, "device(");
    c.call(Routine::PutInt, &[s, ty]);
    c.say(s, "):");
    c.call(Routine::PutInt, &[s, index]);
    c.b.ret(None);
}
