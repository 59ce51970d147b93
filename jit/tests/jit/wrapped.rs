//! Closures as function objects: what they take and return, their errors and panics.

use std::error::Error as StdError;
use std::fmt;

use tvm_ffi_codegen_jit::{
    Arg, ArrayObject, Bytes, CallError, Context, DType, Device, Error, FfiFunction, Jit, ObjectRef,
    Returned, ShapeObject, TensorObject, TensorView, TypeIndex,
};

use crate::ir::{int, runtimes};

/// Wraps a closure as function `f`.
macro_rules! wrap {
    ($runtime:expr, $closure:expr) => {
        FfiFunction::wrap("f", $closure, $runtime).unwrap()
    };
}

/// Shows a result or an error.
pub(crate) fn shown(result: Result<Returned, CallError>) -> String {
    result.map_or_else(|error| error.to_string(), |value| format!("{value:?}"))
}

#[test]
fn arguments_are_converted() {
    for runtime in runtimes() {
        let all = wrap!(runtime, |a: bool,
                                  b: i8,
                                  c: u64,
                                  d: f32,
                                  e: &str,
                                  f: Bytes<'_>,
                                  g: DType,
                                  h: Device,
                                  i: Option<i64>,
                                  (): ()| {
            format!("{a} {b} {c} {d} {e} {:?} {g} {h:?} {i:?}", f.0)
        });
        let long = "a text that needs an object";
        let cpu = format!("{:?}", Device::CPU);
        for (text, bytes) in
            [("", &b""[..]), ("short", b"bytes"), (long, b"bytes that need an object")]
        {
            let expected = format!("true -128 7 0.5 {text} {bytes:?} float32 {cpu} None");
            let args = (1, -128, 7, 0.5, text, Bytes(bytes), DType::FLOAT32, Device::CPU, (), ());
            assert_eq!(all.call(args).unwrap().text().unwrap(), expected);
        }
        let text = std::ffi::CString::new(long).unwrap();
        let length = wrap!(runtime, |text: &str| text.len());
        assert_eq!(int(length.call((text.as_c_str(),))), long.len() as i64);
        let owned = wrap!(runtime, |text: String, bytes: Vec<u8>| (text.len() + bytes.len()) as u8);
        assert_eq!(int(owned.call((long, Bytes(b"12")))), long.len() as i64 + 2);
    }
}

#[test]
fn arguments_of_other_types_are_errors() {
    for runtime in runtimes() {
        let f = wrap!(runtime, |_: i8, _: Option<&str>| ());
        let rows: [(&[Arg<'_>], &str); 9] = [
            (&[1.into(), Arg::NONE], "None"),
            (&[true.into(), c"text".into()], "None"),
            (
                &[],
                "TypeError: Mismatched number of arguments when calling: `f(int8, Optional[str])`, expected 2 but got 0",
            ),
            (
                &[1.into(); 3],
                "TypeError: Mismatched number of arguments when calling: `f(int8, Optional[str])`, expected 2 but got 3",
            ),
            (
                &[c"1".into(), Arg::NONE],
                "TypeError: Mismatched type of argument #0 when calling: `f(int8, Optional[str])`, expected int8 but got str",
            ),
            (
                &[0.5.into(), Arg::NONE],
                "TypeError: Mismatched type of argument #0 when calling: `f(int8, Optional[str])`, expected int8 but got float",
            ),
            (
                &[128.into(), Arg::NONE],
                "ValueError: Out of range argument #0 when calling: `f(int8, Optional[str])`, expected int8 but got 128",
            ),
            (
                &[1.into(), 2.into()],
                "TypeError: Mismatched type of argument #1 when calling: `f(int8, Optional[str])`, expected Optional[str] but got int",
            ),
            (
                &[Arg::NULL, Arg::NONE],
                "TypeError: Mismatched type of argument #0 when calling: `f(int8, Optional[str])`, expected int8 but got ptr",
            ),
        ];
        for (args, expected) in rows {
            assert_eq!(shown(f.call(args)), expected);
        }
        let broken = c"\xff text";
        let text = wrap!(runtime, |text: &str| text.len());
        let error = text.call((broken,)).unwrap_err();
        assert!(
            error.to_string().starts_with("ValueError: Mismatched encoding of argument #0"),
            "{error}"
        );
    }
}

#[test]
fn objects_and_tensors_pass() {
    for runtime in runtimes() {
        let array = ArrayObject::new((1, "two"), runtime).unwrap();
        let length = wrap!(runtime, |array: ArrayObject| array.len());
        assert_eq!(int(length.call((&array,))), 2);
        assert!(length.call((1,)).is_err());
        let function = wrap!(runtime, |f: FfiFunction, n: i64| -> Result<i64, Error> {
            Ok(i64::try_from(f.call((n,))?)? + 1)
        });
        let twice = wrap!(runtime, |n: i64| 2 * n);
        assert_eq!(int(function.call((&twice, 4))), 9);
        let rank = wrap!(runtime, |x: TensorView<'_>| {
            assert!(x.is_shared());
            i64::from(x.view().ndim)
        });
        let mut matrix = TensorObject::from_vec(vec![1_i64; 4], &[2, 2], runtime).unwrap();
        assert_eq!(int(rank.call((&mut matrix,))), 2);
        let kept = wrap!(runtime, |x: TensorObject| x);
        let returned = kept.call((&mut matrix,)).unwrap();
        assert_eq!(returned.tensor().unwrap().shape(), [2, 2]);
        // A tensor over memory of the caller is read, and cannot be kept.
        let mut data = [1.0_f32, 2.0, 3.0];
        assert_eq!(int(rank.call((&mut data,))), 1);
        assert!(kept.call((&mut data,)).is_err());
        let same = wrap!(runtime, |value: Returned| value);
        for value in [Arg::NONE, 5.into(), 0.5.into(), (&array).into()] {
            let returned = same.call([value]).unwrap();
            assert_eq!(returned.ty(), value.as_raw().ty());
        }
        assert_eq!(same.call(("text",)).unwrap().text().unwrap(), "text");
    }
}

#[derive(Debug)]
struct Own;

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of our own")
    }
}

impl StdError for Own {}

#[test]
fn results_are_converted() {
    for runtime in runtimes() {
        let rows = [
            (wrap!(runtime, || ()), "None"),
            (wrap!(runtime, || true), "Bool(true)"),
            (wrap!(runtime, || -5_i8), "Int(-5)"),
            (
                wrap!(runtime, || u64::MAX),
                "OverflowError: result 18446744073709551615 is an integer beyond int64",
            ),
            (wrap!(runtime, || 0.5_f32), "Float(0.5)"),
            (wrap!(runtime, || "static"), "Str(\"static\")"),
            (wrap!(runtime, || "owned and long".to_owned()), "Str(\"owned and long\")"),
            (wrap!(runtime, || b"by".to_vec()), "Bytes([98, 121])"),
            (wrap!(runtime, || None::<String>), "None"),
            (wrap!(runtime, || Some(4_u16)), "Int(4)"),
            (wrap!(runtime, || Ok::<_, Own>(4)), "Int(4)"),
            (wrap!(runtime, || Err::<(), _>(Own)), "RuntimeError: one of our own"),
            (wrap!(runtime, || Err::<(), _>("a text")), "RuntimeError: a text"),
            (wrap!(runtime, || Err::<i64, _>(CallError::new("a.Kind", "kept"))), "a.Kind: kept"),
            (
                wrap!(runtime, || Err::<i64, _>(Error::Shared)),
                "RuntimeError: the tensor has other holders, who may write to it",
            ),
            (wrap!(runtime, || Err::<i64, _>(Error::Call(CallError::new("K", "m")))), "K: m"),
            (
                wrap!(runtime, || Err::<(), Box<dyn StdError>>(CallError::new("K", "m").into())),
                "K: m",
            ),
            (
                wrap!(runtime, || Err::<(), Box<dyn StdError + Send + Sync>>(
                    Error::Call(CallError::new("K", "m")).into()
                )),
                "K: m",
            ),
            (
                wrap!(runtime, || Err::<(), Box<dyn StdError + Send + Sync>>(Own.into())),
                "RuntimeError: one of our own",
            ),
        ];
        for (f, expected) in rows {
            assert_eq!(shown(f.call(())), expected);
        }
        let tensor =
            wrap!(runtime, move || TensorObject::from_vec(vec![1.0_f64, 2.0], &[2], runtime));
        let tensor = tensor.call(()).unwrap();
        assert_eq!(tensor.tensor().unwrap().as_slice::<f64>().unwrap(), [1.0, 2.0]);
        let other = runtimes().into_iter().find(|other| !other.is_same(runtime));
        if let Some(other) = other {
            let foreign = wrap!(runtime, move || ArrayObject::new((1,), other));
            assert!(
                shown(foreign.call(()))
                    .starts_with("TypeError: the result is an object of another runtime")
            );
        }
        let address = wrap!(runtime, |value: Returned| value);
        // SAFETY: nobody follows the pointer.
        let pointer = unsafe { Arg::pointer(std::ptr::without_provenance_mut(8)) };
        assert!(
            shown(address.call((pointer,)))
                .starts_with("TypeError: the result is or holds an address")
        );
    }
}

#[test]
fn panics_are_errors() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("again");
        }
    }
    for runtime in runtimes() {
        let f = wrap!(runtime, |n: i64| -> i64 {
            match n {
                0 => panic!("nothing"),
                1 => panic!("{n} thing"),
                2 => std::panic::panic_any(Bomb),
                3 => std::panic::panic_any(3),
                n => n,
            }
        });
        let expected = ["nothing", "1 thing", "no text", "no text"];
        for (n, text) in expected.iter().enumerate() {
            assert_eq!(shown(f.call((n,))), format!("RuntimeError: `f` panicked: {text}"));
        }
        assert_eq!(int(f.call((4,))), 4);
        // A closure that panics when it is dropped does not unwind into the runtime either.
        let bomb = Bomb;
        let f = wrap!(runtime, move || {
            let _ = &bomb;
        });
        drop(f);
    }
}

/// An error of a call that `?` passes on is the same object.
#[test]
fn errors_pass_unchanged() {
    for runtime in runtimes() {
        let inner = wrap!(runtime, || {
            let mut error = CallError::new("dsl.Error", "inner");
            error.backtrace = "  File \"dsl.py\", line 3, in f\n".to_owned();
            Err::<(), _>(error)
        });
        let middle = {
            let inner = inner.clone();
            wrap!(runtime, move || -> Result<(), Box<dyn StdError>> {
                inner.call(())?;
                Ok(())
            })
        };
        let outer = {
            let middle = middle.clone();
            wrap!(runtime, move || -> Result<i64, Error> { i64::try_from(middle.call(())?) })
        };
        let error = outer.call(()).unwrap_err();
        assert_eq!(error, inner.call(()).unwrap_err());
        assert!(error.backtrace.contains("dsl.py"), "{error:?}");
        // One that was changed is another.
        let changed = wrap!(runtime, move || middle.call(()).map_err(|mut error| {
            error.message.push_str(", and more");
            error
        }));
        assert_eq!(shown(changed.call(())), "dsl.Error: inner, and more");
        // One of another runtime is made anew.
        for other in runtimes() {
            let inner = inner.clone();
            let passed = wrap!(other, move || inner.call(()));
            assert_eq!(shown(passed.call(())), "dsl.Error: inner");
        }
    }
}

/// A closure that compiles hands out functions, which live on without it.
#[test]
fn closures_hand_out_functions() {
    for runtime in runtimes() {
        let compile = move |text: &str| -> Result<ObjectRef, Box<dyn StdError>> {
            let compiled = Jit::with_runtime(runtime)?.compile(&text.parse()?)?;
            let function = compiled.function("f").ok_or("no `f`")?;
            Ok(function.into_ffi_function(Context::none())?.into())
        };
        let compile = wrap!(runtime, compile);
        let made = compile.call(("f(n: int64) -> int64 = { return n + 1; };",)).unwrap();
        drop(compile.clone());
        let error = compile.call(("f(",)).unwrap_err();
        assert!(error.to_string().starts_with("RuntimeError: 1:3: "), "{error}");
        drop(compile);
        assert_eq!(made.ty(), TypeIndex::FUNCTION);
        assert_eq!(int(FfiFunction::try_from(made).unwrap().call((1,))), 2);
        let shape = wrap!(runtime, |shape: ShapeObject| shape.as_slice().iter().sum::<i64>());
        // SAFETY: the function makes a shape of integers.
        let make = unsafe { FfiFunction::global("ffi.Shape", runtime) }.unwrap().unwrap();
        assert_eq!(int(shape.call((&make.call((2, 3)).unwrap(),))), 5);
    }
}
