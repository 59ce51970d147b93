//! Optimisation levels.

use std::fmt;
use std::str::FromStr;

/// The optimisation level of backends that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Optimize {
    /// No optimisation.
    O0,
    /// Cheap optimisations, and none of cold functions.
    O1,
    /// Inlining and vectorisation.
    #[default]
    O2,
    /// More inlining and vectorisation.
    O3,
}

impl Optimize {
    /// All levels, in order.
    pub const ALL: [Optimize; 4] = [Optimize::O0, Optimize::O1, Optimize::O2, Optimize::O3];

    /// Returns the suffix of `-O`.
    pub const fn name(self) -> &'static str {
        match self {
            Optimize::O0 => "0",
            Optimize::O1 => "1",
            Optimize::O2 => "2",
            Optimize::O3 => "3",
        }
    }
}

impl fmt::Display for Optimize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Optimize {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Optimize, &'static str> {
        let level = Optimize::ALL.into_iter().find(|level| level.name() == text);
        level.ok_or("expected 0, 1, 2 or 3")
    }
}
