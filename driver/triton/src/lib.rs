//! Declarations that launch kernels of Triton as Triton's own launcher does.
//!
//! Triton compiles a kernel to an image (a cubin, or an `hsaco` for AMD) and a file of metadata. Neither holds the
//! types of the parameters, so the author of the kernel writes them, in the syntax of Triton's ahead-of-time compiler,
//! with the names of the parameters:
//!
//! ```
//! use tvm_ffi_codegen_triton::{Error, import};
//!
//! # let metadata = include_str!("../../tests/triton/add.json");
//! # let code = include_bytes!("../../tests/triton/add.cubin");
//! let signature = "x: *fp32[n]:16, y: *fp32[n]:16, out: *fp32[n]:16, n: i32:16, stride: i32:1, BLOCK: 1024";
//! let library = import(metadata, code, signature, "cdiv(n, BLOCK)")?;
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
//! parameter = name ":" type [ "[" shape "]" ] [ ":" hint ] [ "=" ( expr | corners ) ]
//!           | name ":" constant | name ":" "constexpr" [ "=" constant ]
//! type      = "*" element | "*k" element | element | "tensordesc<" element "[" block "]" [ "," layout ] ">"
//!           | "tensordesc_im2col<" element "[" block "]" "," "input_rank=" int [ "," layout ] ">"
//! corners   = "im2col(lower=[" expr { "," expr } "], upper=[" … "]" [ ", steps=[" … "]" ] ")"
//! hint      = "16" | "1" | "S"
//! ```
//! The signature lists every parameter of the Python function, in order, as `triton.tools.compile` wants it; each has
//! its name in front, because neither file has the names. Two additions save editing the result: the *shape* of a
//! tensor, and an *expression* that the kernel gets instead of an argument, such as `stride: i32:16 = x.strides[0]`;
//! for a descriptor of columns of pixels the *corners*, which Python gives to `TensorDescriptorIm2Col`. All are written
//! in the [language](codegen::language) of declarations. The name in front of the parentheses names the declared
//! function; without one the function has the name of the kernel.
//!
//! | Triton | declaration |
//! |---|---|
//! | `x: *fp32` | `x: Tensor([...], float32, device=cuda)`, passed as `x.data`; `strides=any` where an expression has `x.strides` |
//! | `x: *kfp32` (`x: tl.const`) | `Tensor([...], float32, device=cuda, access=read)` |
//! | `x: *fp32[n, 64]:16` | `Tensor([n, 64], float32, device=cuda, align=16)` |
//! | `n: i32`, `a: fp32` | `n: int32`, `a: float32` |
//! | `x: *fp32:S`, for AMD | `where x.numel < 536870912`: less than 2 GiB |
//! | `n: i32:16` | `where n % 16 == 0` |
//! | `s: i32:1` | `where s == 1`; the kernel has no such parameter |
//! | `BLOCK: 1024` | nothing: the number replaces the name in expressions and in the grid |
//! | `x: tensordesc<fp16[32, 32]>` | a tensor of that rank, passed as a tensor map, extents and strides |
//! | `x: tensordesc_im2col<fp16[128, 64],input_rank=4> = im2col(lower=[-1, -1], upper=[-1, -1])` | likewise with a map of columns: 128 pixels of 64 channels |
//!
//! Tuples are written element by element. `TensorDescriptor(padding="nan")` becomes `fill="nan_request_zero_fma"` of
//! the map, and `round_f32_to_tf32=True` becomes `dtype="tfloat32"`. `pixel_box_lower_corner`, `pixel_box_upper_corner`
//! and `element_strides` of a `TensorDescriptorIm2Col` are `lower`, `upper` and `steps`; they are expressions, such as
//! `-padding`, and of the metadata's `is_im2col`, `block_size` and `swizzle` the rest follows.
//!
//! Triton's metadata does not say which parameters a kernel only reads, nor does what it leaves of a kernel for NVIDIA.
//! It is known where the kernel declares a parameter as `tl.const`: Triton then refuses stores, and its signature has
//! `*kfp32`, also in the IR (`!tt.ptr<f32, "constant">`). That becomes `access=read`. Where a kernel has no such
//! declaration, its author may write the `k` all the same, and promises what it says; without it nothing is said.
//!
//! A specialisation is a promise: code that was compiled for multiples of 16 computes wrong results for other values.
//! So the declaration checks every hint of the signature. Hints that Triton found by itself are only in its IR,
//! `NAME.ttir` beside the image; [`check_specialization`] compares them with the signature, and so does the command
//! line. The grid is Python's, one to three expressions, and may use `cdiv` and `//`.
//!
//! # For launchers
//! With the grid `...` the function is for a launcher that has looked at the arguments and chosen the kernel by them:
//! it checks no assumption. Addresses come as `ptr`; an argument that is 1 is passed and not used; a descriptor comes
//! as a tensor at its address, its extents and its strides, one of columns also with its lower and upper corners and
//! its steps; behind the arguments stand a tensor, on whose device the kernel runs, a stream, and the number of
//! programs in three directions.
//!
//! ```
//! use tvm_ffi_codegen_triton::{Error, import};
//!
//! # let metadata = include_str!("../../tests/triton/add.json");
//! # let code = include_bytes!("../../tests/triton/add.cubin");
//! let signature = "x: *fp32:16, y: *fp32:16, out: *fp32:16, n: i32:16, stride: i32:1, BLOCK: 1024";
//! let library = import(metadata, code, signature, "...")?;
//! let text = "\
//! image add;
//!
//! add(x: ptr, y: ptr, out: ptr, n: int32, stride: int32, \
//! `launch.device`: Tensor([...], any, strides=any, device=cuda), `launch.stream`: Stream, \
//! `launch.x`: int64, `launch.y`: int64, `launch.z`: int64) -> None
//!     = {
//!         launch add.\"add\"(x, y, out, n, null, null) grid(`launch.x`, `launch.y`, `launch.z`) block(128) \
//! on `launch.device` stream `launch.stream`;
//!     };
//! ";
//! assert_eq!(library.to_string(), text);
//! # Ok::<(), Error>(())
//! ```
//!
//! # The launch
//! The launch is that of Triton 3.9: `num_warps * warp_size` threads; clusters of `num_ctas` blocks, spread, and the
//! grid times `num_ctas`; dynamic shared memory; `pdl` and `cooperative`. The last two parameters, which the kernel
//! hides, are pointers to scratch memory for all its blocks, `null` where it uses none. The sizes of the parameters in
//! the image must agree with the signature. What Triton 3.6 compiles is launched likewise, except descriptors for
//! devices without tensor maps, whose kernels have a parameter less: they are refused.

#![forbid(unsafe_code)]

mod descriptor;
mod error;
mod function;
mod metadata;
mod scan;
mod signature;
mod ttir;

use codegen::{GpuKernelFacts, Image, Library};

pub use error::Error;
use function::Function;
use metadata::Metadata;
use signature::KernelSignature;

/// Declares one function that launches a kernel: from the kernel's metadata, its code, its signature and its grid, the
/// number of programs in each direction.
///
/// # Errors
/// [`Error::Declaration`] if the names and expressions form no valid declaration; else the variant that names the part
/// at fault.
pub fn import(metadata: &str, image: &[u8], signature: &str, grid: &str) -> Result<Library, Error> {
    let metadata = Metadata::parse(metadata)?;
    let kernel = KernelSignature::parse(signature)?;
    let grid = kernel.grid(grid)?;
    let function = Function::new(&metadata, &kernel, grid)?;
    let image = Image::new(&function.name).with_bytes(image);
    check_sizes(&image, &metadata.name, &function.params)?;
    let library = Library::new([function.build()]).with_image(image);
    match library.resolve() {
        Ok(_) => Ok(library),
        Err(source) => Err(Error::Declaration { source: Box::new(source) }),
    }
}

/// Checks that the kernel's parameters have these sizes in bytes, if the image records their sizes.
fn check_sizes(image: &Image, kernel: &str, given: &[u32]) -> Result<(), Error> {
    let refused = |reason: String| Err(Error::Kernel { name: kernel.to_owned(), reason });
    let sizes = match image.gpu_kernel(kernel) {
        GpuKernelFacts::Sizes(sizes) => sizes,
        GpuKernelFacts::Missing(_) => return refused("the image has no such kernel".to_owned()),
        GpuKernelFacts::Unknown => return Ok(()),
    };
    if sizes.len() != given.len() {
        return refused(format!(
            "the image says that it has {} parameters, two of them hidden, and the signature gives it {}",
            sizes.len(),
            given.len()
        ));
    }
    match sizes.iter().zip(given).position(|(size, given)| size != given) {
        None => Ok(()),
        Some(at) => refused(format!(
            "the image says that parameter {at} has {} bytes, and the signature gives it {}",
            sizes[at], given[at]
        )),
    }
}

/// Checks that a signature has every hint that Triton's IR of the kernel has: without one the declaration would accept
/// arguments for which the kernel computes wrong results.
///
/// # Errors
/// [`Error::Parameter`].
///
/// ```
/// use tvm_ffi_codegen_triton::check_specialization;
///
/// let ttir = "tt.func public @f(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) attributes {";
/// assert!(check_specialization(ttir, "x: *fp32:16, n: i32, BLOCK: 64").is_ok());
/// let error = check_specialization(ttir, "x: *fp32, n: i32, BLOCK: 64").unwrap_err();
/// let text = "parameter `x: *fp32`: Triton has compiled the kernel for multiples of 16: `:16`";
/// assert_eq!(error.to_string(), text);
/// ```
pub fn check_specialization(ttir: &str, signature: &str) -> Result<(), Error> {
    ttir::check(ttir, &KernelSignature::parse(signature)?)
}
