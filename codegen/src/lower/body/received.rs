//! Values that calls have made: checked as arguments are, in the same way.

use abi_spec::layout::any;

use crate::ir::{Cond, Type, Value};
use crate::lower::emitter::state::{Origin, SymbolState};
use crate::lower::routines::Routine;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Received;
use crate::resolve::ids::ValueId;

impl<'a> Wrapper<'a, '_> {
    /// Requires the value at an address to be what was declared; leaves if it is not.
    pub(crate) fn receive(&mut self, received: &'a Received<'a>, at: Value) {
        let value = received.value;
        self.addresses[value] = Some(at);
        let devices = std::mem::take(&mut self.devices);
        self.device_table(&received.steps);
        self.note_requirements(&received.steps);
        for &symbol in &received.known {
            if let SymbolState::Unbound = self.symbols[symbol]
                && let Some(local) = self.function.symbols[symbol].local
            {
                let known = self.local(local);
                self.symbols[symbol] = SymbolState::Bound(known, Origin::UNNAMED);
            }
        }
        self.checks.fail = self.owned_exit(value);
        self.require_owned(value, at);
        self.check_steps(&received.steps);
        self.devices = devices;
    }

    /// Of what is never an object only the bytes that mean nothing can be wrong; its type is checked anyway.
    fn require_owned(&mut self, value: ValueId, at: Value) {
        let wrong = if self.is_plain(value) {
            let length = self.b.load(Type::I32, at, any::SMALL_LEN.offset);
            self.b.compare_const(Cond::Ne, length, 0)
        } else {
            let owned = self.routine_value(Routine::IsOwned, &[at]);
            self.b.compare_const(Cond::Eq, owned, 0)
        };
        self.checks.never(&mut self.b, wrong);
    }
}
