//! Errors in declarations that are built from values in Rust.

use abi_spec::{DType, DeviceType, Scalar};

use crate::declaration::{
    Body, Device, Dim, Expr, Function, KernelCall, KernelRef, Leaf, Library, Literal, ParamType,
    Shape, Signature, Tensor,
};

/// A change to a function that no text expresses.
type Change = &'static dyn Fn(&mut Function);

/// Returns the error of a function that no text describes.
fn built(change: Change) -> String {
    let text = "f(x: Tensor([n], float32), a: int8) -> None = k(x);";
    let mut library: Library = text.parse().unwrap();
    change(&mut library.functions[0]);
    library.validate().expect_err("the change is wrong").to_string()
}

/// Returns the call of a function whose body is one call.
pub(super) fn call(function: &mut Function) -> &mut KernelCall {
    let Body::Call(call) = &mut function.body else { panic!("the body is a call") };
    call
}

fn tensor(function: &mut Function) -> &mut Tensor {
    let ParamType::Tensor(tensor) = &mut function.signature.params[0].ty else {
        panic!("the first parameter is a tensor")
    };
    tensor
}

#[test]
fn values_built_in_rust() {
    let rows: [(Change, &str); 29] = [
        (&|f| f.signature.name.clear(), "function 0: the name is empty"),
        (
            &|f| f.signature.name = "a\nb".into(),
            "function 0: the name holds the control character '\\n' at byte 1",
        ),
        (
            &|f| f.signature.params[1].name = "`é".into(),
            "f: parameter 1: the name holds a backtick",
        ),
        (
            &|f| f.signature = Signature::closure(),
            "function: it has the signature of a function that a body makes (`Signature::closure`): a function of a library \
             is built with its name, by `Signature::new`",
        ),
        (&|f| f.docs = "a\rb".into(), "f: docs: documentation must not contain control characters"),
        (
            &|f| f.signature.params[1].docs = "a\u{1}b".into(),
            "f: a: documentation must not contain control characters",
        ),
        (
            &|f| call(f).callee = KernelRef::Symbol("a\0".into()),
            "f: callee: the symbol contains control characters",
        ),
        (
            &|f| call(f).args[0] = Expr::Float(f64::NAN),
            "f: call argument 0: NaN is not a number that can be written",
        ),
        (
            &|f| call(f).args[0] = Expr::Text("a\nb".into()),
            "f: call argument 0: text in quotes is one line",
        ),
        (
            &|f| call(f).args[0] = Expr::Neg(Box::new(Expr::Float(f64::INFINITY))),
            "f: call argument 0: inf is not a number that can be written",
        ),
        (
            &|f| call(f).args.push(Expr::name("try")),
            "f: call argument 1: nothing determines the symbol `try`",
        ),
        (
            &|f| tensor(f).dtypes = vec![DType { code: 99, bits: 8, lanes: 1 }],
            "f: x: `dtype(99, 8, 1)` is not the type of an element",
        ),
        (&|f| tensor(f).dtypes = vec![DType::VOID], "f: x: `void` is not the type of an element"),
        (
            &|f| tensor(f).device = Device::Type(DeviceType(77)),
            "f: x: `device(77)` is not a known type of device",
        ),
        (
            &|f| tensor(f).shape = Shape::Dims(vec![Dim::Any, Dim::Expr(Expr::name("a\tb"))]),
            "f: x.shape[1]: the name holds the control character '\\t' at byte 1",
        ),
        (
            &|f| tensor(f).shape = Shape::from(["64"]),
            "f: x.shape[0]: `64` is no parameter and no local, and a symbol is a word of letters, digits and `_`, perhaps with a number after `.`: numbers, expressions and texts are no names",
        ),
        (
            &|f| tensor(f).shape = Shape::from(["2 * n"]),
            "f: x.shape[0]: `2 * n` is no parameter and no local, and a symbol is a word of letters, digits and `_`, perhaps with a number after `.`: numbers, expressions and texts are no names",
        ),
        (
            &|f| tensor(f).shape = Shape::from(["_"]),
            "f: x.shape[0]: `_` is no parameter and no local, and a symbol is a word of letters, digits and `_`, perhaps with a number after `.`: numbers, expressions and texts are no names",
        ),
        (
            &|f| tensor(f).shape = Shape::from(["x.shape[0]"]),
            "f: x.shape[0]: `x.shape[0]` is no parameter and no local, and a symbol is a word of letters, digits and `_`, perhaps with a number after `.`: numbers, expressions and texts are no names",
        ),
        (
            &|f| call(f).args.push(Expr::name("no tile")),
            "f: call argument 1: `no tile` is no parameter and no local, and a symbol is a word of letters, digits and `_`, perhaps with a number after `.`: numbers, expressions and texts are no names",
        ),
        (
            &|f| tensor(f).shape = Shape::trailing([Dim::Any; 0]),
            "f: x: a dim follows the leading dims",
        ),
        (
            &|f| tensor(f).shape = Shape::Trailing { folds: true, dims: vec![Dim::Any, 2.into()] },
            "f: x.shape[:-1]: the extent of all leading dims has a name",
        ),
        (
            &|f| tensor(f).shape = Shape::folded("n", [Dim::Expr(Expr::name("\u{85}"))]),
            "f: x.shape[-1]: the name holds the control character '\\u{85}' at byte 0",
        ),
        (
            &|f| f.signature.params[1].ty = ParamType::Shape(Shape::trailing(["n"])),
            "f: a: only a tensor has leading dims",
        ),
        (
            &|f| f.signature.params[1].ty = ParamType::Literal(vec!["a\nb".into()]),
            "f: a: text in quotes is one line",
        ),
        (
            &|f| {
                f.signature.params[1].ty = ParamType::Leaf(Leaf::Str);
                f.signature.params[1].default = Some("a\nb".into());
            },
            "f: a's default: text in quotes is one line",
        ),
        (
            &|f| {
                f.signature.params[1].ty = ParamType::Scalar(Scalar::Float64);
                f.signature.params[1].default = Some(Literal::Float(f64::INFINITY));
            },
            "f: a's default: inf is not a number that can be written",
        ),
        (
            &|f| {
                f.signature.params[1].ty = ParamType::Leaf(Leaf::Any);
                f.signature.params[1].default = Some("1234567\0".into());
            },
            "f: a's default: a default with a NUL has 7 bytes at most",
        ),
        (
            &|f| {
                f.signature.params[1].ty = ParamType::Scalar(Scalar::Int8);
                f.signature.params[1].default = Some(Literal::Int(300));
            },
            "f: a's default: `300` is no value of type `int8`: `int8` is -128 to 127",
        ),
    ];
    for (change, expected) in rows {
        assert_eq!(built(change), expected);
    }
}
