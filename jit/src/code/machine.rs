//! Cranelift's code generator for this machine and its CPU.

use std::sync::OnceLock;

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable, Flags, SetError};

use crate::error::Error;

/// Cranelift's optimisation level.
///
/// Optimisation is for kernels of the native module ([`Jit::define`](crate::Jit::define)). Wrappers gain nothing from
/// it, since they are chains of compares, and take twice as long to compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OptLevel {
    /// No optimisation: the default.
    #[default]
    None,
    /// Fast code.
    Speed,
    /// Fast code, smaller where that costs no speed.
    SpeedAndSize,
}

/// Cranelift's register allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocator {
    /// The usual one.
    Backtracking,
    /// The one for [wide](backend_cranelift::is_wide) functions.
    SinglePass,
}

impl Allocator {
    /// Cranelift's name of the allocator.
    fn name(self) -> &'static str {
        match self {
            Allocator::Backtracking => "backtracking",
            Allocator::SinglePass => "single_pass",
        }
    }
}

/// The code generators of each level, one for each allocator, made at their first use.
static MACHINES: [[OnceLock<Result<OwnedTargetIsa, Error>>; 2]; 3] =
    [const { [const { OnceLock::new() }; 2] }; 3];

impl OptLevel {
    /// Cranelift's name of the level.
    fn name(self) -> &'static str {
        match self {
            OptLevel::None => "none",
            OptLevel::Speed => "speed",
            OptLevel::SpeedAndSize => "speed_and_size",
        }
    }
}

/// Returns the code generator of a level with an allocator.
pub(crate) fn isa(level: OptLevel, allocator: Allocator) -> Result<OwnedTargetIsa, Error> {
    let found = MACHINES[level as usize][allocator as usize].get_or_init(|| make(level, allocator));
    found.clone()
}

fn make(level: OptLevel, allocator: Allocator) -> Result<OwnedTargetIsa, Error> {
    let unsupported = |reason: &str| {
        let triple = target_lexicon::Triple::host();
        Error::Backend(backend_cranelift::Error::Target { triple, reason: reason.to_owned() })
    };
    let flags = flags(level, allocator).map_err(|error| unsupported(&error.to_string()))?;
    let builder = cranelift_native::builder().map_err(unsupported)?;
    builder.finish(flags).map_err(|error| unsupported(&error.to_string()))
}

fn flags(level: OptLevel, allocator: Allocator) -> Result<Flags, SetError> {
    let mut flags = settings::builder();
    // Cranelift's JIT resolves absolute addresses; library functions may be out of reach of relative ones.
    flags.set("is_pic", "false")?;
    flags.set("use_colocated_libcalls", "false")?;
    flags.set("opt_level", level.name())?;
    flags.set("regalloc_algorithm", allocator.name())?;
    // Large frames touch every page, so that an overflow hits the guard page of the thread.
    flags.set("enable_probestack", "true")?;
    flags.set("probestack_strategy", "inline")?;
    flags.set("enable_verifier", &cfg!(debug_assertions).to_string())?;
    Ok(Flags::new(flags))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cranelift_codegen::settings::ProbestackStrategy;

    #[test]
    fn large_frames_touch_every_page() {
        let isa = isa(OptLevel::None, Allocator::Backtracking).unwrap();
        assert!(isa.flags().enable_probestack());
        assert_eq!(isa.flags().probestack_strategy(), ProbestackStrategy::Inline);
    }

    #[test]
    fn levels_are_those_of_cranelift() {
        for level in [OptLevel::None, OptLevel::Speed, OptLevel::SpeedAndSize] {
            let flags = isa(level, Allocator::Backtracking).unwrap().flags().clone();
            assert_eq!(flags.opt_level().to_string(), level.name());
        }
    }
}
