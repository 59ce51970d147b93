//! Compiled code as a module object of the runtime.
//!
//! The C interface cannot make a module object. But the runtime makes one of the symbols that are registered as a
//! *system library* under a prefix, so the functions of a compiled library are registered under a prefix of their own.
//! The import tree is loaded here and attached afterwards, so that loaders run before anything is registered, and
//! without a lock.

use std::ffi::CString;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use abi_spec::TypeIndex;
use abi_spec::library_bin::{ImportTree, LOADER_PREFIX, Module, Node};
use abi_spec::symbol::{LIBRARY_BIN, LIBRARY_CTX, PREFIX, system_symbol};

use crate::abi::{Any, ByteArray};
use crate::code::address::{Address, DataRange};
use crate::compiled::{Code, Compiled};
use crate::error::Error;
use crate::runtime::Runtime;
use crate::value::function::FfiFunction;
use crate::value::object::{ObjectRef, Owned, raised};
use crate::value::returned::Returned;

/// The global function that makes a module of a system library.
const SYSTEM_LIB: &str = "ffi.SystemLib";
/// The global function that attaches an import to a module.
const IMPORT: &str = "ffi.ModuleImportModule";

/// Guards the runtime's table of system libraries, which has no lock, against other threads of this crate.
static SYMBOLS: Mutex<()> = Mutex::new(());

impl Compiled {
    /// Makes an `ffi.Module` of the library, as loading a file would: with its functions, metadata and
    /// documentation (see [`JitOptions::lowering`](crate::JitOptions::lowering)), the modules that it imports,
    /// and its context, which then holds the module.
    ///
    /// Each call makes another module, also of libraries whose functions have the same names. If clones of one handle
    /// become modules, the context holds the last one. The runtime keeps modules and their imports for ever, so **the
    /// code is never freed** afterwards, nor are the values of [`Jit::keep`](crate::Jit::keep). Functions from
    /// [`Compiled::function`] need no module; without one the code is freed with the last of them.
    ///
    /// Loaders of imports run first, in the order of the tree. They may make other modules. They do not see this one.
    ///
    /// # Safety
    /// The runtime's table of symbols has no lock. Calls of this function wait for each other. While one runs, no other
    /// thread looks anything up in a module from this function or from `ffi.SystemLib`, nor registers symbols by other
    /// means. Functions that were looked up before may be called.
    ///
    /// # Errors
    /// [`Error::Unavailable`] with the built-in runtime; [`Error::Context`] if there is a closure; [`Error::Import`]
    /// for a kind without a loader, or a loader that returns no module; [`Error::Call`] if a loader raises. After these
    /// errors nothing is registered. [`Error::Call`] also if the runtime refuses to attach an import, because two
    /// loaders returned one module and there would be a cycle. Then the functions are registered under a prefix that
    /// nobody knows, and the code is never freed.
    pub unsafe fn into_module(self) -> Result<ObjectRef, Error> {
        let runtime = self.runtime();
        runtime.register_symbol()?;
        let (system_lib, import) = (global(SYSTEM_LIB, runtime)?, global(IMPORT, runtime)?);
        if let Some(closure) = self.0.entries.iter().find(|entry| entry.closure) {
            return Err(Error::Context { function: closure.name.clone() });
        }
        let tree = match self.0.data(LIBRARY_BIN) {
            // SAFETY: the range is that of a constant.
            Some(place) => ImportTree::decode(unsafe {
                std::slice::from_raw_parts(place.start.0, place.size)
            })?,
            None => own_tree(),
        };
        let mut modules = load(&tree, runtime)?;
        if let Some(library) = modules.iter_mut().find(|module| module.is_none()) {
            *library = Some(register(&self.0, &system_lib)?);
        }
        let modules: Vec<ObjectRef> = modules.into_iter().flatten().collect();
        for (node, module) in tree.nodes.iter().zip(&modules) {
            for &child in &node.children {
                import.call((module, &modules[child]))?;
            }
        }
        Ok(modules.into_iter().next().expect("a tree that has been decoded has a root"))
    }
}

impl Code {
    fn data(&self, symbol: &str) -> Option<DataRange> {
        self.data.iter().find(|(name, _)| name == symbol).map(|&(_, place)| place)
    }
}

/// The import tree of a library without imports.
fn own_tree() -> ImportTree<'static> {
    ImportTree { nodes: vec![Node { module: Module::Library, children: Vec::new() }] }
}

fn global(name: &'static str, runtime: &'static Runtime) -> Result<FfiFunction, Error> {
    // SAFETY: this file calls both functions with a text and with modules only.
    let found = unsafe { FfiFunction::global(name, runtime) }?;
    found.ok_or(Error::Unavailable { function: name })
}

/// Loads the modules of a tree; `None` stands for the library. No loader runs if one is missing.
fn load(tree: &ImportTree<'_>, runtime: &'static Runtime) -> Result<Vec<Option<ObjectRef>>, Error> {
    let loader = |node: &Node<'_>| match &node.module {
        Module::Library => Ok(None),
        Module::Custom { kind, .. } => {
            // SAFETY: a loader takes bytes, which is what this file calls it with.
            let loader =
                unsafe { FfiFunction::global(&format!("{LOADER_PREFIX}{kind}"), runtime) }?;
            let reason = "no loader of modules of that kind is registered";
            loader.map(Some).ok_or_else(|| Error::Import { kind: kind.to_string(), reason })
        }
    };
    let loaders: Vec<Option<FfiFunction>> =
        tree.nodes.iter().map(loader).collect::<Result<_, Error>>()?;
    let load_one = |(node, loader): (&Node<'_>, Option<FfiFunction>)| match (&node.module, loader) {
        (Module::Custom { kind, bytes }, Some(loader)) => {
            let module = load_module(&loader, bytes, runtime)?;
            let reason = "its loader returned no module";
            module.map(Some).ok_or_else(|| Error::Import { kind: kind.to_string(), reason })
        }
        (Module::Custom { .. }, None) | (Module::Library, _) => Ok(None),
    };
    tree.nodes.iter().zip(loaders).map(load_one).collect()
}

/// Calls a loader with bytes. Returns `None` if the result is no module.
fn load_module(
    loader: &FfiFunction,
    bytes: &[u8],
    runtime: &'static Runtime,
) -> Result<Option<ObjectRef>, Error> {
    let (array, mut owned) = (ByteArray::new(bytes), Any::NONE);
    // SAFETY: both pointers are valid; the runtime copies the bytes.
    let status = unsafe { runtime.make_bytes()?(&array, &mut owned) };
    if status != 0 {
        return Err(raised(status, runtime).into());
    }
    // SAFETY: the value comes with a reference if it is an object.
    let owned = Returned::from(unsafe { Owned::new(owned, runtime) });
    Ok(module(loader.call((&owned,))?))
}

fn module(returned: Returned) -> Option<ObjectRef> {
    returned.into_object().ok().filter(|object| object.ty() == TypeIndex::MODULE)
}

/// Registers the functions and the context under a unique prefix, and returns the module of that prefix. The import
/// tree of a library without imports is registered with them: without any tree the runtime would use that of another
/// library.
fn register(code: &Arc<Code>, system_lib: &FfiFunction) -> Result<ObjectRef, Error> {
    let tree = own_tree().encode().expect("a valid tree");
    // The runtime cannot forget addresses, so all memory that they point at is leaked.
    let tree: &'static [u8] = Box::leak(tree.into());
    let context: &'static mut *mut () = Box::leak(Box::new(ptr::null_mut()));
    std::mem::forget(code.clone());
    // The address of memory that is never freed is unique.
    let prefix = format!("tvm_ffi_codegen_{:x}_", tree.as_ptr().addr());
    let own_context = Address(ptr::from_mut(context).cast());
    let context = code.data(LIBRARY_CTX).map_or(own_context, |place| place.start);
    let fixed = [(LIBRARY_BIN, Address(tree.as_ptr())), (LIBRARY_CTX, context)];
    let entries = code
        .entries
        .iter()
        .map(|entry| (format!("{PREFIX}{}", entry.name), Address(entry.address as *const u8)));
    let fixed = fixed.map(|(name, address)| (name.to_owned(), address));
    let all = entries.chain(code.getters.iter().cloned()).chain(fixed);
    let register_symbol = code.runtime.register_symbol()?;
    let _guard = SYMBOLS.lock().unwrap_or_else(PoisonError::into_inner);
    for (symbol, address) in all {
        let name = CString::new(system_symbol(&prefix, &symbol)).unwrap_or_default();
        // SAFETY: the runtime copies the name, and the memory at the address is never freed.
        let status = unsafe { register_symbol(name.as_ptr(), address.0.cast()) };
        if status != 0 {
            return Err(raised(status, code.runtime).into());
        }
    }
    let prefix = CString::new(prefix).unwrap_or_default();
    let returned = system_lib.call((prefix.as_c_str(),))?;
    module(returned).ok_or(Error::Unavailable { function: SYSTEM_LIB })
}
