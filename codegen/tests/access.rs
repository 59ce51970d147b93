//! Access to the elements of tensors: the C header, and functions that hand on what they only read.

use tvm_ffi_codegen::Library;

#[test]
fn headers_say_const() {
    const READ: &str = "Tensor([n], float32, access=read)";
    let text = format!(
        "extern f(x: {READ}, o: Optional[{READ}], y: Tensor([n], float32), w: Tensor([n], float32, access=write)) -> None
             = {{ k(x.data, y.data, n); if o.is_some {{ k(o.data, w.data, n); }} k(y.data, y.data, n); look(x, y); }};
         extern g(xs: Array[{READ}], any: Union[int64, {READ}]) -> None = {{ return; }};"
    );
    let library: Library = text.parse().unwrap();
    let header = library.resolve().unwrap().header();
    for prototype in [
        "int32_t f(const DLTensor* x, const DLTensor* o, DLTensor* y, DLTensor* w);",
        "int32_t g(TVMFFIObject* xs, const TVMFFIAny* any);",
        "void k(const void*, void*, int64_t);",
        "void look(const DLTensor*, DLTensor*);",
    ] {
        assert!(header.contains(&format!("\n{prototype}\n")), "{prototype}\n{header}");
    }
}

/// Addresses of numbers of addresses, as deep as a declaration may be.
#[test]
fn deep_addresses_are_resolved_at_once() {
    let deep = (0..30).fold("x.data".to_owned(), |inner, _| format!("ptr(int64({inner}))"));
    let text = format!("f(x: Tensor([n], int8, access=read)) -> None = k({deep});");
    let library: Library = text.parse().unwrap();
    assert_eq!(library.kernels().unwrap()[0].params, ["const void*"]);
}

/// Shapes say the access, too, where it is not the default.
#[test]
fn shapes_say_the_access() {
    let text = "f(x: Tensor([n], T: int8|int16, access=read), y: Optional[Tensor([n], T, access=write)], z: Tensor([n], T)) \
                -> w: Tensor([n], T) = k(x.data, w.data);";
    let library: Library = text.parse().unwrap();
    let shapes = library.resolve().unwrap().shapes(0);
    let shapes: serde_json::Value = serde_json::from_str(&shapes).unwrap();
    let access = |name: &str| shapes["tensors"][name].get("access").cloned();
    assert_eq!(access("x"), Some("read".into()));
    assert_eq!(access("y"), Some("write".into()));
    assert_eq!((access("z"), access("w")), (None, None));
}

/// Tensors that are only read are arguments of functions of the library that only read them, and of any outside it.
#[test]
fn what_is_only_read_is_handed_on() {
    const READ: &str = "Tensor([n], int8, access=read)";
    let bodies = [
        "@g(x, [x, y], y, u, [x, 1]);",
        "@g(x, xs, n, 1, p);",
        "@g(y, [y], y.data, y, [y, n]);",
        "@\"other\"(x, [x], x.data);",
        "@unknown(x, x.data);",
        "let h = function () -> None { @g(x, [x], n, \"a\", p); }; @(h)();",
        "match u { v: int64 => { @g(x, xs, v, v, p); } t: Tensor([n], int8, access=read) => { @g(t, [t], 1, t, p); } }",
        "@made() into y;",
    ];
    for body in bodies {
        let text = format!(
            "f(x: {READ}, y: Tensor([n], int8), xs: Array[{READ}], u: Union[int64, {READ}], p: Tuple[{READ}, int64]) -> Tensor
                 = {{ {body} return x; }};
             g(x: {READ}, xs: Array[{READ}], y: Any, u: Union[str, int64, Tensor([_], int8, access=read)],
               p: Tuple[Tensor([_], int8, access=read), int64]) -> None = k(x.data);
             made() -> y: Tensor([8], int8) = fill(y.data);"
        );
        let library: Library = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        library.resolve().unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}
