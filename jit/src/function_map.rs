//! Compiled functions as one object of the runtime: a map from names to function objects.

use crate::closure::Context;
use crate::compiled::Compiled;
use crate::error::Error;
use crate::value::arg::{Arg, Held, IntoArg};
use crate::value::function::FfiFunction;
use crate::value::object::ObjectRef;

/// The global function that makes maps.
const MAKE: &str = "ffi.Map";

impl Compiled {
    /// Makes an `ffi.Map` from the names of all functions to function objects, to hand to a host: in Python
    /// `made["add_one"](x, y)`.
    ///
    /// Each function owns the code, which is freed with the last of them, of the handles to the code, and of the
    /// functions that they have returned, however they are held. So this is for code that a program compiles again and
    /// again; [`Compiled::into_module`] is for a host that wants a module, with metadata and imports, and keeps it for
    /// ever. Here nothing loads the modules that the library imports: a function that bodies call by a name is one that
    /// was [given](crate::Jit::function), or a global one.
    ///
    /// ```no_run
    /// # fn f(compiled: tvm_ffi_codegen_jit::Compiled) -> Result<(), Box<dyn std::error::Error>> {
    /// use tvm_ffi_codegen_jit::ObjectRef;
    ///
    /// let functions: ObjectRef = compiled.into_functions()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Context`] if there is a closure; [`Error::Unavailable`] with the built-in runtime, which has no maps: take
    /// the functions by [`Compiled::function`]; [`Error::Call`] if the runtime refuses.
    pub fn into_functions(self) -> Result<ObjectRef, Error> {
        let runtime = self.runtime();
        // SAFETY: the function makes a map of keys and values in turn, which is what it is called with.
        let make = unsafe { FfiFunction::global(MAKE, runtime) }?;
        let make = make.ok_or(Error::Unavailable { function: MAKE })?;
        let mut names: Vec<_> = self.names().map(IntoArg::hold).collect();
        let functions = self.names().filter_map(|name| self.function(name));
        let functions = functions.map(|function| function.into_ffi_function(Context::none()));
        let functions = functions.collect::<Result<Vec<FfiFunction>, Error>>()?;
        let mut entries: Vec<Arg<'_>> = Vec::with_capacity(2 * names.len());
        for (name, function) in names.iter_mut().zip(&functions) {
            entries.extend([name.arg(), function.into()]);
        }
        ObjectRef::try_from(make.retaining().call(&entries[..])?)
    }
}
