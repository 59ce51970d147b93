//! Backends by name.

use std::fmt;
use std::str::FromStr;

use backend_c::C;
use backend_cranelift::Cranelift;
use codegen::Backend;
#[cfg(feature = "llvm")]
use {backend_llvm::Llvm, codegen::backend::Optimize};

use crate::{Error, Request};

/// Name of a backend, whether this build has the backend or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendName {
    /// Cranelift, in every build.
    #[default]
    Cranelift,
    /// LLVM, with the cargo feature `llvm`.
    Llvm,
    /// MLIR, with the cargo feature `mlir`.
    Mlir,
    /// C, in every build; objects need a C compiler.
    C,
}

impl BackendName {
    /// Every backend.
    pub const ALL: [BackendName; 4] =
        [BackendName::Cranelift, BackendName::Llvm, BackendName::Mlir, BackendName::C];

    /// The name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            BackendName::Cranelift => "cranelift",
            BackendName::Llvm => "llvm",
            BackendName::Mlir => "mlir",
            BackendName::C => "c",
        }
    }
}

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for BackendName {
    type Err = Error;

    fn from_str(name: &str) -> Result<BackendName, Error> {
        let known = BackendName::ALL.into_iter().find(|backend| backend.name() == name);
        known.ok_or_else(|| Error::UnknownBackend { name: name.to_owned() })
    }
}

impl Request {
    /// Sets up the backend for the target. Whether the backend supports the target shows when the backend is used.
    ///
    /// # Errors
    /// [`Error::NotBuilt`] if a cargo feature is missing; [`Error::Backend`] if `cpu` is given for Cranelift or C.
    pub fn backend(&self) -> Result<Box<dyn Backend>, Error> {
        match self.backend {
            BackendName::Cranelift => self.cranelift(),
            #[cfg(feature = "llvm")]
            BackendName::Llvm => {
                let (triple, cpu, optimize) = self.machine();
                Ok(Box::new(Llvm { triple, cpu, optimize }))
            }
            #[cfg(not(feature = "llvm"))]
            BackendName::Llvm => Err(Error::NotBuilt { name: "backend llvm", feature: "llvm" }),
            #[cfg(feature = "mlir")]
            BackendName::Mlir => {
                let (triple, cpu, optimize) = self.machine();
                Ok(Box::new(backend_mlir::Mlir { triple, cpu, optimize }))
            }
            #[cfg(not(feature = "mlir"))]
            BackendName::Mlir => Err(Error::NotBuilt { name: "backend mlir", feature: "mlir" }),
            BackendName::C => {
                self.generic()?;
                Ok(Box::new(C::new(self.target.clone(), self.optimization)))
            }
        }
    }

    fn cranelift(&self) -> Result<Box<dyn Backend>, Error> {
        self.generic()?;
        Ok(Box::new(Cranelift { triple: self.target.clone() }))
    }

    /// Checks that no processor is given.
    fn generic(&self) -> Result<(), Error> {
        let Some(cpu) = &self.cpu else { return Ok(()) };
        let source = format!("no processor `{cpu}`: only llvm and mlir can be told one").into();
        Err(Error::Backend { name: self.backend.name(), source })
    }

    /// Returns the settings of LLVM: target, processor, level of optimization.
    #[cfg(feature = "llvm")]
    fn machine(&self) -> (target_lexicon::Triple, String, Optimize) {
        let cpu = self.cpu.clone().unwrap_or_else(|| Llvm::default().cpu);
        (self.target.clone(), cpu, self.optimization)
    }
}
