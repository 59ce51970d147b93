//! Typed functions: calls, and the Rust types that fit a declaration.

use crate::ir::{identity, runtimes};
use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{
    Arg, ArrayObject, Bytes, Compiled, Error, Jit, ObjectRef, Returned, Runtime, TensorObject,
    TensorView, TypedArgs, TypedResult,
};

extern "C" fn add(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declarations say that both have `n` elements.
        unsafe { *y.add(i) += *x.add(i) };
    }
}

const TEXT: &str = "
    add(x: Tensor([n], float32, access=read), y: Tensor([n], float32)) -> None = add(x.data, y.data, n);
    matrix(x: Tensor([n, 2], float32, access=read)) -> int64 = { return n; };
    remote(x: Tensor([...], int8, device=cuda)) -> None = { return; };
    numbers(a: int8, b: float64, c: bool = True) -> float64 = { return b; };
    size(s: str, b: bytes) -> int64 = { return s.size + b.size; };
    maybe(n: Optional[int64]) -> Optional[int64] = { return n; };
    either(x: Union[str, Tensor([_], float32)]) -> None = { return; };
    pair(n: int64) -> Tuple[int64, str] = { return [n, \"two\"]; };
    many(n: int64, *rest: Any) -> int64 = { return n; };
    made(n: int64) -> out: Tensor([n], float32) = add(out.data, out.data, 0);
    bound(self: ptr) -> None = { return; };
";

fn compile(runtime: &'static Runtime) -> Compiled {
    // SAFETY: the kernel is sound for vectors of one length, and only reads `x`.
    let jit = unsafe {
        let jit = Jit::with_runtime(runtime).unwrap();
        jit.kernel("add", add as extern "C" fn(_, _, _))
    };
    jit.compile(&TEXT.parse::<Library>().unwrap()).unwrap()
}

/// One function serves calls that borrow for different times.
#[test]
fn typed_functions_are_called() {
    for runtime in runtimes() {
        let compiled = compile(runtime);
        let add = compiled.typed::<(&[f32], &mut [f32]), ()>("add").unwrap();
        let (x, mut y) = (vec![1.0, 2.0], [10.0, 20.0]);
        add.call((&x, &mut y)).unwrap();
        assert_eq!(y, [11.0, 22.0]);
        let mut short = [0.0];
        let error = add.clone().call((&x, &mut short)).unwrap_err();
        assert!(matches!(&error, Error::Call(error) if error.kind == "ValueError"), "{error}");
        assert!(error.to_string().contains("expected 2 (= x.shape[0]) but got 1"), "{error}");
        add.call((&y.clone(), &mut y)).unwrap();
        assert_eq!(y, [22.0, 44.0]);

        let views = compiled.typed::<(TensorView<'_>, TensorView<'_>), ()>("add").unwrap();
        views.call((TensorView::new(&x), TensorView::new(&mut y))).unwrap();
        assert_eq!(y, [23.0, 46.0]);
        let error = views.call((TensorView::new(&x), TensorView::new(&y))).unwrap_err();
        assert!(error.to_string().contains("that others may read"), "{error}");
        let matrix = compiled.typed::<(TensorView<'_>,), i64>("matrix").unwrap();
        assert_eq!(matrix.call((TensorView::with_shape(&y, &[1, 2]).unwrap(),)).unwrap(), 1);

        let numbers = compiled.typed::<(i64, f32), f64>("numbers").unwrap();
        assert_eq!(numbers.call((7, 2.5)).unwrap(), 2.5);
        assert!(numbers.call((700, 2.5)).unwrap_err().to_string().contains("expected int8"));
        let size = compiled.typed::<(&str, Bytes<'_>), u8>("size").unwrap();
        assert_eq!(size.call(("four", Bytes(b"two"))).unwrap(), 7);
        let maybe = compiled.typed::<(Option<i64>,), Option<i64>>("maybe").unwrap();
        assert_eq!(
            (maybe.call((None,)).unwrap(), maybe.call((Some(3),)).unwrap()),
            (None, Some(3))
        );
        let maybe = compiled.typed::<(Option<i64>,), i64>("maybe").unwrap();
        assert!(matches!(maybe.call((None,)).unwrap_err(), Error::Mismatch { .. }));
        let pair = compiled.typed::<(u8,), ArrayObject>("pair").unwrap();
        assert_eq!(pair.call((7,)).unwrap().get(1).unwrap().text().unwrap(), "two");
        let many = compiled.typed::<(i64, Arg<'_>, &str), Returned>("many").unwrap();
        assert_eq!(i64::try_from(many.call((3, Arg::NONE, "rest")).unwrap()).unwrap(), 3);
        assert_eq!(many.function().name(), "many");
    }
}

fn refused<A: TypedArgs, R: TypedResult>(compiled: &Compiled, name: &str) -> String {
    compiled.typed::<A, R>(name).expect_err("it does not fit").to_string()
}

#[test]
fn types_that_do_not_fit_are_named() {
    let compiled = compile(Runtime::builtin());
    let rows = [
        (
            refused::<(&[f64], &mut [f32]), ()>(&compiled, "add"),
            "argument #0 of `add` is declared as Tensor([n], float32, access=read) but typed as &[f64]",
        ),
        (
            refused::<(&[f32], &[f32; 3]), ()>(&compiled, "add"),
            "argument #1 of `add` is declared as Tensor([n], float32) but typed as &[f32; 3], which is only read: \
             `access=read`",
        ),
        (
            refused::<(&[f32],), ()>(&compiled, "add"),
            "the number of arguments of `add` is declared as 2 but typed as 1",
        ),
        (
            refused::<(&[f32], &mut [f32]), i64>(&compiled, "add"),
            "the result of `add` is declared as None but typed as i64",
        ),
        (
            refused::<(&[f32],), i64>(&compiled, "matrix"),
            "argument #0 of `matrix` is declared as Tensor([n, 2], float32, access=read) but typed as &[f32]",
        ),
        (
            refused::<(&mut [i8],), ()>(&compiled, "remote"),
            "argument #0 of `remote` is declared as Tensor([...], int8, device=cuda) but typed as &mut [i8]",
        ),
        (
            refused::<(f64, f64), f64>(&compiled, "numbers"),
            "argument #0 of `numbers` is declared as int8 but typed as f64",
        ),
        (
            refused::<(i64,), f64>(&compiled, "numbers"),
            "the number of arguments of `numbers` is declared as 2 to 3 but typed as 1",
        ),
        (
            refused::<(i64, f64), i64>(&compiled, "numbers"),
            "the result of `numbers` is declared as float64 but typed as i64",
        ),
        (
            refused::<(i64, f64), Option<String>>(&compiled, "numbers"),
            "the result of `numbers` is declared as float64 but typed as Option<String>",
        ),
        (
            refused::<(&str, &str), i64>(&compiled, "size"),
            "argument #1 of `size` is declared as bytes but typed as &str",
        ),
        (
            refused::<(&mut [f64],), ()>(&compiled, "either"),
            "argument #0 of `either` is declared as Union[str, Tensor([_], float32)] but typed as &mut [f64]",
        ),
        (
            refused::<(), i64>(&compiled, "many"),
            "the number of arguments of `many` is declared as at least 1 but typed as 0",
        ),
        (
            refused::<(i64,), bool>(&compiled, "made"),
            "the result of `made` is declared as out: Tensor([n], float32) but typed as bool",
        ),
        (refused::<(), ()>(&compiled, "bound"), "closure `bound` needs a context"),
        (refused::<(), ()>(&compiled, "none"), "no function `none` is declared"),
    ];
    for (found, expected) in rows {
        assert_eq!(found, expected);
    }
    // Some values of these types fit.
    compiled.typed::<(&str,), ()>("either").unwrap();
    compiled.typed::<(&mut Vec<f32>,), Returned>("either").unwrap();
    compiled.typed::<(&mut TensorObject,), ()>("remote").unwrap();
    compiled.typed::<(i32,), TensorObject>("made").unwrap();
    compiled.typed::<(i32,), ObjectRef>("made").unwrap();
    compiled.typed::<(bool, i8, i64), f32>("numbers").unwrap();
    // Host IR that was lowered elsewhere has no declaration.
    let compiled = crate::ir::compile(Runtime::builtin(), &identity()).unwrap();
    assert_eq!(refused::<(i64,), i64>(&compiled, "identity"), "no function `identity` is declared");
}
