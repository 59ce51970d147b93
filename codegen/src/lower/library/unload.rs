//! Unloading what a module has launched, for code that is freed: a C function that the process may call.

use crate::ir::{Builder, Linkage, Module, Signature, Symbol};
use crate::lower::cuda::kernel;
use crate::lower::launch::images::{IMAGES, KERNELS};
use crate::lower::routines::Routine;

/// `void tvm_ffi_codegen.unload(void)`: a module that [shares](crate::Routines::Shared) its routines, as code in process
/// does, exports it where it launches. It unloads every image from the driver; the next launch loads it again. Nothing
/// of the module may run meanwhile, nor a kernel of it then or later, as one in a graph would.
pub const UNLOAD: &str = "tvm_ffi_codegen.unload";

/// Adds that function, if the module launches.
pub(crate) fn unload(module: &mut Module, linkage: Linkage) {
    let all = module.data.iter().map(|data| data.symbol);
    let of = |start| all.clone().filter(|&symbol| module.name(symbol).starts_with(start)).collect();
    let (images, kernels): (Vec<Symbol>, Vec<Symbol>) = (of(IMAGES), of(KERNELS));
    if images.is_empty() {
        return;
    }
    let mut b = Builder::function(module, UNLOAD, Linkage::Export, Signature::new(&[], None));
    b.set_cold();
    let (null, zero) = (b.null(), b.i64(0));
    for symbol in kernels {
        let address = b.address(symbol);
        b.atomic_store(null, address, kernel::KERNEL);
        b.atomic_store(zero, address, kernel::DEVICES);
    }
    let routine = Routine::Unload.declare(b.module, linkage);
    for symbol in images {
        let address = b.address(symbol);
        b.call(routine, &[address]);
    }
    b.ret(None);
    let function = b.finish();
    module.functions.push(function);
}
