//! Injected faults: one of the calls that host IR makes fails.

use crate::finding::Finding;
use crate::link::Machine;
use crate::word::Word;

/// The call that fails, and how it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Number of the call among the fallible ones, from 1.
    pub number: u64,
    /// True if the call raises no error where it should, as only a broken runtime does.
    pub silent: bool,
}

/// Way in which a function fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// The function never fails.
    Never,
    /// The function returns -1 with an error.
    Status,
    /// The function returns -1, with an error even if a fault is silent.
    StatusWithError,
    /// The function returns -1 with an error; if the fault is silent, success with NULL in the last argument.
    Missing,
    /// The function returns NULL.
    Null,
    /// The function returns a status of the driver.
    Driver(i32),
}

impl Machine<'_> {
    /// Counts a call of a function; returns the result of the call if the fault makes it fail.
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
