//! Backends by name, and what each yields.

use std::error;

use backend_cranelift::Cranelift;
use codegen::{Backend, ir};

use crate::emit::Kernel;
use crate::{Error, Options};

/// Every name that [`backend`] knows, whether it is part of this build or not.
pub const BACKENDS: [&str; 3] = ["cranelift", "llvm", "mlir"];

/// The backend that the options name, set up for their target.
///
/// # Errors
/// [`Error::UnknownBackend`], or [`Error::NotBuilt`] if a cargo feature is missing. Whether the backend
/// supports the target is known only when it is used.
///
/// ```
/// use tvm_ffi_codegen_driver::{Error, Options, backend};
///
/// assert_eq!(backend(&Options::default())?.name(), "cranelift");
/// let unknown = Options { backend: "gcc".to_owned(), ..Options::default() };
/// assert!(matches!(backend(&unknown), Err(Error::UnknownBackend { .. })));
/// # Ok::<(), Error>(())
/// ```
pub fn backend(options: &Options) -> Result<Box<dyn Backend>, Error> {
    match options.backend.as_str() {
        "cranelift" => Ok(Box::new(cranelift(options)?)),
        #[cfg(feature = "llvm")]
        "llvm" => Ok(Box::new(llvm::new(options))),
        #[cfg(feature = "mlir")]
        "mlir" => Ok(Box::new(mlir::new(options))),
        name => Err(absent(name)),
    }
}

/// A form that a backend makes of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// Its own text form.
    Text,
    /// LLVM bitcode.
    Bitcode,
    /// A relocatable object.
    Object,
}

/// Runs the backend that the options name, with the kernels that are in its own language.
pub(crate) fn produce(
    module: &ir::Module,
    product: Product,
    options: &Options,
) -> Result<Vec<u8>, Error> {
    match options.backend.as_str() {
        "cranelift" => with_cranelift(module, product, options),
        #[cfg(feature = "llvm")]
        "llvm" => llvm::produce(module, product, options).map_err(|e| refused("llvm", e)),
        #[cfg(feature = "mlir")]
        "mlir" => mlir::produce(module, product, options).map_err(|e| refused("mlir", e)),
        name => Err(absent(name)),
    }
}

fn refused(name: &'static str, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Error {
    Error::Backend { name, source: source.into() }
}

fn absent(name: &str) -> Error {
    match name {
        "llvm" => Error::NotBuilt { name: "backend llvm", feature: "llvm" },
        "mlir" => Error::NotBuilt { name: "backend mlir", feature: "mlir" },
        name => Error::UnknownBackend { name: name.to_owned() },
    }
}

fn cranelift(options: &Options) -> Result<Cranelift, Error> {
    if let Some(cpu) = &options.cpu {
        let reason = format!("no processor `{cpu}`: only llvm and mlir can be told one");
        return Err(refused("cranelift", reason));
    }
    Ok(Cranelift { triple: options.target.clone() })
}

fn with_cranelift(
    module: &ir::Module,
    product: Product,
    options: &Options,
) -> Result<Vec<u8>, Error> {
    if let Some(Kernel { name, .. }) = options.sources.first() {
        let reason = format!("{name} is no object, and only llvm and mlir take IR");
        return Err(refused("cranelift", reason));
    }
    let backend = cranelift(options)?;
    let bytes = match product {
        Product::Text => backend.text(module).map(String::into_bytes),
        Product::Object => backend.object(module),
        Product::Bitcode => {
            return Err(refused("cranelift", "bitcode is a form of llvm and mlir"));
        }
    };
    bytes.map_err(|source| refused("cranelift", source))
}

#[cfg(feature = "llvm")]
mod llvm {
    //! Through inkwell.

    use backend_llvm::{Error, Input, Llvm, Optimize};
    use codegen::ir;
    use inkwell::context::Context;

    use super::Product;
    use crate::emit::{Optimization, Options};

    fn optimize(level: Optimization) -> Optimize {
        match level {
            Optimization::O0 => Optimize::O0,
            Optimization::O1 => Optimize::O1,
            Optimization::O2 => Optimize::O2,
            Optimization::O3 => Optimize::O3,
        }
    }

    pub(super) fn new(options: &Options) -> Llvm {
        let (triple, optimize) = (options.target.clone(), optimize(options.optimization));
        let generic = Llvm::default().cpu;
        Llvm { triple, optimize, cpu: options.cpu.clone().unwrap_or(generic) }
    }

    fn input(kernel: &super::Kernel) -> Input<'_> {
        Input { name: &kernel.name, bytes: &kernel.bytes }
    }

    pub(super) fn produce(
        source: &ir::Module,
        product: Product,
        options: &Options,
    ) -> Result<Vec<u8>, Error> {
        let backend = new(options);
        let inputs: Vec<Input<'_>> = options.sources.iter().map(input).collect();
        let context = Context::create();
        let module = backend.module(&context, source, &inputs)?;
        match product {
            Product::Text => Ok(module.print_to_string().to_string_lossy().into_owned().into()),
            Product::Bitcode => Ok(module.write_bitcode_to_memory().as_slice().to_vec()),
            Product::Object => backend_llvm::compile(&module, &backend),
        }
    }
}

#[cfg(feature = "mlir")]
mod mlir {
    //! Through melior.

    use backend_llvm::Llvm;
    use backend_mlir::{Error, Input, Mlir, compile, object, text};
    use codegen::ir;
    use melior::Context;

    use super::Product;
    use crate::emit::Options;

    pub(super) fn new(options: &Options) -> Mlir {
        let Llvm { triple, cpu, optimize } = super::llvm::new(options);
        Mlir { triple, cpu, optimize }
    }

    fn input(kernel: &super::Kernel) -> Input<'_> {
        Input { name: &kernel.name, bytes: &kernel.bytes }
    }

    pub(super) fn produce(
        source: &ir::Module,
        product: Product,
        options: &Options,
    ) -> Result<Vec<u8>, Error> {
        let backend = new(options);
        let inputs: Vec<Input<'_>> = options.sources.iter().map(input).collect();
        let context = Context::new_with_threading(false);
        let module = backend.module(&context, source, &inputs)?;
        match product {
            Product::Text => Ok(text(&module, source).into_bytes()),
            Product::Bitcode => {
                let llvm = inkwell::context::Context::create();
                let module = object::translate(&context, &module, &llvm)?;
                Ok(module.write_bitcode_to_memory().as_slice().to_vec())
            }
            Product::Object => compile(&context, &module, &backend),
        }
    }
}
