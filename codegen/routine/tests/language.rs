//! Tests of the language: each function is compiled twice, as Rust and as host IR for the interpreter, and both return
//! the same.

use machine::{Machine, Word};
use proptest::prelude::*;
use tvm_ffi_codegen::ir::typed::{Int, Routine, cast, define, routine};
use tvm_ffi_codegen::ir::{Builder, Linkage, Module, verify};

/// Runs a routine in the interpreter.
fn run<R: Routine>(args: &[u64]) -> u64 {
    run_with::<R>(&[], args)
}

/// Runs a routine that calls others.
fn run_with<R: Routine>(others: &[fn(&mut Module, Linkage)], args: &[u64]) -> u64 {
    let mut module = Module::default();
    define::<R>(&mut module, Linkage::Export);
    others.iter().for_each(|define| define(&mut module, Linkage::Export));
    verify(&module).unwrap_or_else(|error| panic!("{error}"));
    let mut machine = Machine::link(&[&module], &|_| None);
    let function = machine.symbol(R::NAME).expect("it is exported");
    let args: Vec<Word> = args.iter().map(|&arg| Word::bits(arg)).collect();
    machine.call(function, &args).unwrap_or_else(|finding| panic!("{finding}")).bits
}

/// Declares functions twice, and a property that compares them.
macro_rules! both {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ident in $range:expr),*) -> $result:ident $body:block)*) => {
        mod rust {
            $(#[allow(unused_parens, clippy::all, reason = "as the language has it")]
            pub(super) fn $name($($arg: $ty),*) -> $result $body)*
        }

        mod host {
            use super::routine;
            $($(#[$doc])* #[routine] pub(super) fn $name($($arg: $ty),*) -> $result $body)*
        }

        proptest! {
            $(#[test]
            fn $name($($arg in $range),*) {
                let expected = rust::$name($($arg),*);
                // Words of the interpreter have no bits above the width.
                let width = 8 * size_of_val(&expected) as u32;
                let expected = expected as i128 as u64 & (u64::MAX >> (64 - width));
                prop_assert_eq!(run::<host::$name>(&[$($arg as i128 as u64 & (u64::MAX >> (64 - 8 * size_of_val(&$arg) as u32))),*]), expected);
            })*
        }
    };
}

both! {
    fn arithmetic(x: u64 in 0..1_u64 << 32, y: u64 in 1..1_u64 << 31) -> u64 {
        x * y + x / y - (x % y & 1) + (x ^ y | 0x80) + (!x >> 3)
    }

    fn signs(x: i64 in -1000_i64..1000, y: i64 in 1_i64..1000) -> i64 {
        -x / y + x % y + (x >> 2) + (x as i32 as i64) + if x < y { x } else { y }
    }

    fn narrow(x: u8 in any::<u8>(), y: i16 in any::<i16>()) -> i32 {
        let wide = x as i32 * 3;
        (wide - y as i32) + (y as u8 as i32) + (x as i8 as i32) + (x > 200) as i32
    }

    fn divisor(x: u64 in 0..5000_u64, y: u64 in 0..5000_u64) -> u64 {
        let mut greater = x;
        let mut less = y;
        while less != 0 {
            let rest = greater % less;
            greater = less;
            less = rest;
        }
        greater
    }

    fn breaks(x: u64 in 0..300_u64) -> u64 {
        let mut found: u64 = 0;
        let mut turns: u64 = 0;
        for at in 0..x {
            if at % 7 == 3 {
                continue;
            }
            turns += 1;
            if at * at > x {
                found = at;
                break;
            }
        }
        found * 1000 + turns
    }

    fn backward(x: u64 in 0..40_u64) -> u64 {
        let mut all: u64 = 0;
        for at in (x / 2..x).rev() {
            all = all * 3 % 1_000_003 + at;
        }
        all
    }

    fn endless(x: u64 in 1..1_u64 << 62) -> u64 {
        let mut at = x;
        let mut steps: u64 = 0;
        loop {
            if at == 1 || steps == 50 {
                return steps;
            }
            at = if at & 1 == 0 { at / 2 } else { at };
            if at & 1 == 1 {
                at -= 1;
                if at == 0 {
                    return steps + 100;
                }
            }
            steps += 1;
        }
    }

    fn cases(x: u64 in 0..40_u64, y: u64 in 0..5_u64) -> u64 {
        let kind: u64 = match x {
            0 | 7 => 1,
            10..=19 => 2,
            39 => 3,
            _ => 4,
        };
        let mut sum = kind;
        match y {
            0 => return 99,
            1 => sum += 10,
            2 => {
                for at in 0..x {
                    sum += at;
                }
            }
            _ => {}
        }
        sum
    }

    fn conditions(x: u64 in 0..20_u64, y: u64 in 0..20_u64) -> u64 {
        let mut hits: u64 = 0;
        if x != 0 && y / x > 1 || !(y > 3 && x > 10 / (y + 1)) {
            hits += 1;
        }
        let both = x > 3 && 100 / (x + 1) > y;
        if both {
            hits += 2;
        } else if x == y {
            hits += 4;
        } else {
            hits += 8;
            if y == 3 {
                hits += 16;
            }
        }
        hits
    }

    fn shadows(x: u64 in 0..1000_u64) -> u64 {
        let mut y = x;
        if x > 10 {
            let y = x / 2;
            let mut z = y;
            z += 1;
            return z;
        }
        for y in 0..3_u64 {
            let _ = y;
        }
        y += 1;
        y
    }

    fn swaps(x: u64 in 0..100_u64, y: u64 in 0..100_u64, n: u64 in 0..5_u64) -> u64 {
        let mut a = x;
        let mut b = y;
        for _ in 0..n {
            let kept = a;
            a = b;
            b = kept;
        }
        a * 1000 + b
    }

    fn nested(n: u64 in 0..8_u64) -> u64 {
        let mut sum: u64 = 0;
        for i in 0..n {
            let mut inner: u64 = 0;
            while inner < i {
                inner += 1;
                if inner == 5 {
                    break;
                }
                for j in 0..inner {
                    sum += i * j;
                }
            }
            sum += inner;
        }
        sum
    }
}

/// Words on the stack, and a copy of their bytes.
#[routine]
fn memory(x: u64, n: u64) -> u64 {
    let words: [u64; 8];
    for at in 0..8u64 {
        words[at] = x * at;
    }
    let bytes = words as &u8;
    let copy: [u8; 64];
    for at in 0..64u64 {
        copy[at] = bytes[at];
    }
    *(&copy[8 * n] as &u64) += 1;
    let pair = &(copy as &u64)[n];
    *pair + pair[0]
}

#[routine(inline)]
fn first_beyond(limit: u64, step: u64) -> u64 {
    let mut at: u64 = 0;
    loop {
        if at > limit {
            return at;
        }
        at += step;
    }
}

/// Calls an inline routine twice, and itself.
#[routine]
fn calls(x: u64, n: u64) -> u64 {
    if n == 0 {
        return first_beyond(x, 3) * 100 + first_beyond(x, 5);
    }
    calls(x + 1, n - 1)
}

/// -1 for an odd number.
#[routine]
fn even(x: u64) -> i32 {
    if x & 1 != 0 { -1 } else { 0 }
}

/// Returns the result for the first odd number of two.
#[routine]
fn both_even(x: u64, y: u64) -> i32 {
    even(x)?;
    even(y)?;
    1
}

/// Returns -2 above one limit, the result of another routine below another, else 0.
#[routine(inline)]
fn within(x: u64, limit: u64) -> i32 {
    if x > limit {
        return -2;
    }
    if x < 10 {
        return even(x);
    }
    0
}

/// Returns the doubled value if it is within both limits.
#[routine]
fn twice_within(x: u64, first: u64, second: u64) -> i32 {
    let mut all = x;
    within(x, first)?;
    all += x;
    within(x, second)?;
    all as i32
}

/// The sum of the bits of floats.
#[routine]
fn floats(x: f64, n: i64) -> u64 {
    let half = x * 0.5 + n as f64;
    let single = half as f32;
    let mut all = half.to_bits() ^ single.to_bits() as u64;
    if half >= x || single as f64 != half {
        all += 1;
    }
    all
}

/// A fact that routines are generic over.
trait Factor {
    const SCALE: &'static str;
    const FACTOR: u64;
}

enum Two {}

enum Three {}

impl Factor for Two {
    const SCALE: &'static str = "tvm_ffi_codegen.twice";
    const FACTOR: u64 = 2;
}

impl Factor for Three {
    const SCALE: &'static str = "tvm_ffi_codegen.thrice";
    const FACTOR: u64 = 3;
}

/// The product with the factor of a type.
#[routine(F::SCALE)]
fn scale<F: Factor>(x: u64) -> u64 {
    x * F::FACTOR
}

/// A step that only some types have.
fn step<F: Factor>(b: &mut Builder<'_>, x: Int<u64>) -> Option<Int<i32>> {
    (F::FACTOR > 2).then(|| cast(b, x))
}

/// The scaled number; what a step yields instead, unless that is 0.
#[routine(inline)]
fn stepped<F: Factor>(x: u64) -> i32 {
    step::<F>(x)?;
    scale::<F>(x + 1) as i32
}

#[routine]
fn both_scales(x: u64) -> u64 {
    (stepped::<Two>(x) as u64) << 8 | stepped::<Three>(x) as u64
}

#[test]
fn each_instance_is_a_function_of_its_own() {
    assert_eq!([scale::<Two>::NAME, scale::<Three>::NAME], [Two::SCALE, Three::SCALE]);
    let others = [define::<scale<Two>>, define::<scale<Three>>];
    assert_eq!([0, 5].map(|x| run_with::<both_scales>(&others, &[x])), [2 << 8 | 3, 12 << 8 | 5]);
}

#[test]
fn memory_on_the_stack() {
    for n in 0..8 {
        assert_eq!(run::<memory>(&[77, n]), 2 * (77 * n + 1));
    }
}

#[test]
fn functions_and_their_parts() {
    assert_eq!(run::<calls>(&[10, 4]), 15 * 100 + 15);
    assert_eq!(run::<calls>(&[9, 0]), 12 * 100 + 10);
    assert_eq!(
        [[2, 4], [1, 4], [2, 3]].map(|args| run_with::<both_even>(&[define::<even>], &args) as i32),
        [1, -1, -1]
    );
}

#[test]
fn what_fails_is_left_with_its_code() {
    let codes = [[4, 9, 9], [5, 9, 9], [20, 9, 30], [20, 30, 9], [20, 30, 30]];
    let codes = codes.map(|args| run_with::<twice_within>(&[define::<even>], &args) as i32);
    assert_eq!(codes, [8, -1, -2, -2, 40]);
}

#[test]
fn floats_are_rounded() {
    for (x, n) in [(0.1, 3), (-7.25, -2), (1e300, 0), (f64::NAN, 1)] {
        let half: f64 = x * 0.5 + n as f64;
        let single = half as f32;
        let odd = half >= x || f64::from(single) != half;
        let expected = (half.to_bits() ^ u64::from(single.to_bits())) + u64::from(odd);
        assert_eq!(run::<floats>(&[f64::to_bits(x), n as u64]), expected, "{x}");
    }
}
