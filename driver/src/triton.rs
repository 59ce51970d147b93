//! Kernels of Triton, imported: their declaration as Triton's own launcher would launch them.
//!
//! Triton leaves a kernel as a cubin and a file of metadata. Neither says what the arguments are, so the kernel's
//! author does, in the words of Triton's own compiler ahead of time, with the names that are in the kernel:
//!
//! ```
//! use tvm_ffi_codegen_driver::{Error, triton};
//!
//! # let metadata = include_str!("../tests/triton/add.json");
//! # let cubin = include_bytes!("../tests/triton/add.cubin");
//! let signature = "x: *fp32[n]:16, y: *fp32[n]:16, out: *fp32[n]:16, n: i32:16, stride: i32:1, BLOCK: 1024";
//! let library = triton::import(metadata, cubin, signature, "cdiv(n, BLOCK)")?;
//! let text = "\
//! image add;
//!
//! add(x: Tensor([n], float32, device=cuda, align=16), y: Tensor([n], float32, device=cuda, align=16), \
//! out: Tensor([n], float32, device=cuda, align=16), n: int32, stride: int32) -> None
//!     where n % 16 == 0, stride == 1
//!     = {
//!         launch add.\"add\"(x.data, y.data, out.data, n, null, null) grid(ceildiv(n, 1024)) block(128);
//!     };
//! ";
//! assert_eq!(library.to_string(), text);
//! # Ok::<(), Error>(())
//! ```
//!
//! # Signatures
//! ```text
//! signature = [ name "(" ] parameter { "," parameter } [ ")" ]
//! parameter = name ":" type [ "[" shape "]" ] [ ":" hint ] [ "=" expr ]
//!           | name ":" constant | name ":" "constexpr" [ "=" constant ]
//! type      = "*" element | element | "tensordesc<" element "[" block "]" ">"
//! hint      = "16" | "1"
//! ```
//! Every parameter of the Python function is there, in order, as `triton.tools.compile` wants it; the names come in
//! front because neither file has them. Beyond that two things may be said, both of which an editor of the result
//! would otherwise write: the *shape* of a tensor, and an *expression* that a parameter is given, which then is no
//! argument of our function, such as `stride: i32:16 = x.strides[0]`. Both are of the [language](codegen::language).
//! The name in front is that of our function; without one it is the kernel's, without underscores in front.
//!
//! | Triton | declaration |
//! |---|---|
//! | `x: *fp32` | `x: Tensor([...], float32, device=cuda)`, given as `x.data`; `strides=any` where an expression has `x.strides` |
//! | `x: *fp32[n, 64]:16` | `Tensor([n, 64], float32, device=cuda, align=16)` |
//! | `n: i32`, `a: fp32` | `n: int32`, `a: float32` |
//! | `n: i32:16` | `where n % 16 == 0` |
//! | `s: i32:1` | `where s == 1`; the kernel has no such parameter |
//! | `BLOCK: 1024` | neither: the number stands where an expression or the grid has the name |
//! | `x: tensordesc<fp16[32, 32]>` | a tensor of that rank, given as a tensor map, extents and strides |
//!
//! Tuples are written out, element by element. Of a descriptor, `TensorDescriptor(padding="nan")` is
//! `fill="nan_request_zero_fma"` in the map, and `round_f32_to_tf32=True` is `dtype="tfloat32"`.
//!
//! Specialisation is no hint but a promise: code that was compiled for multiples of 16 is wrong for others. So it is
//! checked, if it is said. What Triton has specialised by itself only its IR says, `NAME.ttir` beside the cubin;
//! [`check_specialization`] asks that, and so does the command line. The grid is that of Python, one to three expressions, with `cdiv` and `//` in Python's spelling too.
//!
//! # The launch
//! As Triton 3.9 launches: `num_warps * warp_size` threads; clusters of `num_ctas` blocks, spread, and as many times
//! the grid; dynamic shared memory; `pdl` and `cooperative`. Last come two pointers that the kernel hides, to scratch
//! memory for all its blocks, `null` where it uses none. What parameters the cubin has must agree with the signature.

mod fault;
mod function;
mod metadata;
mod signature;
mod ttir;

use codegen::{GpuKernelFacts, Image, Library};

use crate::Error;
pub use fault::Fault;
use function::Function;
use metadata::Metadata;
use signature::Kernel;

/// The library of one function that launches a kernel: its metadata, its code, what its parameters are, and how many
/// programs run.
///
/// # Errors
/// [`Error::Triton`], and [`Error::Declaration`] if what is made of the names and expressions means nothing.
pub fn import(metadata: &str, cubin: &[u8], signature: &str, grid: &str) -> Result<Library, Error> {
    let metadata = Metadata::parse(metadata)?;
    let kernel = Kernel::parse(signature)?;
    let grid = kernel.grid(grid)?;
    let function = Function::new(&metadata, &kernel, &grid)?;
    let image = Image::new(&function.name).with_bytes(cubin);
    check(&image, &metadata.name, &function.params)?;
    let library = Library::new([function.build()]).with_image(image);
    match library.resolve() {
        Ok(_) => Ok(library),
        Err(source) => Err(Error::Declaration { path: None, source: Box::new(source) }),
    }
}

/// That the kernel has parameters of these sizes, where the image says which.
fn check(image: &Image, kernel: &str, given: &[u32]) -> Result<(), Fault> {
    let refused = |reason: String| Err(Fault::Kernel { name: kernel.to_owned(), reason });
    let sizes = match image.gpu_kernel(kernel) {
        GpuKernelFacts::Sizes(sizes) => sizes,
        GpuKernelFacts::Missing(_) => return refused("the cubin has no such kernel".to_owned()),
        GpuKernelFacts::Unknown => return Ok(()),
    };
    if sizes.len() != given.len() {
        return refused(format!(
            "the cubin says that it has {} parameters, two of them hidden, and the signature gives it {}",
            sizes.len(),
            given.len()
        ));
    }
    match sizes.iter().zip(given).position(|(size, given)| size != given) {
        None => Ok(()),
        Some(at) => refused(format!(
            "the cubin says that parameter {at} has {} bytes, and the signature gives it {}",
            sizes[at], given[at]
        )),
    }
}

/// Whether a signature promises less than the kernel was compiled for, of which wrong results would come: Triton's IR
/// of the kernel, and its signature.
///
/// # Errors
/// [`Error::Triton`].
///
/// ```
/// use tvm_ffi_codegen_driver::triton;
///
/// let ttir = "tt.func public @f(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) attributes {";
/// assert!(triton::check_specialization(ttir, "x: *fp32:16, n: i32, BLOCK: 64").is_ok());
/// let error = triton::check_specialization(ttir, "x: *fp32, n: i32, BLOCK: 64").unwrap_err();
/// let text = "parameter `x: *fp32`: Triton has compiled the kernel for multiples of 16: `:16`";
/// assert_eq!(error.to_string(), text);
/// ```
pub fn check_specialization(ttir: &str, signature: &str) -> Result<(), Error> {
    Ok(ttir::check(ttir, &Kernel::parse(signature)?)?)
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        Error::Triton { fault }
    }
}
