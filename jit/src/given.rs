//! Functions that a JIT is given for bodies to call: by name, `@"name"(…)`, and by symbol, `@name(…)`.

use abi_spec::runtime::FUNCTION_CALL;
use abi_spec::symbol::function_symbol;
use tvm_ffi_codegen::ir::{Builder, Linkage, Module, Signature, SymbolKind, Type};
use tvm_ffi_codegen::linker::callee_variable;

use crate::abi::Object;
use crate::code::address::DataRange;
use crate::value::function::FfiFunction;

/// A function for bodies to call.
pub(crate) struct GivenFunction {
    pub(crate) name: String,
    pub(crate) function: FfiFunction,
}

impl GivenFunction {
    /// The symbol of the variable in which compiled code looks for the function of this name.
    pub(crate) fn variable(&self) -> String {
        callee_variable(&self.name)
    }

    /// The symbol by which bodies call the function.
    pub(crate) fn symbol(&self) -> String {
        function_symbol(&self.name)
    }

    /// Returns a module that defines the symbol: a function that calls the object, which must outlive it.
    pub(crate) fn thunk(&self) -> Module {
        let mut module = Module::default();
        let [pointer, number] = [Type::Ptr, Type::I32];
        let of = |params: &[Type]| Signature::new(params, Some(number));
        let signature = of(&[pointer, pointer, number, pointer]);
        let kind = SymbolKind::Function(signature.clone());
        let call = module.declare(FUNCTION_CALL.name, Linkage::Import, kind);
        let mut b = Builder::function(&mut module, &self.symbol(), Linkage::Local, signature);
        let (null, address) = (b.null(), b.i64(self.function.as_raw().expose_provenance() as i64));
        let object = b.ptr_add(null, address);
        let [args, count, result] = [1, 2, 3].map(|index| b.param(index));
        let status = b.call_value(call, &[object, args, count, result]);
        b.ret(Some(status));
        let function = b.finish();
        module.functions.push(function);
        module
    }

    /// Fills the variable, so that code finds the function there, and looks for no other.
    ///
    /// # Safety
    /// The place is that of the variable, whose code is not running, and is freed before this function.
    pub(crate) unsafe fn fill(&self, place: DataRange) {
        // SAFETY: the variable is writable, and as large as an address.
        unsafe { place.start.0.cast_mut().cast::<*mut Object>().write(self.function.as_raw()) };
    }
}
