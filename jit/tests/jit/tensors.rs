//! Views of memory, and tensor objects.

use crate::ir::{arg, float, import, runtimes, succeed, wrapper};
use tvm_ffi_codegen::ir::{Module, Type};
use tvm_ffi_codegen_jit::{Error, Jit, Runtime, TensorObject, TensorView, abi};

/// A kernel reads the first element of a tensor.
#[test]
fn tensors_describe_the_memory_they_borrow() {
    extern "C" fn first(tensor: *const abi::DLTensor) -> f64 {
        // SAFETY: the test passes tensors that have an element.
        unsafe { *(*tensor).data.cast::<f32>() }.into()
    }
    let mut module = Module::default();
    wrapper(&mut module, "first", |b| {
        let kernel = import(b, "first", &[Type::Ptr], Some(Type::F64));
        let tensor = arg(b, Type::Ptr, 0);
        let value = b.call_value(kernel, &[tensor]);
        succeed(b, 3, value);
    });
    let jit = Jit::with_runtime(Runtime::builtin()).unwrap();
    // SAFETY: every tensor below has an element and is of `f32`.
    let jit = unsafe { jit.kernel("first", first as extern "C" fn(_) -> _).emit(&module) };
    let compiled = jit.unwrap().finish().unwrap();
    let first = compiled.function("first").unwrap();
    let call = |mut tensor: TensorView<'_>| float(first.call((&mut tensor,)));
    let mut data = [1_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(call(TensorView::new(&mut data)), 1.0);
    assert_eq!(call(TensorView::with_shape(&mut data, &[2, 3]).unwrap()), 1.0);
    assert_eq!(call(TensorView::with_strides(&mut data, &[2, 2], &[3, -2]).unwrap()), 3.0);
    assert_eq!(call(TensorView::with_strides(&mut data, &[6], &[-1]).unwrap()), 6.0);

    let shape = |needed, len| Error::Shape { needed, len };
    let refused = [
        (TensorView::with_shape(&mut data, &[2, 2]).unwrap_err(), shape(4, 6)),
        (TensorView::with_shape(&mut data, &[usize::MAX, 2]).unwrap_err(), shape(usize::MAX, 6)),
        (TensorView::with_shape(&mut data, &[usize::MAX, 0]).unwrap_err(), shape(0, 6)),
        (TensorView::with_strides(&mut data, &[3, 3], &[3, 1]).unwrap_err(), shape(9, 6)),
        (TensorView::with_strides(&mut data, &[2, 2], &[-6, 1]).unwrap_err(), shape(8, 6)),
        (TensorView::with_strides(&mut data, &[2], &[i64::MAX]).unwrap_err(), shape(1 << 63, 6)),
        (TensorView::with_strides(&mut data, &[2], &[]).unwrap_err(), shape(1, 6)),
    ];
    for (found, expected) in refused {
        assert_eq!(found, expected);
    }
    let view = *TensorView::with_strides(&mut data, &[0, 100], &[1000, 1]).unwrap().view();
    assert_eq!((view.ndim, view.data.cast_const().cast(), view.bits), (2, data.as_ptr(), 32));
}

/// Extents are `i64`, also where a tensor has no elements, and so are the strides of a compact tensor.
#[test]
fn extents_that_no_tensor_has_are_errors() {
    const MOST: usize = i64::MAX as usize;
    let none = &[0_f32; 0][..];
    let fits: [&[usize]; 3] = [&[MOST, 0], &[0, MOST], &[1 << 31, 0, 1 << 31]];
    let extent =
        |found: usize| format!("expected extents up to 9223372036854775807 but got {found}");
    let product = "expected a product of extents up to 9223372036854775807 but got a larger one";
    let wrong: [(&[usize], String); 4] = [
        (&[usize::MAX, 0], extent(usize::MAX)),
        (&[0, MOST + 1], extent(MOST + 1)),
        (&[MOST, 0, 2], product.to_owned()),
        (&[1 << 32, 1 << 31, 0], product.to_owned()),
    ];
    for runtime in runtimes() {
        let object = |shape: &[usize]| TensorObject::from_vec(Vec::<f32>::new(), shape, runtime);
        for shape in fits {
            let dims: Vec<i64> = shape.iter().map(|&extent| extent as i64).collect();
            assert!(TensorView::with_shape(none, shape).is_ok(), "{shape:?}");
            assert_eq!(object(shape).unwrap().shape(), dims);
        }
        for (shape, message) in &wrong {
            let view = TensorView::with_shape(none, shape).unwrap_err();
            assert_eq!(view.to_string(), *message);
            assert_eq!(object(shape).unwrap_err(), view);
        }
    }
    // Strides say where elements are, so that a product of extents says nothing.
    assert!(TensorView::with_strides(none, &[MOST, 0, 2], &[1, 1, 1]).is_ok());
    let error = TensorView::with_strides(none, &[usize::MAX, 0], &[1, 1]).unwrap_err();
    assert_eq!(error.to_string(), extent(usize::MAX));
    let far = TensorView::with_strides(&[0_f32], &[MOST; 3], &[i64::MIN; 3]).unwrap_err();
    assert_eq!(far, Error::Shape { needed: usize::MAX, len: 1 });
}
