//! What all code of one runtime shares: the code generator, and the cold routines that explain why a
//! check failed, compiled once.

use std::collections::HashMap;

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable, Flags, SetError};

use crate::error::Error;
use crate::jit::{Jit, Linked};
use crate::memory::Memory;
use crate::runtime::Runtime;
use crate::symbols::Address;

/// The code generator for this machine and its CPU.
///
/// Optimisation is left out: it takes as long again and the code, a chain of compares, gets no faster.
pub(crate) fn isa() -> Result<OwnedTargetIsa, Error> {
    let unsupported = |reason: &str| {
        let triple = target_lexicon::Triple::host();
        Error::Backend(backend_cranelift::Error::Target { triple, reason: reason.to_owned() })
    };
    let flags = flags().map_err(|error| unsupported(&error.to_string()))?;
    let builder = cranelift_native::builder().map_err(unsupported)?;
    builder.finish(flags).map_err(|error| unsupported(&error.to_string()))
}

fn flags() -> Result<Flags, SetError> {
    let mut flags = settings::builder();
    // Cranelift's JIT wants absolute addresses; the library functions may be far away.
    flags.set("is_pic", "false")?;
    flags.set("use_colocated_libcalls", "false")?;
    flags.set("opt_level", "none")?;
    flags.set("unwind_info", "false")?;
    // No frame reaches below the guard page of its thread.
    flags.set("enable_probestack", "true")?;
    flags.set("probestack_strategy", "inline")?;
    flags.set("enable_verifier", &cfg!(debug_assertions).to_string())?;
    Ok(Flags::new(flags))
}

/// The compiled routines. They stay as long as the runtime, which is for ever.
pub(crate) struct Routines {
    addresses: HashMap<String, Address>,
    _memory: Memory,
}

impl Routines {
    /// Compiles the routines against a runtime.
    pub(crate) fn compile(runtime: &'static Runtime) -> Result<Routines, Error> {
        let mut jit = Jit::bare(runtime)?;
        // SAFETY: the routines are sound, and call only the runtime.
        unsafe { jit.emit(&codegen::routines()) }?;
        let Linked { functions, memory, .. } = jit.link()?;
        Ok(Routines { addresses: functions.into_iter().collect(), _memory: memory })
    }

    /// The address of a routine.
    pub(crate) fn find(&self, name: &str) -> Option<Address> {
        self.addresses.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::settings::ProbestackStrategy;

    #[test]
    fn large_frames_touch_every_page() {
        let isa = super::isa().unwrap();
        assert!(isa.flags().enable_probestack());
        assert_eq!(isa.flags().probestack_strategy(), ProbestackStrategy::Inline);
    }
}
