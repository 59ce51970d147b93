//! Integers of many words in messages, by every backend.

use codegen::Library;
use tvm_ffi_codegen_tests::argument::Argument;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::route::{Call, Route, Shared};

/// Prints a positive number in decimal; the least significant word comes first.
fn decimal(words: &[u64]) -> String {
    let mut digits = vec![0u32];
    for byte in words.iter().rev().flat_map(|word| word.to_be_bytes()) {
        let mut carry = u32::from(byte);
        for digit in &mut digits {
            let value = *digit * 256 + carry;
            (*digit, carry) = (value % 10, value / 10);
        }
        while carry > 0 {
            digits.push(carry % 10);
            carry /= 10;
        }
    }
    digits.iter().rev().map(u32::to_string).collect()
}

/// Negates a number.
fn negated(words: &[u64]) -> Vec<u64> {
    let mut carry = true;
    let turn = |word: &u64| {
        let (value, over) = (!word).overflowing_add(u64::from(carry));
        carry = over;
        value
    };
    words.iter().map(turn).collect()
}

/// Returns positive numbers of `count` words: the largest, a power of two, and others.
fn numbers(count: usize) -> [Vec<u64>; 4] {
    let mut largest = vec![u64::MAX; count];
    largest[count - 1] >>= 1;
    let mut power = vec![0; count];
    power[count - 1] = 1;
    let mut few = power.clone();
    few[0] = 10_u64.pow(18);
    let mixed = (1..=count as u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1).collect();
    [largest, power, few, mixed]
}

/// Returns the number in the message of a call with an integer object of these words.
fn got(route: &Shared, words: Vec<u64>) -> String {
    let cell = [words.len() as u64].into_iter().chain(words).collect();
    let arguments = [Argument::Big(cell)];
    let call = Call { function: "f", arguments: &arguments, count: None };
    let outcome = route.run(&[call]).remove(0).expect("every runtime has objects").to_string();
    let (before, got) = outcome.split_once(", expected int64 but got ").expect("it is an error");
    assert_eq!(before, "ValueError: Out of range a on argument #0 when calling: `f(a: int64)`");
    got.to_owned()
}

#[test]
fn messages_have_all_digits() {
    let library: Library = "f(a: int64) -> None = record_0();".parse().expect("it is valid");
    for backend in backends() {
        let route = Shared::new(&library, backend);
        for count in [2, 3, 4, 7, 16, 31, 32] {
            for number in numbers(count) {
                let digits = decimal(&number);
                assert_eq!(got(&route, negated(&number)), format!("-{digits}"), "{backend}");
                assert_eq!(got(&route, number), digits, "{backend}");
            }
        }
    }
}
