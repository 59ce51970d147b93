//! The driver from outside: linking, inspection and the command line.

mod cli;
mod hostile;
mod inspect;
mod link;
mod support;
