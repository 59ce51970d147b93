//! A GPU compiler: its code is an image in the library, and the host function launches from it. The library is linked
//! ahead of time, and the same declaration compiled in process, where it is launched if the machine has a driver.
//! `launch [IMAGE]`: with another image that has the kernel `axpy_kernel(float*, float*, int, float)`.

use std::error::Error;
use std::ffi::{c_int, c_void};
use std::ptr;

use codegen::{DType, DeviceType, Expr, Image, Launch, Library, Scalar, Signature, Tensor, exprs};
use driver::{Form, Request};
use jit::{Device, Jit, TensorView};
use libloading::Library as Loaded;

type Failure = Box<dyn Error>;

/// Code of `y += a * x` from a GPU compiler: a cubin, a fatbin or PTX.
const CODE: &[u8] = include_bytes!("../tests/driver/kernels.cubin");

/// Threads per block.
const BLOCK: i64 = 128;

/// Returns a library with the host function, and one that loads the code before a graph is captured.
fn library(code: Vec<u8>) -> Library {
    let [x, y, n, a] = ["x", "y", "n", "a"].map(Expr::name);
    let vector = Tensor::new([&n], DType::FLOAT32).with_device(DeviceType::CUDA);
    let given = exprs![x.data(), y.data(), n.clone().cast(Scalar::Int32), a];
    let launch = Launch::new("code", "axpy_kernel", given).grid([n.ceildiv(BLOCK)]).block([BLOCK]);
    let axpy = Signature::new("axpy")
        .param("x", vector.clone())
        .param("y", vector)
        .param("a", Scalar::Float32)
        .body([launch.into()])
        .with_docs("Adds a multiple of one vector to another.");
    Library::new([axpy]).with_image(Image::new("code").with_bytes(code)).with_prepare("load")
}

/// The driver, which this example needs for device memory only: the compiled functions find it themselves.
struct Driver(Loaded);

impl Driver {
    fn new() -> Result<Driver, Failure> {
        // SAFETY: it is the driver.
        let driver = Driver(unsafe { Loaded::new("libcuda.so.1") }?);
        let mut context: *mut c_void = ptr::null_mut();
        // SAFETY: the types are those of `cuda.h`.
        unsafe {
            let retain: extern "C" fn(*mut *mut c_void, c_int) -> c_int =
                driver.function("cuDevicePrimaryCtxRetain")?;
            let push: extern "C" fn(*mut c_void) -> c_int =
                driver.function("cuCtxPushCurrent_v2")?;
            succeed(retain(&mut context, 0))?;
            succeed(push(context))?;
        }
        Ok(driver)
    }

    /// Returns a function of the driver.
    ///
    /// # Safety
    /// `F` is its type.
    unsafe fn function<F: Copy>(&self, name: &str) -> Result<F, Failure> {
        // SAFETY: as required above.
        Ok(*unsafe { self.0.get::<F>(name) }?)
    }

    /// Copies numbers to the device, into memory that is never freed.
    fn upload(&self, numbers: &[f32]) -> Result<*mut c_void, Failure> {
        let (mut address, bytes) = (0_u64, size_of_val(numbers));
        // SAFETY: the types are those of `cuda.h`.
        unsafe {
            let alloc: extern "C" fn(*mut u64, usize) -> c_int = self.function("cuMemAlloc_v2")?;
            let copy: extern "C" fn(u64, *const f32, usize) -> c_int =
                self.function("cuMemcpyHtoD_v2")?;
            succeed(alloc(&mut address, bytes))?;
            succeed(copy(address, numbers.as_ptr(), bytes))?;
        }
        Ok(ptr::with_exposed_provenance_mut(address as usize))
    }

    /// Waits for the device and copies numbers back.
    fn download(&self, from: *mut c_void, numbers: &mut [f32]) -> Result<(), Failure> {
        let bytes = size_of_val(numbers);
        // SAFETY: the type is that of `cuda.h`.
        let copy: extern "C" fn(*mut f32, u64, usize) -> c_int =
            unsafe { self.function("cuMemcpyDtoH_v2") }?;
        succeed(copy(numbers.as_mut_ptr(), from.expose_provenance() as u64, bytes))
    }
}

fn succeed(status: c_int) -> Result<(), Failure> {
    if status == 0 { Ok(()) } else { Err(format!("the driver says {status}").into()) }
}

/// Returns a view of a vector on the first GPU.
fn on_gpu<'a>(data: *mut c_void, extent: usize) -> TensorView<'a> {
    let device = Device { ty: DeviceType::CUDA, id: 0 };
    // SAFETY: the kernel stays within the vector, and nothing else uses it.
    unsafe { TensorView::from_raw(data, DType::FLOAT32, device, &[extent as i64], None) }
}

fn main() -> Result<(), Failure> {
    let code = match std::env::args_os().nth(1) {
        Some(path) => std::fs::read(path)?,
        None => CODE.to_vec(),
    };
    let library = library(code);
    print!("{library}");

    // Ahead of time: neither linking nor loading needs the driver or a toolkit.
    let shared = Request::new(Form::Shared).emit(&library)?;
    let found = driver::inspect(&shared)?;
    let names = found.undefined.iter().map(|symbol| symbol.name.as_str());
    println!("# a shared library that asks for {}", names.collect::<Vec<_>>().join(" and "));

    // In process.
    // SAFETY: the kernel of the default image, or one like it, touches only what the declaration gives it.
    let compiled = unsafe { Jit::new()?.launches() }.compile(&library)?;
    let [load, axpy] = ["load", "axpy"].map(|name| compiled.function(name));
    let (load, axpy) = (load.ok_or("not declared")?, axpy.ok_or("not declared")?);
    if let Err(error) = load.call((0,)) {
        println!("# not launched: {error}");
        return Ok(());
    }
    let driver = Driver::new()?;
    let (x, mut y) = (vec![1.0_f32; 1000], vec![2.0_f32; 1000]);
    let (on_x, on_y) = (driver.upload(&x)?, driver.upload(&y)?);
    axpy.call((&mut on_gpu(on_x, x.len()), &mut on_gpu(on_y, y.len()), 3.0))?;
    driver.download(on_y, &mut y)?;
    println!("# launched: y[0] = {}, y[999] = {}", y[0], y[999]);
    Ok(())
}
