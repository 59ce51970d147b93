//! The native types of the kernels that declarations call.

use std::collections::HashMap;

use backend_cranelift::signature;
use cranelift_codegen::ir::Signature;
use cranelift_codegen::isa::TargetIsa;
use tvm_ffi_codegen::Library;

use crate::error::Error;

/// The native types of the kernels that a library calls, which [`Jit::define`](crate::Jit::define) computes once.
#[derive(Clone, Debug, PartialEq)]
pub struct Signatures {
    /// Symbols and types, in the order of the first calls.
    kernels: Vec<(String, Signature)>,
    /// The index of each symbol in `kernels`.
    places: HashMap<String, usize>,
}

impl Signatures {
    /// Resolves a library once, and translates the types of its kernels.
    pub(crate) fn of(library: &Library, isa: &dyn TargetIsa) -> Result<Signatures, Error> {
        let kernels = library.kernels()?.into_iter();
        let kernels =
            kernels.map(|kernel| (kernel.symbol.to_owned(), signature(isa, &kernel.signature)));
        let kernels: Vec<(String, Signature)> = kernels.collect();
        let places = kernels.iter().enumerate().map(|(place, (symbol, _))| (symbol.clone(), place));
        Ok(Signatures { places: places.collect(), kernels })
    }

    /// Returns the type of the kernel of this symbol.
    ///
    /// # Errors
    /// [`Error::Unknown`] if the library calls no such kernel.
    pub fn get(&self, symbol: &str) -> Result<Signature, Error> {
        let unknown = || Error::Unknown { what: "kernel", name: symbol.to_owned() };
        let place = *self.places.get(symbol).ok_or_else(unknown)?;
        Ok(self.kernels[place].1.clone())
    }

    /// All kernels, by symbol and type, in the order in which the library first calls them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Signature)> {
        self.kernels.iter().map(|(symbol, signature)| (symbol.as_str(), signature))
    }

    /// Number of kernels.
    pub fn len(&self) -> usize {
        self.kernels.len()
    }

    /// True if the library calls no kernel.
    pub fn is_empty(&self) -> bool {
        self.kernels.is_empty()
    }
}
