//! Kernels of Triton, imported and launched on the stand-ins for the driver and for HIP.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicI64, Ordering};

use jit::abi::{DLManagedTensorVersioned, DLTensor};
use jit::{DType, Device, DeviceType, HostFunction, Jit, TensorView};
use tvm_ffi_codegen_tests::fake_cuda::{self, FakeCuda};
use tvm_ffi_codegen_tests::fake_hip;
use tvm_ffi_codegen_tests::ffi::{self, Ffi};

/// The metadata and the cubin of a kernel, as Triton left them.
macro_rules! left {
    ($kernel:literal) => {
        (
            include_str!(concat!("../../driver/tests/triton/", $kernel, ".json")),
            include_bytes!(concat!("../../driver/tests/triton/", $kernel, ".cubin")).as_slice(),
        )
    };
}

const ADD: (&str, &[u8]) = left!("add");
const TILES: (&str, &[u8]) = left!("tiles");
const SCALE: (&str, &[u8]) = left!("scale");
const COLUMNS: (&str, &[u8]) = left!("columns");

const ADD_SIGNATURE: &str =
    "x: *fp32[n]:16, y: *fp32[n]:16, out: *fp32[n]:16, n: i32:16, stride: i32:1, BLOCK: 1024";
const TILES_SIGNATURE: &str = "x: *fp16[rows, columns]:16, out: *fp16[rows, columns]:16, rows: i32, columns: i32:16, BLOCK: 32";
const SCALE_SIGNATURE: &str = "scale(x: tensordesc<bf16[32, 32]>[m, n], out: tensordesc<bf16[32, 32]>[m, n], factor: fp32, BLOCK: 32)";

const COLUMNS_SIGNATURE: &str = "images: tensordesc_im2col<fp16[128, 64],input_rank=4>[n, h, w, c] = im2col(lower=[-1, -1], upper=[-1, -1], steps=[1, 2, 2, 1]), out: tensordesc<fp16[128, 64]>, BLOCK: 128";

/// Returns the only function of an imported kernel.
fn function((metadata, cubin): (&str, &[u8]), signature: &str, grid: &str) -> HostFunction {
    let library = driver::triton::import(metadata, cubin, signature, grid)
        .unwrap_or_else(|error| panic!("{error}"));
    let signature = &library.functions[0].signature;
    // SAFETY: the stand-in runs no kernel.
    let jit = unsafe { Jit::with_runtime(ffi::installed()).unwrap().launches() };
    let compiled = jit.compile(&library).unwrap();
    compiled.function(&signature.name).expect("it is there")
}

/// Makes a tensor on a GPU whose memory nobody reads.
fn tensor(address: usize, dtype: DType, shape: &[i64]) -> TensorView<'static> {
    let device = Device { ty: DeviceType::CUDA, id: 0 };
    // SAFETY: the stand-in runs no kernel.
    unsafe {
        TensorView::from_raw(ptr::without_provenance_mut(address), dtype, device, shape, None)
    }
}

/// Returns the recorded launches, without the number of the library in this process.
fn launches(cuda: &FakeCuda) -> String {
    let record = cuda.record();
    let starts = ["cuLaunchKernelEx(", "cuTensorMapEncode"];
    let lines = record.lines().filter(|line| starts.iter().any(|start| line.starts_with(start)));
    let unnumbered = lines.map(|line| match line.split_once("(lib") {
        Some((call, rest)) => format!("{call}({}", rest.trim_start_matches(|c: char| c != '"')),
        None => line.to_owned(),
    });
    unnumbered.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_vector_is_added_by_blocks_of_its_own_size() {
    let cuda = fake_cuda::exclusive();
    let add = function(ADD, ADD_SIGNATURE, "cdiv(n, BLOCK)");
    let [x, y, out] =
        [0x1000, 0x2000, 0x3000].map(|address| tensor(address, DType::FLOAT32, &[4112]));
    add.call((x, y, out, 4112, 1)).expect("it launches");
    insta::assert_snapshot!(launches(&cuda), @r#"cuLaunchKernelEx("add" grid=5,1,1 block=128,1,1 shared=0 stream=null attributes=[]) -> device=0 context=primary0 parameters=[0010000000000000, 0020000000000000, 0030000000000000, 10100000, 0000000000000000, 0000000000000000]"#);
}

/// The same kernel for AMD, on the stand-in for HIP.
#[test]
fn hip_launches_what_triton_makes_for_amd() {
    let image = (
        include_str!("../../driver/tests/triton/add_gfx942.json"),
        include_bytes!("../../driver/tests/triton/add_gfx942.hsaco").as_slice(),
    );
    let hip = fake_hip::exclusive();
    let add = function(
        image,
        &ADD_SIGNATURE.replace("x: *fp32[n]:16", "x: *fp32[n]:16:S"),
        "cdiv(n, BLOCK)",
    );
    let rocm = Device { ty: DeviceType::ROCM, id: 0 };
    let vector = |address: usize, size: i64| {
        // SAFETY: the stand-in runs no kernel.
        unsafe {
            TensorView::from_raw(
                ptr::without_provenance_mut(address),
                DType::FLOAT32,
                rocm,
                &[size],
                None,
            )
        }
    };
    let [x, y, out] = [0x1000, 0x2000, 0x3000].map(|address| vector(address, 4112));
    add.call((x, y, out, 4112, 1)).expect("it launches");
    let record = hip.record();
    let launched = record.lines().find(|line| line.starts_with("hipModuleLaunchKernel("));
    // Without the number of the module in this process.
    let (_, launched) = launched.and_then(|line| line.split_once('.')).expect("it is recorded");
    insta::assert_snapshot!(launched, @r#""add" grid=5,1,1 block=256,1,1 shared=0 stream=null) -> device=0 parameters=[0010000000000000, 0020000000000000, 0030000000000000, 10100000, 0000000000000000, 0000000000000000]"#);
    let large = vector(0x1000, 1 << 29);
    let [y, out] = [0x2000, 0x3000].map(|address| vector(address, 1 << 29));
    let error =
        add.call((large, y, out, 1 << 29, 1)).expect_err("offsets of 32 bits do not reach its end");
    assert!(error.to_string().contains("Violated x.numel < 536870912"), "{error}");
}

/// Code that was specialised for multiples of 16 or strides of 1 must refuse other values.
#[test]
fn what_the_kernel_was_not_compiled_for_is_refused() {
    let cuda = fake_cuda::exclusive();
    let add = function(ADD, ADD_SIGNATURE, "cdiv(n, BLOCK)");
    let call = |address, n: i64, stride: i64| {
        let [x, y] = [0x1000, 0x2000].map(|address| tensor(address, DType::FLOAT32, &[n]));
        let out = tensor(address, DType::FLOAT32, &[n]);
        add.call((x, y, out, n, stride)).expect_err("it is refused").to_string()
    };
    let lines = [call(0x3000, 20, 1), call(0x3000, 32, 2), call(0x3004, 32, 1)];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    ValueError: Violated n % 16 == 0 when calling: `add(x: Tensor([n], float32, device=cuda, align=16), y: Tensor([n], float32, device=cuda, align=16), out: Tensor([n], float32, device=cuda, align=16), n: int32, stride: int32)`, n = 20
    ValueError: Violated stride == 1 when calling: `add(x: Tensor([n], float32, device=cuda, align=16), y: Tensor([n], float32, device=cuda, align=16), out: Tensor([n], float32, device=cuda, align=16), n: int32, stride: int32)`, stride = 2
    ValueError: Misaligned out.data on argument #2 when calling: `add(x: Tensor([n], float32, device=cuda, align=16), y: Tensor([n], float32, device=cuda, align=16), out: Tensor([n], float32, device=cuda, align=16), n: int32, stride: int32)`, expected a multiple of 16 bytes but got remainder 4
    "#);
    let [x, y, out] = [0; 3].map(|address| tensor(address, DType::FLOAT32, &[0]));
    add.call((x, y, out, 0, 1)).expect("there is nothing to do");
    assert_eq!(launches(&cuda), "");
}

/// Two blocks do the work of one program; each block has scratch memory of its own.
#[test]
fn clusters_have_twice_the_blocks_and_scratch_for_each() {
    let cuda = fake_cuda::exclusive();
    let tiles = function(TILES, TILES_SIGNATURE, "cdiv(rows, BLOCK), cdiv(columns, BLOCK)");
    // SAFETY: it is an allocator.
    unsafe { Ffi::new(ffi::installed()).set_allocator(allocate as *const c_void) };
    let [x, out] = [0x1000, 0x2000].map(|address| tensor(address, DType::FLOAT16, &[40, 96]));
    let called = tiles.call((x, out, 40, 96));
    // SAFETY: NULL means no allocator.
    unsafe { Ffi::new(ffi::installed()).set_allocator(ptr::null()) };
    called.expect("it launches");
    assert_eq!(BYTES.load(Ordering::Relaxed), 2 * 2 * 3 * 256);
    insta::assert_snapshot!(launches(&cuda), @r#"cuLaunchKernelEx("tiles" grid=4,3,1 block=128,1,1 shared=1032 stream=null attributes=[4:020000000100000001, 5:01]) -> device=0 context=primary0 parameters=[0010000000000000, 0020000000000000, 28000000, 60000000, 0070000000000000, 0000000000000000]"#);
}

/// Size of the last allocation.
static BYTES: AtomicI64 = AtomicI64::new(0);

/// An allocator that always returns one address, which nobody dereferences.
unsafe extern "C" fn allocate(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    _context: *mut c_void,
    _set_error: *const c_void,
) -> i32 {
    // SAFETY: the caller describes a tensor of one dim, and takes another.
    unsafe {
        let bytes = *(*prototype).shape;
        BYTES.store(bytes, Ordering::Relaxed);
        let shape = Box::into_raw(Box::new(bytes));
        let data = ptr::without_provenance_mut(0x7000);
        let tensor = DLTensor { data, shape, strides: ptr::null_mut(), ..*prototype };
        let (manager_ctx, deleter) = (ptr::null_mut(), Some(free as _));
        let managed =
            DLManagedTensorVersioned { version: [1, 1], manager_ctx, deleter, flags: 0, tensor };
        *out = Box::into_raw(Box::new(managed));
    }
    0
}

unsafe extern "C" fn free(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: `allocate` has made both boxes.
    unsafe { drop((Box::from_raw((*tensor).tensor.shape), Box::from_raw(tensor))) };
}

#[test]
fn descriptors_are_made_of_tensors() {
    let cuda = fake_cuda::exclusive();
    let scale = function(SCALE, SCALE_SIGNATURE, "cdiv(m, BLOCK)");
    let [x, out] = [0x1000, 0x2000].map(|address| tensor(address, DType::BFLOAT16, &[40, 32]));
    scale.call((x, out, 2.0)).expect("it launches");
    insta::assert_snapshot!(launches(&cuda), @r#"
    cuTensorMapEncodeTiled(type=9 rank=2 dims=32,40 strides=64 box=32,32 steps=1,1 interleave=0 swizzle=2 promotion=2 fill=0)
    cuTensorMapEncodeTiled(type=9 rank=2 dims=32,40 strides=64 box=32,32 steps=1,1 interleave=0 swizzle=2 promotion=2 fill=0)
    cuLaunchKernelEx("_scale" grid=2,1,1 block=256,1,1 shared=2056 stream=null attributes=[6:01]) -> device=0 context=primary0 parameters=[74696c656d617000001000000000000020000000000000002800000000000000000000000000000000000000000000000000000000000000400000000000000000000000000000000000000000000000000000000000000020002000000000000000010100000009020002020000000000000000000000000000000000000000, 28000000, 20000000, 2000000000000000, 0100000000000000, 74696c656d617000002000000000000020000000000000002800000000000000000000000000000000000000000000000000000000000000400000000000000000000000000000000000000000000000000000000000000020002000000000000000010100000009020002020000000000000000000000000000000000000000, 28000000, 20000000, 2000000000000000, 0100000000000000, 00000040, 0000000000000000, 0000000000000000]
    "#);
}

#[test]
fn columns_are_made_of_tensors_and_corners() {
    let cuda = fake_cuda::exclusive();
    let columns = function(COLUMNS, COLUMNS_SIGNATURE, "cdiv(n * h * w, 4 * BLOCK)");
    let images = tensor(0x1000, DType::FLOAT16, &[8, 12, 14, 64]);
    let out = tensor(0x2000, DType::FLOAT16, &[336, 64]);
    columns.call((images, out)).expect("it launches");
    insta::assert_snapshot!(launches(&cuda), @r#"
    cuTensorMapEncodeIm2col(type=6 rank=4 dims=64,14,12,8 strides=128,1792,21504 lower=-1,-1 upper=-1,-1 channels=64 pixels=128 steps=1,2,2,1 interleave=0 swizzle=3 promotion=2 fill=0)
    cuTensorMapEncodeTiled(type=6 rank=2 dims=64,336 strides=128 box=64,128 steps=1,1 interleave=0 swizzle=3 promotion=2 fill=0)
    cuLaunchKernelEx("columns" grid=3,1,1 block=128,1,1 shared=16392 stream=null attributes=[]) -> device=0 context=primary0 parameters=[636f6c756d6e7300001000000000000040000000000000000e000000000000000c0000000000000008000000000000000000000000000000800000000000000000070000000000000054000000000000000000000000000000000000000000000000010202010006040003020000ffffffff0000ffffffff0000400080000000, 08000000, 0c000000, 0e000000, 40000000, 002a000000000000, 8003000000000000, 4000000000000000, 0100000000000000, 74696c656d617000002000000000000040000000000000005001000000000000000000000000000000000000000000000000000000000000800000000000000000000000000000000000000000000000000000000000000040008000000000000000010100000006020003020000000000000000000000000000000000000000, 50010000, 40000000, 4000000000000000, 0100000000000000, 0000000000000000, 0000000000000000]
    "#);
}
