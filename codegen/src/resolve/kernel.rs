//! Callees of calls of C functions: a symbol, or an address that the body knows.

use super::Explained;
use super::body::{Address, Kernel};
use super::named::Local;
use super::names::{Meaning, Names};
use super::term::{Kind, Node};
use crate::declaration::reserved::spelled;
use crate::declaration::{Expr, Inquiry, KernelCall, KernelRef, ObjectClass, ParamType};

impl<'a> Names<'a> {
    /// Resolves the callee of a call of a C function.
    pub(super) fn kernel<'c>(&self, call: &'c KernelCall) -> Explained<Kernel<'c>> {
        match &call.callee {
            KernelRef::Symbol(symbol) => {
                self.no_callable(symbol)?;
                Ok(Kernel::Symbol(symbol))
            }
            KernelRef::Address(address) => self.kernel_at(address),
        }
    }

    /// Returns the function of the FFI that is asked after a call whether the callee has failed.
    pub(super) fn inquiry_after(&self, call: &KernelCall) -> Option<&'a str> {
        let Inquiry { function, kernels } = self.inquiry?;
        let symbol = call.symbol()?;
        kernels.iter().any(|kernel| kernel == symbol).then_some(function)
    }

    /// Resolves the address of a C function.
    fn kernel_at<'c>(&self, address: &Expr) -> Explained<Kernel<'c>> {
        let value = self.value_of(address).map(|value| self.values[value].ty);
        if value.is_some_and(is_function) {
            return Err(format!("`{address}` is a value of type `Function`: `@({address})(…)`"));
        }
        let term = self.term(address)?;
        let is_address = value.is_none_or(is_pointer)
            && term.kind == Kind::Ptr
            && !matches!(term.node, Node::Output(_) | Node::Null | Node::Stream(_));
        if !is_address {
            return Err(format!("`{address}` is no address of a C function"));
        }
        Ok(Kernel::Address(Box::new(Address { term, text: address.to_string() })))
    }

    /// Refuses the symbol of a C function that is also the name of something that can be called in another way.
    fn no_callable(&self, symbol: &str) -> Explained<()> {
        let name = spelled(symbol);
        let (what, call) = match self.meaning(symbol) {
            Some(Meaning::Value(value)) if is_function(self.values[value].ty) => {
                ("a value of type `Function`", format!("`@({name})(…)` calls the value"))
            }
            Some(meaning) if self.is_pointer(meaning) => {
                ("an address", format!("`({name})(…)` calls the function at the address"))
            }
            Some(_) | None => return Ok(()),
        };
        Err(format!(
            "`{symbol}` is {what} here, and the symbol of the C function that is called: {call}; give the value \
             another name to call the symbol"
        ))
    }

    /// Returns true if a name stands for an address that is no tensor and no object.
    fn is_pointer(&self, meaning: Meaning) -> bool {
        match meaning {
            Meaning::Value(value) => is_pointer(self.values[value].ty),
            Meaning::Local(local) => {
                let Local { kind, is_stream, .. } = &self.locals[local];
                *kind == Kind::Ptr && !is_stream
            }
            Meaning::Symbol(_) | Meaning::Output(_) | Meaning::Map(_) | Meaning::Dtype(_) => false,
        }
    }
}

fn is_pointer(ty: &ParamType) -> bool {
    matches!(ty, ParamType::Scalar(abi_spec::Scalar::Ptr))
}

fn is_function(ty: &ParamType) -> bool {
    ty.required().0.class() == Some(&ObjectClass::Function)
}
