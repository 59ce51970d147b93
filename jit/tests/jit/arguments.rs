//! Conversions of arguments and results.

use crate::ir::{installed, runtimes};
use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{
    Arg, ArrayObject, Bytes, Content, DType, Device, Error, FfiFunction, HostFunction, Jit,
    Returned, Runtime, ShapeObject, TensorObject, TensorView, abi,
};

/// Copies its argument into the result, with a reference of its own if it is an object.
unsafe extern "C" fn share(value: *const abi::Any, result: *mut abi::Any) {
    // SAFETY: the declaration passes a value, and a pointer for the result.
    unsafe {
        if (*value).ty().is_object() {
            let object = (*value).pointer().cast::<abi::Object>();
            (*object).combined_ref_count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        *result = *value;
    }
}

extern "C" fn add(x: *const f32, y: *mut f32, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) += *x.add(i) };
    }
}

extern "C" fn flip(x: *mut bool, n: i64) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that there are `n` elements.
        unsafe { *x.add(i) = !*x.add(i) };
    }
}

const TEXT: &str = "
    same(x: Any) -> Any = share(x);
    text(x: str) -> int64 = size(x.data, x.size);
    bytes(x: bytes) -> int64 = size(x.data, x.size);
    add(x: Tensor([n], float32, access=read), y: Tensor([n], float32)) -> None = add(x.data, y.data, n);
    flip(x: Tensor([n], bool)) -> None = flip(x.data, n);
    many(a: int8, b: uint16, c: float32, d: bool, e: Optional[int64]) -> int64 = many(a, b, c, d, e);
";

extern "C" fn size(_: *const u8, size: i64) -> i64 {
    size
}

extern "C" fn many(a: i8, b: u16, c: f32, d: bool, e: i64) -> i64 {
    i64::from(a) + 10 * i64::from(b) + 100 * (c as i64) + 1000 * i64::from(d) + 10_000 * e
}

fn function(runtime: &'static Runtime, name: &str) -> HostFunction {
    let library: Library = TEXT.parse().unwrap();
    let functions = library.functions.into_iter();
    let functions: Vec<_> = functions.filter(|function| function.signature.name == name).collect();
    // SAFETY: the kernels are sound for the arguments of the declarations, and `add` only reads `x`.
    let jit = unsafe {
        Jit::with_runtime(runtime)
            .unwrap()
            .kernel("share", share as unsafe extern "C" fn(_, _))
            .kernel("size", size as extern "C" fn(_, _) -> _)
            .kernel("add", add as extern "C" fn(_, _, _))
            .kernel("flip", flip as extern "C" fn(_, _))
            .kernel("many", many as extern "C" fn(_, _, _, _, _) -> _)
    };
    jit.compile(&Library::from(functions)).unwrap().function(name).unwrap()
}

#[test]
fn values_of_rust_are_arguments() {
    for runtime in runtimes() {
        let same = function(runtime, "same");
        let show = |returned: Result<Returned, _>| format!("{:?}", returned.unwrap());
        assert_eq!(show(same.call(((),))), "None");
        assert_eq!(show(same.call((None::<i64>,))), "None");
        assert_eq!(show(same.call((Some(3_u8),))), "Int(3)");
        assert_eq!(show(same.call((-1_i8,))), "Int(-1)");
        assert_eq!(show(same.call((u32::MAX,))), "Int(4294967295)");
        assert_eq!(show(same.call((i64::MAX as usize,))), "Int(9223372036854775807)");
        assert_eq!(show(same.call((1.5_f32,))), "Float(1.5)");
        assert_eq!(show(same.call((true,))), "Bool(true)");
        assert_eq!(show(same.call(("short",))), "Str(\"short\")");
        assert_eq!(
            show(same.call((&"longer than seven".to_owned(),))),
            "Str(\"longer than seven\")"
        );
        assert_eq!(show(same.call((DType::BFLOAT16,))), format!("DType({:?})", DType::BFLOAT16));
        assert_eq!(show(same.call((Device::CPU,))), format!("Device({:?})", Device::CPU));
        assert_eq!(show(same.call([7])), "Int(7)");
        assert_eq!(show(same.call(vec![Arg::from(7)])), "Int(7)");
        let (one, twenty) = ([Arg::from(7)], vec![Arg::from(1); 20]);
        let again: &[Arg<'_>; 1] = &one;
        assert_eq!(show(same.call(again)), "Int(7)");
        assert_eq!(show(same.call(&one[..])), "Int(7)");
        assert_eq!(show(same.call(one)), "Int(7)");
        let error = same.call((u64::MAX,)).unwrap_err();
        assert_eq!(error.to_string(), "OverflowError: argument #0 is an integer beyond int64");
        let error = same.call([1; 20]).unwrap_err().to_string();
        assert!(error.contains("expected 1 but got 20"), "{error}");
        let error = same.call(&twenty).unwrap_err().to_string();
        assert!(error.contains("expected 1 but got 20"), "{error}");
    }
}

#[test]
fn text_bytes_and_numbers_reach_kernels() {
    for runtime in runtimes() {
        let int = |returned: Result<Returned, _>| i64::try_from(returned.unwrap()).unwrap();
        assert_eq!(int(function(runtime, "text").call(("grün",))), 5);
        assert_eq!(int(function(runtime, "text").call(("with\0 a NUL in it",))), 17);
        assert_eq!(int(function(runtime, "bytes").call((Bytes(&[0, 255, 7]),))), 3);
        let many = function(runtime, "many");
        assert_eq!(int(many.call((-1_i8, 2_u16, 3.0_f32, true, Some(5)))), 51_319);
        assert_eq!(int(many.call((-1, 2, 3, false, None::<i64>))), 319);
    }
}

/// Tensors that a function only reads may be shared; others are borrowed mutably.
#[test]
fn memory_is_borrowed_as_it_is_used() {
    for runtime in runtimes() {
        let add = function(runtime, "add");
        let (x, mut y) = (vec![1.0_f32, 2.0], [10.0_f32, 20.0]);
        add.call((&x, &mut y)).unwrap();
        add.call((&x[..], &mut y[..])).unwrap();
        assert_eq!(y, [12.0, 24.0]);
        add.call((&mut x.clone(), &mut y)).unwrap();
        let object = add.clone().into_ffi_function(Default::default()).unwrap();
        object.call((&x, &mut y)).unwrap();
        assert_eq!(y, [14.0, 28.0]);
        let expected = "TypeError: argument #1 is a tensor that others may read, and the function may \
                        write to it: pass it by `&mut`, if nobody else holds it, or declare it with `access=read`";
        assert_eq!(add.call((&x, &y)).unwrap_err().to_string(), expected);
        assert_eq!(object.call((&x, &y)).unwrap_err().to_string(), expected);
        let mut view = TensorView::new(&y);
        assert_eq!(add.call((&x, &mut view)).unwrap_err().to_string(), expected);
        let mut view = TensorView::new(&mut y);
        assert_eq!(add.call((&x, &view)).unwrap_err().to_string(), expected);
        add.call((&x, &mut view)).unwrap();
        let shared = TensorView::new(&x);
        let (a, b): (Arg<'_>, Arg<'_>) = ((&shared).into(), (&mut view).into());
        add.call([a, b]).unwrap();
        assert_eq!(y, [16.0, 32.0]);

        let mut truths = [true, false];
        function(runtime, "flip").call((&mut truths,)).unwrap();
        assert_eq!(truths, [false, true]);
    }
}

/// Types whose tensors are only read: those of one tensor, optional or in a union, and of no other that takes tensors.
#[test]
fn types_say_what_is_only_read() {
    const READ: &str = "Tensor([_], float32, access=read)";
    let rows = [
        (READ.to_owned(), true),
        ("Tensor([_], float32)".to_owned(), false),
        ("Tensor([_], float32, access=write)".to_owned(), false),
        (format!("Optional[{READ}]"), true),
        (format!("Union[float64, {READ}]"), true),
        (format!("Union[{READ}, Tensor([_, _], float32)]"), false),
        (format!("Union[{READ}, Object]"), false),
        (format!("Union[{READ}, handle]"), false),
        ("handle".to_owned(), false),
        ("Union[int64, Any]".to_owned(), false),
        ("Any".to_owned(), false),
    ];
    for (ty, is_read) in rows {
        let library: Library = format!("f(x: {ty}) -> None = {{ return; }};").parse().unwrap();
        let f = Jit::new().unwrap().compile(&library).unwrap().function("f").unwrap();
        assert_eq!(f.call((&[1.0_f32],)).is_ok(), is_read, "{ty}");
        f.call((&mut [1.0_f32],)).unwrap();
    }
}

/// A tensor where none is expected, and one too many, are the errors of the declaration, however they are borrowed.
#[test]
fn tensors_where_none_is_expected() {
    let rows = [
        ("xs: List[int64]", "expected List but got Tensor"),
        ("xs: Shape([n, 4])", "expected Shape but got Tensor"),
        ("n: int64", "expected int64 but got Tensor"),
        ("p: ptr", "expected ptr but got Tensor"),
        ("s: Stream", "expected Stream but got Tensor"),
        ("f: Function", "expected Function but got Tensor"),
        ("t: Tuple[Tensor([n], int64)]", "expected Tuple but got Tensor"),
        ("l: Literal[1, None]", "expected Literal[1, None] but got Tensor"),
        ("s: Optional[Union[str, int64]]", "expected Optional[Union[str, int64]] but got Tensor"),
        ("", "expected 0 but got 1"),
    ];
    for (params, expected) in rows {
        let text = format!("f({params}) -> None = {{ return; }};");
        let f = Jit::new().unwrap().compile(&text.parse().unwrap()).unwrap().function("f").unwrap();
        for error in [f.call((&[1_i64, 2],)), f.call((&mut [1_i64, 2],))].map(Result::unwrap_err) {
            assert_eq!(error.kind, "TypeError");
            assert!(error.message.ends_with(expected), "{params}: {error}");
        }
    }
    let text = "f(*rest: Any) -> None = { return; };";
    let f = Jit::new().unwrap().compile(&text.parse().unwrap()).unwrap().function("f").unwrap();
    assert!(f.call((&[1_i64],)).unwrap_err().message.contains("others may read"));
}

#[test]
fn tensors_come_back_and_are_read_in_place() {
    for runtime in runtimes() {
        let same = function(runtime, "same");
        let tensor =
            TensorObject::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0], &[2, 2], runtime).unwrap();
        let address = tensor.as_slice::<f32>().unwrap().as_ptr();
        // The declaration does not say that `same` only reads.
        assert!(same.call((&tensor,)).is_err());
        let mut tensor = tensor;
        let returned = same.call((&mut tensor,)).unwrap();
        assert_eq!(returned.tensor().unwrap().as_slice::<f32>().unwrap_err(), Error::Shared);
        assert_eq!(same.call((&mut tensor,)).unwrap_err().kind, "TypeError");
        drop(tensor);
        let found = returned.tensor().unwrap();
        assert_eq!(found.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(found.as_slice::<f32>().unwrap().as_ptr(), address);
        assert_eq!(
            (found.shape(), found.dtype(), found.is_compact()),
            (&[2, 2][..], DType::FLOAT32, true)
        );
        let error = found.as_slice::<i32>().unwrap_err().to_string();
        assert_eq!(error, "expected a tensor of int32 but got one of float32");
        let mut tensor = TensorObject::try_from(returned).unwrap();
        tensor.as_mut_slice::<f32>().unwrap()[3] = 5.0;
        assert_eq!(tensor.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 5.0]);
    }
}

/// A tensor goes out and comes back by DLPack without a copy, and is freed once.
#[test]
fn dlpack_both_ways() {
    for runtime in runtimes() {
        let tensor = TensorObject::from_vec(vec![1_i64, 2, 3], &[3], runtime).unwrap();
        let address = tensor.as_slice::<i64>().unwrap().as_ptr();
        let managed = tensor.into_dlpack().unwrap();
        // SAFETY: it is what was just made, and belongs to nobody else.
        let tensor = unsafe { TensorObject::from_dlpack(managed, runtime) }.unwrap();
        assert_eq!(tensor.as_slice::<i64>().unwrap(), [1, 2, 3]);
        assert_eq!(tensor.as_slice::<i64>().unwrap().as_ptr(), address);
        let error = TensorObject::from_vec(vec![1_i64, 2, 3], &[2], runtime).unwrap_err();
        assert_eq!(error, Error::Shape { needed: 2, len: 3 });
        // SAFETY: the tensor is borrowed, and only looked at.
        let view = unsafe { TensorView::from_dlpack(tensor.view()) };
        assert_eq!((view.view().ndim, view.view().data), (1, address.cast_mut().cast()));

        let managed = tensor.into_dlpack().unwrap();
        // SAFETY: it is valid but for its version, and freed below.
        unsafe {
            (*managed).version[0] = 9;
            let error = TensorObject::from_dlpack(managed, runtime).unwrap_err();
            assert!(error.to_string().starts_with("expected DLPack 1 but got 9."), "{error}");
            (*managed).deleter.unwrap()(managed);
        }
    }
}

#[test]
fn arrays_hold_what_arguments_are() {
    for runtime in runtimes() {
        let inner = ArrayObject::new((1, 2), runtime).unwrap();
        let array =
            ArrayObject::new((&inner, "text", Bytes(b"longer than seven"), 2.5), runtime).unwrap();
        assert_eq!((array.len(), array.is_empty(), array.get(4).is_none()), (4, false, true));
        let shown: Vec<String> = array.iter().map(|element| format!("{element:?}")).collect();
        assert_eq!(
            shown[1..],
            [
                "Str(\"text\")",
                "Bytes([108, 111, 110, 103, 101, 114, 32, 116, 104, 97, 110, 32, 115, 101, 118, 101, 110])",
                "Float(2.5)"
            ]
        );
        let first = array.get(0).unwrap();
        assert_eq!(i64::try_from(first.array().unwrap().get(1).unwrap()).unwrap(), 2);
        let same = function(runtime, "same");
        let returned = same.call((&array,)).unwrap();
        assert_eq!(returned.array().unwrap().len(), 4);
        // An array cannot keep borrowed memory.
        let error = ArrayObject::new((&mut [1.0_f32],), runtime).unwrap_err().to_string();
        assert_eq!(error, "TypeError: argument #0 is borrowed memory, which cannot be kept");
        assert!(ArrayObject::new((), runtime).unwrap().is_empty());
    }
}

#[test]
fn shapes_are_read() {
    let Some(runtime) = installed() else { return };
    // SAFETY: the function makes a shape of integers.
    let make = unsafe { FfiFunction::global("ffi.Shape", runtime) }.unwrap().unwrap();
    let returned = make.call((2, 3, 4)).unwrap();
    assert_eq!(returned.shape().unwrap(), [2, 3, 4]);
    let shape = ShapeObject::try_from(returned).unwrap();
    assert!(matches!(
        function(runtime, "same").call((&shape,)).unwrap().content(),
        Content::Shape(_)
    ));
}

#[test]
fn other_types_are_mismatches() {
    let same = function(Runtime::builtin(), "same");
    let text = same.call(("text",)).unwrap();
    let mismatch = |error: Error| error.to_string();
    assert_eq!(
        mismatch(i64::try_from(text.clone()).unwrap_err()),
        "expected an i64 but got \"text\""
    );
    assert_eq!(mismatch(text.tensor().unwrap_err()), "expected a tensor but got \"text\"");
    assert_eq!(
        mismatch(FfiFunction::try_from(text).unwrap_err()),
        "expected a function but got \"text\""
    );
    let int = same.call((300,)).unwrap();
    assert_eq!(mismatch(u8::try_from(int.clone()).unwrap_err()), "expected a u8 but got 300");
    assert_eq!(mismatch(int.text().unwrap_err()), "expected a string but got 300");
    assert_eq!(i16::try_from(int).unwrap(), 300);
}
