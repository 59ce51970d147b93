//! Declarations that headers have: those of the runtime and of the system, for a backend whose text may stand beside them.

use abi_spec::c_library::{FREE, MALLOC, loader};
use abi_spec::{layout, runtime, symbol};

pub use abi_spec::runtime::{CType, Function as RuntimeFunction};

/// Returns the function of the runtime that has a name.
///
/// ```
/// use tvm_ffi_codegen::backend::{CType, runtime_function};
///
/// let function = runtime_function("TVMFFIObjectDecRef").unwrap();
/// assert_eq!(function.header(), "tvm/ffi/c_api.h");
/// assert_eq!(function.params, [CType::Ptr("TVMFFIObjectHandle")]);
/// assert_eq!(runtime_function("malloc"), None);
/// ```
pub fn runtime_function(symbol: &str) -> Option<&'static RuntimeFunction> {
    runtime::ALL.iter().find(|function| function.name == symbol)
}

/// Returns whether a symbol is that of a `TVMFFISafeCallType`, whose second parameter, the arguments, is constant.
pub fn is_safe_call(symbol: &str) -> bool {
    symbol.starts_with(symbol::PREFIX)
}

/// Returns whether a struct of this name is defined by `tvm/ffi/c_api.h`, or by the header of DLPack that it includes.
pub fn is_runtime_struct(name: &str) -> bool {
    layout::all().any(|known| known.name == name)
}

/// Returns whether a name is that of a function of the system that lowered code calls.
pub fn is_system_function(symbol: &str) -> bool {
    let loaders = [loader::DLOPEN, loader::DLSYM, loader::LOAD_LIBRARY, loader::GET_PROC_ADDRESS];
    [MALLOC, FREE].contains(&symbol) || loaders.contains(&symbol)
}
