//! Results whose types are those of functions of the same library, in the code of every backend.

use codegen::Library;
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::route::{Call, Route, Shared};

const DECLARATIONS: &str = "
    made(k: int64) -> y: Tensor([k], float32) = fill(y.data, k);
    twice(x: Tensor([k], float32)) -> y: Tensor([2 * k], float32) = fill(y.data, 2 * k);
    pair(x: Tensor([k], float32)) -> (a: Tensor([k], float32), b: Tensor([k], int32)) = fill_2(a.data, b.data, k);
    extents(n: int64) -> int64
        = {
            let y = @made(n);
            let z = @twice(y);
            if z.shape[0] != 2 * n { raise ValueError \"extents\"; }
            return z.numel + y.ndim;
        };
    elements(n: int64) -> int64 = { let y = @made(n); let both = @pair(y); return both.b.shape[0] + both.a.ndim; };
";

#[test]
fn results_have_the_types_of_their_callees() {
    let library: Library = DECLARATIONS.parse().unwrap_or_else(|error| panic!("{error}"));
    let rows = [
        ("extents", "(3)", "[6] 7"),
        (
            "extents",
            "(-1)",
            "ValueError: Mismatched y.shape[0] when calling: `made(k: int64)`, expected a non-negative extent but got -1",
        ),
        ("elements", "(2)", "[2] 3"),
    ];
    for backend in backends() {
        let route = Shared::new(&library, backend);
        for (function, arguments, expected) in rows {
            let (arguments, _) = parse_list(arguments).unwrap();
            let call = Call { function, arguments: &arguments, count: None };
            let outcome =
                route.run(&[call]).remove(0).expect("numbers are expressible").to_string();
            assert_eq!(outcome, expected, "{backend}");
        }
    }
}
