//! Presence of optional values: conditions that are true where a value is not None, and zeros to read where it is.

use abi_spec::layout::any;

use crate::ir::{Builder, Cond, Data, Linkage, SymbolKind, Type, Value};
use crate::lower::emitter::Emitter;
use crate::lower::emitter::known::Checkpoint;
use crate::resolve::ids::ValueId;

impl Emitter<'_, '_> {
    /// Computes whether a value is present. Does nothing if the value is not optional.
    pub(crate) fn enter(&mut self, value: ValueId) {
        let declared = &self.function.values[value];
        if declared.optional {
            let outer = declared.source.parent().and_then(|of| self.known.mask(of));
            let (base, offset) = self.address_of(value);
            let index = self.b.load(Type::I32, base, offset + any::TYPE_INDEX.offset);
            let none = abi_spec::TypeIndex::NONE.0.into();
            let some = self.b.compare_const(Cond::Ne, index, none);
            let hint = self.hint(value, "is_some", None);
            self.b.hint(some, hint);
            let there = outer.map_or(some, |outer| self.b.and(outer, some));
            self.known.set_presence(value, there);
        }
    }

    /// Marks the start of code that runs only if a value is present. There, the value and the optional values that
    /// contain it need no mask.
    pub(crate) fn mark_where_there(&mut self, value: ValueId) -> Checkpoint {
        let known = self.known.mark();
        self.known.assume_present(self.function.optionals(value));
        known
    }

    /// Returns a `Bool`: true if a value is present.
    pub(crate) fn there(&mut self, value: ValueId) -> Value {
        self.known.mask(value).unwrap_or_else(|| self.b.constant(Type::Bool, 1))
    }

    /// Returns a `Bool`: true if a condition holds or a value is absent.
    pub(crate) fn or_absent(&mut self, value: ValueId, holds: Value) -> Value {
        let Some(mask) = self.known.mask(value) else { return holds };
        let absent = self.b.not(mask);
        self.b.or(holds, absent)
    }

    /// Selects an address from which `size` bytes can be read: `address`, or the address of zeros if the value is
    /// absent.
    pub(crate) fn readable(&mut self, value: ValueId, address: Value, size: usize) -> Value {
        let Some(mask) = self.known.mask(value) else { return address };
        let absent = absent(&mut self.b, size);
        self.b.select(mask, address, absent)
    }

    /// Selects a word of a value, or zero if the value is absent.
    pub(crate) fn or_zero(&mut self, value: ValueId, word: Value) -> Value {
        let Some(mask) = self.known.mask(value) else { return word };
        let zero = self.b.constant(self.b.ty(word), 0);
        self.b.select(mask, word, zero)
    }
}

/// Returns the address of at least `size` bytes of zeros.
pub(crate) fn absent(b: &mut Builder<'_>, size: usize) -> Value {
    const NAME: &str = "tvm_ffi_codegen.absent";
    let module = &mut *b.module;
    let symbol = module.declare(NAME, Linkage::Local, SymbolKind::Data);
    match module.data.iter_mut().find(|data| data.symbol == symbol) {
        Some(data) => data.bytes.resize(size.max(data.bytes.len()), 0),
        None => {
            module.data.push(Data::constant(symbol, vec![0; size], 8));
        }
    }
    b.address(symbol)
}
