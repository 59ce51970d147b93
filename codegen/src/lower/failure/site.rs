//! Sites: calls that may fail, and what is said if the callee has left no error.

use crate::ir::Value;
use crate::lower::failure::message::Message;
use crate::lower::failure::records::{self, Records};
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::records::{CallSite, CalleeKind, Case};
use crate::lower::routines::schema::FieldType;
use crate::lower::wrapper::Wrapper;

/// What is said of a call that has failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// Whose error it may be.
    pub(crate) callee: CalleeKind,
    /// What is said if there is no error, and no case.
    pub(crate) message: Message,
    /// What is said of these statuses.
    pub(crate) cases: Vec<(i32, Message)>,
}

impl Failed {
    /// A complaint about something, whoever is to blame.
    pub(crate) fn of(complaint: Complaint, subject: &str) -> Failed {
        let message = Message::of(complaint, subject);
        Failed { callee: CalleeKind::None, message, cases: Vec::new() }
    }

    /// Adds the site to the records; yields its offset.
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

impl Wrapper<'_, '_> {
    /// Fails at a site of its own; yields the status.
    pub(crate) fn fail_at(&mut self, failed: &Failed, values: &[Value]) -> Value {
        let site = self.site(failed);
        let values = self.scratch(values);
        self.routine_value(Routine::FailAt, &[site, values])
    }

    /// The address of a new site.
    pub(crate) fn site(&mut self, failed: &Failed) -> Value {
        let host = self.host();
        let record = failed.add(self.records, host);
        records::address(&mut self.b, record)
    }

    /// The address of the record of the function, for what fails in a routine that says itself what it is.
    pub(crate) fn here(&mut self) -> Value {
        let host = self.host();
        records::address(&mut self.b, host)
    }
}
