//! A decode loop: a launch that is prepared once and submitted a thousand times, beside the call that checks and
//! encodes anew each time. It needs a CUDA driver, or the tests' stand-in for one.

use std::error::Error;
use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

use codegen::Library;
use jit::abi::{DLManagedTensorVersioned, DLTensor};
use jit::{DeviceType, FfiFunction, Jit, Runtime, TensorObject};

/// Code of `tma(const CUtensorMap, float*)` from a GPU compiler.
const CODE: &[u8] = include_bytes!("../tests/driver/kernels.cubin");

const DECLARATIONS: &str = "
image code;

/// Checks the tensors and encodes the maps once. The result launches.
prepare(x: Tensor([n, 64], float32, device=cuda), y: Tensor([n, 64], float32, device=cuda)) -> Function
    = {
        let of_x = tensormap(x, box=[1, 64]);
        let of_y = tensormap(y, box=[1, 32]);
        return function(step: int64) -> None where step >= 0 {
            launch code.\"tma\"(of_x, y.data) grid(n) block(128);
            launch code.\"tma\"(of_y, x.data) grid(n) block(128);
        };
    };

/// Does both in every call.
at_once(x: Tensor([n, 64], float32, device=cuda), y: Tensor([n, 64], float32, device=cuda), step: int64) -> None
    where step >= 0
    = {
        launch code.\"tma\"(tensormap(x, box=[1, 64]), y.data) grid(n) block(128);
        launch code.\"tma\"(tensormap(y, box=[1, 32]), x.data) grid(n) block(128);
    };
";

/// Number of steps.
const STEPS: i64 = 1000;

/// Returns a tensor object of the first GPU over memory at an address. A framework would bring its own.
fn on_gpu(address: usize) -> Result<TensorObject, jit::Error> {
    unsafe extern "C" fn free(managed: *mut DLManagedTensorVersioned) {
        // SAFETY: both are boxes that `on_gpu` has made.
        unsafe {
            drop(Box::from_raw((*managed).tensor.shape.cast::<[i64; 2]>()));
            drop(Box::from_raw(managed));
        }
    }
    let tensor = DLTensor {
        data: ptr::without_provenance_mut::<c_void>(address),
        device_type: DeviceType::CUDA.0,
        device_id: 0,
        ndim: 2,
        code: 2,
        bits: 32,
        lanes: 1,
        shape: Box::into_raw(Box::new([16_i64, 64])).cast(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    let manager_ctx = ptr::null_mut();
    let managed = Box::new(DLManagedTensorVersioned {
        version: [1, 0],
        manager_ctx,
        deleter: Some(free),
        flags: 0,
        tensor,
    });
    // SAFETY: the tensor is valid until `free` frees it; nothing accesses its memory but the device.
    unsafe { TensorObject::from_dlpack(Box::into_raw(managed), jit::runtime()) }
}

/// Returns the mean time of the steps.
fn time(
    mut step: impl FnMut(i64) -> Result<(), jit::CallError>,
) -> Result<Duration, jit::CallError> {
    let start = Instant::now();
    (0..STEPS).try_for_each(&mut step)?;
    Ok(start.elapsed() / STEPS as u32)
}

/// Tells the tests' stand-in for the driver to keep no record, which would take most of the time. Real drivers have no
/// such function.
fn quieten() {
    // SAFETY: the driver is loaded already, and the stand-in's function has this type.
    unsafe {
        let Ok(driver) = libloading::Library::new("libcuda.so.1") else { return };
        if let Ok(quiet) = driver.get::<extern "C" fn(i32)>("fake_cuda_quiet") {
            quiet(1);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut library: Library = DECLARATIONS.parse()?;
    library.images[0].bytes = Some(CODE.to_vec());
    let library = library.with_prepare("load");
    let runtime: &'static Runtime = jit::runtime();
    // SAFETY: the kernel touches only what the declaration gives it.
    let compiled = unsafe { Jit::with_runtime(runtime)?.launches() }.compile(&library)?;
    let function = |name: &str| compiled.function(name).ok_or("it is declared");
    let (load, prepare, at_once) = (function("load")?, function("prepare")?, function("at_once")?);
    if let Err(error) = load.call((0,)) {
        println!("not launched: {error}");
        return Ok(());
    }

    quieten();
    let (mut x, mut y) = (on_gpu(0x10000)?, on_gpu(0x20000)?);
    let unprepared = time(|step| at_once.call((&mut x, &mut y, step)).map(drop))?;
    let submit: FfiFunction = prepare.call((&mut x, &mut y))?.try_into()?;
    // The function holds the code and the tensors; nothing else needs to.
    drop((compiled, load, prepare, at_once, x, y));
    let prepared = time(|step| submit.call((step,)).map(drop))?;

    println!("launched {STEPS} steps of two kernels, twice");
    println!("checked and encoded in each: {unprepared:?} a step");
    println!("prepared once:               {prepared:?} a step");
    println!("{}", submit.call((-1,)).map_or_else(|error| error.to_string(), |_| String::new()));
    Ok(())
}
