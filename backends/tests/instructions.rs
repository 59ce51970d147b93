//! Instructions and terminators other than plain operators.

use codegen::ir::{
    AbiType, Binary, Builder, Cond, Convert, Data, Extend, Inst, Linkage, Module, Placed,
    Signature, Symbol, SymbolKind, Type,
};

use crate::functions;
use crate::jit::{self, Running};

const STORED: [Type; 7] =
    [Type::I8, Type::I16, Type::I32, Type::I64, Type::F32, Type::F64, Type::Ptr];

fn check(module: &Module, name: &str, rows: &[(&[u64], u64)]) {
    check_with(module, &[], name, rows);
}

fn check_with(module: &Module, imports: &[(&str, *const u8)], name: &str, rows: &[(&[u64], u64)]) {
    for running in jit::run(module, imports) {
        for (input, expected) in rows {
            assert_eq!(running.call(name, input), *expected, "{name} of {input:x?}");
        }
    }
}

#[test]
fn constants_are_truncated_to_their_type() {
    let bits = 0xfedc_ba98_8765_4321;
    for (ty, expected) in [
        (Type::Bool, 1),
        (Type::I8, 0x21),
        (Type::I16, 0x4321),
        (Type::I32, 0x8765_4321),
        (Type::I64, bits),
        (Type::Ptr, bits),
        (Type::F32, 0x8765_4321),
        (Type::F64, bits),
    ] {
        let mut module = Module::default();
        functions::define(&mut module, "constant", &[], |b, _| b.constant(ty, bits));
        check(&module, "constant", &[(&[], expected)]);
    }
}

#[test]
fn loads_and_stores_of_every_type_at_every_alignment() {
    let bytes = 0x8877_6655_4433_2211_u64;
    for ty in STORED {
        for (offset, align) in [(8, ty.bytes()), (9, 1), (-8, ty.bytes())] {
            let mut module = Module::default();
            functions::define(&mut module, "copy", &[Type::I64], |b, v| {
                let slot = b.stack_slot(40, 16);
                let (base, at) = (b.ptr_offset(slot, 16), b.ptr_offset(slot, 16 + offset));
                let value = b.load_aligned(ty, b.param(0), 0, 1);
                b.store(v[0], base, -8);
                b.store(v[0], base, 8);
                b.store(value, at, 0);
                b.load_aligned(ty, base, offset as i32, align)
            });
            align_stores(&mut module, align);
            let expected = bytes & (u64::MAX >> (64 - 8 * ty.bytes()));
            check(&module, "copy", &[(&[bytes], expected)]);
        }
    }
}

/// Limits the alignment of stores to `align`; the builder states the natural one.
fn align_stores(module: &mut Module, align: u32) {
    let blocks = module.functions.iter_mut().flat_map(|function| &mut function.blocks);
    for Placed { inst, .. } in blocks.flat_map(|block| &mut block.insts) {
        if let Inst::Store { align: stated, .. } = inst {
            *stated = align.min(*stated);
        }
    }
}

#[test]
fn stack_slots_are_apart_and_aligned() {
    let mut module = Module::default();
    functions::define(&mut module, "slots", &[Type::I64], |b, v| {
        let slots =
            [(1, 1), (24, 8), (3, 2), (16, 16)].map(|(size, align)| b.stack_slot(size, align));
        let tag = b.convert(Convert::Trunc, v[0], Type::I8);
        b.store(tag, slots[0], 0);
        b.store(v[0], slots[1], 16);
        b.store(v[0], slots[3], 8);
        let zero = b.constant(Type::I16, 0);
        b.store(zero, slots[2], 0);
        let (first, second) = (b.load(Type::I64, slots[1], 16), b.load(Type::I64, slots[3], 8));
        let sum = b.binary(Binary::Add, first, second);
        let byte = b.load(Type::I8, slots[0], 0);
        let byte = b.convert(Convert::Zext, byte, Type::I64);
        let sum = b.binary(Binary::Add, sum, byte);
        let masks = [(slots[1], 7), (slots[2], 1), (slots[3], 15)].map(|(slot, mask)| {
            let address = b.convert(Convert::PtrToInt, slot, Type::I64);
            b.binary_const(Binary::And, address, mask)
        });
        masks.into_iter().fold(sum, |sum, low| b.binary(Binary::Add, sum, low))
    });
    check(&module, "slots", &[(&[0x101], 0x203), (&[0], 0)]);
}

#[test]
fn selects_of_every_type() {
    for ty in STORED.into_iter().chain([Type::Bool]) {
        let mut module = Module::default();
        functions::define(&mut module, "select", &[Type::Bool, ty, ty], |b, v| {
            b.select(v[0], v[1], v[2])
        });
        check(&module, "select", &[(&[1, 1, 0], 1), (&[0, 1, 0], 0), (&[0, 0, 1], 1)]);
    }
}

#[test]
fn bool_logic_and_cold_blocks() {
    let mut module = Module::default();
    functions::define(&mut module, "between", &[Type::I64], |b, v| {
        let low = b.compare_const(Cond::Sge, v[0], 3);
        let high = b.compare_const(Cond::Sgt, v[0], 5);
        let not_high = b.not(high);
        let inside = b.and(low, not_high);
        let (cold, join) = (b.cold_block("outside"), b.block("join"));
        let result = b.block_param(join, Type::I64, "result");
        let next = b.block("next");
        b.branch(inside, next, cold);
        b.switch_to(cold);
        let minus = b.i64(-1);
        b.jump(join, &[minus]);
        b.switch_to(next);
        b.jump(join, &[v[0]]);
        b.switch_to(join);
        result
    });
    let none = u64::MAX;
    check(&module, "between", &[(&[2], none), (&[3], 3), (&[5], 5), (&[6], none)]);
}

#[test]
fn data_is_constant_or_writable_and_aligned() {
    let mut module = Module::default();
    let data = |module: &mut Module, name, linkage, bytes: &[u8], align, writable| {
        let symbol = module.declare(name, linkage, SymbolKind::Data);
        module.data.push(Data { writable, ..Data::constant(symbol, bytes.to_vec(), align) });
        symbol
    };
    let word = data(&mut module, "word", Linkage::Local, &7_u64.to_le_bytes(), 8, false);
    let byte = data(&mut module, "byte", Linkage::Export, &[9], 1, false);
    let count = data(&mut module, "count", Linkage::Export, &[0; 8], 64, true);
    data(&mut module, "empty", Linkage::Local, &[], 1, false);
    functions::define(&mut module, "bump", &[], |b, _| {
        let (word, byte, count) = (b.address(word), b.address(byte), b.address(count));
        let (step, one) = (b.load(Type::I64, word, 0), b.load(Type::I8, byte, 0));
        let one = b.convert(Convert::Zext, one, Type::I64);
        let old = b.load(Type::I64, count, 0);
        let new = b.binary(Binary::Add, old, step);
        let new = b.binary(Binary::Add, new, one);
        b.store(new, count, 0);
        let address = b.convert(Convert::PtrToInt, count, Type::I64);
        let low = b.binary_const(Binary::And, address, 63);
        b.binary(Binary::Add, new, low)
    });
    check(&module, "bump", &[(&[], 16), (&[], 32)]);
}

/// Adds a function that returns `(a - b) * 10`, and an empty one.
fn helpers(module: &mut Module) -> (Symbol, Symbol) {
    let signature = Signature::new(&[Type::I64, Type::I64], Some(Type::I64));
    let mut b = Builder::function(module, "helper", Linkage::Local, signature);
    b.set_cold();
    let difference = b.binary(Binary::Sub, b.param(0), b.param(1));
    let tenfold = b.binary_const(Binary::Mul, difference, 10);
    b.ret(Some(tenfold));
    let helper = b.finish();
    let mut b = Builder::function(module, "nothing", Linkage::Local, Signature::default());
    b.ret(None);
    let nothing = b.finish();
    let symbols = (helper.symbol, nothing.symbol);
    module.functions.extend([helper, nothing]);
    symbols
}

#[test]
fn calls_by_symbol_and_by_pointer() {
    let mut module = Module::default();
    let (helper, nothing) = helpers(&mut module);
    functions::define(&mut module, "calls", &[Type::I64, Type::I64], |b, v| {
        b.call(nothing, &[]);
        let direct = b.call_value(helper, &[v[0], v[1]]);
        let pointer = b.address(helper);
        let signature = Signature::new(&[Type::I64, Type::I64], Some(Type::I64));
        let indirect = b.call_indirect(signature.clone(), pointer, &[v[1], v[0]]).unwrap();
        let again = b.call_indirect(signature, pointer, &[direct, indirect]).unwrap();
        let pointer = b.address(nothing);
        b.call_indirect(Signature::default(), pointer, &[]);
        again
    });
    check(&module, "calls", &[(&[5, 3], 400), (&[3, 5], -400_i64 as u64)]);
}

/// Combines its arguments to a number: narrow integers in registers and on the stack, with floats in between.
#[rustfmt::skip]
extern "C" fn narrow(
    a: i8, b: u8, x: f32, c: i16, d: u16, y: f64, e: i32, f: bool, g: i8, h: u16, i: i32,
) -> i64 {
    let float = x as i64 + y as i64;
    [a.into(), b.into(), c.into(), d.into(), e.into(), f.into(), g.into(), h.into(), i.into(), float]
        .into_iter()
        .fold(0, |sum: i64, part: i64| sum.wrapping_mul(3).wrapping_add(part))
}

extern "C" fn narrow_result(x: i64) -> i8 {
    x as i8
}

#[test]
fn narrow_arguments_and_results_follow_the_c_abi() {
    let sign = |ty| AbiType { ty, extend: Extend::Sign };
    let zero = |ty| AbiType { ty, extend: Extend::Zero };
    let params = vec![
        sign(Type::I8),
        zero(Type::I8),
        Type::F32.into(),
        sign(Type::I16),
        zero(Type::I16),
        Type::F64.into(),
        Type::I32.into(),
        zero(Type::I8),
        sign(Type::I8),
        zero(Type::I16),
        Type::I32.into(),
    ];
    let types: Vec<Type> = params.iter().map(|param| param.ty).collect();
    let signature = Signature { params, result: Some(Type::I64.into()), reads: Box::default() };
    let mut module = Module::default();
    let callee = module.declare("narrow", Linkage::Import, SymbolKind::Function(signature));
    let signature = Signature {
        params: vec![Type::I64.into()],
        result: Some(sign(Type::I8)),
        reads: Box::default(),
    };
    let result = module.declare("narrow_result", Linkage::Import, SymbolKind::Function(signature));
    functions::define(&mut module, "calls", &types, |b, v| b.call_value(callee, v));
    functions::define(&mut module, "result", &[Type::I64], |b, v| {
        let narrow = b.call_value(result, &[v[0]]);
        b.convert(Convert::Sext, narrow, Type::I64)
    });
    let imports = [("narrow", narrow as *const u8), ("narrow_result", narrow_result as *const u8)];
    let (x, y) = (u64::from(40.0_f32.to_bits()), (-2.0_f64).to_bits());
    let all_ones = u64::MAX;
    let input = [all_ones, all_ones, x, all_ones, all_ones, y, all_ones, 1, 0x80, 0xffff, all_ones];
    let expected = narrow(-1, 255, 40.0, -1, 65535, -2.0, -1, true, -128, 65535, -1);
    check_with(&module, &imports, "calls", &[(&input, expected as u64)]);
    check_with(&module, &imports, "result", &[(&[0x1ff], all_ones), (&[0x7f], 0x7f)]);
}

#[test]
fn a_branch_may_go_to_one_block_with_two_values() {
    let mut module = Module::default();
    functions::define(&mut module, "either", &[Type::Bool, Type::I64, Type::I64], |b, v| {
        let join = b.block("join");
        let (first, second) =
            (b.block_param(join, Type::I64, "first"), b.block_param(join, Type::I64, "second"));
        b.branch(v[0], (join, [v[1], v[2]]), (join, [v[2], v[1]]));
        b.switch_to(join);
        let tenfold = b.binary_const(Binary::Mul, first, 10);
        b.binary(Binary::Add, tenfold, second)
    });
    check(&module, "either", &[(&[1, 2, 3], 23), (&[0, 2, 3], 32)]);
}

#[test]
fn running_modules_are_independent() {
    let mut module = Module::default();
    functions::define(&mut module, "same", &[Type::I64], |b, v| {
        b.binary_const(Binary::Add, v[0], 1)
    });
    let [first, second]: [Running; 2] = jit::run(&module, &[]);
    drop(first);
    assert_eq!(second.call("same", &[1]), 2);
}
