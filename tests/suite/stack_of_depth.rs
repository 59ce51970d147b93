//! How much stack the depth of a declaration costs. `guide::kinds` says it.

use codegen::Library;
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::outcome::End;
use tvm_ffi_codegen_tests::route::{BACKENDS, Call, Route, Shared};

use crate::stack_of_failure::{depth, painted};

/// As deep as a parameter may be.
const DEEP: usize = 63;

/// The start of a type, that and the end of a value, two limits in bytes, and the backends.
type Row = (&'static str, [&'static str; 2], [usize; 2], &'static [&'static str]);

/// Types that nest, values of them, and what a successful and a failing call may take, all frames together. LLVM takes
/// long for mappings, and its frames are smaller.
const ROWS: [Row; 2] = [
    ("Array[", ["array(", ")"], [3 << 10, 8 << 10], BACKENDS),
    ("Map[str, ", ["map(\"a\": ", ")"], [10 << 10, 16 << 10], &["cranelift"]),
];

#[test]
fn depth_costs_what_the_guide_says() {
    for (ty, [open, close], limits, backends) in ROWS {
        let ty = format!("{}int8{}", ty.repeat(DEEP), "]".repeat(DEEP));
        let text = format!("f(x: {ty}) -> None = record_0(); flat() -> None = record_0();");
        let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
        let value = |one| format!("({}{one}{})", open.repeat(DEEP), close.repeat(DEEP));
        for backend in backends {
            let mut route = Shared::new(&library, backend);
            route.around = painted;
            let takes = |function, arguments: &str| {
                let (arguments, _) =
                    parse_list(arguments).unwrap_or_else(|error| panic!("{error}"));
                let call = Call { function, arguments: &arguments, count: None };
                let outcome =
                    route.run(&[call]).remove(0).unwrap_or_else(|reason| panic!("{reason}"));
                (depth(), matches!(outcome.end, End::Result(_)))
            };
            let (route_takes, _) = takes("flat", "()");
            for (one, limit) in ["1", "300"].into_iter().zip(limits) {
                let (taken, succeeded) = takes("f", &value(one));
                assert_eq!(succeeded, one == "1", "{backend}");
                let taken = taken - route_takes;
                println!("{backend}, {open}{one}: {taken} bytes");
                assert!(taken <= limit, "{backend}, {open}{one}: {taken} bytes");
            }
        }
    }
}
