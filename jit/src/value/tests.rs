//! Values and calls with the built-in runtime and functions in Rust. Miri runs these tests: no machine code is made.

use std::ffi::c_void;
use std::ptr;

use abi_spec::TypeIndex;

use crate::abi::{Any, DLTensor, SafeCall};
use crate::builtin;
use crate::error::{CallError, Error};
use crate::runtime::Runtime;
use crate::value::arg::Arg;
use crate::value::array::{ArrayObject, ShapeObject};
use crate::value::content::Content;
use crate::value::function::FfiFunction;
use crate::value::held::Bytes;
use crate::value::object::ObjectRef;
use crate::value::returned::Returned;
use crate::value::tensor::TensorObject;
use crate::value::view::TensorView;

/// Makes a function object of a function without a context.
fn function(call: SafeCall) -> FfiFunction {
    let (runtime, mut object) = (Runtime::builtin(), ptr::null_mut());
    // SAFETY: the functions of this file are sound for the arguments that its tests pass.
    unsafe {
        (runtime.functions.function_create)(ptr::null_mut(), call, None, &mut object);
        FfiFunction::from_raw(object, runtime).unwrap()
    }
}

type ToOwned = unsafe extern "C" fn(*const Any, *mut Any) -> i32;

/// Returns an owned copy of its first argument.
unsafe extern "C" fn echo(_: *mut c_void, args: *const Any, _: i32, result: *mut Any) -> i32 {
    let owned = builtin::symbol("TVMFFIAnyViewToOwnedAny").unwrap();
    // SAFETY: this is the type of the function, and there is an argument.
    unsafe { std::mem::transmute::<*const c_void, ToOwned>(owned)(args, result) }
}

/// Adds one to the elements of its last argument, of `float32`, and returns the sum of its extents.
unsafe extern "C" fn add_one(_: *mut c_void, args: *const Any, n: i32, result: *mut Any) -> i32 {
    // SAFETY: the last argument is a tensor, and is written to.
    unsafe {
        let last = *args.add(n as usize - 1);
        let body = last.pointer().cast::<u8>().add(if last.ty().is_object() { 24 } else { 0 });
        let tensor = *body.cast::<DLTensor>();
        let shape = (0..tensor.ndim as usize).map(|dim| *tensor.shape.add(dim));
        let count: i64 = shape.clone().product();
        let data = tensor.data.cast::<f32>();
        for index in 0..count as usize {
            *data.add(index) += 1.0;
        }
        result.write(Any::int(TypeIndex::INT, shape.sum()));
    }
    0
}

unsafe extern "C" fn fails(_: *mut c_void, _: *const Any, n: i32, _: *mut Any) -> i32 {
    builtin::raise(b"ValueError", format!("got {n}").as_bytes());
    -1
}

fn int(returned: Result<Returned, CallError>) -> i64 {
    returned.unwrap().try_into().unwrap()
}

#[test]
fn values_come_back() {
    let echo = function(echo);
    assert_eq!(int(echo.call((-7,))), -7);
    assert_eq!(f64::try_from(echo.call((1.5_f32,)).unwrap()).unwrap(), 1.5);
    assert!(echo.call(((),)).unwrap().is_none() && echo.call((None::<i64>,)).unwrap().is_none());
    assert!(bool::try_from(echo.call([true]).unwrap()).unwrap());
    for text in ["", "short", "a text that needs an object"] {
        assert_eq!(echo.call((text,)).unwrap().text().unwrap(), text);
        assert_eq!(echo.call((&text.to_owned(),)).unwrap().text().unwrap(), text);
        let bytes = echo.call((Bytes(text.as_bytes()),)).unwrap();
        assert_eq!(bytes.bytes().unwrap(), text.as_bytes());
        let terminated = std::ffi::CString::new(text).unwrap();
        let returned = echo.call((&*terminated, &terminated)).unwrap();
        assert_eq!(String::try_from(returned).unwrap(), text);
    }
    let args: Vec<Arg<'_>> = (0..20).map(Arg::from).collect();
    assert_eq!((int(echo.call(&args)), int(echo.call(&args[3..]))), (0, 3));
    let error = function(fails).call(&args).unwrap_err();
    assert_eq!(error.to_string(), "ValueError: got 20");
    assert_eq!(echo.call((u64::MAX,)).unwrap_err().kind, "OverflowError");
}

#[test]
fn tensors_are_borrowed() {
    let add_one = function(add_one);
    let (mut list, mut array) = (vec![1.0_f32; 6], [1.0_f32; 3]);
    assert_eq!(int(add_one.call((1, &mut list))), 6);
    assert_eq!(int(add_one.call([&mut array[..2]])), 2);
    let mut view = TensorView::with_shape(&mut list, &[2, 3]).unwrap();
    assert_eq!(int(add_one.call((&mut view,))), 5);
    // A view stays good where it is moved to.
    let mut views = vec![view];
    assert_eq!(int(add_one.call((&mut views[0],))), 5);
    let moved = views.pop().unwrap();
    assert_eq!(int(add_one.call((moved,))), 5);
    assert_eq!((list, array), (vec![5.0; 6], [2.0, 2.0, 1.0]));
    let columns = TensorView::with_strides(&mut array, &[3], &[-1]).unwrap();
    assert_eq!((columns.view().ndim, columns.is_shared()), (1, false));
    let shared = add_one.call((&array,)).unwrap_err();
    assert!(shared.message.starts_with("argument #0 is a tensor that others may read"));
}

#[test]
fn tensor_objects_have_their_memory_alone() {
    let (runtime, add_one) = (Runtime::builtin(), function(add_one));
    let mut tensor = TensorObject::from_vec(vec![1.0_f32; 4], &[2, 2], runtime).unwrap();
    assert_eq!(int(add_one.call((&mut tensor,))), 4);
    tensor.as_mut_slice::<f32>().unwrap()[3] = 9.0;
    assert_eq!(tensor.as_slice::<f32>().unwrap(), [2.0, 2.0, 2.0, 9.0]);
    let view = TensorView::from(&tensor);
    assert_eq!((view.view().ndim, view.is_shared()), (2, true));
    assert!(matches!(tensor.as_slice::<f64>(), Err(Error::Mismatch { .. })));

    let second = function(echo).call((Arg::from(&mut tensor),)).unwrap();
    assert_eq!(tensor.as_slice::<f32>(), Err(Error::Shared));
    drop(second);
    let managed = tensor.into_dlpack().unwrap();
    // SAFETY: the tensor has just been handed over, and has no other holder.
    let tensor = unsafe { TensorObject::from_dlpack(managed, runtime) }.unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [2.0, 2.0, 2.0, 9.0]);
    let object = tensor.into_object();
    assert!(FfiFunction::try_from(object.clone()).is_err() && object.ty() == TypeIndex::TENSOR);
    let empty = TensorObject::from_vec(Vec::<bool>::new(), &[0, 3], runtime).unwrap();
    assert_eq!(empty.as_slice::<bool>().unwrap(), [false; 0]);
}

#[test]
fn arrays_hold_what_they_are_made_of() {
    let (runtime, echo) = (Runtime::builtin(), function(echo));
    let inner = ArrayObject::new((1, "a text that needs an object", ()), runtime).unwrap();
    let array = ArrayObject::new((&inner, &echo, 0.5), runtime).unwrap();
    drop(inner);
    let returned = echo.call((&array,)).unwrap();
    drop(array);
    let array = returned.array().unwrap();
    let inner = array.get(0).unwrap();
    assert_eq!(inner.array().unwrap().get(1).unwrap().text().unwrap().len(), 27);
    assert!(matches!(inner.content(), Content::Array(inner) if inner.iter().count() == 3));
    let function = FfiFunction::try_from(array.get(1).unwrap()).unwrap();
    assert_eq!(int(function.call((3,))), 3);

    // SAFETY: both functions take any values.
    let make = unsafe { FfiFunction::global("ffi.Shape", runtime) }.unwrap().unwrap();
    let shape = ShapeObject::try_from(make.call((2, 3)).unwrap()).unwrap();
    assert_eq!(shape.as_slice(), [2, 3]);
    assert!(make.call(((),)).is_err());
}

#[test]
fn addresses_are_found_at_any_depth() {
    let (runtime, echo) = (Runtime::builtin(), function(echo));
    let mut place = 0_u8;
    // SAFETY: nobody follows the address.
    let address = unsafe { Arg::pointer((&raw mut place).cast()) };
    let mut array = ArrayObject::new((address,), runtime).unwrap();
    for _ in 0..3 {
        assert!(echo.call((&array,)).unwrap_err().message.contains("holds an address"));
        // SAFETY: as above.
        let vouched = unsafe { Arg::from(&array).vouched() };
        array = ArrayObject::new((1, vouched), runtime).unwrap();
    }
    let null = ArrayObject::new((Arg::NULL, ()), runtime).unwrap();
    assert!(echo.call((&null,)).is_ok());
    let object = ObjectRef::from(null);
    assert!(ArrayObject::try_from(object).is_ok());
}

#[test]
fn any_thread_uses_and_drops_what_may_be_sent() {
    let runtime = Runtime::builtin();
    let (echo, add_one, fails) = (function(echo), function(add_one), function(fails));
    let tensor = TensorObject::from_vec(vec![0.0_f32; 2], &[2], runtime).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3_u8 {
            let (echo, add_one, fails, tensor) = (echo.clone(), &add_one, &fails, &tensor);
            scope.spawn(move || {
                let mut own = TensorObject::from_vec(vec![0.0_f32; 2], &[2], runtime).unwrap();
                assert_eq!(int(add_one.call((&mut own,))), 2);
                let held = echo.call((Arg::from(tensor).writable(),)).unwrap();
                assert_eq!(held.tensor().unwrap().shape(), [2]);
                let args = vec![Arg::NONE; thread.into()];
                assert_eq!(fails.call(&args).unwrap_err().message, format!("got {thread}"));
            });
        }
        // One of the threads frees the function.
        drop(echo);
    });
    assert!(tensor.is_unique());
}
