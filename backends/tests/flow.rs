//! Structured control flow: branches with values, loops that carry values, functions that call each other.

use codegen::ir::{
    Binary, Builder, Cond, Convert, Linkage, Module, Signature, SymbolKind, Type, Value,
};

use crate::{functions, jit};

fn check(module: &Module, name: &str, rows: &[(&[u64], u64)]) {
    for running in jit::run(module, &[]) {
        for (input, expected) in rows {
            assert_eq!(running.call(name, input), *expected, "{name} of {input:x?}");
        }
    }
}

#[test]
fn loops_carry_values() {
    let mut module = Module::default();
    functions::define(&mut module, "gcd", &[Type::I64, Type::I64], |b, v| {
        let [divisor, _] = b.loop_with(
            [v[0], v[1]],
            |b, [_, rest]| b.compare_const(Cond::Ne, rest, 0),
            |b, [x, y]| [y, b.binary(Binary::Urem, x, y)],
        );
        divisor
    });
    check(&module, "gcd", &[(&[48, 36], 12), (&[7, 0], 7), (&[0, 7], 7), (&[u64::MAX, 3], 3)]);
}

#[test]
fn loops_carry_any_number_of_values() {
    let mut module = Module::default();
    functions::define(
        &mut module,
        "rotate",
        &[Type::I64, Type::I64, Type::I64, Type::I64],
        |b, v| {
            let state = b.loop_with(
                v.to_vec(),
                |b, state| b.compare_const(Cond::Ne, state[3], 0),
                |b, state| {
                    let left = b.binary_const(Binary::Sub, state[3], 1);
                    vec![state[1], state[2], state[0], left]
                },
            );
            state[0]
        },
    );
    let row = |turns| [10, 20, 30, turns];
    check(&module, "rotate", &[(&row(0), 10), (&row(1), 20), (&row(2), 30), (&row(3), 10)]);
}

/// A loop whose body returns in the middle, within a function that otherwise returns after it.
#[test]
fn a_body_may_leave() {
    let mut module = Module::default();
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let mut b = Builder::function(&mut module, "find", Linkage::Local, signature);
    let (n, zero) = (b.param(0), b.i64(0));
    b.loop_with(
        zero,
        |b, i| b.compare(Cond::Slt, i, n),
        |b, i| {
            let square = b.binary(Binary::Mul, i, i);
            let found = b.compare(Cond::Eq, square, n);
            b.if_then(found, |b| b.ret(Some(i)));
            b.binary_const(Binary::Add, i, 1)
        },
    );
    let none = b.i64(-1);
    b.ret(Some(none));
    let function = b.finish();
    let find = function.symbol;
    module.functions.push(function);
    functions::define(&mut module, "root", &[Type::I64], |b, v| b.call_value(find, &[v[0]]));
    check(&module, "root", &[(&[49], 7), (&[50], u64::MAX), (&[0], u64::MAX), (&[4], 2)]);
}

#[test]
fn two_bodies_yield_several_values_or_none() {
    let mut module = Module::default();
    functions::define(&mut module, "order", &[Type::I64, Type::I64], |b, v| {
        let (x, y) = (v[0], v[1]);
        let less = b.compare(Cond::Slt, x, y);
        let [low, high] = b.if_else(less, [Type::I64; 2], |_| [x, y], |_| [y, x]);
        let equal = b.compare(Cond::Eq, x, y);
        let slot = b.stack_slot(8, 8);
        let (seven, nine) = (b.i64(7), b.i64(9));
        b.if_else(equal, (), |b| b.store(seven, slot, 0), |b| b.store(nine, slot, 0));
        let tenfold = b.binary_const(Binary::Mul, low, 10);
        let sum = b.binary(Binary::Add, tenfold, high);
        let stored = b.load(Type::I64, slot, 0);
        let hundredfold = b.binary_const(Binary::Mul, stored, 100);
        b.binary(Binary::Add, sum, hundredfold)
    });
    check(&module, "order", &[(&[1, 2], 912), (&[2, 1], 912), (&[3, 3], 733)]);
}

#[test]
fn branches_hand_over_values() {
    let mut module = Module::default();
    functions::define(&mut module, "clamp", &[Type::I64], |b, v| {
        let join = b.block("join");
        let result = b.block_param(join, Type::I64, "result");
        let (next, limit) = (b.block("next"), b.i64(10));
        let above = b.compare(Cond::Sgt, v[0], limit);
        b.branch(above, (join, [limit]), next);
        b.switch_to(next);
        let below = b.compare_const(Cond::Slt, v[0], 0);
        let zero = b.i64(0);
        b.branch(below, (join, &[zero][..]), (join, [v[0]]));
        b.switch_to(join);
        result
    });
    let minus = -5_i64 as u64;
    check(&module, "clamp", &[(&[3], 3), (&[11], 10), (&[minus], 0)]);
}

/// A value that is defined early and used late, in a function of many blocks, keeps its value; in a loop that of the
/// iteration.
#[test]
fn values_reach_far() {
    let mut module = Module::default();
    functions::define(
        &mut module,
        "far",
        &[Type::I64, Type::F64, Type::Bool, Type::I64],
        |b, v| {
            let slot = b.stack_slot(8, 8);
            let zero = b.i64(0);
            b.store(zero, slot, 0);
            let [_, total] = b.loop_with(
                [v[3], zero],
                |b, [left, _]| b.compare_const(Cond::Ne, left, 0),
                |b, [left, total]| {
                    let early = b.binary(Binary::Add, v[0], left);
                    many_blocks(b, v[0], slot);
                    let count = b.load(Type::I64, slot, 0);
                    let truth = b.widen_bool(v[2], Type::I64);
                    let float = b.convert(Convert::Bitcast, v[1], Type::I64);
                    let sum = [early, count, truth, float].into_iter();
                    let sum = sum.fold(total, |sum, term| b.binary(Binary::Add, sum, term));
                    [b.binary_const(Binary::Sub, left, 1), sum]
                },
            );
            many_blocks(b, v[0], slot);
            let count = b.load(Type::I64, slot, 0);
            let total = b.binary(Binary::Add, total, count);
            b.binary(Binary::Add, total, v[0])
        },
    );
    let (n, bits) = (5_u64, 1.5_f64.to_bits());
    let turns = [1, 2].map(|turn| (n + 3 - turn) + 300 * turn + 1 + bits);
    let expected = turns.into_iter().fold(900 + n, u64::wrapping_add);
    check(&module, "far", &[(&[n, bits, 1, 2], expected), (&[7, 0, 0, 0], 307)]);
}

/// Emits three hundred additions of 1 to a slot, each if a value is not 1000.
fn many_blocks(b: &mut Builder<'_>, value: Value, slot: Value) {
    for _ in 0..300 {
        let usual = b.compare_const(Cond::Ne, value, 1000);
        b.if_then(usual, |b| {
            let count = b.load(Type::I64, slot, 0);
            let count = b.binary_const(Binary::Add, count, 1);
            b.store(count, slot, 0);
        });
    }
}

/// Each of two functions calls the other, which is declared before and defined after.
#[test]
fn functions_may_be_declared_first() {
    let mut module = Module::default();
    let signature = Signature::new(&[Type::I64], Some(Type::I64));
    let kind = SymbolKind::Function(signature);
    let [even, odd] =
        ["even", "odd"].map(|name| module.declare(name, Linkage::Import, kind.clone()));
    for (name, itself, other, at_zero) in [("odd", odd, even, 0), ("even", even, odd, 1)] {
        assert_eq!(module.declare(name, Linkage::Local, kind.clone()), itself);
        let mut b = Builder::define(&mut module, itself);
        let n = b.param(0);
        let done = b.compare_const(Cond::Eq, n, 0);
        let answer = b.i64(at_zero);
        b.if_then(done, |b| b.ret(Some(answer)));
        let less = b.binary_const(Binary::Sub, n, 1);
        let value = b.call_value(other, &[less]);
        b.ret(Some(value));
        let function = b.finish();
        module.functions.push(function);
    }
    functions::define(&mut module, "is_even", &[Type::I64], |b, v| b.call_value(even, &[v[0]]));
    check(&module, "is_even", &[(&[0], 1), (&[7], 0), (&[8], 1)]);
}

/// A function with a parameter of every type that only cold blocks call, two of them, which return to hot blocks. A
/// backend may call it so that it keeps the registers of its callers.
const ASIDE: &str = "\
local func @mixed(%a: i8, %b: i8, %c: i16, %d: i32, %e: i64, %f: f32, %g: f64, %h: ptr) -> i64 noinline {
entry:
    %a64: i64 = zext %a
    %b64: i64 = zext %b
    %c64: i64 = zext %c
    %d64: i64 = zext %d
    %f64: f64 = promote %f
    %sum: f64 = fadd %f64, %g
    %bits: i64 = bitcast %sum
    %word: i64 = load %h+0 align 8
    %1: i64 = xor %a64, %b64
    %2: i64 = xor %1, %c64
    %3: i64 = xor %2, %d64
    %4: i64 = xor %3, %e
    %5: i64 = xor %4, %bits
    %6: i64 = xor %5, %word
    return %6
}

local func @small(%a: i8) -> i8 noinline {
entry:
    %one: i8 = const 1
    %next: i8 = add %a, %one
    return %next
}

local func @count(%at: ptr) noinline {
entry:
    %before: i64 = load %at+0 align 8
    %one: i64 = const 1
    %after: i64 = add %before, %one
    store %after, %at+0 align 8
    return
}

export func @aside(%in: ptr, %out: ptr) {
entry:
    %x: i64 = load %in+0 align 8
    %y: i64 = load %in+8 align 8
    %zero: i64 = const 0
    %usual: bool = compare eq %x, %zero
    branch %usual, next2(%x), first1
first1 cold:
    %less: bool = compare slt %x, %y
    %a: i8 = zext %less
    %b: i8 = trunc %x
    %c: i16 = trunc %x
    %d: i32 = trunc %x
    %f: f32 = sint_to_float %d
    %g: f64 = sint_to_float %x
    call @count(%out)
    %mixed: i64 = call @mixed(%a, %b, %c, %d, %x, %f, %g, %in)
    jump next2(%mixed)
next2(%m: i64):
    %odd: bool = compare eq %y, %zero
    branch %odd, next4(%y), second3
second3 cold:
    %byte: i8 = trunc %y
    %small: i8 = call @small(%byte)
    %wide: i64 = zext %small
    jump next4(%wide)
next4(%n: i64):
    %1: i64 = add %m, %n
    %2: i64 = add %1, %x
    %3: i64 = add %2, %y
    %counted: i64 = load %out+0 align 8
    %4: i64 = add %3, %counted
    store %4, %out+0 align 8
    return
}
";

#[test]
fn values_outlive_calls_in_cold_blocks() {
    let module: Module = ASIDE.parse().expect("it is host IR");
    let bits = |value: f64| value.to_bits();
    let mixed = |x: u64| x ^ x ^ x ^ x ^ bits(2.0 * x as f64) ^ x;
    check(
        &module,
        "aside",
        &[
            (&[0, 0], 0),
            (&[0, 255], 255),
            (&[5, 0], mixed(5) + 5 + 1),
            (&[5, 3], mixed(5) + 4 + 5 + 3 + 1),
            (&[5, 7], (mixed(5) ^ 1) + 8 + 5 + 7 + 1),
        ],
    );
}
