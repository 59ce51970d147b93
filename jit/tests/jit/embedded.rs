//! Libraries with routines of their own, in process.

use tvm_ffi_codegen::{Library, Options, Routines};
use tvm_ffi_codegen_jit::{Compiled, Error, Jit, JitOptions, Runtime};

use crate::ir::{int, runtimes};

const TEXT: &str = "
    count(n: int64) -> out: Tensor([n, 2], float32, align=256) = fill(out.data, 2 * n);
    pair(x: Tensor([n], float32)) -> (a: Tensor([n], float32), b: Tensor([3], float32))
        = { fill(a.data, n); fill(b.data, 3); };
    scratch(n: int64) -> int64 = {
        for i in 0..3 { let again = alloc Tensor([n], float32); fill(again.data, n); }
        let t = alloc Tensor([n], float32, align=128);
        fill(t.data, n);
        let found: int64 = last(t.data, n);
        if found > 5 { raise ValueError \"more than \", found; }
        return found;
    };
";

extern "C" fn fill(out: *mut f32, n: i64) {
    assert!(out.addr().is_multiple_of(64));
    // SAFETY: the declarations pass memory of `n` elements.
    (0..n as usize).for_each(|i| unsafe { *out.add(i) = i as f32 });
}

extern "C" fn last(x: *const f32, n: i64) -> i64 {
    // SAFETY: as above, and `n` is not 0.
    unsafe { *x.add(n as usize - 1) as i64 }
}

fn compile(text: &str, runtime: &'static Runtime) -> Result<Compiled, Error> {
    let lowering = Options { routines: Routines::Embedded, ..Jit::OPTIONS };
    let jit = Jit::with_options(JitOptions { runtime, lowering, ..JitOptions::default() })?;
    // SAFETY: both are sound for the memory that declarations here call them with.
    let jit = unsafe {
        jit.kernel("fill", fill as extern "C" fn(_, _))
            .kernel("last", last as extern "C" fn(_, _) -> _)
    };
    jit.compile(&text.parse::<Library>().unwrap())
}

#[test]
fn they_allocate() {
    for runtime in runtimes() {
        let compiled = compile(TEXT, runtime).unwrap();
        let call = |name: &str, n: i64| compiled.function(name).unwrap().call((n,));
        let returned = call("count", 3).unwrap();
        let tensor = returned.tensor().unwrap();
        assert_eq!((tensor.shape(), tensor.is_compact()), (&[3, 2][..], true));
        assert_eq!(tensor.as_slice::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(tensor.view().data.addr().is_multiple_of(256));
        let error = call("count", -1).unwrap_err().to_string();
        assert!(error.starts_with("ValueError: Mismatched out.shape[0] when calling"), "{error}");

        let mut x = [0.0_f32; 2];
        let both = compiled.function("pair").unwrap().call((&mut x,)).unwrap();
        let b = both.array().unwrap().get(1).unwrap();
        drop(both);
        assert_eq!(b.tensor().unwrap().as_slice::<f32>().unwrap(), [0.0, 1.0, 2.0]);

        assert_eq!(int(call("scratch", 4)), 3);
        let error = call("scratch", 8).unwrap_err().to_string();
        assert!(error.starts_with("ValueError: more than 7"), "{error}");
    }
}

/// Tensors are in memory of the C library, and outlive the code.
#[test]
fn tensors_outlive_the_code() {
    for runtime in runtimes() {
        let compiled = compile(TEXT, runtime).unwrap();
        let returned = compiled.function("count").unwrap().call((2,)).unwrap();
        drop(compiled);
        assert_eq!(returned.tensor().unwrap().as_slice::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0]);
    }
}

/// A declaration can call `free` only as a kernel, which somebody must give.
#[test]
fn the_c_library_is_there_for_routines_only() {
    let own = "release(p: ptr) -> None = free(p);";
    let allocates = "count(n: int64) -> out: Tensor([n], float32) = fill(out.data, n);";
    let undefined = |symbol: &str| Error::Undefined { symbols: vec![symbol.to_owned()] };
    assert_eq!(compile(own, Runtime::builtin()).unwrap_err(), undefined("free"));
    let both = format!("{own} {allocates}");
    assert_eq!(compile(&both, Runtime::builtin()).unwrap_err(), undefined("free"));
    let shared = Jit::with_runtime(Runtime::builtin()).unwrap();
    assert_eq!(shared.compile(&own.parse().unwrap()).unwrap_err(), undefined("free"));
}
