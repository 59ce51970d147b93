//! Backends: one table of their names, the cargo features that they need, and what sets them up.

use std::fmt;
use std::str::FromStr;

use codegen::Backend;
#[cfg(feature = "llvm")]
use codegen::backend::Optimize;

use crate::{Error, Request};

/// Defines [`BackendName`] and [`Request::backend`] by rows: attributes, variant, name, cargo feature, and the
/// backend of a request, which may fail.
macro_rules! backends {
    ($(
        $(#[$attribute:meta])* $backend:ident $name:literal $($feature:literal)? =>
        |$request:ident| $made:expr;
    )*) => {
        /// Name of a backend, whether this build has the backend or not.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum BackendName {
            $($(#[$attribute])* $backend,)*
        }

        impl BackendName {
            /// Every backend.
            pub const ALL: &'static [BackendName] = &[$(BackendName::$backend),*];

            /// The names of the backends of this build.
            pub const BUILT: &'static [&'static str] = &[$($(#[cfg(feature = $feature)])? $name),*];

            /// The name in lower case.
            pub const fn name(self) -> &'static str {
                match self {
                    $(BackendName::$backend => $name,)*
                }
            }
        }

        impl Request {
            /// Sets up the backend for the target. Whether the backend supports the target shows when the backend is
            /// used.
            ///
            /// # Errors
            /// [`Error::NotBuilt`] if a cargo feature is missing; [`Error::Backend`] if `cpu` is given for Cranelift or
            /// C, or `features` are for C.
            pub fn backend(&self) -> Result<Box<dyn Backend>, Error> {
                match self.backend {
                    $(
                        $(#[cfg(feature = $feature)])?
                        BackendName::$backend => {
                            let $request = self;
                            Ok(Box::new($made))
                        }
                        $(
                            #[cfg(not(feature = $feature))]
                            BackendName::$backend => Err(Error::NotBuilt {
                                name: concat!("backend ", $name),
                                feature: $feature,
                            }),
                        )?
                    )*
                }
            }
        }
    };
}

backends! {
    /// Cranelift, in every build.
    #[default]
    Cranelift "cranelift" => |request| {
        let (triple, features) = (request.generic()?, request.features.clone());
        backend_cranelift::Cranelift { triple, features }
    };
    /// LLVM, with the cargo feature `llvm`.
    Llvm "llvm" "llvm" => |request| {
        let (triple, cpu, optimize) = request.machine();
        backend_llvm::Llvm { triple, cpu, features: request.features.clone(), optimize }
    };
    /// MLIR, with the cargo feature `mlir`.
    Mlir "mlir" "mlir" => |request| {
        let (triple, cpu, optimize) = request.machine();
        backend_mlir::Mlir { triple, cpu, features: request.features.clone(), optimize }
    };
    /// C, in every build; objects need a C compiler.
    C "c" => |request| {
        request.refuse_features()?;
        let headers = request.headers.into();
        backend_c::C { headers, ..backend_c::C::new(request.generic()?, request.optimization) }
    };
}

/// Advice for who wants features of processors from C.
const FEATURES_OF_C: &str = "emit the text, and give your compiler its option";

impl fmt::Display for BackendName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for BackendName {
    type Err = Error;

    fn from_str(name: &str) -> Result<BackendName, Error> {
        let known = BackendName::ALL.iter().find(|backend| backend.name() == name);
        known.copied().ok_or_else(|| Error::UnknownBackend { name: name.to_owned() })
    }
}

impl Request {
    /// Returns the target of a backend that cannot be told a processor.
    fn generic(&self) -> Result<target_lexicon::Triple, Error> {
        let Some(cpu) = &self.cpu else { return Ok(self.target.clone()) };
        let source = format!("no processor `{cpu}`: llvm and mlir can be told one").into();
        Err(Error::Backend { name: self.backend.name(), source })
    }

    /// Refuses features of processors, for a backend whose compiler has its own options for them.
    fn refuse_features(&self) -> Result<(), Error> {
        let Some(feature) = self.features.first() else { return Ok(()) };
        let source = format!("no feature `{}`: {FEATURES_OF_C}", feature.name).into();
        Err(Error::Backend { name: self.backend.name(), source })
    }

    /// Returns the settings of LLVM: target, processor, level of optimization.
    #[cfg(feature = "llvm")]
    fn machine(&self) -> (target_lexicon::Triple, String, Optimize) {
        let cpu = self.cpu.clone().unwrap_or_else(|| backend_llvm::Llvm::default().cpu);
        (self.target.clone(), cpu, self.optimization)
    }
}
