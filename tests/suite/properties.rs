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
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 2000, ..Default::default() })]

    #[test]
    fn compiled_code_does_what_the_declaration_means(bytes in vec(any::<u8>(), 0..900).prop_map(Bytes)) {
        compare(&bytes.0)?;
    }
}
