//! `inspect`: the report about an object or a shared library.

use jit::Returned;

use crate::fault::Fault;
use crate::ffi::{Outcome, string};
use crate::options::path;

/// Returns the report about a file, which is a path or its contents, as JSON.
pub(crate) fn inspect(file: &Returned) -> Outcome {
    let found = if let Ok(bytes) = file.bytes() {
        driver::inspect(bytes).map_err(|fault| at("<bytes>", fault))?
    } else {
        let name = file.text().map_err(Fault::value)?;
        let contents = driver::inspect::open(&path(name))?;
        contents.inspect().map_err(|fault| at(name, fault))?
    };
    string(&found.to_json())
}

fn at(name: &str, fault: link::ObjectFault) -> Fault {
    link::Error::Object { file: name.to_owned(), fault }.into()
}
