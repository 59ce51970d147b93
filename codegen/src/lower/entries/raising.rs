//! Errors that entries raise themselves, before the wrapper is called or after it has returned.

use crate::ir::{Builder, Value};
use crate::lower::failure::records::{self, Reporter};
use crate::lower::failure::site::Failed;
use crate::lower::routines::Routine;

/// The largest number of values of a message.
const MOST_VALUES: u32 = 2;

/// The function that messages name, and what they are passed in.
pub(super) struct Raising<'m> {
    pub(super) reporter: Reporter<'m>,
    /// The address of the values of a message; none before the first.
    values: Option<Value>,
}

impl<'m> Raising<'m> {
    /// Builds one that has raised nothing.
    pub(super) fn new(reporter: Reporter<'m>) -> Self {
        Raising { reporter, values: None }
    }

    /// Emits the call that raises a failure, with [`MOST_VALUES`] at most; returns the status.
    pub(super) fn raise(
        &mut self,
        b: &mut Builder<'_>,
        failed: &Failed,
        values: &[Value],
    ) -> Value {
        debug_assert!(values.len() <= MOST_VALUES as usize, "{values:?}");
        let list = *self.values.get_or_insert_with(|| b.stack_slot(8 * MOST_VALUES, 8));
        for (at, &value) in values.iter().enumerate() {
            b.store(value, list, 8 * at as i32);
        }
        let site = failed.add(self.reporter.records, self.reporter.record);
        let site = records::address(b, site);
        let fail = Routine::FailAt.declare(b.module, self.reporter.linkage);
        b.call_value(fail, &[site, list])
    }

    /// Emits a call of a routine.
    pub(super) fn call(&self, b: &mut Builder<'_>, routine: Routine, args: &[Value]) {
        routine.call(b, self.reporter.linkage, args);
    }

    /// Emits a call of a routine; returns its result.
    pub(super) fn call_value(
        &self,
        b: &mut Builder<'_>,
        routine: Routine,
        args: &[Value],
    ) -> Value {
        let symbol = routine.declare(b.module, self.reporter.linkage);
        b.call_value(symbol, args)
    }
}
