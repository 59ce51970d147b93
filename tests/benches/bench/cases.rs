//! What is measured: functions, calls of them that succeed or fail, and what tells careful functions from
//! careless ones.

/// A function that every peer has, if it can.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Our declaration.
    pub(crate) declaration: String,
}

/// A call of a function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) case: &'static str,
    /// What is special about it.
    pub(crate) what: &'static str,
    /// As `tvm_ffi_codegen_tests::argument` writes them.
    pub(crate) arguments: String,
    /// Should be refused.
    pub(crate) fails: bool,
}

impl Case {
    /// True for a body of several statements, which only what runs in this process can call.
    pub(crate) fn is_program(&self) -> bool {
        self.declaration.contains('{')
    }
}

impl Call {
    pub(crate) fn name(&self) -> String {
        let Call { case, what, .. } = self;
        if what.is_empty() { (*case).to_owned() } else { format!("{case}: {what}") }
    }
}

/// A list of numbered entries.
fn list(count: usize, entry: impl Fn(usize) -> String) -> String {
    (0..count).map(entry).collect::<Vec<_>>().join(", ")
}

/// All cases, by the names that peers know them under.
pub(crate) fn cases() -> Vec<Case> {
    let strided = list(8, |i| format!("x{i}: Tensor([a, b, c, d], float32, strides=any)"));
    let many = list(32, |i| format!("x{i}: Tensor([n, m], float32)"));
    let data = |count| list(count, |i| format!("x{i}.data"));
    let case = |name, params: &str, args: &str| Case {
        name,
        declaration: format!("{name}({params}) -> int64 = {name}_kernel({args});"),
    };
    let matrices = "x: Tensor([n, m], float32), y: Tensor([n, m], float32)";
    let program = |name: &str, callee: &str| {
        format!("{name}({matrices}) -> int64 = {{ let r: int64 = @{callee}(x, y); return r; }};")
    };
    let vectors = "x: Tensor([n], float32, device=cuda), y: Tensor([n], float32, device=cuda)";
    let axpy = format!(
        "image code; axpy({vectors}, a: float32) -> int64 = {{ launch code.\"axpy_kernel\"(x.data, y.data, \
         int32(n), a) grid(ceildiv(n, 1024)) block(128); return n; }};"
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
        // The harness registers this function.
        Case { name: "by_name", declaration: program("by_name", "\"bench.number\"") },
        Case { name: "by_symbol", declaration: number + &program("by_symbol", "number") },
        // On a driver that does nothing.
        Case { name: "axpy", declaration: axpy },
    ]
}

/// A tensor object as the runtime makes them, with compact strides.
fn tensor(dims: &[i64]) -> String {
    let stride = |i: usize| dims[i + 1..].iter().product::<i64>().to_string();
    let strides: Vec<String> = (0..dims.len()).map(stride).collect();
    format!("float32{dims:?}{{strides=[{}], object}}", strides.join(", "))
}

/// The calls that are timed.
pub(crate) fn timed() -> Vec<Call> {
    let five = tensor(&[5]);
    let call = |case, what, arguments: &str, fails| Call {
        case,
        what,
        arguments: format!("({arguments})"),
        fails,
    };
    let good = |case, what, arguments: &str| call(case, what, arguments, false);
    let [a, b, c] = [tensor(&[4, 3]), tensor(&[3, 5]), tensor(&[4, 5])];
    let gpu = "float32[3000]{strides=[1], device=cuda:0, object}";
    let strided = "float32[2, 3, 4, 5]{strides=[120, 40, 10, 2], object}";
    let double = five.replacen("float32", "float64", 1);
    vec![
        good("add_one", "", &format!("{five}, {five}")),
        good("matmul", "", &format!("{a}, {b}, {c}")),
        good("strided8", "", &list(8, |_| strided.to_owned())),
        good("ints16", "", &list(16, |i| i.to_string())),
        good("pair", "", &format!("array({five}, {five})")),
        good("many32", "", &list(32, |_| a.clone())),
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
        call("add_one", "unequal extents", &format!("{five}, {}", tensor(&[4])), true),
        call("add_one", "wrong dtype", &format!("{five}, {double}"), true),
        call("add_one", "wrong type", &format!("{five}, \"text\""), true),
        call("add_one", "wrong count", &five, true),
    ]
}

/// Calls that show what is checked, and what is accepted although it need not be refused.
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
    let call = |(case, what, arguments, fails)| Call {
        case,
        what,
        arguments: format!("({arguments})"),
        fails,
    };
    all.map(call).into()
}

/// Twice a tensor with one dim and these options, as an object.
fn one(options: &str, dim: &str) -> String {
    let tensor = format!("float32[{dim}]{}", options.replacen('}', ", object}", 1));
    format!("{tensor}, {tensor}")
}
