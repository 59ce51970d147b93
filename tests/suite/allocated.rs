//! Contents and lifetime of tensors that wrappers allocate, seen from Python.

use codegen::Library;

use crate::results;

const DECLARATIONS: &str = "
    next(x: Tensor([n], float32)) -> y: Tensor([n], float32) = add_one(x.data, y.data, n);
    sorted(n: int64) -> (values: Tensor([n], float32), indices: Tensor([n], int32))
        = fill_2(values.data, indices.data, n);
    live() -> int64 = live_tensors();
";

/// Expressions and their values.
const ROWS: [(&str, &str); 6] = [
    ("array(m.next(np.array([1, 2.5], 'float32'))).tolist()", "[2.0, 3.5]"),
    ("array(m.next(m.next(np.zeros(3, 'float32')))).tolist()", "[2.0, 2.0, 2.0]"),
    ("[array(t).tolist() for t in m.sorted(3)]", "[[0.0, 1.0, 2.0], [3, 2, 1]]"),
    // The array keeps its elements alive; an element outlives the array.
    ("array(m.sorted(2)[1]).tolist()", "[2, 1]"),
    ("(lambda tensors: m.live())(m.sorted(2))", "2"),
    ("m.live()", "0"),
];

#[test]
fn tensors_hold_what_the_kernel_has_written() {
    let library: Library = DECLARATIONS.parse().expect("the declarations are valid");
    results::hold(&library, &[], &ROWS);
}
