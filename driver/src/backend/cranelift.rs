//! Cranelift.

use backend_cranelift::Cranelift;
use codegen::Backend;

use crate::{Error, Options};

pub(super) fn new(options: &Options) -> Result<Box<dyn Backend>, Error> {
    if let Some(cpu) = &options.cpu {
        let source = format!("no processor `{cpu}`: only llvm and mlir can be told one").into();
        return Err(Error::Backend { name: "cranelift", source });
    }
    Ok(Box::new(Cranelift { triple: options.target.clone() }))
}
