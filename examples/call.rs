//! Shared parts of the examples of the native tiers: the declaration, and a call of its compiled wrapper.

use std::ffi::c_void;
use std::ptr;

use codegen::ir::{self, Linkage, Signature};
use codegen::{Error, Library, Options, lower};
use jit::abi::{Any, SafeCall};
use jit::{Arg, TensorView, runtime};

/// Returns the host IR of `add_one`, and the signature of the kernel that it calls.
pub(crate) fn add_one() -> Result<(ir::Module, Signature), Error> {
    let library: Library = "
        add_one(x: Tensor([n], float32), y: Tensor([n], float32)) -> None
            = add_one_kernel(x.data, y.data, n);
    "
    .parse()?;
    let resolved = library.resolve()?;
    let kernel = resolved.kernels().remove(0);
    Ok((lower(&resolved, &Options::default()), kernel.signature))
}

/// Returns the functions of the runtime that host code calls, by name.
pub(crate) fn imports(source: &ir::Module) -> impl Iterator<Item = (&str, *const c_void)> {
    let imports = source.symbols.iter().filter(|symbol| symbol.linkage == Linkage::Import);
    imports.filter_map(|symbol| Some((symbol.name.as_str(), runtime().symbol(&symbol.name)?)))
}

/// Calls `add_one` as a host does, once correctly and once with an output that is too short.
///
/// # Safety
/// `code` is the address of the wrapper of [`add_one`], ready to be called.
pub(crate) unsafe fn call(code: *const u8) {
    // SAFETY: this is the type of every wrapper.
    let function: SafeCall = unsafe { std::mem::transmute(code) };
    let (x, mut y) = ([1.0_f32, 2.0, 3.0], [0.0_f32; 3]);
    for len in [3, 2] {
        let (x, mut y) = (TensorView::new(&x), TensorView::new(&mut y[..len]));
        let args = [Arg::from(&x), Arg::from(&mut y)].map(|arg| *arg.as_raw());
        let mut result = Any::NONE;
        // SAFETY: two values that live long enough, and a place for a result.
        let status = unsafe { function(ptr::null_mut(), args.as_ptr(), 2, &mut result) };
        println!("add_one with {len} elements of y: status {status}");
    }
    println!("add_one({x:?}) = {y:?}");
}
