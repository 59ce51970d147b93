//! Types of other crates: 16-bit floats, complex numbers, arrays of `ndarray`.

use half::{bf16, f16};
use ndarray::{Array2, Axis, array, s};
use num_complex::Complex;
use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::{Error, HostFunction, Jit, TensorObject, abi};

use crate::ir::runtimes;

/// Adds one to every element of a matrix of any strides.
extern "C" fn bump(x: *mut f32, n: i64, m: i64, s: i64, t: i64) {
    for i in 0..n {
        for j in 0..m {
            // SAFETY: the declaration says that the matrix has these extents and strides.
            unsafe { *x.wrapping_offset((i * s + j * t) as isize) += 1.0 };
        }
    }
}

extern "C" fn sum(x: *const f32, n: i64, m: i64, s: i64, t: i64) -> f64 {
    let place = |i: i64, j: i64| x.wrapping_offset((i * s + j * t) as isize);
    // SAFETY: the declaration says that the matrix has these extents and strides.
    let row = |i| (0..m).map(move |j| f64::from(unsafe { *place(i, j) })).sum::<f64>();
    (0..n).map(row).sum()
}

extern "C" fn ignore(_: *const abi::DLTensor) {}

const TEXT: &str = "
    bump(x: Tensor([n, m], float32, strides=[s, t])) -> None = bump(x.data, n, m, s, t);
    sum(x: Tensor([n, m], float32, strides=[s, t], access=read)) -> float64 = sum(x.data, n, m, s, t);
    halves(x: Tensor([n], float16, access=read), y: Tensor([n], bfloat16, access=read)) -> None = ignore(x);
    complex(x: Tensor([n], complex64, access=read), y: Tensor([n], complex128, access=read)) -> None = ignore(x);
    half(x: float64) -> float64 = half(x);
";

extern "C" fn half_of(x: f64) -> f64 {
    x / 2.0
}

fn functions() -> Vec<impl Fn(&str) -> HostFunction> {
    let library: Library = TEXT.parse().unwrap();
    let compile = |runtime| {
        let jit = Jit::with_runtime(runtime).unwrap();
        // SAFETY: the kernels are sound for the arguments of the declarations, and write to no tensor that is only
        // read.
        let jit = unsafe {
            jit.kernel("bump", bump as extern "C" fn(_, _, _, _, _))
                .kernel("sum", sum as extern "C" fn(_, _, _, _, _) -> _)
                .kernel("ignore", ignore as extern "C" fn(_))
                .kernel("half", half_of as extern "C" fn(_) -> _)
        };
        let compiled = jit.compile(&library).unwrap();
        move |name: &str| compiled.function(name).unwrap()
    };
    runtimes().into_iter().map(compile).collect()
}

#[test]
fn sixteen_bit_floats_and_complex_numbers() {
    for function in functions() {
        let (x, y) = ([f16::ONE; 3], [bf16::ONE; 3]);
        function("halves").call((&x, &y)).unwrap();
        assert!(function("halves").call((&y, &x)).is_err());
        let (x, y) = ([Complex::new(1.0_f32, 2.0); 2], [Complex::new(1.0_f64, 2.0); 2]);
        function("complex").call((&x, &y)).unwrap();
        assert!(function("complex").call((&y, &x)).is_err());
        let half = function("half").call((f16::from_f32(3.0),)).unwrap();
        assert_eq!(f64::try_from(half).unwrap(), 1.5);
    }
}

#[test]
fn arrays_are_arguments_with_their_strides() {
    for function in functions() {
        let (bump, sum) = (function("bump"), function("sum"));
        let float = |array: ndarray::ArrayView2<'_, f32>| {
            f64::try_from(sum.call((&array,)).unwrap()).unwrap()
        };
        let mut x: Array2<f32> = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        assert_eq!(float(x.view()), 21.0);
        assert_eq!(float(x.t()), 21.0);
        assert_eq!(float(x.slice(s![..;-1, 1..])), 16.0);
        bump.call((&mut x.slice_mut(s![.., ..;2]),)).unwrap();
        assert_eq!(x, array![[2.0, 2.0, 4.0], [5.0, 5.0, 7.0]]);
        bump.call((&mut x,)).unwrap();
        assert_eq!(x.sum_axis(Axis(1)), array![11.0, 20.0]);
        assert_eq!(bump.call((&x,)).unwrap_err().kind, "TypeError");
    }
}

#[test]
fn tensors_are_arrays() {
    for runtime in runtimes() {
        let mut tensor =
            TensorObject::from_vec((0..6).collect::<Vec<i32>>(), &[2, 3], runtime).unwrap();
        assert_eq!(tensor.as_array::<i32>().unwrap(), array![[0, 1, 2], [3, 4, 5]].into_dyn());
        tensor.as_array_mut::<i32>().unwrap()[[1, 2]] = 7;
        assert_eq!(tensor.as_slice::<i32>().unwrap()[5], 7);
        assert!(matches!(tensor.as_array::<f32>(), Err(Error::Mismatch { .. })));
    }
}
