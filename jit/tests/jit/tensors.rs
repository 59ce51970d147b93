//! Views of memory, and tensor objects.

use crate::ir::{arg, float, import, succeed, wrapper};
use tvm_ffi_codegen::ir::{Module, Type};
use tvm_ffi_codegen_jit::{Error, Jit, Runtime, TensorView, abi};

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
