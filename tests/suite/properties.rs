//! Compiled code against the oracle, on random declarations and arguments.

use std::fmt;

use codegen::{Function, Library};
use jit::Runtime;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use tvm_ffi_codegen_tests::argument::print_list;
use tvm_ffi_codegen_tests::generate::{self, Choices};
use tvm_ffi_codegen_tests::oracle;
use tvm_ffi_codegen_tests::outcome::End;
use tvm_ffi_codegen_tests::route::{Call, InProcess, Route};

/// Calls of one declaration.
const CALLS: usize = 24;

/// Compares all calls that the bytes stand for; how many calls were accepted and refused.
fn compare(bytes: &[u8]) -> Result<[usize; 2], TestCaseError> {
    let mut choices = Choices::new(bytes);
    let text = generate::declaration(&mut choices);
    let Ok(function) = text.parse::<Function>() else { return Ok([0, 0]) };
    let lists: Vec<_> = (0..CALLS).map(|_| generate::arguments(&mut choices, &function)).collect();
    let calls: Vec<Call<'_>> =
        lists.iter().map(|arguments| Call { function: "f", arguments, count: None }).collect();
    let route = InProcess::new(&Library { functions: vec![function.clone()] }, Runtime::builtin());
    let mut counts = [0, 0];
    for (arguments, outcome) in lists.iter().zip(route.run(&calls)) {
        let expected = oracle::predict(&function, arguments, None);
        let found = outcome.expect("the built-in runtime has all it takes");
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn compiled_code_does_what_the_declaration_means(bytes in vec(any::<u8>(), 0..900).prop_map(Bytes)) {
        compare(&bytes.0)?;
    }
}

#[test]
fn stats() {
    let mut map = std::collections::BTreeMap::<String, usize>::new();
    let mut x = 1u64;
    let (mut valid, mut all) = (0, 0);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..900)
            .map(|_| {
                x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (x >> 40) as u8
            })
            .collect();
        let mut choices = Choices::new(&bytes);
        let text = generate::declaration(&mut choices);
        all += 1;
        let function = match text.parse::<Function>() {
            Ok(f) => f,
            Err(e) => {
                let e = e.to_string();
                let e = e.lines().next().unwrap().splitn(4, ": ").nth(3).unwrap_or("?").to_owned();
                let e: String = e.split('`').step_by(2).collect::<Vec<_>>().join("~");
                *map.entry(format!("decl {e}")).or_default() += 1;
                continue;
            }
        };
        valid += 1;
        for _ in 0..24 {
            let args = generate::arguments(&mut choices, &function);
            let e = oracle::predict(&function, &args, None);
            let k = match e.end {
                End::Result(_) => "ok".to_owned(),
                End::Error { message, .. } => message
                    .split(" when calling")
                    .next()
                    .unwrap()
                    .split(" on argument")
                    .next()
                    .unwrap()
                    .split(' ')
                    .take(2)
                    .map(|w| w.split_once('.').map_or(w, |(_, b)| b).split('[').next().unwrap())
                    .collect::<Vec<_>>()
                    .join(" "),
                End::Broken(b) => b,
            };
            *map.entry(k).or_default() += 1;
        }
    }
    println!("{valid} of {all}");
    let mut v: Vec<_> = map.into_iter().collect();
    v.sort_by_key(|e| std::cmp::Reverse(e.1));
    for (k, n) in v {
        println!("{n:6} {k}");
    }
}
