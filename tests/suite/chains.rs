//! Chains of errors, of all crates.

use std::error::Error;
use std::{io, iter};

use abi_spec::library_bin::{DecodeError, Defect, TreeError};
use codegen::{Errors, backend, ir};
use driver::{link, triton};

/// Printers of chains print each text once: no error contains the text of one behind it.
#[test]
fn chains_say_nothing_twice() {
    let unknown = || codegen::Error::Entry { name: "f".to_owned() };
    let tree = || codegen::Error::from(TreeError::Empty);
    let decode = || DecodeError { offset: 0, defect: Defect::Tree(TreeError::Empty) };
    let malformed = ir::Malformed { reason: "no block".to_owned(), function: None };
    let read = || link::Error::Read { path: "a.o".into(), source: io::Error::other("gone") };
    let routines = || link::Error::Routines { source: "no such machine".into() };
    let declaration = || triton::Error::Declaration { source: Box::new(unknown()) };
    let target = "z".parse::<target_lexicon::Triple>().unwrap_err();
    let errors: [&dyn Error; 20] = [
        &decode(),
        &tree(),
        &Errors::from(tree()),
        &backend::Error::from(malformed),
        &jit::Error::from(unknown()),
        &jit::Error::from(tree()),
        &jit::Error::from(backend::Error::Context),
        &jit::Error::from(decode()),
        &jit::Error::from(jit::CallError::new("ValueError", "no layout")),
        &read(),
        &routines(),
        &declaration(),
        &driver::Error::from(read()),
        &driver::Error::from(routines()),
        &driver::Error::Triton { source: declaration() },
        &driver::Error::Write { path: "-".into(), source: io::Error::other("full") },
        &driver::Error::Declaration { path: None, source: unknown().into() },
        &driver::Error::Declaration { path: Some("f.ffi".into()), source: unknown().into() },
        &driver::Error::Target { name: "z".to_owned(), source: target },
        &driver::Error::Backend { name: "llvm", source: Box::new(backend::Error::Context) },
    ];
    for error in errors {
        let chain = iter::successors(Some(error), |&error| error.source());
        let chain: Vec<String> = chain.map(ToString::to_string).collect();
        let (first, behind) = chain.split_first().expect("an error has a text");
        assert!(behind.iter().all(|inner| !first.contains(&inner[..])), "{chain:?}");
    }
}
