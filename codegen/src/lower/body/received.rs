//! Values that calls have made: checked as arguments are, and explained by their own part of the descriptor.

use abi_spec::layout::any;

use crate::ir::{Block, Cond, Type, Value};
use crate::lower::explain::routines::Routine;
use crate::lower::state::SymbolState;
use crate::lower::wrapper::Wrapper;
use crate::resolve::function::Received;
use crate::resolve::ids::ValueId;

impl<'a> Wrapper<'a, '_> {
    /// Requires the value at an address to be what was declared; leaves if it is not.
    pub(crate) fn receive(&mut self, received: &'a Received<'a>, at: Value) {
        let value = received.value;
        self.places[value] = Some(at);
        let fail = self.b.cold_block("mismatched");
        let outer = std::mem::replace(&mut self.checks.fail, fail);
        let effects = std::mem::replace(&mut self.frame.effects, false);
        let devices = std::mem::take(&mut self.devices);
        self.device_table(&received.steps);
        for &symbol in &received.known {
            if let SymbolState::Unbound = self.symbols[symbol]
                && let Some(local) = self.function.symbols[symbol].local
            {
                self.symbols[symbol] = SymbolState::Bound(self.local(local));
            }
        }
        self.require_owned(value, at);
        let known: Vec<Value> =
            received.known.iter().filter_map(|&symbol| self.known(symbol)).collect();
        self.check_steps(&received.steps);
        self.devices = devices;
        self.checks.fail = outer;
        self.frame.effects = effects;
        self.explain_received(fail, received, &known);
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

    /// Writes the block that says what is wrong with a value.
    fn explain_received(&mut self, block: Block, received: &Received<'_>, known: &[Value]) {
        let here = self.b.current();
        self.b.switch_to(block);
        let section = self.descriptor.sections.received[&received.value];
        let (descriptor, section) = (self.descriptor_address(), self.b.i64(section.into()));
        let values = if known.is_empty() { self.b.null() } else { self.scratch(known) };
        let at = self.any_address(received.value);
        let explain = Routine::explaining_received(self.descriptor.room);
        let count = self.b.i64(known.len() as i64);
        let raised = self.routine(explain, &[descriptor, section, at, values, count]);
        self.exit(raised);
        self.b.switch_to(here);
    }
}
