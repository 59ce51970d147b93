//! Failures: records that describe checks, messages, and the exits that pass them to fail routines.

mod announced;
mod exit;
pub(crate) mod message;
pub(crate) mod overflow;
pub(crate) mod records;
pub(crate) mod site;
mod subject;

pub(crate) use announced::messages;
pub(crate) use exit::{Exits, NumberCheck, Turn, take_error};
pub(crate) use subject::{Run, Subjects};
