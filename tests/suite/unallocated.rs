//! Allocation without an allocator of the host: callers from Python with NumPy, from C and from Rust.

use std::path::Path;
use std::process::Command;
use std::ptr;

use abi_spec::TypeIndex;
use abi_spec::layout::OBJECT;
use codegen::Library;
use jit::abi::{Any, DLTensor};
use jit::{Compiled, Jit, Runtime};
use tvm_ffi_codegen_tests::ffi::{Ffi, config, installed};
use tvm_ffi_codegen_tests::gate::backends;
use tvm_ffi_codegen_tests::hosts::host;
use tvm_ffi_codegen_tests::kernels::{cc, kernels};
use tvm_ffi_codegen_tests::route::build;

use crate::results;

const DECLARATIONS: &str = "
    iota(n: int64) -> out: Tensor([n], float32) = fill(out.data, n);
    grid(n: int64, m: int64) -> out: Tensor([n, 3, m], int16, align=4096) = record_tensor(out);
    narrow(n: int64) -> out: Tensor([n], int4) = record_tensor(out);
    scalar() -> out: Tensor([], float64) = record_tensor(out);
    both(n: int64) -> (values: Tensor([n], float32), indices: Tensor([n], int32))
        = fill_2(values.data, indices.data, n);
    workspace(n: int64) -> int64 = { let t = alloc Tensor([n], float32); fill(t.data, n); return n; };
    status(n: int64, code: int64) -> out: Tensor([n], float32) = try fill_status(out.data, n, code);
    second(n: int64, m: int64) -> (a: Tensor([n], float32), b: Tensor([m], int32))
        = fill_2(a.data, b.data, min(n, m));
    elsewhere(n: int64) -> out: Tensor([n], float32, device=cuda) = fill(out.data, n);
";

/// Errors of a device without an allocator, and of memory that is exhausted.
const ELSEWHERE: &str = "RuntimeError: Missing allocator of cuda:0 tensors for out when calling: \
    `elsewhere(n: int64)`, pass a PyTorch tensor or call TVMFFIEnvSetDLPackManagedTensorAllocator before";
const FULL: &str =
    "MemoryError: Out of memory for out when calling: `iota(n: int64)`, 4611686018427387904 bytes";

fn library() -> Library {
    DECLARATIONS.parse().expect("the declarations are valid")
}

/// Returns expressions of Python and their values.
fn rows() -> Vec<(&'static str, String)> {
    let rows = [
        ("array(m.iota(4)).tolist()", "[0.0, 1.0, 2.0, 3.0]"),
        ("array(m.iota(0)).shape", "(0,)"),
        ("array(m.grid(2, 5)).strides, array(m.grid(2, 5)).shape", "((30, 10, 2), (2, 3, 5))"),
        ("[array(m.grid(i, 7)).ctypes.data % 4096 for i in range(5)]", "[0, 0, 0, 0, 0]"),
        ("[array(m.iota(i)).ctypes.data % 64 for i in range(1, 6)]", "[0, 0, 0, 0, 0]"),
        ("array(m.grid(0, 1 << 60)).shape", "(0, 3, 1152921504606846976)"),
        ("m.narrow(5).shape, m.narrow(5).dtype", "((5,), dtype('int4'))"),
        ("m.scalar().shape, array(m.scalar()).dtype", "((), dtype('float64'))"),
        ("[array(t).tolist() for t in m.both(3)]", "[[0.0, 1.0, 2.0], [3, 2, 1]]"),
        ("m.workspace(5)", "5"),
        ("error(lambda: m.elsewhere(3))", ELSEWHERE),
        ("error(lambda: m.iota(1 << 60))", FULL),
        ("error(lambda: m.iota(-1)).split(' when')[0]", "ValueError: Mismatched out.shape[0]"),
        (
            "error(lambda: m.second(3, 1 << 59)).split(' when')[0]",
            "MemoryError: Out of memory for b",
        ),
        ("grows(lambda: m.iota(1000))", "False"),
        ("grows(lambda: m.workspace(1000))", "False"),
        ("grows(lambda: error(lambda: m.status(1000, 1)))", "False"),
        ("grows(lambda: error(lambda: m.second(1000, 1 << 59)))", "False"),
    ];
    rows.map(|(expression, value)| (expression, value.to_owned())).to_vec()
}

#[test]
fn numpy_callers_need_no_allocator() {
    let rows = rows();
    let rows: Vec<_> = rows.iter().map(|(expression, value)| (*expression, &**value)).collect();
    results::hold(&library(), &["--plain"], &rows);
}

/// Output of `unallocated.c`.
const PRINTED: &str = "\
0 1 2 3 4, rank 1, extent 5, stride 1, aligned 1
no memory: MemoryError: Out of memory for out when calling: `iota(n: int64)`, 1073741824 bytes
without the library: 0 1 2 3 4
grows: 0
";

/// The tensor outlives the library.
#[test]
fn callers_in_c_need_no_allocator() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (caller, library) = (folder.path().join("caller"), folder.path().join("library.so"));
    let libraries = config("--libdir");
    let mut compile = Command::new("cc");
    compile.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]);
    compile.arg(host("unallocated.c"));
    compile.arg(Path::new(&libraries).join("libtvm_ffi.so"));
    compile.arg(format!("-I{}", config("--includedir")));
    compile.arg(format!("-I{}", config("--dlpack-includedir")));
    compile.arg(format!("-Wl,-rpath,{libraries}")).args(["-ldl", "-o"]);
    cc(compile.arg(&caller));
    for backend in backends() {
        build(&self::library(), backend, &library);
        let output = Command::new(&caller).arg(&library).output().expect("the caller runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), PRINTED, "{backend}: {output:?}");
        assert!(output.status.success(), "{backend}: {output:?}");
    }
}

/// Compiles the functions in the JIT, with the addresses of the kernels.
fn compiled(runtime: &'static Runtime) -> Compiled {
    let library = library();
    let mut jit = Jit::with_runtime(runtime).expect("the machine has a backend");
    let calls = library.functions.iter().flat_map(|function| function.body.kernel_calls());
    for symbol in calls.filter_map(codegen::KernelCall::symbol) {
        let address = kernels().address(symbol).expect("it is a kernel");
        // SAFETY: the kernels are what the declarations say.
        jit = unsafe { jit.kernel_at(symbol, address) };
    }
    jit.compile(&library).unwrap_or_else(|error| panic!("{error}"))
}

/// Calls a function with integers.
fn call(compiled: &Compiled, name: &str, args: &[i64]) -> (i32, Any) {
    let args: Vec<Any> = args.iter().map(|&arg| Any::int(TypeIndex::INT, arg)).collect();
    let function = compiled.function(name).unwrap_or_else(|| panic!("no function {name}"));
    let mut result = Any::NONE;
    // SAFETY: the arguments are integers, and the function ignores its handle.
    let status = unsafe {
        function.call_raw(ptr::null_mut(), args.as_ptr(), args.len() as i32, &mut result)
    };
    (status, result)
}

/// Returns the tensor of a result.
fn tensor(result: &Any) -> &DLTensor {
    assert_eq!(result.ty(), TypeIndex::TENSOR);
    // SAFETY: the tensor is behind the header of the object, which lives.
    unsafe { &*result.pointer().byte_add(OBJECT.size as usize).cast::<DLTensor>() }
}

/// Copies numbers from an address.
fn numbers<T: Copy>(from: *const T, count: usize) -> Vec<T> {
    // SAFETY: the tensor is as large.
    unsafe { std::slice::from_raw_parts(from, count) }.to_vec()
}

#[test]
fn callers_in_rust_need_no_allocator() {
    for runtime in [Runtime::builtin(), installed()] {
        let (ffi, compiled) = (Ffi::new(runtime), compiled(runtime));
        let error = |name: &str, args: &[i64]| {
            assert_eq!(call(&compiled, name, args).0, -1, "{name}");
            let (kind, message) = ffi.take_error().expect("there is an error");
            format!("{kind}: {message}")
        };
        assert_eq!(error("elsewhere", &[3]), ELSEWHERE);
        assert_eq!(error("iota", &[1 << 60]), FULL);
        let (_, grid) = call(&compiled, "grid", &[2, 5]);
        let (status, iota) = call(&compiled, "iota", &[4]);
        assert_eq!((status, call(&compiled, "workspace", &[5]).1.bits()), (0, 5));
        drop(compiled);
        let (view, grid_view) = (tensor(&iota), tensor(&grid));
        assert_eq!(numbers(view.data.cast::<f32>(), 4), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(numbers(grid_view.shape, 3), [2, 3, 5]);
        assert_eq!(numbers(grid_view.strides, 3), [15, 5, 1]);
        assert_eq!((view.data as usize % 64, grid_view.data as usize % 4096), (0, 0));
        for object in [iota, grid] {
            // SAFETY: the result is owned.
            unsafe { ffi.release(object.pointer().cast()) };
        }
    }
}

/// Kernels may be named like functions of the C library if they have their types.
#[test]
fn the_types_of_c_functions_are_known() {
    let library = |text: &str| text.parse::<Library>().and_then(|l| l.resolve().map(drop));
    let own = "give(n: uint64) -> ptr = malloc(n); drop(p: ptr) -> None = free(p);";
    let other = "f(n: int64) -> int64 = free(n);";
    let allocates = "iota(n: int64) -> out: Tensor([n], float32) = fill(out.data, n);";
    assert_eq!(library(&format!("{own} {allocates}")), Ok(()));
    assert_eq!(library(other), Ok(()));
    let error = library(&format!("{other} {allocates}")).expect_err("`free` takes a pointer");
    let text = error.to_string();
    assert!(
        text.contains("`free` is called as (i64) -> i64, but to allocate tensors as (ptr)"),
        "{text}"
    );
}
