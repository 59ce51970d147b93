//! Libraries without some groups of checks.

use codegen::{Library, Options, Unchecked};
use tvm_ffi_codegen_tests::argument::parse_list;
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::route::{Call, Route, Shared, lowering};

const DECLARATIONS: &str = "
    shape(x: Tensor([n, 4], float32), m: int64, y: Tensor([n + 1, 2 * m], float32, strides=any)) -> None
        = record_4(n, m, x.shape[1], y.shape[1]);
    sizes(s: Shape([n, 3]), t: Optional[Tensor([m], float32)], u: Tensor([n, m, m], float32)) -> None
        = record_2(n, m);
    strides(x: Tensor([n, 4], float32), y: Tensor([n, 4], float32, strides=[s, 1]), z: Tensor([n, 4], float32, strides=[s, _])) -> None
        = record_2(x.strides[0], s);
    device(x: Tensor([n], float32), y: Tensor([n], float32, device=cuda), z: Tensor([n], float32, device=cuda)) -> None
        = record_stream(stream(y));
    alignment(x: Tensor([n], float32, align=64)) -> None = record_data(x.data, x);
    one_of(x: Union[Tensor([2], float32), Tensor([3], float32)]) -> None = record_0();
    allocated(x: Tensor([n, m], float32)) -> out: Tensor([n - m], float32) = fill(out.data, n - m);
";

const SHAPE: Unchecked = Unchecked { shape: true, ..Unchecked::NONE };
const STRIDES: Unchecked = Unchecked { strides: true, ..Unchecked::NONE };
const DEVICE: Unchecked = Unchecked { device: true, ..Unchecked::NONE };
const ALIGNMENT: Unchecked = Unchecked { alignment: true, ..Unchecked::NONE };
const ALL: Unchecked = Unchecked { shape: true, strides: true, device: true, alignment: true };

/// Omitted checks, function, arguments, outcome with all checks, outcome without.
type Row = (Unchecked, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // Valid calls behave the same.
    (ALL, "shape", "(float32[2, 4], 3, float32[3, 6])", "[2, 3, 4, 6] none", "[2, 3, 4, 6] none"),
    (ALL, "sizes", "(shape(2, 3), float32[5], float32[2, 5, 5])", "[2, 5] none", "[2, 5] none"),
    (ALL, "sizes", "(shape(2, 3), none, float32[2, 5, 5])", "[2, 5] none", "[2, 5] none"),
    (ALL, "strides", "(float32[2, 4], float32[2, 4]{strides=[9, 1]}, float32[2, 4]{strides=[9, 2]})", "[4, 9] none", "[4, 9] none"),
    (ALL, "strides", "(float32[1, 4], float32[1, 4]{strides=[9, 1]}, float32[1, 4])", "[4, 4] none", "[4, 4] none"),
    // Extents.
    (SHAPE, "shape", "(float32[2, 5], 3, float32[3, 6])", "Mismatched x.shape[1]", "[2, 3, 5, 6] none"),
    (SHAPE, "shape", "(float32[2, 4], 3, float32[2, 6])", "Mismatched y.shape[0]", "[2, 3, 4, 6] none"),
    (SHAPE, "shape", "(float32[2, 4], 3, float32[3, 5])", "Mismatched y.shape[1]", "[2, 3, 4, 5] none"),
    (SHAPE, "sizes", "(shape(2, 4), none, float32[3, 5, 5])", "Mismatched s[1]", "[2, 5] none"),
    (SHAPE, "sizes", "(shape(2, 3), float32[4], float32[2, 5, 6])", "Mismatched u.shape[1]", "Mismatched u.shape[1]"),
    (STRIDES, "shape", "(float32[2, 5], 3, float32[3, 6])", "Mismatched x.shape[1]", "Mismatched x.shape[1]"),
    // Strides.
    (STRIDES, "strides", "(float32[2, 4]{strides=[8, 1]}, float32[2, 4], float32[2, 4])", "Mismatched x.strides[0]", "[8, 4] none"),
    (STRIDES, "strides", "(float32[2, 4], float32[2, 4]{strides=[4, 2]}, float32[2, 4])", "Mismatched y.strides[1]", "[4, 4] none"),
    (SHAPE, "strides", "(float32[2, 4]{strides=[8, 1]}, float32[2, 4], float32[2, 4])", "Mismatched x.strides[0]", "Mismatched x.strides[0]"),
    // Devices.
    (DEVICE, "device", "(float32[2], float32[2]{device=cuda:1}, float32[2]{device=cuda:0})", "Mismatched z.device", "[20481] none"),
    (DEVICE, "device", "(float32[2]{device=cuda:0}, float32[2]{device=cuda:0}, float32[2]{device=cuda:0})", "Mismatched x.device", "[20480] none"),
    (DEVICE, "device", "(float32[2], float32[2]{device=(-5, 1)}, float32[2])", "Mismatched y.device", "[20481] none"),
    // Alignment.
    (ALIGNMENT, "alignment", "(float32[2]{data=2})", "Misaligned x.data", "[0] none"),
    (ALIGNMENT, "alignment", "(float32[2]{data=null})", "Mismatched x.data", "Mismatched x.data"),
    // Checks remain that loads and allocation depend on, or that tell types apart.
    (ALL, "shape", "(float32[2], 3, float32[3, 6])", "Mismatched x.ndim", "Mismatched x.ndim"),
    (ALL, "shape", "(float64[2, 4], 3, float32[3, 6])", "Mismatched x.dtype", "Mismatched x.dtype"),
    (ALL, "shape", "(float32[2, 4]{shape=null}, 3, float32[3, 6])", "Mismatched x.shape", "Mismatched x.shape"),
    (ALL, "shape", "(float32[-2, 4], 3, float32[-1, 6])", "Mismatched x.shape[0]", "Mismatched x.shape[0]"),
    (ALL, "shape", "(float32[2, -4], 3, float32[3, 6])", "Mismatched x.shape[1]", "Mismatched x.shape[1]"),
    (ALL, "shape", "(none, 3, float32[3, 6])", "Mismatched type of x", "Mismatched type of x"),
    (ALL, "shape", "(float32[2, 4], 3)", "Mismatched number of arguments", "Mismatched number of arguments"),
    (ALL, "one_of", "(float32[3])", "[called] none", "[called] none"),
    (ALL, "one_of", "(float32[4])", "Mismatched", "Mismatched"),
    (ALL, "allocated", "(float32[2, 3])", "Mismatched out.shape[0]", "Mismatched out.shape[0]"),
];

#[test]
fn a_library_can_do_without_checks() {
    let library: Library = DECLARATIONS.parse().unwrap_or_else(|error| panic!("{error}"));
    for backend in backends() {
        let full = Shared::new(&library, backend);
        for group in [SHAPE, STRIDES, DEVICE, ALIGNMENT, ALL] {
            let options = Options { unchecked: group, ..lowering(&library, backend) };
            let without = Shared::with_options(&library, backend, &options);
            for (_, function, arguments, checked, unchecked) in
                ROWS.iter().filter(|row| row.0 == group)
            {
                let (arguments, _) = parse_list(arguments).unwrap();
                let call = Call { function, arguments: &arguments, count: None };
                for (route, expected) in [(&full, checked), (&without, unchecked)] {
                    let outcome =
                        route.run(&[call]).remove(0).expect("the runtime has all of this");
                    let text = outcome.to_string();
                    let matches = text == *expected || text.contains(&format!("Error: {expected}"));
                    assert!(matches, "{backend}, {function}: {text}\n  not {expected}");
                }
            }
        }
    }
}
