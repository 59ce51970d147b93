//! The driver from outside: linking, emission, inspection and the command line.

mod inspect;
mod link;
mod support;
