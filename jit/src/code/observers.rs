//! The tools that learn of functions in memory, besides the unwinder of the process.

use std::ops::BitOr;

use super::address::FunctionRange;
use super::debugger::Announced;
use super::perf;
use crate::error::Error;

/// The tools that learn of functions, besides the unwinder of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observers {
    /// Debuggers that are attached, now or later: GDB and LLDB, by GDB's JIT interface. Linux.
    pub debugger: bool,
    /// `perf` and other profilers that read `/tmp/perf-<process>.map`. If that exists and is no file of this user
    /// alone, nothing is written, and compiling is an [`Error::Profile`].
    pub profiler: bool,
}

impl BitOr for Observers {
    type Output = Observers;

    fn bitor(self, other: Observers) -> Observers {
        Observers {
            debugger: self.debugger || other.debugger,
            profiler: self.profiler || other.profiler,
        }
    }
}

/// Announces functions to observers. `lines` are sections of debug information.
pub(super) fn announce(
    ranges: &[FunctionRange],
    frames: &[u8],
    lines: &[(&str, Vec<u8>)],
    observers: Observers,
) -> Result<Option<Announced>, Error> {
    if observers.profiler {
        perf::append(ranges)?;
    }
    Ok(observers.debugger.then(|| Announced::new(ranges, frames, lines)))
}
