//! The stages of a run, and the time that each takes, for `--time-stages`.

use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant};

/// A stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Reads declarations, kernels, images and imports.
    Read,
    /// Parses declarations, and resolves them once to find their errors.
    Parse,
    /// Looks for warnings.
    Warn,
    /// Resolves declarations.
    Resolve,
    /// Lowers them to host IR.
    Lower,
    /// Makes text, bitcode or an object by a backend.
    Compile,
    /// Links.
    Link,
}

impl Stage {
    /// Every stage, in order.
    const ALL: [Stage; 7] = [
        Stage::Read,
        Stage::Parse,
        Stage::Warn,
        Stage::Resolve,
        Stage::Lower,
        Stage::Compile,
        Stage::Link,
    ];

    fn name(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Parse => "parse",
            Stage::Warn => "warn",
            Stage::Resolve => "resolve",
            Stage::Lower => "lower",
            Stage::Compile => "compile",
            Stage::Link => "link",
        }
    }
}

/// The time that stages have taken so far.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// `None` for a stage that has not run.
    all: [Option<Duration>; Stage::ALL.len()],
}

impl Times {
    /// Runs a part of a stage.
    pub(crate) fn of<T>(&mut self, stage: Stage, part: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = part();
        *self.all[stage as usize].get_or_insert_default() += start.elapsed();
        result
    }
}

/// Prints a line for each stage that has run, in milliseconds.
impl Display for Times {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for stage in Stage::ALL {
            if let Some(time) = self.all[stage as usize] {
                writeln!(f, "{:<8}{:>10.3} ms", stage.name(), time.as_secs_f64() * 1e3)?;
            }
        }
        Ok(())
    }
}
