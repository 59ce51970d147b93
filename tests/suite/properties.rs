//! Compiled code against the oracle, on random declarations and arguments.

use std::{env, fmt};

use codegen::{Function, Library};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};
use tvm_ffi_codegen_tests::argument::{Argument, print_list};
use tvm_ffi_codegen_tests::ffi;
use tvm_ffi_codegen_tests::generate::{self, Choices};
use tvm_ffi_codegen_tests::oracle;
use tvm_ffi_codegen_tests::outcome::{End, Outcome};
use tvm_ffi_codegen_tests::route::{BACKENDS, Call, InProcess, Route, Shared};

/// Calls of one declaration.
const CALLS: usize = 24;

/// Functions of one library.
const FUNCTIONS: usize = 150;

/// Compares all calls that the bytes stand for; how many calls were accepted and refused.
fn compare(bytes: &[u8]) -> Result<[usize; 2], TestCaseError> {
    let mut choices = Choices::new(bytes);
    let text = generate::declaration(&mut choices);
    let Ok(function) = text.parse::<Function>() else { return Ok([0, 0]) };
    let lists: Vec<_> = (0..CALLS).map(|_| generate::arguments(&mut choices, &function)).collect();
    let calls: Vec<Call<'_>> =
        lists.iter().map(|arguments| Call { function: "f", arguments, count: None }).collect();
    let route = InProcess::new(&Library::from(vec![function.clone()]), ffi::installed());
    let mut counts = [0, 0];
    for (arguments, outcome) in lists.iter().zip(route.run(&calls)) {
        let expected = oracle::predict(&function, arguments, None);
        let found = outcome.expect("the installed runtime has all it takes");
        let call = format!("{function}\n{}", print_list(arguments));
        prop_assert!(found == expected, "{call}\n  expected {expected}\n  but got  {found}");
        counts[usize::from(!matches!(found.end, End::Result(_)))] += 1;
    }
    Ok(counts)
}

/// Bytes whose `Debug` form fits on a line.
struct Bytes(Vec<u8>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// The same cases every time, so that the gate is deterministic; `PROPTEST_RNG_SEED` and
/// `PROPTEST_CASES` ask for others.
fn config() -> ProptestConfig {
    let given = ProptestConfig::default();
    let cases = if env::var_os("PROPTEST_CASES").is_some() { given.cases } else { 300 };
    let rng_seed = match given.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0),
        seed @ RngSeed::Fixed(_) => seed,
    };
    ProptestConfig { cases, rng_seed, max_shrink_iters: 2000, failure_persistence: None, ..given }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn compiled_code_does_what_the_declaration_means(bytes in vec(any::<u8>(), 0..900).prop_map(Bytes)) {
        compare(&bytes.0)?;
    }
}

/// A number from each number; the same on every machine.
fn scramble(seed: u64) -> u64 {
    let mixed = (seed ^ seed >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn noise(seed: u64) -> Vec<u8> {
    (0..900).map(|index| (scramble(seed << 32 | index) >> 56) as u8).collect()
}

/// A library of so many random declarations, with calls of each: what the next seeds stand for.
fn library(
    count: usize,
    seeds: &mut impl Iterator<Item = u64>,
) -> (Library, Vec<Vec<Vec<Argument>>>) {
    let mut library = Library::default();
    let mut lists = Vec::new();
    for seed in seeds {
        let bytes = noise(seed);
        let mut choices = Choices::new(&bytes);
        let Ok(mut function) = generate::declaration(&mut choices).parse::<Function>() else {
            continue;
        };
        function.signature.name = format!("f{}", library.functions.len());
        lists.push((0..CALLS).map(|_| generate::arguments(&mut choices, &function)).collect());
        library.functions.push(function);
        if lists.len() == count {
            break;
        }
    }
    (library, lists)
}

/// The same, ahead of time and by every backend. `PROPTEST_CASES` and `PROPTEST_RNG_SEED` ask for more functions, and
/// for others.
#[test]
fn backends_agree_with_the_oracle() {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let libraries = number("PROPTEST_CASES").unwrap_or(1).div_ceil(FUNCTIONS as u64);
    let mut seeds = number("PROPTEST_RNG_SEED").unwrap_or(0) << 24..;
    let mut counts = [0, 0];
    for _ in 0..libraries {
        let (library, lists) = library(FUNCTIONS, &mut seeds);
        let more = agree(&library, &lists);
        counts = [0, 1].map(|at| counts[at] + more[at]);
    }
    let [calls, accepted] = counts;
    assert!(accepted * 4 > calls && accepted * 2 < calls, "{accepted} of {calls} accepted");
    println!("{calls} calls through each of {BACKENDS:?}, {accepted} accepted");
}

/// Calls the functions of a library through every backend; how many calls there were, and how many were accepted.
fn agree(library: &Library, lists: &[Vec<Vec<Argument>>]) -> [usize; 2] {
    let pairs = || {
        let functions = library.functions.iter().zip(lists);
        functions.flat_map(|(function, lists)| lists.iter().map(move |list| (function, list)))
    };
    let calls: Vec<Call<'_>> = pairs()
        .map(|(function, list)| Call {
            function: &function.signature.name,
            arguments: list,
            count: None,
        })
        .collect();
    let expected: Vec<Outcome> =
        pairs().map(|(function, list)| oracle::predict(function, list, None)).collect();
    let accepted = expected.iter().filter(|outcome| matches!(outcome.end, End::Result(_))).count();
    for backend in BACKENDS {
        let outcomes = Shared::new(library, backend).run(&calls);
        for (((function, list), expected), found) in pairs().zip(&expected).zip(outcomes) {
            let found = found.expect("the installed runtime has all it takes");
            let call = || format!("{backend}\n{function}\n{}", print_list(list));
            assert!(found == *expected, "{}\n  expected {expected}\n  but got  {found}", call());
        }
    }
    [calls.len(), accepted]
}

/// The generator is worth something only if its calls end in many ways.
#[test]
fn generated_calls_end_in_every_way() {
    let ways = [
        "Mismatched number of arguments",
        "Mismatched type",
        ".ndim",
        ".dtype",
        ".device",
        ".shape[",
        ".strides[",
        "(contiguous)",
        ".data on",
        "Misaligned",
        "Out of range n on",
        "Out of range int",
        "Division by zero",
        "Violated",
        "(= p",
        "(= n)",
        "a non-negative extent",
        "a non-negative rank",
        "at least",
        "NULL",
        "type index",
        ".size on",
        "expected int but got",
        "expected Literal[",
        "expected Device but got \"",
        "unknown dtype",
        "expected Optional[",
        "expected Union[",
        "[1].shape",
        " = \"",
        "but got \"",
        "\\x09",
        "a\tb",
        "{0} {} %s",
        "ongongongong",
    ];
    let mut counts = [0; 35];
    let (library, lists) = library(2000, &mut (0..));
    for (function, list) in library.functions.iter().zip(&lists) {
        for arguments in list {
            if let End::Error { message, .. } = oracle::predict(function, arguments, None).end {
                let found = ways.iter().zip(&mut counts).filter(|(way, _)| message.contains(*way));
                found.for_each(|(_, count)| *count += 1);
            }
        }
    }
    for (way, count) in ways.iter().zip(counts) {
        assert!(count >= 10, "{way}: {count}");
    }
}
