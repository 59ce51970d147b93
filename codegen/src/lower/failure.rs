//! What is said where something fails: the records and the messages, and the exits that hand them to a routine.

mod exit;
pub(crate) mod message;
pub(crate) mod records;
pub(crate) mod site;
mod subject;

pub(crate) use exit::{Exits, NumberCheck, Turn};
pub(crate) use subject::Run;
