//! Compiles declarations in process with Cranelift.
//!
//! Declare a function, give its kernels, and call it: from Rust, or as a function object of the runtime
//! from any language with TVM FFI.
//!
//! ```
//! use tvm_ffi_codegen::Library;
//! use tvm_ffi_codegen_jit::Jit;
//!
//! extern "C" fn add_one_kernel(x: *const f32, y: *mut f32, n: i64) {
//!     for i in 0..n as usize {
//!         // SAFETY: the declaration says that both have `n` elements.
//!         unsafe { *y.add(i) = *x.add(i) + 1.0 };
//!     }
//! }
//!
//! let library: Library = "
//!     add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32)) -> None
//!         = add_one_kernel(x.data, y.data, n);
//! ".parse()?;
//! let kernel: extern "C" fn(_, _, _) = add_one_kernel;
//! // SAFETY: the kernel is sound for vectors of one length, and only reads `x`.
//! let jit = unsafe { Jit::new()?.kernel("add_one_kernel", kernel) };
//! let add_one = jit.compile(&library)?.function("add_one").expect("it is declared");
//!
//! let (x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
//! add_one.call((&x, &mut y))?;
//! assert_eq!(y, [2.0, 3.0, 4.0]);
//!
//! let mut short = [0.0_f32; 2];
//! assert_eq!(
//!     add_one.call((&x, &mut short)).unwrap_err().to_string(),
//!     "ValueError: Mismatched y.shape[0] on argument #1 when calling: \
//!      `add_one(x: Tensor([n], float32, access=read), y: Tensor([n], float32))`, \
//!      expected 3 (= x.shape[0]) but got 2"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Arguments and results
//! A call takes a tuple of arguments, see [`IntoArg`]: numbers, text, objects, slices and other views of memory as
//! tensors. Its result converts: `i64::try_from(returned)?`, `returned.text()?`,
//! `returned.tensor()?.as_slice::<f32>()?`. Tensors are never copied; their memory is borrowed, as shared where the
//! declaration says `access=read`.
//!
//! [`Compiled::typed`] checks the Rust types of arguments and result against the declaration once:
//! `compiled.typed::<(&[f32], &mut [f32]), ()>("add_one")?.call((&x, &mut y))?`.
//!
//! # Functions of Rust, and errors
//! [`Jit::function`] lets bodies call a closure, and [`FfiFunction::wrap`] makes a function object of one for any language;
//! errors that it returns are raised with their kinds. [`raise()`] raises one from a kernel with a status.
//!
//! # The runtime
//! Code calls `TVMFFI*` functions, to raise errors for instance. They come from `libtvm_ffi` if the process has loaded
//! it or `TVM_FFI_LIBRARY` names it, else from a small runtime in this crate, so that nothing but Rust is needed.
//! [`runtime`] returns the default, and [`JitOptions`] can name another.
//!
//! # Lifetime and threads
//! [`Compiled`], [`HostFunction`], [`TypedFunction`] and [`FfiFunction`] are handles, which any thread may use. The
//! code is freed with the last handle and the last reference to a function object of it. Libraries share pages of
//! memory, so that only memory limits their number.
//!
//! A host gets all functions as one object by [`Compiled::into_functions`], which keeps that rule. The code of a
//! library that became a module object, [`Compiled::into_module`], is never freed.
//!
//! # Debuggers, profilers, unwinders
//! The code has unwind tables, so that backtraces and exceptions of C++ pass through it: on x86-64 exact at every
//! instruction, on aarch64 right at calls, not where a frame is made or left. [`Observers`] announces
//! functions by name to GDB, LLDB and `perf`, and the lines of declarations with locations to the debuggers.
//!
//! # Unsafety
//! Calling a function is safe. What it does is promised by whoever gives it kernels ([`Jit`], [`Jit::import`]), lets
//! its body call other functions ([`Jit::calls`]) or launch GPU kernels ([`Jit::launches`]), takes it from elsewhere
//! ([`FfiFunction`]), or passes it an address ([`Arg::pointer`]). Inside the crate `unsafe` is in
//! the modules that deal with the C ABI (`abi`, `builtin`, `runtime`, `value`, `compiled`, `closure`, `module_object`,
//! `function_map`, `wrapped`, `given`, `jit`, `give`) and with machine code (`code`).
//!
//! # Layers
//! Modules from the lowest to the highest, each of which uses lower ones only: `abi`, `kernel`, `error`, `builtin`,
//! `runtime`, `value`, `code`, `compiled`, `closure`, `typed`, `module_object`, `function_map`, `raise`, `wrapped`,
//! `given`, `declared`, `signatures`, `options`, `jit`, `give`.

/// Calls a macro once for each number of type names, 0 to 16.
macro_rules! arities {
    ($callback:ident) => { arities! { @ $callback; ; A B C D E F G H I J K L M N O P } };
    (@ $callback:ident; $($names:ident)*; ) => { $callback! { $($names)* } };
    (@ $callback:ident; $($names:ident)*; $next:ident $($rest:ident)*) => {
        $callback! { $($names)* }
        arities! { @ $callback; $($names)* $next; $($rest)* }
    };
}

pub mod abi;

mod builtin;
mod closure;
mod code;
mod compiled;
mod declared;
mod error;
mod function_map;
mod give;
mod given;
mod jit;
mod kernel;
mod module_object;
mod options;
mod raise;
mod runtime;
mod signatures;
mod typed;
mod unwinding;
mod value;
mod wrapped;

pub use abi_spec::{DType, Device, DeviceType, TypeIndex};
pub use closure::Context;
pub use code::machine::OptLevel;
pub use code::observers::Observers;
pub use compiled::{Compiled, HostFunction};
pub use error::{CallError, Error};
pub use jit::Jit;
pub use kernel::{KernelFn, KernelResult, KernelType};
pub use options::JitOptions;
pub use raise::raise;
pub use runtime::{Origin, Runtime, runtime};
pub use signatures::Signatures;
pub use typed::{TypedArg, TypedArgs, TypedFunction, TypedResult};
pub use value::arg::{Arg, Held, IntoArg};
pub use value::args::Args;
pub use value::array::{ArrayObject, ShapeObject};
pub use value::content::Content;
pub use value::element::{Elements, TensorElement};
pub use value::function::FfiFunction;
pub use value::held::{Bytes, HeldBytes, HeldTensor, HeldText};
pub use value::object::ObjectRef;
pub use value::returned::Returned;
pub use value::tensor::TensorObject;
pub use value::view::TensorView;
pub use wrapped::{ClosureParam, ClosureResult, IntoFunction};

/// Tests the example in a chapter of the guide. The chapter is in `codegen`, on which this crate depends.
#[cfg(doctest)]
#[doc = include_str!("../../codegen/src/guide/comparison.md")]
struct Comparison;

/// Tests the examples in another one.
#[cfg(doctest)]
#[doc = include_str!("../../codegen/src/guide/launches.md")]
struct Launches;

/// Tests the blocks of Rust on the pages about the language.
#[cfg(doctest)]
#[doc = include_str!("../../codegen/src/guide/language/scalars.md")]
#[doc = include_str!("../../codegen/src/guide/language/names.md")]
#[doc = include_str!("../../codegen/src/guide/language/tensors.md")]
#[doc = include_str!("../../codegen/src/guide/language/layout.md")]
#[doc = include_str!("../../codegen/src/guide/language/access.md")]
#[doc = include_str!("../../codegen/src/guide/language/extents.md")]
#[doc = include_str!("../../codegen/src/guide/language/dtypes.md")]
#[doc = include_str!("../../codegen/src/guide/language/where.md")]
#[doc = include_str!("../../codegen/src/guide/language/optional.md")]
#[doc = include_str!("../../codegen/src/guide/language/unions.md")]
#[doc = include_str!("../../codegen/src/guide/language/containers.md")]
#[doc = include_str!("../../codegen/src/guide/language/texts.md")]
#[doc = include_str!("../../codegen/src/guide/language/results.md")]
#[doc = include_str!("../../codegen/src/guide/language/statuses.md")]
#[doc = include_str!("../../codegen/src/guide/language/functions.md")]
#[doc = include_str!("../../codegen/src/guide/language/closures.md")]
#[doc = include_str!("../../codegen/src/guide/language/programs.md")]
#[doc = include_str!("../../codegen/src/guide/language/launches.md")]
#[doc = include_str!("../../codegen/src/guide/language/variables.md")]
struct Language;

/// Checks which types are `Send` and `Sync`.
const _: () = {
    const fn sent_and_shared<T: Send + Sync>() {}
    const fn sent<T: Send>() {}
    sent_and_shared::<Compiled>();
    sent_and_shared::<HostFunction>();
    sent_and_shared::<TypedFunction<(&[f32],), TensorObject>>();
    sent_and_shared::<FfiFunction>();
    sent_and_shared::<TensorView<'_>>();
    sent_and_shared::<TensorObject>();
    sent_and_shared::<ShapeObject>();
    sent_and_shared::<Context>();
    sent_and_shared::<Runtime>();
    sent_and_shared::<Error>();
    sent_and_shared::<CallError>();
    sent_and_shared::<JitOptions>();
    sent_and_shared::<Signatures>();
    sent::<Jit>();
};
