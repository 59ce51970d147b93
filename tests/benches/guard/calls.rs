//! Measured functions: one for each kind of parameter and of body, with accepted arguments and some refused ones.

use tvm_ffi_codegen_tests::fake_cuda;

/// Functions whose kernels, named after them, do nothing.
const DECLARATIONS: &str = "
add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
    = add_one_kernel(x.data, y.data, n);
matmul(a: Tensor([m, k], float32), b: Tensor([k, n], float32), c: Tensor([m, n], float32)) -> None
    = matmul_kernel(a.data, b.data, c.data, m, n, k);
pair(t: Tuple[Tensor([n], float32), Tensor([n], float32)]) -> None
    = pair_kernel(t[0].data, t[1].data, n);
text(s: str) -> None = text_kernel(s.data, s.size);
list8(xs: Array[Tensor([n], float32)]) -> None = list8_kernel(xs, xs.size);
union(v: Union[int64, str, Tensor([_], float32)]) -> None = union_kernel(v);
map8(m: Map[str, int64]) -> None = map8_kernel(m);
optional(x: Optional[Tensor([n], float32)], k: Optional[int64]) -> None
    = optional_kernel(x.data, x.is_some, k, k.is_some);
first(x: Tensor([n, m], float32), y: Tensor([n, m], float32)) -> None = first_kernel(x.data, y.data, n, m);
second(x: Tensor([n, m], float32), y: Tensor([n, m], float32)) -> None = second_kernel(x.data, y.data, n, m);
third(x: Tensor([n, m], float32), y: Tensor([n, m], float32)) -> None = third_kernel(x.data, y.data, n, m);
chain3(x: Tensor([n, m], float32), y: Tensor([n, m], float32)) -> None
    = { @first(x, y); @second(y, x); @third(x, y); };
keys(n: int64) -> None = { for i in 0..n { keys_kernel(i, i % 5, i % 2 == 0); } };
cached(n: int64) -> None
    = {
        for i in 0..n {
            let a: Array[Any] = cached (i, i % 5, i % 2 == 0) @\"ffi.Array\"(i);
            cached_kernel(a, i);
        }
    };
keyed(k: int64) -> None = { keyed_kernel(k, k % 5, k % 2 == 0); };
picked(k: int64) -> None
    = {
        let f: Function = cached (k, k % 5, k % 2 == 0) @\"ffi.FunctionListGlobalNamesFunctor\"();
        picked_kernel(f, k);
    };
chosen(n: int64) -> None
    = {
        for i in 0..n {
            let f: Function = cached (i, i % 5, i % 2 == 0) @\"ffi.FunctionListGlobalNamesFunctor\"();
            chosen_kernel(f, i);
        }
    };
over(x: Tensor([n], float32)) -> Function
    = { return function (k: int64) -> None { over_kernel(x.data, n, k); }; };
";

/// Images and functions that launch from them; the driver does nothing.
const LAUNCHES: &str = "
image axpy;
image maps;
launch(x: Tensor([n], float32, device=cuda), y: Tensor([n], float32, device=cuda), a: float32) -> None
    = { launch axpy.\"axpy_kernel\"(x.data, y.data, int32(n), a) grid(ceildiv(n, 1024)) block(128); };
mapped(a: Tensor([m, k], float32, device=cuda), b: Tensor([k, n], float32, device=cuda)) -> None
    = {
        launch maps.\"maps_kernel\"(tensormap(a, box=[64, 32]), tensormap(b, box=[64, 32]), int32(k))
            grid(ceildiv(m, 64), ceildiv(n, 32)) block(128);
    };
submit(a: Tensor([m, k], float32, device=cuda), b: Tensor([k, n], float32, device=cuda)) -> Function
    = {
        let of_a = tensormap(a, box=[64, 32]);
        let of_b = tensormap(b, box=[64, 32]);
        return function() -> None {
            launch maps.\"maps_kernel\"(of_a, of_b, int32(k)) grid(ceildiv(m, 64), ceildiv(n, 32)) block(128);
        };
    };
";

/// An image with the kernel that takes tensor maps.
const MAPS: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry maps_kernel(\
    .param .align 128 .b8 a[128], .param .align 128 .b8 b[128], .param .u32 k) { ret; }\n";

/// Returns the bytes of an image.
pub(crate) fn image(name: &str) -> Vec<u8> {
    if name == "maps" { MAPS.into() } else { fake_cuda::CUBIN.to_vec() }
}

/// A measured call.
pub(crate) struct Call {
    /// Name in the baseline: the function, then a remark.
    pub(crate) name: String,
    /// Arguments in the form of the test table.
    pub(crate) arguments: String,
    /// Arguments for which the function returns the one that is measured, if it is not measured itself.
    pub(crate) made_with: Option<String>,
    /// Kind of the expected error.
    pub(crate) error: Option<&'static str>,
}

impl Call {
    /// Returns the declared name.
    pub(crate) fn function(&self) -> &str {
        self.name.split(' ').next().unwrap_or_default()
    }
}

/// The names of all functions that call a kernel.
pub(crate) const FUNCTIONS: [&str; 22] = [
    "add_one", "matmul", "strided8", "symbols8", "ints16", "pair", "many32", "text", "list8",
    "union", "map8", "optional", "first", "second", "third", "chain3", "keys", "cached", "chosen",
    "keyed", "picked", "over",
];

/// Returns entries separated by commas.
pub(crate) fn list(count: usize, entry: impl Fn(usize) -> String) -> String {
    (0..count).map(entry).collect::<Vec<_>>().join(", ")
}

/// Returns the declarations of all functions.
pub(crate) fn declarations() -> String {
    let function = |name: &str, params: String, args: String| {
        format!("{name}({params}) -> None = {name}_kernel({args});\n")
    };
    let strided = |i| format!("x{i}: Tensor([a, b, c, d], float32, strides=any)");
    let symbols = |i| format!("s{i}0, s{i}1, s{i}2");
    let symbolic = |i| format!("x{i}: Tensor([a, b, c, d], float32, strides=[{}, 1])", symbols(i));
    let data = |i| format!("x{i}.data");
    let many = |i| format!("x{i}: Tensor([n, m], float32)");
    [
        DECLARATIONS.to_owned(),
        LAUNCHES.to_owned(),
        function("strided8", list(8, strided), list(8, data) + ", a, b, c, d"),
        function(
            "symbols8",
            list(8, symbolic),
            list(8, data) + ", a, b, c, d, " + &list(8, symbols),
        ),
        function("ints16", list(16, |i| format!("k{i}: int32")), list(16, |i| format!("k{i}"))),
        function("many32", list(32, many), list(32, data) + ", n, m"),
    ]
    .concat()
}

/// Writes a tensor object with strides, as the runtime makes them.
fn tensor(dtype: &str, dims: &[i64]) -> String {
    let stride = |dim: usize| dims[dim + 1..].iter().product::<i64>();
    let strides: Vec<i64> = (0..dims.len()).map(stride).collect();
    format!("{dtype}{dims:?}{{strides={strides:?}, object}}")
}

/// Returns all calls.
pub(crate) fn calls() -> Vec<Call> {
    const STRIDED: &str = "float32[2, 3, 4, 5]{strides=[120, 40, 10, 2], object}";
    const ROWS: &str = "float32[2, 3, 4, 5]{strides=[120, 40, 10, 1], object}";
    let matrix = |rows, columns| tensor("float32", &[rows, columns]);
    let vector = &tensor("float32", &[4]);
    let of = |count, entry: &str| list(count, |_| entry.to_owned());
    let entries = list(8, |i| format!("\"key {i}\": {i}"));
    let on_gpu = |tensor: String| tensor.replace(", object", ", device=cuda:0, object");
    let gpu = on_gpu(tensor("float32", &[3000]));
    let tiled = on_gpu([matrix(128, 64), matrix(64, 256)].join(", "));
    let fine = [
        ("add_one", of(2, vector)),
        ("matmul", [matrix(2, 3), matrix(3, 4), matrix(2, 4)].join(", ")),
        ("strided8", of(8, STRIDED)),
        ("symbols8", of(8, ROWS)),
        ("ints16", list(16, |i| i.to_string())),
        ("pair", format!("array({})", of(2, vector))),
        ("many32", of(32, &matrix(2, 3))),
        ("text small", "\"small\"".to_owned()),
        ("text object", "\"a longer text\"".to_owned()),
        ("list8", format!("array({})", of(8, vector))),
        ("union int", "7".to_owned()),
        ("union str", "\"a longer text\"".to_owned()),
        ("union tensor", vector.clone()),
        ("map8", format!("map({entries})")),
        ("optional with", format!("{vector}, 7")),
        ("optional without", "none, none".to_owned()),
        ("chain3", of(2, &matrix(2, 3))),
        ("launch", format!("{gpu}, {gpu}, 2.5")),
        ("mapped", tiled.clone()),
        // The first number of keys is found as the last one at each call; of the others each is found by a search.
        ("keys 1", "1".to_owned()),
        ("cached 1", "1".to_owned()),
        ("chosen 1", "1".to_owned()),
        ("keyed", "1".to_owned()),
        ("picked", "1".to_owned()),
        ("keys 16", "16".to_owned()),
        ("cached 16", "16".to_owned()),
        ("chosen 16", "16".to_owned()),
        ("keys 1000", "1000".to_owned()),
        ("cached 1000", "1000".to_owned()),
        ("chosen 1000", "1000".to_owned()),
    ];
    let fails = [
        ("add_one extents", "ValueError", format!("{vector}, {}", tensor("float32", &[3]))),
        ("add_one dtype", "TypeError", format!("{vector}, {}", tensor("float64", &[4]))),
        ("add_one type", "TypeError", format!("{vector}, 7")),
        ("add_one count", "TypeError", vector.clone()),
    ];
    let call = |name: &str, error, arguments| Call {
        name: name.to_owned(),
        arguments: format!("({arguments})"),
        made_with: None,
        error,
    };
    let returned = [("submit returned", tiled, ""), ("over returned", vector.clone(), "3")];
    let fine = fine.into_iter().map(|(name, arguments)| call(name, None, arguments));
    let returned = returned.into_iter().map(|(name, given, arguments)| {
        let made_with = Some(format!("({given})"));
        Call { made_with, ..call(name, None, arguments.to_owned()) }
    });
    let fails = fails.into_iter().map(|(name, error, text)| call(name, Some(error), text));
    fine.chain(returned).chain(fails).collect()
}
