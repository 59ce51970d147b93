//! Faults that a test injects: one of the calls that host IR makes fails.

use crate::finding::Finding;
use crate::link::Machine;
use crate::word::Word;

/// Which call fails, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The number of the call, from 1, among those that can fail.
    pub number: u64,
    /// It leaves no error where it could, as only a broken runtime does.
    pub silent: bool,
}

/// How a function fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// It never does.
    Never,
    /// By -1, with an error.
    Status,
    /// By -1, with an error even where a fault is silent.
    StatusWithError,
    /// By -1 and an error, and by success and NULL in its last argument if the fault is silent.
    Missing,
    /// By NULL.
    Null,
    /// By the status of a driver.
    Driver(i32),
}

impl Machine<'_> {
    /// Counts a call of a function; what it returns if it is the one that fails.
    pub(crate) fn injected(
        &mut self,
        name: &str,
        failing: Failing,
        args: &[Word],
    ) -> Result<Option<Word>, Box<Finding>> {
        if failing == Failing::Never {
            return Ok(None);
        }
        self.fallible_calls += 1;
        let Some(fault) = self.fault.filter(|fault| fault.number == self.fallible_calls) else {
            return Ok(None);
        };
        self.failed = Some(name.to_owned());
        let status = match failing {
            Failing::Never => return Ok(None),
            Failing::Null => return Ok(Some(Word::NULL)),
            Failing::Driver(status) => return Ok(Some(Word::int32(status))),
            Failing::Status | Failing::StatusWithError => -1,
            Failing::Missing => {
                let out = args.last().copied().unwrap_or_default();
                self.memory.store(out, Word::NULL, 8, 8)?;
                if fault.silent { 0 } else { -1 }
            }
        };
        if !fault.silent || failing == Failing::StatusWithError {
            self.raise("MemoryError", name.as_bytes());
        }
        Ok(Some(Word::int32(status)))
    }
}
