//! The addresses of symbols that code refers to and its module does not define.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cranelift_jit::JITModule;
use cranelift_module::{Linkage, Module, ModuleRelocTarget};
use tvm_ffi_codegen::ir::Signature;

use super::address::Address;
use super::missing::{Missing, lock};
use super::routines::SharedRoutines;
use crate::error::Error;
use crate::runtime::{self, Runtime};

/// A shared handle to the symbols: the [`Jit`](crate::Jit) adds kernels, and the JIT module looks symbols up.
#[derive(Clone)]
pub(crate) struct Symbols(Arc<Shared>);

struct Shared {
    runtime: &'static Runtime,
    routines: &'static SharedRoutines,
    kernels: Mutex<HashMap<String, Kernel>>,
    missing: Missing,
    /// True while [`Symbols::check`] looks for symbols that the module promised to define: every lookup is a failure.
    checking: AtomicBool,
}

/// A C function that code may call.
struct Kernel {
    address: Address,
    /// Its type; `None` if only the address is known.
    signature: Option<Signature>,
    /// True once code has referred to the kernel, and for one of another library.
    is_called: bool,
}

impl Symbols {
    pub(crate) fn new(runtime: &'static Runtime, routines: &'static SharedRoutines) -> Symbols {
        Symbols(Arc::new(Shared {
            runtime,
            routines,
            kernels: Mutex::default(),
            missing: Missing::default(),
            checking: AtomicBool::new(false),
        }))
    }

    /// The runtime that the code calls.
    pub(crate) fn runtime(&self) -> &'static Runtime {
        self.0.runtime
    }

    /// Defines a kernel. One of the same name is replaced.
    pub(crate) fn define(&self, name: &str, address: *const u8, signature: Option<Signature>) {
        let kernel = Kernel { address: Address(address), signature, is_called: false };
        lock(&self.0.kernels).insert(name.to_owned(), kernel);
    }

    /// Defines a function of another library, whose type is not known or is checked elsewhere. It replaces one of the
    /// same name.
    pub(crate) fn import(&self, name: &str, address: *const u8) {
        let kernel = Kernel { address: Address(address), signature: None, is_called: true };
        lock(&self.0.kernels).insert(name.to_owned(), kernel);
    }

    /// Defines the kernels that were given to another library.
    pub(crate) fn import_kernels(&self, from: &Symbols) {
        if Arc::ptr_eq(&self.0, &from.0) {
            return;
        }
        let given: Vec<(String, Kernel)> = {
            let kernels = lock(&from.0.kernels);
            let kernel = |(name, kernel): (&String, &Kernel)| {
                let signature = kernel.signature.clone();
                (name.clone(), Kernel { address: kernel.address, signature, is_called: true })
            };
            kernels.iter().map(kernel).collect()
        };
        lock(&self.0.kernels).extend(given);
    }

    /// Returns the address of a kernel.
    pub(crate) fn kernel(&self, name: &str) -> Option<Address> {
        lock(&self.0.kernels).get(name).map(|kernel| kernel.address)
    }

    /// Returns the names of the kernels, in alphabetical order.
    pub(crate) fn kernels(&self) -> Vec<String> {
        let mut names: Vec<String> = lock(&self.0.kernels).keys().cloned().collect();
        names.sort_unstable();
        names
    }

    /// True for the name of a routine.
    pub(crate) fn is_routine(&self, name: &str) -> bool {
        self.0.routines.has(name)
    }

    /// Loads the routines among these names together.
    pub(crate) fn load_routines<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<(), Error> {
        self.0.routines.load(names)
    }

    /// Finds a routine, a function of the runtime, or a kernel: the symbols that declarations may refer to.
    pub(crate) fn find(&self, name: &str) -> Option<Address> {
        self.find_fixed(name).or_else(|| {
            let mut kernels = lock(&self.0.kernels);
            let kernel = kernels.get_mut(name)?;
            kernel.is_called = true;
            Some(kernel.address)
        })
    }

    /// Finds a routine or a function of the runtime. Both precede kernels of the same name.
    fn find_fixed(&self, name: &str) -> Option<Address> {
        let routine = self.0.routines.find(name);
        routine.or_else(|| self.0.runtime.symbol(name).map(|symbol| Address(symbol.cast())))
    }

    /// Checks that the kernel that a symbol stands for, if any, has the type that it is called with.
    pub(crate) fn check_type(&self, name: &str, called: &Signature) -> Result<(), Error> {
        let kernels = lock(&self.0.kernels);
        let given = kernels.get(name).and_then(|kernel| kernel.signature.as_ref());
        match given.filter(|given| *given != called && self.find_fixed(name).is_none()) {
            Some(given) => Err(Error::Kernel {
                symbol: name.to_owned(),
                called: Box::new(called.clone()),
                given: Box::new(given.clone()),
            }),
            None => Ok(()),
        }
    }

    /// Returns the names of the kernels that no code refers to, in alphabetical order.
    pub(crate) fn uncalled(&self) -> Vec<String> {
        let kernels = lock(&self.0.kernels);
        let uncalled = kernels.iter().filter(|(_, kernel)| !kernel.is_called);
        let mut names: Vec<String> = uncalled.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        names
    }

    /// Looks a symbol up for the JIT module, also in the process. [`Symbols::finish`] fails if it is not found.
    pub(crate) fn answer(&self, name: &str) -> *const u8 {
        let found = match self.0.checking.load(Ordering::Relaxed) {
            true => None,
            false => self.find(name).or_else(|| runtime::process_symbol(name).map(Address)),
        };
        self.0.missing.or_note(name, found.map(|address| address.0))
    }

    /// Checks that all functions and data that the module declares exist. Imports of the user's own code may also come
    /// from the process.
    pub(crate) fn check(&self, module: &JITModule) -> Result<(), Error> {
        let ask = |linkage: Linkage, name: Option<&str>, target: ModuleRelocTarget| match name {
            Some(name) if linkage == Linkage::Import => {
                self.answer(name);
            }
            Some(_) => {
                self.0.checking.store(true, Ordering::Relaxed);
                module.get_address(&target);
                self.0.checking.store(false, Ordering::Relaxed);
            }
            None => {}
        };
        let declarations = module.declarations();
        for (id, declaration) in declarations.get_functions() {
            ask(declaration.linkage, declaration.name.as_deref(), id.into());
        }
        for (id, declaration) in declarations.get_data_objects() {
            ask(declaration.linkage, declaration.name.as_deref(), id.into());
        }
        self.finish()
    }

    /// Returns an error that names the symbols that were not found.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        self.0.missing.check()
    }
}
