//! Functions that a body makes.
//!
//! A closure is a function object whose context is an `ffi.Array`: first what keeps the code loaded, then what the
//! closure holds, in order. The deleter of the function is the runtime's own `TVMFFIObjectDecRef`, so that no code of the
//! library runs when the closure is freed.

use abi_spec::layout::any;
use abi_spec::symbol::LIBRARY_CTX;

use crate::ir::{Linkage, SymbolKind, Type, Value};
use crate::lower::emitter::state::ValueState;
use crate::lower::emitter::value::element;
use crate::lower::launch::kept;
use crate::lower::routines::Routine;
use crate::lower::routines::complaints::Complaint;
use crate::lower::routines::memory::KEEPER;
use crate::lower::value::{constant_bytes, safe_call};
use crate::lower::wrapper::Wrapper;
use crate::resolve::closure::Given;
use crate::resolve::ids::ValueId;
use crate::resolve::launch::MAP_SIZE;

/// Returns the symbol of closure number `index` of the function with this symbol.
pub(crate) fn symbol(of: &str, index: usize) -> String {
    format!("{of}.{index}")
}

impl<'a> Wrapper<'a, '_> {
    /// Emits code that makes a closure, which the frame owns. Returns the address of the function.
    pub(crate) fn make_closure(&mut self, index: usize) -> Value {
        let slot = self.own_none();
        let owned = self.frame.owned();
        let held = self.own_none();
        let given = &self.function.closures[index].given;
        let bytes: Vec<Option<Value>> = given.iter().map(|given| self.bytes_of(given)).collect();
        let kept = self.bytes_of_launches(index);
        let keeper = self.keep_code();
        let count = 1 + given.len() + usize::from(kept.is_some());
        let area = self.area(count);
        self.copy_words(keeper, area, 0);
        for (at, (given, bytes)) in given.iter().zip(bytes).enumerate() {
            match (given, bytes) {
                (_, Some(bytes)) => self.copy_words(bytes, area, element(at)),
                (Given::Plain(plain), None) => {
                    self.pack(plain, area, element(at));
                    self.require_object(plain, (area, element(at)), Complaint::Unheld);
                }
                (Given::Map(_), None) => unreachable!("bytes were made of every map"),
            }
        }
        if let Some(kept) = kept {
            self.copy_words(kept, area, element(given.len()));
        }
        self.make_with(Routine::MakeArray, area, count, held);
        let name = symbol(&self.symbol, index);
        let kind = SymbolKind::Function(safe_call());
        let code = self.b.module.declare(&name, Linkage::Local, kind);
        let (code, site) = (self.b.address(code), self.here());
        let status = self.routine_value(Routine::MakeFunction, &[site, held, code, slot]);
        self.exit_unless_zero(status, "not_made");
        self.release_beyond(owned);
        self.keep_owned(owned);
        slot
    }

    /// Emits code that makes bytes of a map, which the frame owns. Returns their address; `None` for other values.
    fn bytes_of(&mut self, given: &Given<'_>) -> Option<Value> {
        let Given::Map(map) = given else { return None };
        let slot = self.own_none();
        let (site, map, size) = (self.here(), self.map(*map), self.b.i64(MAP_SIZE.into()));
        let status = self.routine_value(Routine::MakeBytes, &[site, map, size, slot]);
        self.exit_unless_zero(status, "not_made");
        Some(slot)
    }

    /// Emits code that makes the bytes in which a closure keeps launches, initially zero, and which the frame owns. Returns
    /// their address; `None` if the closure keeps none.
    fn bytes_of_launches(&mut self, index: usize) -> Option<Value> {
        let size = kept::size(&self.function.closures[index].function);
        if size == 0 {
            return None;
        }
        let slot = self.own_none();
        let zeros = constant_bytes(&mut self.b, vec![0; size as usize]);
        let (site, size) = (self.here(), self.b.i64(size.into()));
        let status = self.routine_value(Routine::MakeBytes, &[site, zeros, size, slot]);
        self.exit_unless_zero(status, "not_made");
        Some(slot)
    }

    /// Emits `let f = function…;`.
    pub(super) fn name_closure(&mut self, index: usize, value: ValueId) {
        let slot = self.make_closure(index);
        self.addresses[value] = Some(slot);
        let object = self.b.load(Type::Ptr, slot, any::PAYLOAD.offset);
        self.set_state(value, ValueState::Word(object));
    }

    /// Emits code that makes what keeps the code loaded, which the frame owns. Returns its address.
    fn keep_code(&mut self) -> Value {
        let slot = self.own_none();
        let context = self.b.module.declare(LIBRARY_CTX, Linkage::Weak, SymbolKind::Data);
        let keeper = self.b.module.declare(KEEPER, Linkage::Local, SymbolKind::Data);
        let (site, context, keeper) =
            (self.here(), self.b.address(context), self.b.address(keeper));
        let status = self.routine_value(Routine::KeepCode, &[site, context, keeper, slot]);
        self.exit_unless_zero(status, "not_kept");
        slot
    }
}
