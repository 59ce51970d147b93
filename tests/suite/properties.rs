//! Compiled code against the oracle, on random declarations and arguments.

use std::{env, fmt};

use codegen::{Function, Library};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError};
use tvm_ffi_codegen_tests::argument::print_list;
use tvm_ffi_codegen_tests::ffi;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::generate::{self, Choices};
use tvm_ffi_codegen_tests::oracle;
use tvm_ffi_codegen_tests::outcome::End;
use tvm_ffi_codegen_tests::route::{Call, InProcess, Route};
use tvm_ffi_codegen_tests::volume::{self, Plan, RandomFunction, Report, Through};

/// Number of calls per declaration.
const CALLS: usize = 24;

/// Compares all calls that the bytes generate; returns the numbers of accepted and refused calls.
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

/// Returns a configuration with the same cases every time, so that the gate is deterministic; `PROPTEST_RNG_SEED` and
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

/// Shared libraries of every backend; `tests/volume` makes any number of calls.
#[test]
fn backends_agree_with_the_oracle() {
    for &name in backends() {
        let through = Through::Backend(name);
        let report =
            volume::run(&Plan { seed: 0, calls: 3600, until: None, each: 24, threads: 1, through });
        assert!(report.wrong.is_empty(), "{}", report.wrong.join("\n\n"));
        let Report { calls, accepted, .. } = report;
        assert!(accepted * 4 > calls && accepted * 2 < calls, "{accepted} of {calls} accepted");
    }
}

/// Generated calls end in success and in every kind of error.
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
        "expected dtype but got \"",
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
    let plan = Plan {
        seed: 0,
        calls: 84_000,
        until: None,
        each: 24,
        threads: 1,
        through: Through::Machine,
    };
    for RandomFunction { function, lists } in
        (0..3500).map(|index| RandomFunction::new(&plan, index))
    {
        for arguments in lists {
            if let End::Error { message, .. } = oracle::predict(&function, &arguments, None).end {
                let found = ways.iter().zip(&mut counts).filter(|(way, _)| message.contains(*way));
                found.for_each(|(_, count)| *count += 1);
            }
        }
    }
    for (way, count) in ways.iter().zip(counts) {
        assert!(count >= 10, "{way}: {count}");
    }
}
