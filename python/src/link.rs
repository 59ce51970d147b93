//! `link`: a shared library of objects.

use driver::Form;
use jit::Returned;

use crate::fault::Fault;
use crate::ffi::{self, Outcome};
use crate::options::{LINK, Options, file};

/// Links files, each a path or its contents.
pub(crate) fn link(objects: &Returned, options: &Returned) -> Outcome {
    let mut request = Options::read(options, LINK)?.request;
    request.form = Form::Shared;
    for (index, object) in objects.array().map_err(Fault::ty)?.iter().enumerate() {
        request.kernels.push(file(&format!("objects[{index}]"), &object)?.try_into()?);
    }
    if request.kernels.is_empty() {
        return Err(Fault::value("there are no objects to link"));
    }
    ffi::bytes(&request.link()?)
}
