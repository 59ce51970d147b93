//! Chains of errors: of the driver, of linking and of the import from Triton.

use std::error::Error as Chained;
use std::io;
use std::iter;

use codegen::backend;
use tvm_ffi_codegen_driver::{Error, link, triton};

fn unknown() -> codegen::Error {
    codegen::Error::Entry { name: "f".to_owned() }
}

/// Printers of chains print each text once: no error contains the text of one behind it.
#[test]
fn chains_say_nothing_twice() {
    let read = || link::Error::Read { path: "a.o".into(), source: io::Error::other("gone") };
    let routines = || link::Error::Routines { source: "no such machine".into() };
    let declaration = || triton::Error::Declaration { source: Box::new(unknown()) };
    let target = "z".parse::<target_lexicon::Triple>().unwrap_err();
    let errors: [&dyn Chained; 11] = [
        &read(),
        &routines(),
        &declaration(),
        &Error::from(read()),
        &Error::from(routines()),
        &Error::Triton { source: declaration() },
        &Error::Write { path: "-".into(), source: io::Error::other("full") },
        &Error::Declaration { path: None, source: unknown().into() },
        &Error::Declaration { path: Some("f.ffi".into()), source: unknown().into() },
        &Error::Target { name: "z".to_owned(), source: target },
        &Error::Backend { name: "llvm", source: Box::new(backend::Error::Context) },
    ];
    for error in errors {
        let chain = iter::successors(Some(error), |&error| error.source());
        let chain: Vec<String> = chain.map(ToString::to_string).collect();
        let (first, behind) = chain.split_first().expect("an error has a text");
        assert!(behind.iter().all(|inner| !first.contains(&inner[..])), "{chain:?}");
    }
}
