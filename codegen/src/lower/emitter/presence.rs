//! Presence of optional values: conditions that are true where a value is not None, and zeros to read where it is.

use abi_spec::layout::any;

use crate::ir::{Block, Cond, Data, Linkage, SymbolKind, Type, Value};
use crate::lower::emitter::{Checkpoint, Emitter};
use crate::resolve::ids::ValueId;

impl Emitter<'_, '_> {
    /// Computes whether a value is present. Does nothing if the value is not optional.
    pub(crate) fn enter(&mut self, value: ValueId) {
        let declared = &self.function.values[value];
        if declared.optional && self.branched != Some(value) {
            let outer = declared.source.parent().and_then(|of| self.mask(of));
            let (base, offset) = self.address_of(value);
            let index = self.b.load(Type::I32, base, offset + any::TYPE_INDEX.offset);
            let none = abi_spec::TypeIndex::NONE.0.into();
            let some = self.b.compare_const(Cond::Ne, index, none);
            let hint = self.hint(value, "is_some", None);
            self.b.hint(some, hint);
            let there = outer.map_or(some, |outer| self.b.and(outer, some));
            self.present[value] = Some(there);
        }
    }

    /// Marks the start of code that runs only if a value is present. There, the value and the optional values that
    /// contain it need no mask.
    pub(crate) fn mark_where_there(&mut self, value: ValueId) -> Checkpoint {
        let known = self.mark();
        for optional in self.function.optionals(value) {
            self.present[optional] = None;
        }
        known
    }

    /// Returns a `Bool`: true if a value is present. Returns `None` if it always is.
    pub(crate) fn mask(&self, value: ValueId) -> Option<Value> {
        let nearest = self.function.values[value].guard;
        nearest.and_then(|optional| self.present[optional])
    }

    /// Returns a `Bool`: true if a value is present.
    pub(crate) fn there(&mut self, value: ValueId) -> Value {
        self.mask(value).unwrap_or_else(|| self.b.constant(Type::Bool, 1))
    }

    /// Selects an address from which `size` bytes can be read: `address`, or the address of zeros if the value is
    /// absent.
    pub(crate) fn readable(&mut self, value: ValueId, address: Value, size: usize) -> Value {
        let Some(mask) = self.mask(value) else { return address };
        let absent = self.absent(size);
        self.b.select(mask, address, absent)
    }

    /// Returns the address of at least `size` bytes of zeros.
    pub(crate) fn absent(&mut self, size: usize) -> Value {
        const NAME: &str = "tvm_ffi_codegen.absent";
        let module = &mut *self.b.module;
        let symbol = module.declare(NAME, Linkage::Local, SymbolKind::Data);
        match module.data.iter_mut().find(|data| data.symbol == symbol) {
            Some(data) => data.bytes.resize(size.max(data.bytes.len()), 0),
            None => {
                module.data.push(Data::constant(symbol, vec![0; size], 8));
            }
        }
        self.b.address(symbol)
    }

    /// Selects a word of a value, or zero if the value is absent.
    pub(crate) fn or_zero(&mut self, value: ValueId, word: Value) -> Value {
        let Some(mask) = self.mask(value) else { return word };
        let zero = self.b.constant(self.b.ty(word), 0);
        self.b.select(mask, word, zero)
    }

    /// Emits a jump to `to` with arguments unless a condition holds.
    pub(crate) fn go_unless(&mut self, cond: Value, to: Block, args: &[Value]) {
        let (aside, next) = (self.b.block("aside"), self.b.block("next"));
        self.b.branch(cond, next, aside);
        self.b.switch_to(aside);
        self.b.jump(to, args);
        self.b.switch_to(next);
    }
}
