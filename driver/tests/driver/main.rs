//! The driver from outside: linking, inspection and the command line.

mod link;
mod support;
