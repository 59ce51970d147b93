//! Atomic accesses: their results, and their ordering between threads.

use std::sync::atomic::AtomicU64;
use std::thread;

use codegen::ir::{Binary, Builder, Cond, Module, Type, Value};

use crate::{functions, jit};

const ATOMIC: [Type; 3] = [Type::I32, Type::I64, Type::Ptr];

fn mask(ty: Type, bits: u64) -> u64 {
    bits & (u64::MAX >> (64 - 8 * ty.bytes()))
}

#[test]
fn values_go_through_memory() {
    let bits = 0x8877_6655_4433_2211_u64;
    for ty in ATOMIC {
        for offset in [0, 8, -16] {
            let mut module = Module::default();
            functions::define(&mut module, "copy", &[ty], |b, v| {
                let slot = b.stack_slot(48, 16);
                let base = b.ptr_offset(slot, 16);
                b.atomic_store(v[0], base, offset);
                b.atomic_load(ty, base, offset)
            });
            for running in jit::run(&module, &[]) {
                assert_eq!(running.call("copy", &[bits]), mask(ty, bits), "{ty} {offset}");
            }
        }
    }
}

/// An exchange writes the new value only where it finds the expected one, and returns the old one.
#[test]
fn an_exchange_happens_if_the_value_is_expected() {
    for ty in ATOMIC {
        for (before, expected, new, after) in [(5, 5, 9, 9), (5, 6, 9, 5), (0, 0, 1, 1)] {
            let mut module = Module::default();
            functions::define(&mut module, "old", &[ty, ty, ty], |b, v| {
                let slot = b.stack_slot(8, 8);
                b.atomic_store(v[0], slot, 0);
                b.compare_exchange(slot, v[1], v[2])
            });
            functions::define(&mut module, "new", &[ty, ty, ty], |b, v| {
                let slot = b.stack_slot(8, 8);
                b.atomic_store(v[0], slot, 0);
                b.compare_exchange(slot, v[1], v[2]);
                b.atomic_load(ty, slot, 0)
            });
            for running in jit::run(&module, &[]) {
                let call = |name| running.call(name, &[before, expected, new]);
                assert_eq!([call("old"), call("new")], [before, after], "{ty}");
            }
        }
    }
}

/// The number of exchanges of each thread.
const TURNS: u64 = 20_000;

/// Threads add by exchanges; without atomicity additions would be lost.
#[test]
fn additions_of_two_threads_all_count() {
    for ty in [Type::I32, Type::I64] {
        let mut module = Module::default();
        functions::define(&mut module, "add", &[Type::Ptr, Type::I64], |b, v| {
            let (counter, zero) = (v[0], b.i64(0));
            b.loop_with(
                zero,
                |b, i| b.compare(Cond::Slt, i, v[1]),
                |b, i| {
                    let value = b.atomic_load(ty, counter, 0);
                    b.loop_with(
                        value,
                        |b, value| {
                            let more = b.binary_const(Binary::Add, value, 1);
                            let found = b.compare_exchange(counter, value, more);
                            b.compare(Cond::Ne, found, value)
                        },
                        |b, _| b.atomic_load(ty, counter, 0),
                    );
                    b.binary_const(Binary::Add, i, 1)
                },
            )
        });
        for running in jit::run(&module, &[]) {
            let (counter, add) = (AtomicU64::new(0), running.address("add"));
            let input = [counter.as_ptr() as u64, TURNS];
            thread::scope(|scope| {
                (0..2).for_each(|_| drop(scope.spawn(|| functions::call(add, &input))));
            });
            assert_eq!(counter.into_inner(), 2 * TURNS, "{ty}");
        }
    }
}

/// Defines a function that writes 1, 2, … to a word and then to a flag, and waits until the flag is 0 again.
fn define_send(module: &mut Module) {
    functions::define(module, "send", &[Type::Ptr, Type::I64], |b, v| {
        let (place, one) = (v[0], b.i64(1));
        b.loop_with(
            one,
            |b, i| b.compare(Cond::Sle, i, v[1]),
            |b, i| {
                b.store(i, place, 8);
                b.atomic_store(i, place, 0);
                wait(b, place, Cond::Ne);
                b.binary_const(Binary::Add, i, 1)
            },
        )
    });
}

/// Defines a function that waits for a flag that is not 0, adds up the words, and sets the flag to 0.
fn define_receive(module: &mut Module) {
    functions::define(module, "receive", &[Type::Ptr, Type::I64], |b, v| {
        let (place, zero) = (v[0], b.i64(0));
        let [_, sum] = b.loop_with(
            [zero, zero],
            |b, [i, _]| b.compare(Cond::Slt, i, v[1]),
            |b, [i, sum]| {
                wait(b, place, Cond::Eq);
                let (word, none) = (b.load(Type::I64, place, 8), b.i64(0));
                b.atomic_store(none, place, 0);
                let next = b.binary_const(Binary::Add, i, 1);
                [next, b.binary(Binary::Add, sum, word)]
            },
        );
        sum
    });
}

/// A thread that sees a number in the flag sees the same number in the plain word beside it.
#[test]
fn what_was_written_before_a_store_is_seen_after_a_load() {
    let mut module = Module::default();
    define_send(&mut module);
    define_receive(&mut module);
    for running in jit::run(&module, &[]) {
        let place = [AtomicU64::new(0), AtomicU64::new(0)];
        let [send, receive] = ["send", "receive"].map(|name| running.address(name));
        let input = [place[0].as_ptr() as u64, ROUNDS];
        let sum = thread::scope(|scope| {
            scope.spawn(|| functions::call(send, &input));
            functions::call(receive, &input)
        });
        assert_eq!(sum, ROUNDS * (ROUNDS + 1) / 2);
    }
}

/// The number of rounds, small because on one processor each round takes a time slice.
const ROUNDS: u64 = 50;

/// Emits a loop that runs while the flag compares with 0 as `cond` says.
fn wait(b: &mut Builder<'_>, flag: Value, cond: Cond) {
    b.while_loop(
        |b| {
            let value = b.atomic_load(Type::I64, flag, 0);
            b.compare_const(cond, value, 0)
        },
        |_| {},
    );
}
