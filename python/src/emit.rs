//! `emit`: declarations as text, objects and shared libraries.

use jit::Returned;

use crate::ffi::{self, Outcome};
use crate::options::{EMIT, Options};

/// Compiles a text as the options say.
pub(crate) fn emit(text: &str, options: &Returned) -> Outcome {
    let mut request = Options::read(options, EMIT)?.request;
    request.check()?;
    request.load()?;
    let bytes = request.emit(&text.parse()?).map_err(|error| error.locate(text))?;
    if request.form.is_text() {
        ffi::string(&String::from_utf8_lossy(&bytes))
    } else {
        ffi::bytes(&bytes)
    }
}
