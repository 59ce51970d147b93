//! Stack that nested parameters cost, as `guide::kinds` promises.

use codegen::Library;
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::gate;
use tvm_ffi_codegen_tests::outcome::End;
use tvm_ffi_codegen_tests::route::{BACKENDS, Call, Route, Shared};

use crate::stack_of_failure::{depth, painted};

/// Maximal depth of a parameter.
const DEEP: usize = 63;

/// Start of a type, start and end of a value, limits in bytes of a successful and a failing call, and the backends.
type Row = (&'static str, [&'static str; 2], [usize; 2], &'static [&'static str]);

/// Nested types, their values, and the stack of a successful and a failing call, all frames together. LLVM compiles
/// mappings slowly, and has smaller frames.
const ROWS: [Row; 2] = [
    ("Array[", ["array(", ")"], [3 << 10, 8 << 10], BACKENDS),
    ("Map[str, ", ["map(\"a\": ", ")"], [10 << 10, 16 << 10], &["cranelift"]),
];

#[test]
fn depth_costs_what_the_guide_says() {
    let is_called = |backend: &&&str| gate::backends().contains(*backend);
    for (ty, [open, close], limits, backends) in ROWS {
        let ty = format!("{}int8{}", ty.repeat(DEEP), "]".repeat(DEEP));
        let text = format!("f(x: {ty}) -> None = record_0(); flat() -> None = record_0();");
        let library: Library = text.parse().unwrap_or_else(|error| panic!("{error}"));
        let value = |one| format!("({}{one}{})", open.repeat(DEEP), close.repeat(DEEP));
        for backend in backends.iter().filter(is_called) {
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
