//! Measured functions, their calls that succeed or fail, and calls that show which checks a peer makes.

use tvm_ffi_codegen_tests::{fake_cuda, fake_hip};

/// A function that every peer has, if it can.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Declaration for our peers.
    pub(crate) declaration: String,
    /// True if the measured function is what the declared one returns for [`PREPARED`].
    pub(crate) is_prepared: bool,
}

/// Extents of the matrices for which launches are prepared.
pub(crate) const PREPARED: [[i64; 2]; 3] = [[128, 64], [64, 256], [128, 256]];

/// A call of a function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) case: &'static str,
    /// Remark that tells calls of a function apart.
    pub(crate) what: &'static str,
    /// Arguments in the form of `tvm_ffi_codegen_tests::argument`.
    pub(crate) arguments: String,
    /// True if the call must be refused.
    pub(crate) fails: bool,
}

impl Case {
    /// Returns true for a body of statements, which needs functions or the driver of this process.
    pub(crate) fn is_program(&self) -> bool {
        self.declaration.contains('{')
    }
}

/// A function before the measured one, whose code moves the code of that.
const BEFORE: &str = "before(k: int64, s: str) -> int64 = { return k * 3 + s.size; };\n";

impl Case {
    /// Returns the declaration in a library whose code is at other addresses.
    pub(crate) fn moved(&self) -> String {
        BEFORE.to_owned() + &self.declaration
    }
}

impl Call {
    pub(crate) fn name(&self) -> String {
        let Call { case, what, .. } = self;
        if what.is_empty() { (*case).to_owned() } else { format!("{case}: {what}") }
    }
}

/// Writes a list of numbered entries.
fn list(count: usize, entry: impl Fn(usize) -> String) -> String {
    (0..count).map(entry).collect::<Vec<_>>().join(", ")
}

/// Returns all cases, by the names that peers use.
pub(crate) fn cases() -> Vec<Case> {
    let strided = list(8, |i| format!("x{i}: Tensor([a, b, c, d], float32, strides=any)"));
    let many = list(32, |i| format!("x{i}: Tensor([n, m], float32)"));
    let symbolic = list(8, |i| {
        format!("x{i}: Tensor([a, b, c, d], float32, strides=[s{i}0, s{i}1, s{i}2, 1])")
    });
    let strides = list(8, |i| format!("s{i}0, s{i}1, s{i}2"));
    let data = |count| list(count, |i| format!("x{i}.data"));
    let case = |name, params: &str, args: &str| Case {
        name,
        declaration: format!("{name}({params}) -> int64 = {name}_kernel({args});"),
        is_prepared: false,
    };
    let is_prepared = false;
    let matrices = "x: Tensor([n, m], float32), y: Tensor([n, m], float32)";
    let program = |name: &str, callee: &str| {
        format!("{name}({matrices}) -> int64 = {{ let r: int64 = @{callee}(x, y); return r; }};")
    };
    let vectors = "x: Tensor([n], float32, device=cuda), y: Tensor([n], float32, device=cuda)";
    let axpy = format!(
        "image code; axpy({vectors}, a: float32) -> int64 = {{ launch code.\"axpy_kernel\"(x.data, y.data, \
         int32(n), a) grid(ceildiv(n, 1024)) block(128); return n; }};"
    );
    let axpy_hip = axpy.replace("axpy(", "axpy_hip(").replace("cuda", "rocm").replace("code", HIP);
    let on_gpu = "float32, device=cuda";
    let tensor_maps = format!(
        "image {MAPS}; tensor_maps(a: Tensor([m, k], {on_gpu}), b: Tensor([k, n], {on_gpu}), c: Tensor([m, n], \
         {on_gpu})) -> int64 = {{ launch {MAPS}.\"tensor_maps_kernel\"(tensormap(a, box=[64, 32]), \
         tensormap(b, box=[64, 32]), tensormap(c, box=[64, 32]), int32(k)) grid(ceildiv(m, 64), \
         ceildiv(n, 32)) block(128); return k; }};"
    );
    let submit = format!(
        "image {MAPS}; submit(a: Tensor([m, k], {on_gpu}), b: Tensor([k, n], {on_gpu}), c: Tensor([m, n], \
         {on_gpu})) -> Function = {{ let of_a = tensormap(a, box=[64, 32]); let of_b = tensormap(b, box=[64, 32]); \
         let of_c = tensormap(c, box=[64, 32]); return function() -> None {{ \
         launch {MAPS}.\"tensor_maps_kernel\"(of_a, of_b, of_c, int32(k)) grid(ceildiv(m, 64), \
         ceildiv(n, 32)) block(128); }}; }};"
    );
    let number = format!("number({matrices}) -> int64 = pair_kernel(x.data, y.data, n * m);");
    vec![
        case("add_one", "x: Tensor([n], float32), y: Tensor([n], float32)", "x.data, y.data, n"),
        case(
            "matmul",
            "a: Tensor([m, k], float32), b: Tensor([k, n], float32), c: Tensor([m, n], float32)",
            "a.data, b.data, c.data, m, k, n",
        ),
        case("strided8", &strided, &format!("{}, a, b, c, d", data(8))),
        case("stride_symbols8", &symbolic, &format!("{}, a, b, c, d, {strides}", data(8))),
        case("ints16", &list(16, |i| format!("a{i}: int32")), &list(16, |i| format!("a{i}"))),
        case(
            "pair",
            "t: Tuple[Tensor([n], float32), Tensor([n], float32)]",
            "t[0].data, t[1].data, n",
        ),
        case("many32", &many, &format!("{}, n, m", data(32))),
        case("text", "s: str", "s"),
        case("list8", "xs: Array[Tensor([n], float32)]", "xs, xs.size"),
        case("union", "u: Union[int64, str, Tensor([_], float32)]", "u"),
        case("map8", "m: Map[str, int64]", "m"),
        case(
            "optional",
            "x: Optional[Tensor([_], float32)], k: Optional[int64]",
            "x.data, x.is_some, k, k.is_some",
        ),
        // The harness registers the function that this one calls.
        Case { name: "by_name", declaration: program("by_name", "\"bench.number\""), is_prepared },
        Case {
            name: "by_symbol",
            declaration: number + &program("by_symbol", "number"),
            is_prepared,
        },
        // On a driver that does nothing.
        Case { name: "axpy", declaration: axpy, is_prepared },
        Case { name: "axpy_hip", declaration: axpy_hip, is_prepared },
        Case { name: "tensor_maps", declaration: tensor_maps, is_prepared },
        Case { name: "submit", declaration: submit, is_prepared: true },
    ]
}

/// Image with the kernel that takes tensor maps.
const MAPS: &str = "maps";
const MAPS_PTX: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry tensor_maps_kernel(\
    .param .align 128 .b8 a[128], .param .align 128 .b8 b[128], .param .align 128 .b8 c[128], .param .u32 k) { ret; }\n";

/// Image for HIP.
const HIP: &str = "hsaco";

/// Returns the bytes of an image.
pub(crate) fn image(name: &str) -> Vec<u8> {
    match name {
        MAPS => MAPS_PTX.into(),
        HIP => fake_hip::HSACO.to_vec(),
        _ => fake_cuda::CUBIN.to_vec(),
    }
}

/// Writes a tensor object with compact strides.
fn tensor(dims: &[i64]) -> String {
    let stride = |i: usize| dims[i + 1..].iter().product::<i64>().to_string();
    let strides: Vec<String> = (0..dims.len()).map(stride).collect();
    format!("float32{dims:?}{{strides=[{}], object}}", strides.join(", "))
}

/// Creates a call with a list of arguments.
fn call(case: &'static str, what: &'static str, arguments: &str, fails: bool) -> Call {
    Call { case, what, arguments: format!("({arguments})"), fails }
}

/// Creates calls with tensor objects, with `DLTensor*`, and with both in turn.
fn arrivals(case: &'static str, objects: &[&str]) -> [Call; 3] {
    let pointers: Vec<String> = objects.iter().map(|text| text.replace(", object", "")).collect();
    let either = |i: usize| if i.is_multiple_of(2) { objects[i] } else { &pointers[i] };
    let each = list(objects.len(), |i| either(i).to_owned());
    [
        call(case, "", &objects.join(", "), false),
        call(case, "DLTensor*", &pointers.join(", "), false),
        call(case, "alternating", &each, false),
    ]
}

/// Tensors of four dims without contiguous rows, and with contiguous rows.
const STRIDED: &str = "float32[2, 3, 4, 5]{strides=[120, 40, 10, 2], object}";
const ROWS: &str = "float32[2, 3, 4, 5]{strides=[120, 40, 10, 1], object}";

/// Returns the calls that are timed.
pub(crate) fn timed() -> Vec<Call> {
    let five = tensor(&[5]);
    let good = |case, what, arguments: &str| call(case, what, arguments, false);
    let [a, b, c] = [tensor(&[4, 3]), tensor(&[3, 5]), tensor(&[4, 5])];
    let on_gpu = |tensor: String| tensor.replace(", object", ", device=cuda:0, object");
    let gpu = on_gpu(tensor(&[3000]));
    let amd = gpu.replace("cuda", "rocm");
    let tiled = PREPARED.map(|dims| on_gpu(tensor(&dims)));
    let double = five.replacen("float32", "float64", 1);
    let mut calls = [
        arrivals("add_one", &[&*five; 2]),
        arrivals("matmul", &[&*a, &*b, &*c]),
        arrivals("strided8", &[STRIDED; 8]),
        arrivals("stride_symbols8", &[ROWS; 8]),
        arrivals("many32", &[&*a; 32]),
    ]
    .concat();
    calls.extend([
        good("ints16", "", &list(16, |i| i.to_string())),
        good("pair", "", &format!("array({five}, {five})")),
        good("text", "small", "\"small\""),
        good("text", "object", "\"a longer text\""),
        good("list8", "", &format!("array({})", list(8, |_| five.clone()))),
        good("union", "int", "7"),
        good("union", "small text", "\"small\""),
        good("union", "text object", "\"a longer text\""),
        good("union", "tensor", &five),
        good("map8", "", &format!("map({})", list(8, |i| format!("\"k{i}\": {i}")))),
        good("optional", "given", &format!("{five}, 3")),
        good("optional", "None", "none, none"),
        good("by_name", "", &format!("{a}, {a}")),
        good("by_symbol", "", &format!("{a}, {a}")),
        good("axpy", "", &format!("{gpu}, {gpu}, 2.5")),
        good("axpy_hip", "", &format!("{amd}, {amd}, 2.5")),
        good("tensor_maps", "", &tiled.join(", ")),
        good("submit", "", ""),
        call("add_one", "unequal extents", &format!("{five}, {}", tensor(&[4])), true),
        call("add_one", "wrong dtype", &format!("{five}, {double}"), true),
        call("add_one", "wrong type", &format!("{five}, \"text\""), true),
        call("add_one", "wrong count", &five, true),
    ]);
    calls
}

/// Returns calls that show which errors a peer detects, and which legal arguments it accepts.
pub(crate) fn questions() -> Vec<Call> {
    let five = tensor(&[5]);
    let matrices = format!("{}, {}", tensor(&[4, 3]), tensor(&[4, 4]));
    let all = [
        ("add_one", "DLTensor*, strides NULL", "float32[5], float32[5]".to_owned(), false),
        ("add_one", "any stride at extent 1", one("{strides=[7]}", "1"), false),
        ("add_one", "no elements, data NULL", one("{strides=[1], data=null}", "0"), false),
        ("add_one", "data at 4 modulo 256", one("{strides=[1], data=4}", "5"), false),
        ("add_one", "byte_offset", one("{strides=[1], offset=4}", "5"), false),
        ("add_one", "DLTensor* NULL", format!("{five}, any(7, 0)"), true),
        ("add_one", "object NULL", format!("{five}, any(70, 0)"), true),
        ("add_one", "wrong rank", format!("{five}, {}", tensor(&[5, 1])), true),
        ("add_one", "other device", one("{strides=[1], device=cuda:0}", "5"), true),
        ("add_one", "shape NULL", one("{strides=[1], shape=null}", "5"), true),
        ("add_one", "negative extent", one("{strides=[1]}", "-5"), true),
        ("add_one", "not contiguous", one("{strides=[2]}", "5"), true),
        ("add_one", "data NULL", one("{strides=[1], data=null}", "5"), true),
        ("add_one", "misaligned", one("{strides=[1], data=2}", "5"), true),
        ("stride_symbols8", "strides NULL", list(8, |_| "float32[2, 3, 4, 5]".to_owned()), false),
        ("stride_symbols8", "extents of 1", eight("[1, 3, 1, 5]", "[7, 10, 9, 1]"), false),
        ("stride_symbols8", "rows of 1", eight("[2, 3, 4, 1]", "[120, 40, 10, 7]"), false),
        ("stride_symbols8", "no elements", eight("[2, 0, 4, 5]", "[7, 8, 9, 10]"), false),
        ("stride_symbols8", "rows with gaps", eight("[2, 3, 4, 5]", "[120, 40, 10, 2]"), true),
        ("ints16", "beyond 32 bits", list(16, |_| "4294967296".to_owned()), true),
        ("ints16", "bool", list(16, |_| "true".to_owned()), false),
        ("ints16", "float", list(16, |_| "1.0".to_owned()), true),
        ("pair", "three elements", format!("array({five}, {five}, {five})"), true),
        ("pair", "extents differ", format!("array({five}, {})", tensor(&[4])), true),
        (
            "many32",
            "last differs",
            format!("{}, {}", list(31, |_| tensor(&[4, 3])), tensor(&[4, 4])),
            true,
        ),
        ("text", "const char*", "raw(\"a longer text\")".to_owned(), false),
        ("text", "small, but of 8 bytes", "small(11, \"12345678\")".to_owned(), true),
        ("text", "NULL", "any(8, 0)".to_owned(), true),
        ("list8", "List", format!("list({five}, {five})"), false),
        ("list8", "extents differ", format!("array({five}, {})", tensor(&[4])), true),
        ("union", "float", "2.5".to_owned(), true),
        ("union", "tensor of other rank", tensor(&[5, 1]), true),
        ("map8", "Dict", "dict(\"a\": 1)".to_owned(), false),
        ("map8", "value of other type", "map(\"a\": 1, \"b\": \"c\")".to_owned(), true),
        ("optional", "tensor of other rank", format!("{}, 3", tensor(&[5, 1])), true),
        ("optional", "float for int", "none, 2.5".to_owned(), true),
        ("by_name", "extents differ", matrices.clone(), true),
        ("by_symbol", "extents differ", matrices, true),
    ];
    all.map(|(case, what, arguments, fails): (_, _, String, _)| call(case, what, &arguments, fails))
        .into()
}

/// Writes eight tensors with these dims and strides.
fn eight(dims: &str, strides: &str) -> String {
    list(8, |_| format!("float32{dims}{{strides={strides}, object}}"))
}

/// Writes two tensor objects of one dim with these options.
fn one(options: &str, dim: &str) -> String {
    let tensor = format!("float32[{dim}]{}", options.replacen('}', ", object}", 1));
    format!("{tensor}, {tensor}")
}
