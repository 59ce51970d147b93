//! A module whose only function is a constructor.

use codegen::ir::{Builder, Linkage, Module, Signature, verify};

/// Returns the module. The constructor does nothing.
pub(crate) fn module() -> Module {
    let mut module = Module::default();
    let nothing = Signature::new(&[], None);
    let mut b = Builder::function(&mut module, "start", Linkage::Local, nothing);
    b.ret(None);
    let function = b.finish();
    module.constructors.push(function.symbol);
    module.functions.push(function);
    verify(&module).unwrap();
    module
}
