//! Metadata of functions.

use serde_json::{Value, json};
use tvm_ffi_codegen::{Library, Options, ir, lower};

fn metadata(declaration: &str) -> Value {
    let library: Library = declaration.parse().unwrap_or_else(|e| panic!("{declaration}: {e}"));
    serde_json::from_str(&library.resolve().unwrap().metadata(0)).unwrap()
}

#[test]
fn schemas_name_the_types_of_the_runtime() {
    let rows = [
        ("f(a: Any) -> None = k();", r#"[{"type":"None"},{"type":"Any"}]"#),
        (
            "f(b: bool, p: ptr) -> bool = k(b, p);",
            r#"[{"type":"bool"},{"type":"bool"},{"type":"void*"}]"#,
        ),
        (
            "f(a: int8, b: uint64, c: bfloat16, d: float64) -> uint8 = k(a, b, c, d);",
            r#"[{"type":"int"},{"type":"int"},{"type":"int"},{"type":"float"},{"type":"float"}]"#,
        ),
        (
            "f(x: Tensor([n], int8)) -> float32 = k(n);",
            r#"[{"type":"float"},{"type":"DLTensor*"}]"#,
        ),
        (
            "f(n: int8) -> Optional[Tuple[int64, str, Array, Any]] = k();",
            r#"[{"type":"Optional","args":[{"type":"Tuple","args":[{"type":"int"},{"type":"ffi.String"},{"type":"ffi.Array","args":[{"type":"Any"}]},{"type":"Any"}]}]},{"type":"int"}]"#,
        ),
        (
            "f(n: int64) -> out: Tensor([n], int8) = k(out);",
            r#"[{"type":"ffi.Tensor"},{"type":"int"}]"#,
        ),
        (
            "f(n: int64) -> (a: Tensor([n], int8), b: Tensor([n], int8)) = k(a, b);",
            r#"[{"type":"ffi.Array","args":[{"type":"ffi.Tensor"}]},{"type":"int"}]"#,
        ),
        ("f(self: ptr, n: int64) -> int64 = k(self, n);", r#"[{"type":"int"},{"type":"int"}]"#),
    ];
    for (declaration, args) in rows {
        let schema = format!(r#"{{"type":"ffi.Function","args":{args}}}"#);
        assert_eq!(metadata(declaration)["type_schema"], schema, "{declaration}");
    }
}

/// The schema has `named_args`: with `args`, 0.1.15 reads a function without parameters as one of any arguments, and it
/// refuses a schema with both.
#[test]
fn functions_without_parameters_say_so() {
    let rows = [
        ("f() -> None = k();", r#"{"type":"None"}"#),
        ("f(self: ptr) -> int8 = k(self);", r#"{"type":"int"}"#),
        ("f() -> Array = k();", r#"{"type":"ffi.Array","args":[{"type":"Any"}]}"#),
    ];
    for (declaration, result) in rows {
        let named = format!(r#"{{"return":[{result}],"params":[]}}"#);
        let schema = format!(r#"{{"type":"ffi.Function","named_args":{named}}}"#);
        assert_eq!(metadata(declaration)["type_schema"], schema, "{declaration}");
    }
}

#[test]
fn declarations_are_described_in_full() {
    let declaration = "@\"k.dsl\":7 scale(x: Tensor([n, 64], float32, strides=[s, 1], device=any, align=16), a: int8) -> None
        where n % 4 == 0, n <= 4096 = k(x.data, n, s, a);";
    let expected = json!({
        "signature": "scale(x: Tensor([n, 64], float32, strides=[s, 1], device=any, align=16), a: int8) \
                      -> None where n % 4 == 0, n <= 4096",
        "params": [
            {
                "name": "x",
                "type": "Tensor([n, 64], float32, strides=[s, 1], device=any, align=16)",
                "tensor": {
                    "shape": ["n", "64"],
                    "dtype": "float32",
                    "strides": ["s", "1"],
                    "device": "any",
                    "align": 16,
                },
            },
            { "name": "a", "type": "int8" },
        ],
        "result": "None",
        "constraints": ["n % 4 == 0", "n <= 4096"],
        "location": { "file": "k.dsl", "line": 7 },
    });
    assert_eq!(metadata(declaration)["declaration"], expected);
    let tensors = "f(x: Tensor([...], int8, strides=any, device=cuda), y: Tensor([_], float16)) -> None = k(x);";
    let params = &metadata(tensors)["declaration"]["params"];
    let (x, y) = (&params[0]["tensor"], &params[1]["tensor"]);
    let any = json!({
        "shape": null, "dtype": "int8", "strides": "any", "device": "cuda", "align": 1,
    });
    assert_eq!(*x, any);
    let fixed = json!({
        "shape": ["_"], "dtype": "float16", "strides": "contiguous", "device": "cpu", "align": 2,
    });
    assert_eq!(*y, fixed);
    let accesses = "f(x: Tensor([n], int8, access=read), y: Optional[Tensor([n], int8, access=write)], z: Tensor([n], int8)) \
                    -> None = k(x);";
    let params = &metadata(accesses)["declaration"]["params"];
    assert_eq!(params[0]["type"], "Tensor([n], int8, access=read)");
    assert_eq!(params[0]["tensor"]["access"], "read");
    assert_eq!(params[1]["tensor"]["access"], "write");
    assert_eq!(params[2]["tensor"].get("access"), None);
    let optional =
        "f(x: Optional[Tensor([n], int8)], n: int64, i: Optional[int8]) -> None = k(x, n);";
    let params = &metadata(optional)["declaration"]["params"];
    assert_eq!(params[0]["type"], "Optional[Tensor([n], int8)]");
    let inner = json!({
        "shape": ["n"], "dtype": "int8", "strides": "contiguous", "device": "cpu", "align": 1,
    });
    assert_eq!(params[0]["tensor"], inner);
    assert_eq!(params[2].get("tensor"), None);
}

/// A tensor whose element type is a symbol has the element types of the tensor that binds it.
#[test]
fn symbols_of_element_types_are_resolved() {
    let text = "f(x: Tensor([n], T: int8|float64), y: Tensor([n], T)) -> z: Tensor([n], T) = k(z);";
    let declaration = &metadata(text)["declaration"];
    let tensor = |align: u64| {
        json!({
            "shape": ["n"], "dtype": "int8|float64", "dtype_symbol": "T", "strides": "contiguous",
            "device": "cpu", "align": align,
        })
    };
    assert_eq!(declaration["params"][0]["tensor"], tensor(1));
    assert_eq!(declaration["params"][1]["tensor"], tensor(1));
    assert_eq!(declaration["outputs"][0]["tensor"], tensor(8));
}

/// Exported names of a lowered library that start so.
fn exports(text: &str, options: &Options, prefix: &str) -> Vec<String> {
    let library: Library = text.parse().unwrap();
    let module = lower(&library.resolve().unwrap(), options);
    ir::verify(&module).unwrap();
    let exported = module.symbols.iter().filter(|symbol| symbol.linkage == ir::Linkage::Export);
    let names = exported.map(|symbol| symbol.name.clone());
    names.filter(|name| name.starts_with(prefix)).collect()
}

#[test]
fn getters_are_made_where_there_is_something_to_get() {
    let text = "/// One.\nf() -> None = k(); g() -> None = k();";
    let options = Options::default();
    let getters = ["__tvm_ffi__metadata_f", "__tvm_ffi__doc_f", "__tvm_ffi__metadata_g"];
    assert_eq!(exports(text, &options, "__tvm_ffi__"), getters);
    assert_eq!(exports(text, &options, "tvm_ffi_codegen."), [""; 0]);
    let without = Options { metadata: false, ..options };
    assert_eq!(exports(text, &without, ""), ["__tvm_ffi_f", "__tvm_ffi_g"]);
}

/// Returns the names of the parameters that are kept.
fn kept_of(metadata: &serde_json::Value) -> String {
    let params = metadata["declaration"]["params"].as_array().unwrap();
    let kept = params.iter().filter(|param| param["kept"] == true);
    kept.map(|param| param["name"].as_str().unwrap()).collect()
}

/// Tensors that a body may leave references to are marked, and no others.
#[test]
fn kept_tensors_are_marked() {
    const X: &str = "x: Tensor([n], int8), y: Tensor([n], int8)";
    let rows: [(&str, &str, &str); 14] = [
        (X, "None = k(x, y.data, n);", ""),
        (X, "None = { let z = x; try k(z, x.shape[0]); return None; };", ""),
        (X, "Any = { return x; };", "x"),
        (X, "Any = { let z = y; return z; };", "y"),
        (X, "None = { @g(y.data, x, 1); };", "x"),
        (X, "None = { if n > 1 { for i in 0..n { @\"g\"([n, [y]]); } } };", "y"),
        (X, "Array = { return [x, y]; };", "xy"),
        (X, "int64 = { let r: Any = @g(n); return x.shape[0]; };", ""),
        (
            "x: Optional[Tensor([n], int8)]",
            "None = { match x { z: Tensor([n], int8) => { @g(z); } None => {} } };",
            "x",
        ),
        (
            "x: Optional[Tensor([n], int8)]",
            "None = { match x { z: Tensor([n], int8) => { k(z); } None => {} } };",
            "",
        ),
        (X, "Function = { return function () -> None { k(x.data, n); }; };", "x"),
        (
            X,
            "Function = { return function () -> Any { return function () -> None { k(y.data); }; }; };",
            "y",
        ),
        // Others are objects of the caller, or in one.
        ("x: Any", "Any = { return x; };", ""),
        ("x: Array[Tensor([n], int8)]", "Any = { return x; };", ""),
    ];
    for (params, rest, expected) in rows {
        let found = metadata(&format!("f({params}) -> {rest}"));
        assert_eq!(kept_of(&found), expected, "{rest}");
    }
}

/// A function of the library that takes a tensor as one and does not keep it only borrows it, however many are between.
#[test]
fn functions_of_the_library_keep_what_their_bodies_keep() {
    let tensors = "a: Tensor([n], int8), b: Tensor([n], int8)";
    let rows = [
        ("@g(x, y);", "None = k(a.data, b.data);", ""),
        ("@g(x, y);", "Any = { return b; };", "y"),
        ("@g(x, y);", "None = { @\"hold\"(a); };", "x"),
        ("@g(x, y);", "None = { k(a.object, n); };", "xy"),
        ("@g(x, y);", "None = { @f(b, a); };", ""),
        ("@g(x, y);", "None = { @f(b, a); @h(b); };", "xy"),
        ("@h(x); @h(y);", "None = {};", "xy"),
        ("@any(x); @one([y]);", "None = {};", "xy"),
        ("@maybe(x); @maybe(None);", "None = {};", ""),
        ("@twice(x) into y;", "None = {};", "y"),
        ("@other(x, y);", "None = {};", "xy"),
    ];
    for (body, callee, expected) in rows {
        let found = metadata(&format!(
            "f(x: Tensor([n], int8), y: Tensor([n], int8)) -> None = {{ {body} }};
             g({tensors}) -> {callee}
             h(x: Tensor([n], int8)) -> None = {{ @\"hold\"(x); }};
             any(x: Any) -> None = {{}};
             one(x: Array[Tensor([n], int8)]) -> None = {{}};
             maybe(x: Optional[Tensor([n], int8)]) -> None = {{}};
             twice(x: Tensor([n], int8)) -> y: Tensor([n], int8) = twice(x.data, y.data);"
        ));
        assert_eq!(kept_of(&found), expected, "{body} {callee}");
    }
}

/// Documentation of parameters is in the metadata, in the text of the library and in the header.
#[test]
fn parameters_have_documentation() {
    let text = "
        /// Scales.
        extern f(
            /// The rows,
            /// in place.
            x: Tensor([n], float32),
            a: float64,
            /// Ends */ no comment.
            b: int8 = 1) -> None = k(x, a, b);";
    let declared = &metadata(text)["declaration"];
    assert_eq!(declared["params"][0]["docs"], "The rows,\nin place.");
    assert_eq!(declared["params"][1].get("docs"), None);
    assert!(!declared["signature"].as_str().unwrap().contains("rows"));
    let library: Library = text.parse().unwrap();
    let documented =
        "Scales.\n\nArgs:\n    x: The rows,\n        in place.\n    b: Ends */ no comment.";
    assert_eq!(library.functions[0].documentation(), documented);
    let header = library.resolve().unwrap().header();
    assert!(header.contains(" * Args:\n *     x: The rows,\n *         in place.\n"), "{header}");
    assert!(header.contains(" *     b: Ends * / no comment.\n"), "{header}");
    let module = lower(&library.resolve().unwrap(), &Options::default());
    let is_text = |data: &ir::Data| {
        data.bytes.windows(documented.len()).any(|part| part == documented.as_bytes())
    };
    assert!(module.data.iter().any(is_text));
    let inner =
        "f(n: int64) -> Function = { return function(/// A.\n i: int64) -> None { k(n, i); }; };";
    let error = inner.parse::<Library>().unwrap_err().to_string();
    let reason = "f: statement 0: nobody sees the documentation of a function that a body makes";
    assert!(error.contains(reason), "{error}");
}
