//! Call sites: calls that may fail, and the messages that are raised if the callee has left no error.

use crate::ir::Value;
use crate::lower::emitter::Emitter;
use crate::lower::failure::Exits;
use crate::lower::failure::message::Message;
use crate::lower::failure::records::{self, Records};
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::{CallSite, CalleeKind, Case};
use crate::lower::routines::schema::FieldType;

/// Description of a failed call, of which [`CallSite`] is the record.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The kind of callee.
    pub(crate) callee: CalleeKind,
    /// The message if the callee has left no error and its status has no case.
    pub(crate) message: Message,
    /// The messages of single statuses.
    pub(crate) cases: Vec<(i32, Message)>,
}

impl Failed {
    /// Describes a failure with no callee: a complaint about `subject`.
    pub(crate) fn of(complaint: Complaint, subject: &str) -> Failed {
        let message = Message::of(complaint, subject);
        Failed { callee: CalleeKind::None, message, cases: Vec::new() }
    }

    /// Adds the record of the call site. Returns its offset.
    pub(crate) fn add(&self, records: &mut Records, host: u32) -> u32 {
        let message = self.message.add(records);
        let mut words = Vec::new();
        for (status, message) in &self.cases {
            let message = message.add(records);
            Case { status: *status as u32, message }.encode(&mut words);
        }
        let (head, cases) = (records.head(host), self.cases.len() as u32);
        records.add_with(CallSite { head, callee: self.callee, message, cases }, &words)
    }
}

impl Exits<'_, '_> {
    /// Emits code that raises a failure with these values. Returns the status to leave with.
    pub(crate) fn fail_at(
        &mut self,
        e: &mut Emitter<'_, '_>,
        failed: &Failed,
        values: &[Value],
    ) -> Value {
        let site = self.site(e, failed);
        let values = e.scratch(values);
        e.routine_value(Routine::FailAt, &[site, values])
    }

    /// Adds the record of a call site and emits its address.
    pub(crate) fn site(&mut self, e: &mut Emitter<'_, '_>, failed: &Failed) -> Value {
        let host = self.subjects.host();
        let record = failed.add(self.subjects.records, host);
        records::address(&mut e.b, record)
    }

    /// Emits the address of the record of the function, which routines take as their `Caller`.
    pub(crate) fn here(&mut self, e: &mut Emitter<'_, '_>) -> Value {
        let host = self.subjects.host();
        records::address(&mut e.b, host)
    }
}
