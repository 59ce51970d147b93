//! Functions that images call once they are loaded, as tests give them: closures by name, which the registry of the
//! installed runtime has, and the JIT without one.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use jit::{CallError, FfiFunction, Jit, Runtime};
use tvm_ffi_codegen_tests::ffi::installed;

/// A call after an image is loaded: the handles as numbers, and the index of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Loaded {
    pub(super) library: usize,
    pub(super) module: usize,
    pub(super) device: i64,
}

type Hook = Arc<dyn Fn(Loaded) -> Result<(), CallError> + Send + Sync>;

/// The closures, by name.
static HOOKS: Mutex<Option<HashMap<String, Hook>>> = Mutex::new(None);

/// Sets what the function of a name does from now on.
pub(super) fn set(
    name: &str,
    hook: impl Fn(Loaded) -> Result<(), CallError> + Send + Sync + 'static,
) {
    let mut all = HOOKS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.get_or_insert_default().insert(name.to_owned(), Arc::new(hook));
    drop(all);
    if known.is_none() {
        let own = name.to_owned();
        let called = move |library: *mut c_void, module: *mut c_void, device: i64| {
            call(&own, library, module, device)
        };
        let function = FfiFunction::wrap(name, called, installed());
        let function = function.unwrap_or_else(|error| panic!("{error}"));
        // SAFETY: nothing else has the name.
        let registered = unsafe { function.register_global(name, true) };
        registered.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Calls what is set for a name.
fn call(
    name: &str,
    library: *mut c_void,
    module: *mut c_void,
    device: i64,
) -> Result<(), CallError> {
    let all = HOOKS.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = all.as_ref().and_then(|all| all.get(name).cloned());
    drop(all);
    let hook = hook.ok_or_else(|| CallError::new("KeyError", name))?;
    let [library, module] = [library, module].map(|handle| handle.expose_provenance());
    hook(Loaded { library, module, device })
}

/// Gives the JIT what images call, where its runtime has no registry to find it in.
pub(super) fn give(jit: Jit, names: &[&str], runtime: &'static Runtime) -> Jit {
    if std::ptr::eq(runtime, installed()) {
        return jit;
    }
    names.iter().fold(jit, |jit, name| {
        let own = (*name).to_owned();
        let called = move |library: *mut c_void, module: *mut c_void, device: i64| {
            call(&own, library, module, device)
        };
        jit.function(name, called).unwrap_or_else(|error| panic!("{error}"))
    })
}
