//! C functions of `extern` declarations, called by address.

use std::ffi::c_void;
use std::mem::transmute;

use tvm_ffi_codegen::Library;
use tvm_ffi_codegen_jit::abi::{Any, DLTensor};
use tvm_ffi_codegen_jit::{Compiled, Jit, Runtime, TensorView, TypeIndex};

use crate::ir::{identity, int, runtimes};

const TEXT: &str = "
    extern mlp(x: Tensor([n], float32), y: Tensor([n], float32), factor: float32) -> None
        = mlp_kernel(x.data, y.data, n, factor);
    extern half(n: int64) -> int64 where n % 2 == 0 = { return n / 2; };
    extern same(x: Any) -> Any = { return x; };
    extern checked(n: int64) -> None = try status(n);
    extern counted(s: str) -> int64 = { return s.size; };
    plain(n: int64) -> int64 = { return n; };
";

extern "C" fn mlp_kernel(x: *const f32, y: *mut f32, n: i64, factor: f32) {
    for i in 0..n as usize {
        // SAFETY: the declaration says that both have `n` elements.
        unsafe { *y.add(i) = *x.add(i) * factor };
    }
}

extern "C" fn status(n: i64) -> i32 {
    n as i32
}

fn compile(runtime: &'static Runtime) -> Compiled {
    let jit = Jit::with_runtime(runtime).unwrap();
    let kernel: extern "C" fn(_, _, _, _) = mlp_kernel;
    // SAFETY: both are sound for the arguments of the declarations.
    let jit = unsafe {
        jit.kernel("mlp_kernel", kernel).kernel("status", status as extern "C" fn(_) -> _)
    };
    jit.compile(&TEXT.parse::<Library>().unwrap()).unwrap()
}

fn address(compiled: &Compiled, name: &str) -> *const c_void {
    compiled.external(name).unwrap_or_else(|| panic!("{name} is declared `extern`"))
}

#[test]
fn tensors_are_passed_as_they_are() {
    type Mlp = unsafe extern "C" fn(*const DLTensor, *const DLTensor, f32) -> i32;
    for runtime in runtimes() {
        let compiled = compile(runtime);
        // SAFETY: this is the type of the function in C.
        let mlp = unsafe { transmute::<*const c_void, Mlp>(address(&compiled, "mlp")) };
        let (mut x, mut y, mut short) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3], [0.0_f32; 2]);
        let given = TensorView::new(&mut x);
        let (good, bad) = (TensorView::new(&mut y), TensorView::new(&mut short));
        // SAFETY: the arguments are tensors, or NULL.
        let statuses = unsafe {
            [good.view(), bad.view(), std::ptr::null()].map(|y: *const DLTensor| {
                let status = mlp(given.view(), y, 2.0);
                if status == 0 { "".to_owned() } else { compiled.raised(status).to_string() }
            })
        };
        let [first, second, third] = statuses;
        assert_eq!(first, "");
        let signature = "`mlp(x: Tensor([n], float32), y: Tensor([n], float32), factor: float32)`";
        let mismatched = format!(
            "ValueError: Mismatched y.shape[0] on argument #1 when calling: {signature}, \
             expected 3 (= x.shape[0]) but got 2"
        );
        assert_eq!(second, mismatched);
        assert!(third.starts_with("TypeError: Mismatched type of y on argument #1"), "{third}");
        drop((good, bad));
        assert_eq!((y, short), ([2.0, 4.0, 6.0], [0.0; 2]));
    }
}

#[test]
fn results_are_written_if_all_went_well() {
    for runtime in runtimes() {
        let compiled = compile(runtime);
        // SAFETY: this is the type of the function in C.
        let half: extern "C" fn(i64, *mut i64) -> i32 =
            unsafe { transmute(address(&compiled, "half")) };
        let mut result = -1;
        assert_eq!((half(6, &mut result), result), (0, 3));
        assert_eq!((half(5, &mut result), result), (-1, 3));
        let error = compiled.raised(-1).to_string();
        assert_eq!(error, "ValueError: Violated n % 2 == 0 when calling: `half(n: int64)`, n = 5");
        let empty = compiled.raised(-1).to_string();
        assert_eq!(empty, "RuntimeError: the call returned -1 without an error");

        // SAFETY: this is the type of the function in C.
        let same: extern "C" fn(*const Any, *mut Any) -> i32 =
            unsafe { transmute(address(&compiled, "same")) };
        let mut result = Any::NONE;
        assert_eq!(same(&Any::int(TypeIndex::INT, 7), &mut result), 0);
        assert_eq!((result.ty(), result.bits()), (TypeIndex::INT, 7));

        // SAFETY: this is the type of the function in C.
        let checked: extern "C" fn(i64) -> i32 =
            unsafe { transmute(address(&compiled, "checked")) };
        assert_eq!((checked(0), checked(9)), (0, -1));
        let error = compiled.raised(-1).to_string();
        assert!(error.starts_with("RuntimeError: Failed status when calling"), "{error}");
    }
}

/// The text is not read if its copy does not fit into memory.
#[test]
fn a_size_beyond_memory_is_an_error() {
    for runtime in runtimes() {
        let compiled = compile(runtime);
        // SAFETY: this is the type of the function in C.
        let counted: extern "C" fn(*const u8, i64, *mut i64) -> i32 =
            unsafe { transmute(address(&compiled, "counted")) };
        let (text, mut result) = (*b"nine char", -1);
        assert_eq!((counted(text.as_ptr(), 9, &mut result), result), (0, 9));
        for size in [1 << 60, i64::MAX] {
            assert_eq!(counted(text.as_ptr(), size, &mut result), -1);
            let expected = format!(
                "MemoryError: Out of memory for s when calling: `counted(s: str)`, {size} bytes"
            );
            assert_eq!(compiled.raised(-1).to_string(), expected);
        }
    }
}

/// An `extern` declaration has both functions, others have none in C.
#[test]
fn names() {
    let compiled = compile(Runtime::builtin());
    for name in ["mlp", "half", "same", "checked", "counted"] {
        assert!(compiled.external(name).is_some() && compiled.function(name).is_some(), "{name}");
    }
    for name in ["plain", "nothing", "", "mlp_kernel", "__tvm_ffi_half"] {
        assert_eq!(compiled.external(name), None, "{name}");
    }
    assert_eq!(int(compiled.function("half").unwrap().call((8,))), 4);
    let compiled = crate::ir::compile(Runtime::builtin(), &identity()).unwrap();
    assert_eq!(compiled.external("identity"), None);
}

/// A clone keeps the code, as a function does.
#[test]
fn addresses_are_good_as_long_as_a_handle() {
    let compiled = compile(Runtime::builtin());
    // SAFETY: this is the type of the function in C.
    let half: extern "C" fn(i64, *mut i64) -> i32 =
        unsafe { transmute(address(&compiled, "half")) };
    let clone = compiled.clone();
    drop(compiled);
    let mut result = 0;
    assert_eq!((half(4, &mut result), result), (0, 2));
    let function = clone.function("plain").unwrap();
    drop(clone);
    assert_eq!((half(2, &mut result), result), (0, 1));
    drop(function);
}
