//! `jit`: declarations and addresses of kernels become a module of this process.

use std::ffi::c_void;

use ::jit::{Jit, Returned};
use abi_spec::TypeIndex;

use crate::declared::{library, lowering};
use crate::fault::Fault;
use crate::ffi::{Outcome, entries, expected};
use crate::settings::Settings;

const KNOWN: &[&str] = &["images", "imports", "prepare", "entry", "metadata", "unchecked"];

/// Compiles a text with kernels by address.
///
/// # Safety
/// The kernels keep the contract of [`Jit`]. No other thread looks anything up in a module that came from here.
pub(crate) unsafe fn jit(text: &str, kernels: &Returned, options: &Returned) -> Outcome {
    let settings = Settings::read(options, KNOWN)?;
    let library = library(text, &settings)?;
    let lowering = lowering(&settings, Jit::OPTIONS)?;
    let mut jit = Jit::new()?;
    for (name, kernel) in entries(kernels)? {
        let address = address(&name, &kernel)?;
        // SAFETY: as required above.
        jit = unsafe { jit.kernel(&name, address) };
    }
    // SAFETY: as required above: those of images are kernels too.
    let jit = unsafe { jit.launches() };
    let compiled = jit.compile_with(&library, &lowering)?;
    // SAFETY: as required above.
    Ok(unsafe { compiled.into_module() }?.into())
}

/// Where a kernel is.
fn address(name: &str, kernel: &Returned) -> Result<*const u8, Fault> {
    let pointer = <*mut c_void>::try_from(kernel.clone()).map(|pointer| pointer as usize);
    let address = pointer.or_else(|_| usize::try_from(kernel.clone()));
    let what = format!("kernels[{name:?}]");
    match address {
        Ok(0) => Err(Fault::value(format!("{what} is NULL"))),
        Ok(address) => Ok(address as *const u8),
        Err(_) if kernel.ty() == TypeIndex::INT => {
            Err(Fault::value(format!("{what} is negative, which is no address")))
        }
        Err(_) => Err(Fault::ty(expected(&what, "int or ptr", kernel))),
    }
}
